//! The rules of the baseline and restricted levels, one function each.
//!
//! Every rule takes a pod or pod template and gives at most one [`Fault`] whose words are those of
//! a real API server, since people search for them.

use super::{Level, Standard};
use model::{Value, field::go_quote, meta};
use std::collections::BTreeSet;

/// One rule that a pod breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule in short.
    pub reason: String,
    /// What breaks it and how to set it right.
    pub detail: String,
}

#[expect(clippy::unnecessary_wraps, reason = "every rule ends with it")]
fn fault(reason: &str, detail: String) -> Option<Fault> {
    Some(Fault {
        reason: reason.into(),
        detail,
    })
}

/// A pod with the version of the rules.
#[derive(Clone, Copy)]
struct Subject<'a> {
    pod: &'a Value,
    minor: u32,
}

type Check = fn(Subject<'_>) -> Option<Fault>;

/// All rules of the standard that the pod breaks, in the order a real API server tells them.
pub fn faults(standard: Standard, pod: &Value) -> Vec<Fault> {
    let minor = standard.minor.unwrap_or(u32::MAX);
    // Some restricted rules take the place of baseline ones, from a version on.
    let baseline: [(Check, u32); 12] = [
        (app_armor, u32::MAX),
        (capabilities_baseline, 22),
        (host_namespaces, u32::MAX),
        (host_path_volumes, 0),
        (host_ports, u32::MAX),
        (host_probes, u32::MAX),
        (privileged, u32::MAX),
        (proc_mount_baseline, 35),
        (selinux, u32::MAX),
        (seccomp_baseline, 19),
        (sysctls, u32::MAX),
        (windows_host_process, u32::MAX),
    ];
    let restricted: [Check; 7] = [
        privilege_escalation,
        capabilities_restricted,
        proc_mount_restricted,
        restricted_volumes,
        run_as_non_root,
        run_as_user,
        seccomp_restricted,
    ];
    let subject = Subject { pod, minor };
    match standard.level {
        Level::Privileged => Vec::new(),
        Level::Baseline => baseline
            .iter()
            .filter_map(|(check, _)| check(subject))
            .collect(),
        Level::Restricted => {
            let kept = baseline
                .iter()
                .filter(|(_, replaced)| *replaced == u32::MAX || minor < *replaced);
            let kept = kept.map(|(check, _)| check);
            kept.chain(&restricted)
                .filter_map(|check| check(subject))
                .collect()
        }
    }
}

impl<'a> Subject<'a> {
    fn spec(self, pointer: &str) -> Option<&'a Value> {
        self.pod
            .get("spec")?
            .pointer(pointer)
            .filter(|v| !v.is_null())
    }

    fn containers(self) -> impl Iterator<Item = &'a Value> {
        let lists = [
            "/spec/initContainers",
            "/spec/containers",
            "/spec/ephemeralContainers",
        ];
        lists
            .into_iter()
            .flat_map(move |list| meta::entries(self.pod, list))
    }

    fn windows(self) -> bool {
        self.minor >= 25 && self.spec("/os/name").and_then(Value::as_str) == Some("windows")
    }

    fn own_user_namespace(self) -> bool {
        self.minor >= 35 && self.spec("/hostUsers") == Some(&Value::Bool(false))
    }
}

fn name(container: &Value) -> &str {
    meta::text_at(container, "/name")
}

fn context<'a>(container: &'a Value, pointer: &str) -> Option<&'a Value> {
    let context = container.get("securityContext")?;
    context.pointer(pointer).filter(|v| !v.is_null())
}

fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<String> = items
        .into_iter()
        .map(|i| format!("\"{}\"", i.as_ref()))
        .collect();
    items.join(", ")
}

fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural(names.len(), "container", "containers"),
        quoted(names)
    )
}

/// `pod and containers "a", "b"`: who set something.
fn setters(pod: bool, names: &[&str]) -> String {
    match (pod, names.is_empty()) {
        (true, true) => "pod".into(),
        (true, false) => format!("pod and {}", containers(names)),
        (false, _) => containers(names),
    }
}

fn bad_types<'a>(
    s: Subject<'a>,
    pointer: &str,
    good: &[&str],
) -> (bool, Vec<&'a str>, BTreeSet<&'a str>) {
    let mut values = BTreeSet::new();
    let mut bad = |value: Option<&'a Value>| {
        let value = value.map(|v| v.as_str().unwrap_or(""));
        let Some(value) = value.filter(|v| !good.contains(v)) else {
            return false;
        };
        values.insert(value);
        true
    };
    let pod = bad(s.spec(&format!("/securityContext{pointer}")));
    let names = s
        .containers()
        .filter(|c| bad(context(c, pointer)))
        .map(name)
        .collect();
    (pod, names, values)
}

fn app_armor(s: Subject<'_>) -> Option<Fault> {
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

fn added<'a>(s: Subject<'a>, good: &[&str]) -> (Vec<&'a str>, BTreeSet<&'a str>) {
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

fn added_detail(names: &[&str], values: BTreeSet<&str>) -> String {
    format!(
        "{} must not include {} in securityContext.capabilities.add",
        containers(names),
        quoted(values)
    )
}

fn capabilities_baseline(s: Subject<'_>) -> Option<Fault> {
    let (names, values) = added(s, &DEFAULT_CAPABILITIES);
    if names.is_empty() {
        return None;
    }
    fault("non-default capabilities", added_detail(&names, values))
}

fn capabilities_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 22 || s.windows() {
        return None;
    }
    let drops_all = |c: &Value| {
        let mut dropped = meta::entries(c, "/securityContext/capabilities/drop");
        dropped.any(|c| c.as_str() == Some("ALL"))
    };
    let keeping: Vec<&str> = s.containers().filter(|c| !drops_all(c)).map(name).collect();
    let (adding, values) = added(s, &["NET_BIND_SERVICE"]);
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details.push(format!(
            "{} must set securityContext.capabilities.drop=[\"ALL\"]",
            containers(&keeping)
        ));
    }
    if !adding.is_empty() {
        details.push(added_detail(&adding, values));
    }
    if details.is_empty() {
        return None;
    }
    fault("unrestricted capabilities", details.join("; "))
}

