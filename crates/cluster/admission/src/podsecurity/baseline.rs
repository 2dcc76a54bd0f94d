//! The rules of the baseline level.

use super::checks::{
    Fault, Subject, bad_types, containers, context, fault, name, plural, quoted, setters,
};
use model::{Value, field::go_quote, meta};
use std::collections::BTreeSet;

pub(super) fn app_armor(s: Subject<'_>) -> Option<Fault> {
    let (pod, names, values) =
        bad_types(s, "/appArmorProfile/type", &["RuntimeDefault", "Localhost"]);
    let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
    let mut who: Vec<String> = Vec::new();
    if pod || !names.is_empty() {
        who.push(setters(pod, &names));
    }
    let annotations = s
        .pod
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let forbidden: Vec<String> = annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with("container.apparmor.security.beta.kubernetes.io/"))
        .map(|(key, value)| (key, value.as_str().unwrap_or("")))
        .filter(|(_, v)| !(v.is_empty() || *v == "runtime/default" || v.starts_with("localhost/")))
        .map(|(key, value)| format!("{key}={}", go_quote(value)))
        .collect();
    if !forbidden.is_empty() {
        who.push(plural(forbidden.len(), "annotation", "annotations").into());
        values.extend(forbidden);
    }
    if who.is_empty() {
        return None;
    }
    let reason = plural(
        values.len(),
        "forbidden AppArmor profile",
        "forbidden AppArmor profiles",
    );
    fault(
        reason,
        format!(
            "{} must not set AppArmor profile type to {}",
            who.join(" and "),
            quoted(values)
        ),
    )
}

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

pub(super) fn added<'a>(s: Subject<'a>, good: &[&str]) -> (Vec<&'a str>, BTreeSet<&'a str>) {
    let mut names = Vec::new();
    let mut values = BTreeSet::new();
    for container in s.containers() {
        let list = meta::entries(container, "/securityContext/capabilities/add");
        let bad: Vec<&str> = list
            .filter_map(Value::as_str)
            .filter(|c| !good.contains(c))
            .collect();
        if !bad.is_empty() {
            names.push(name(container));
            values.extend(bad);
        }
    }
    (names, values)
}

pub(super) fn added_detail(names: &[&str], values: BTreeSet<&str>) -> String {
    format!(
        "{} must not include {} in securityContext.capabilities.add",
        containers(names),
        quoted(values)
    )
}

pub(super) fn capabilities_baseline(s: Subject<'_>) -> Option<Fault> {
    let (names, values) = added(s, &DEFAULT_CAPABILITIES);
    if names.is_empty() {
        return None;
    }
    fault("non-default capabilities", added_detail(&names, values))
}

pub(super) fn host_namespaces(s: Subject<'_>) -> Option<Fault> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let used = fields.filter(|f| s.spec(&format!("/{f}")) == Some(&Value::Bool(true)));
    let used: Vec<String> = used.map(|f| format!("{f}=true")).collect();
    if used.is_empty() {
        return None;
    }
    fault("host namespaces", used.join(", "))
}

pub(super) fn host_path_volumes(s: Subject<'_>) -> Option<Fault> {
    let volumes = meta::entries(s.pod, "/spec/volumes");
    let volumes = volumes.filter(|v| v.get("hostPath").is_some_and(|h| !h.is_null()));
    let names: Vec<&str> = volumes.map(name).collect();
    if names.is_empty() {
        return None;
    }
    let word = plural(names.len(), "volume", "volumes");
    fault("hostPath volumes", format!("{word} {}", quoted(names)))
}

pub(super) fn host_ports(s: Subject<'_>) -> Option<Fault> {
    let mut names = Vec::new();
    let mut ports = BTreeSet::new();
    for container in s.containers() {
        let used = meta::entries(container, "/ports").filter_map(|p| p.get("hostPort")?.as_i64());
        let used: Vec<String> = used.filter(|p| *p != 0).map(|p| p.to_string()).collect();
        if !used.is_empty() {
            names.push(name(container));
            ports.extend(used);
        }
    }
    if names.is_empty() {
        return None;
    }
    let listed: Vec<&str> = ports.iter().map(String::as_str).collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&names),
        plural(names.len(), "uses", "use"),
        plural(ports.len(), "hostPort", "hostPorts"),
        listed.join(", ")
    );
    fault("hostPort", detail)
}

pub(super) fn host_probes(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 34 {
        return None;
    }
    let places = [
        "/livenessProbe",
        "/readinessProbe",
        "/startupProbe",
        "/lifecycle/postStart",
        "/lifecycle/preStop",
    ];
    let mut names = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for container in s.containers() {
        for place in places {
            for way in ["httpGet", "tcpSocket"] {
                let host = meta::text_at(container, &format!("{place}/{way}/host"));
                if !host.is_empty() {
                    names.insert(name(container));
                    hosts.insert(host);
                }
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.into_iter().collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&names),
        plural(names.len(), "uses", "use"),
        plural(
            hosts.len(),
            "probe or lifecycle host",
            "probe or lifecycle hosts"
        ),
        quoted(hosts)
    );
    fault("probe or lifecycle host", detail)
}

pub(super) fn privileged(s: Subject<'_>) -> Option<Fault> {
    let set = |c: &&Value| context(c, "/privileged") == Some(&Value::Bool(true));
    let names: Vec<&str> = s.containers().filter(set).map(name).collect();
    if names.is_empty() {
        return None;
    }
    fault(
        "privileged",
        format!(
            "{} must not set securityContext.privileged=true",
            containers(&names)
        ),
    )
}

pub(super) fn proc_mount(s: Subject<'_>) -> Option<Fault> {
    let mut names = Vec::new();
    let mut values = BTreeSet::new();
    for container in s.containers() {
        let kind = context(container, "/procMount").map(|v| v.as_str().unwrap_or(""));
        if let Some(kind) = kind.filter(|k| *k != "Default") {
            names.push(name(container));
            values.insert(kind);
        }
    }
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not set securityContext.procMount to {}",
        containers(&names),
        quoted(values)
    );
    fault("procMount", detail)
}