fn host_namespaces(s: Subject<'_>) -> Option<Fault> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let used = fields.filter(|f| s.spec(&format!("/{f}")) == Some(&Value::Bool(true)));
    let used: Vec<String> = used.map(|f| format!("{f}=true")).collect();
    if used.is_empty() {
        return None;
    }
    fault("host namespaces", used.join(", "))
}

fn host_path_volumes(s: Subject<'_>) -> Option<Fault> {
    let volumes = meta::entries(s.pod, "/spec/volumes");
    let volumes = volumes.filter(|v| v.get("hostPath").is_some_and(|h| !h.is_null()));
    let names: Vec<&str> = volumes.map(name).collect();
    if names.is_empty() {
        return None;
    }
    let word = plural(names.len(), "volume", "volumes");
    fault("hostPath volumes", format!("{word} {}", quoted(names)))
}

fn host_ports(s: Subject<'_>) -> Option<Fault> {
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

fn host_probes(s: Subject<'_>) -> Option<Fault> {
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

fn privileged(s: Subject<'_>) -> Option<Fault> {
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

fn proc_mount(s: Subject<'_>) -> Option<Fault> {
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

fn proc_mount_baseline(s: Subject<'_>) -> Option<Fault> {
    if s.own_user_namespace() {
        None
    } else {
        proc_mount(s)
    }
}

fn proc_mount_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor >= 35 { proc_mount(s) } else { None }
}

fn selinux(s: Subject<'_>) -> Option<Fault> {
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

fn seccomp_explicit(s: Subject<'_>) -> Option<Fault> {
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

fn seccomp_baseline(s: Subject<'_>) -> Option<Fault> {
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

fn seccomp_restricted(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 19 || s.windows() {
        return None;
    }
    if let Some(explicit) = seccomp_explicit(s) {
        return Some(explicit);
    }
    if s.spec("/securityContext/seccompProfile").is_some() {
        return None;
    }
    let unset = |c: &&Value| context(c, "/seccompProfile").is_none();
    let names: Vec<&str> = s.containers().filter(unset).map(name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        containers(&names)
    );
    fault("seccompProfile", detail)
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

fn sysctls(s: Subject<'_>) -> Option<Fault> {
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

fn windows_host_process(s: Subject<'_>) -> Option<Fault> {
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

fn privilege_escalation(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 8 || s.windows() {
        return None;
    }
    let open = |c: &&Value| context(c, "/allowPrivilegeEscalation") != Some(&Value::Bool(false));
    let names: Vec<&str> = s.containers().filter(open).map(name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        containers(&names)
    );
    fault("allowPrivilegeEscalation != false", detail)
}

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
const OTHER_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

fn restricted_volumes(s: Subject<'_>) -> Option<Fault> {
    let mut names = Vec::new();
    let mut types = BTreeSet::new();
    for volume in meta::entries(s.pod, "/spec/volumes") {
        let is = |kind: &&&str| volume.get(**kind).is_some_and(|v| !v.is_null());
        if VOLUMES.iter().any(|kind| is(&kind)) {
            continue;
        }
        names.push(name(volume));
        types.insert(OTHER_VOLUMES.iter().find(is).copied().unwrap_or("unknown"));
    }
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} {} {} {} {}",
        plural(names.len(), "volume", "volumes"),
        quoted(&names),
        plural(names.len(), "uses", "use"),
        plural(
            types.len(),
            "restricted volume type",
            "restricted volume types"
        ),
        quoted(types)
    );
    fault("restricted volume types", detail)
}

fn run_as_non_root(s: Subject<'_>) -> Option<Fault> {
    if s.own_user_namespace() {
        return None;
    }
    let reason = "runAsNonRoot != true";
    let held = s
        .spec("/securityContext/runAsNonRoot")
        .and_then(Value::as_bool);
    let own = |c: &Value| context(c, "/runAsNonRoot").and_then(Value::as_bool);
    let explicit: Vec<&str> = s
        .containers()
        .filter(|c| own(c) == Some(false))
        .map(name)
        .collect();
    if held == Some(false) || !explicit.is_empty() {
        let who = setters(held == Some(false), &explicit);
        return fault(
            reason,
            format!("{who} must not set securityContext.runAsNonRoot=false"),
        );
    }
    if held == Some(true) {
        return None;
    }
    let implicit: Vec<&str> = s
        .containers()
        .filter(|c| own(c).is_none())
        .map(name)
        .collect();
    if implicit.is_empty() {
        return None;
    }
    fault(
        reason,
        format!(
            "pod or {} must set securityContext.runAsNonRoot=true",
            containers(&implicit)
        ),
    )
}

fn run_as_user(s: Subject<'_>) -> Option<Fault> {
    if s.minor < 23 || s.own_user_namespace() {
        return None;
    }
    let root = |v: Option<&Value>| v.and_then(Value::as_i64) == Some(0);
    let pod = root(s.spec("/securityContext/runAsUser"));
    let names: Vec<&str> = s
        .containers()
        .filter(|c| root(context(c, "/runAsUser")))
        .map(name)
        .collect();
    if !pod && names.is_empty() {
        return None;
    }
    fault(
        "runAsUser=0",
        format!("{} must not set runAsUser=0", setters(pod, &names)),
    )
}