pub(super) fn proc_mount_baseline(s: Subject<'_>) -> Option<Fault> {
    if s.own_user_namespace() {
        None
    } else {
        proc_mount(s)
    }
}

pub(super) fn selinux(s: Subject<'_>) -> Option<Fault> {
    let mut types = BTreeSet::new();
    let (mut user, mut role) = (false, false);
    let mut bad = |options: Option<&Value>| {
        let Some(options) = options else { return false };
        let text = |field| options.get(field).and_then(Value::as_str).unwrap_or("");
        let kind = text("type");
        let engine = kind == "container_engine_t" && s.minor >= 31;
        let known = matches!(
            kind,
            "" | "container_t" | "container_init_t" | "container_kvm_t"
        );
        let bad_kind = !known && !engine;
        if bad_kind {
            types.insert(kind.to_owned());
        }
        let (sets_user, sets_role) = (!text("user").is_empty(), !text("role").is_empty());
        user |= sets_user;
        role |= sets_role;
        bad_kind || sets_user || sets_role
    };
    let pod = bad(s.spec("/securityContext/seLinuxOptions"));
    let names: Vec<&str> = s
        .containers()
        .filter(|c| bad(context(c, "/seLinuxOptions")))
        .map(name)
        .collect();
    if !pod && names.is_empty() {
        return None;
    }
    let mut what = Vec::new();
    if !types.is_empty() {
        what.push(format!(
            "{} {}",
            plural(types.len(), "type", "types"),
            quoted(&types)
        ));
    }
    if user {
        what.push("user may not be set".into());
    }
    if role {
        what.push("role may not be set".into());
    }
    let who = setters(pod, &names);
    fault(
        "seLinuxOptions",
        format!(
            "{who} set forbidden securityContext.seLinuxOptions: {}",
            what.join("; ")
        ),
    )
}

const SECCOMP: [&str; 2] = ["Localhost", "RuntimeDefault"];

pub(super) fn seccomp_explicit(s: Subject<'_>) -> Option<Fault> {
    let (pod, names, values) = bad_types(s, "/seccompProfile/type", &SECCOMP);
    if !pod && names.is_empty() {
        return None;
    }
    let who = setters(pod, &names);
    let detail = format!(
        "{who} must not set securityContext.seccompProfile.type to {}",
        quoted(values)
    );
    fault("seccompProfile", detail)
}

pub(super) fn seccomp_baseline(s: Subject<'_>) -> Option<Fault> {
    if s.minor >= 19 {
        return seccomp_explicit(s);
    }
    let allowed =
        |v: &str| matches!(v, "runtime/default" | "docker/default") || v.starts_with("localhost/");
    let keys = s
        .containers()
        .map(|c| format!("container.seccomp.security.alpha.kubernetes.io/{}", name(c)));
    let keys = keys.chain(["seccomp.security.alpha.kubernetes.io/pod".to_owned()]);
    let forbidden: BTreeSet<String> = keys
        .filter_map(|key| {
            let value = meta::annotation(s.pod, &key).filter(|v| !allowed(v))?;
            Some(format!("{key}={}", go_quote(value)))
        })
        .collect();
    if forbidden.is_empty() {
        return None;
    }
    let word = plural(forbidden.len(), "annotation", "annotations");
    let listed: Vec<String> = forbidden.into_iter().collect();
    fault(
        "seccompProfile",
        format!("forbidden {word} {}", listed.join(", ")),
    )
}

const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn sysctls(s: Subject<'_>) -> Option<Fault> {
    let safe = |name: &str| {
        SYSCTLS
            .iter()
            .any(|(n, since)| *n == name && s.minor >= *since)
    };
    let set = meta::entries(s.pod, "/spec/securityContext/sysctls").map(name);
    let forbidden: Vec<&str> = set.filter(|n| !safe(n)).collect();
    if forbidden.is_empty() {
        return None;
    }
    fault("forbidden sysctls", forbidden.join(", "))
}

pub(super) fn windows_host_process(s: Subject<'_>) -> Option<Fault> {
    let on = |v: Option<&Value>| v == Some(&Value::Bool(true));
    let pod = on(s.spec("/securityContext/windowsOptions/hostProcess"));
    let set = |c: &&Value| on(context(c, "/windowsOptions/hostProcess"));
    let names: Vec<&str> = s.containers().filter(set).map(name).collect();
    if !pod && names.is_empty() {
        return None;
    }
    let who = setters(pod, &names);
    fault(
        "hostProcess",
        format!("{who} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}
