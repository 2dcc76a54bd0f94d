//! Warns about pods that are accepted but probably not what was meant.

use super::spec::each_container;
use crate::fault::Spot;
use crate::fields::{entries, get, has, is_empty, list, number, text, texts};
use model::{Quantity, Value, field::go_quote, meta, names};

const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

const VOLUMES: [(&str, &str, &str); 10] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "flocker",
        "flocker",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "quobyte",
        "quobyte",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    ("ephemeral", "", ""),
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "rbd",
        "rbd",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
];

/// Why a label of nodes should not be used any more.
pub(crate) fn deprecated_label(key: &str) -> Option<&'static str> {
    Some(match key {
        "beta.kubernetes.io/arch" => "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
        "beta.kubernetes.io/os" => "deprecated since v1.14; use \"kubernetes.io/os\" instead",
        "failure-domain.beta.kubernetes.io/region" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"
        }
        "beta.kubernetes.io/instance-type" => {
            "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"
        }
        "app.kubernetes.io/created-by" => "deprecated since v1.9",
        "scheduler.alpha.kubernetes.io/preferAvoidPods" => {
            "deprecated since v1.22; use Taints and Tolerations instead"
        }
        "node-role.kubernetes.io/master" => "use \"node-role.kubernetes.io/control-plane\" instead",
        _ => return None,
    })
}

/// The warning about a name that becomes part of host names.
pub(crate) fn host_name(object: &Value, used: &str, out: &mut Vec<String>) {
    let found = names::dns1123_label(meta::name(object));
    if !found.is_empty() {
        out.push(format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS \
             label is recommended: [{}]",
            found.join(" ")
        ));
    }
}

/// Warns about a pod.
pub(crate) fn pod(new: &Value, old: Option<&Value>, out: &mut Vec<String>) {
    if old.is_none() {
        host_name(new, "the Pod's hostname", out);
        all(new, None, out);
    }
}

/// Warns about a pod template.
pub(crate) fn template(new: &Value, _: Option<&Value>, spot: &Spot<'_>, out: &mut Vec<String>) {
    all(new, Some(spot), out);
}

fn below<'a>(prefix: Option<&'a Spot<'a>>, name: &'a str) -> Spot<'a> {
    prefix.map_or_else(|| Spot::of(name), |prefix| prefix.child(name))
}

fn all(owner: &Value, prefix: Option<&Spot<'_>>, out: &mut Vec<String>) {
    let spec = get(owner, "spec");
    let spot = &below(prefix, "spec");
    let notes = &below(prefix, "metadata.annotations");
    let annotations = get(get(owner, "metadata"), "annotations");
    warn_labels(spec, spot, out);
    for (key, message) in ANNOTATIONS {
        if has(annotations, key) {
            out.push(format!("{}: {message}", notes.key(key).path()));
        }
    }
    warn_volumes(spec, spot, out);
    warn_doubles(spec, spot, out);
    warn_fractions(get(spec, "overhead"), &spot.child("overhead"), out);
    let profile = get(get(spec, "securityContext"), "seccompProfile");
    let key = "seccomp.security.alpha.kubernetes.io/pod";
    if profile.is_null() && has(annotations, key) {
        out.push(format!(
            "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
            notes.key(key).path()
        ));
    }
    each_container(spec, spot, |container, spot| {
        warn_notes(container, annotations, prefix.is_some(), spec, notes, out);
        for field in ["limits", "requests"] {
            let at = &spot.child("resources");
            let amounts = get(get(container, "resources"), field);
            warn_fraction(amounts, "memory", &at.child(field), out);
        }
        for field in ["limits", "requests"] {
            let at = &spot.child("resources");
            let amounts = get(get(container, "resources"), field);
            warn_fraction(amounts, "ephemeral-storage", &at.child(field), out);
        }
        warn_variables(container, &spot.child("env"), out);
    });
    warn_ports(spec, spot, out);
    if number(spec, "terminationGracePeriodSeconds") < 0 {
        out.push(format!(
            "{}: must be >= 0; negative values are invalid and will be treated as 1",
            spot.child("terminationGracePeriodSeconds").path()
        ));
    }
    warn_affinity(spec, spot, out);
    for (index, server) in texts(get(spec, "dnsConfig"), "nameservers").enumerate() {
        let at = &spot.child("dnsConfig.nameservers");
        address(server, &at.index(index), out);
    }
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let at = &spot.child("hostAliases");
        let at = &at.index(index);
        address(text(alias, "ip"), &at.child("ip"), out);
    }
}

/// Warns about an address that is not written as it should be.
pub(crate) fn address(value: &str, spot: &Spot<'_>, out: &mut Vec<String>) {
    let Some(ip) = crate::syntax::plain_ip(value) else {
        return;
    };
    let strict = value.parse::<std::net::IpAddr>();
    match strict {
        Ok(std::net::IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_none() => {
            if v6.to_string() != value {
                out.push(format!(
                    "{}: IPv6 address {} should be in RFC 5952 canonical format (\"{v6}\")",
                    spot.path(),
                    go_quote(value)
                ));
            }
        }
        Ok(std::net::IpAddr::V4(_)) => {}
        _ => out.push(format!(
            "{}: non-standard IP address {} is invalid: use \"{ip}\"",
            spot.path(),
            go_quote(value)
        )),
    }
}

fn warn_labels(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    for (key, _) in entries(spec, "nodeSelector") {
        if let Some(message) = deprecated_label(key) {
            let at = &spot.child("nodeSelector");
            out.push(format!("{}: {message}", at.key(key).path()));
        }
    }
    let node = get(get(spec, "affinity"), "nodeAffinity");
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let at = &spot.child("affinity.nodeAffinity");
    for (index, term) in list(get(node, required), "nodeSelectorTerms")
        .iter()
        .enumerate()
    {
        let at = &at.child(required);
        let at = &at.child("nodeSelectorTerms");
        warn_term(term, false, &at.index(index), out);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (index, term) in list(node, preferred).iter().enumerate() {
        let at = &at.child(preferred);
        let at = &at.index(index);
        warn_term(get(term, "preference"), true, &at.child("preference"), out);
    }
    for (index, constraint) in list(spec, "topologySpreadConstraints").iter().enumerate() {
        let at = &spot.child("topologySpreadConstraints");
        let at = &at.index(index);
        let key = text(constraint, "topologyKey");
        if let Some(message) = deprecated_label(key) {
            let at = at.child("topologyKey").path();
            out.push(format!("{at}: {key} is {message}"));
        }
        if !has(constraint, "labelSelector") {
            let at = at.child("labelSelector").path();
            out.push(format!(
                "{at}: a null labelSelector results in matching no pod"
            ));
        }
    }
}

fn warn_term(term: &Value, values: bool, spot: &Spot<'_>, out: &mut Vec<String>) {
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        let at = &spot.child("matchExpressions");
        let at = &at.index(index);
        let key = text(expression, "key");
        if let Some(message) = deprecated_label(key) {
            out.push(format!("{}: {key} is {message}", at.child("key").path()));
        }
        for (index, value) in texts(expression, "values").enumerate().filter(|_| values) {
            let at = &at.child("values");
            for fault in names::label_value(value) {
                let at = at.index(index).path();
                out.push(format!("{at}: {value} is invalid, {fault}"));
            }
        }
    }
}

fn warn_volumes(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let at = &spot.child("volumes");
        let at = &at.index(index);
        for (field, shown, message) in VOLUMES.iter().filter(|(field, ..)| has(volume, field)) {
            if *field == "ephemeral" {
                let claim = get(get(volume, "ephemeral"), "volumeClaimTemplate");
                let at = &at.child("ephemeral.volumeClaimTemplate.spec");
                claim_sizes(get(claim, "spec"), at, out);
            } else {
                out.push(format!("{}: {message}", at.child(shown).path()));
            }
        }
    }
    warn_overlaps(spec, out);
}

fn warn_overlaps(spec: &Value, out: &mut Vec<String>) {
    for volume in list(spec, "volumes") {
        let name = go_quote(text(volume, "name"));
        for (field, kind, named) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let source = get(volume, field);
            let about = if named.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind} {}", go_quote(text(source, named)))
            };
            let mut seen = Vec::new();
            for item in list(source, "items") {
                let path = (text(item, "path").trim_end_matches('/'), String::new());
                overlaps(&mut seen, path, &name, &about, out);
            }
        }
        let mut seen = Vec::new();
        for source in list(get(volume, "projected"), "sources") {
            if source
                .as_object()
                .is_none_or(|map| map.values().all(Value::is_null))
            {
                out.push(format!("volume {name} (Projected) has no sources provided"));
                continue;
            }
            for (path, about) in projected_paths(source) {
                let path = (path.trim_end_matches('/'), about);
                overlaps(&mut seen, path, &name, "Projected", out);
            }
        }
    }
}

fn projected_paths(source: &Value) -> Vec<(&str, String)> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        if has(source, field) {
            let part = get(source, field);
            let about = format!("{kind} {}", go_quote(text(part, "name")));
            return list(part, "items")
                .iter()
                .map(|item| (text(item, "path"), about.clone()))
                .collect();
        }
    }
    if has(source, "downwardAPI") {
        return list(get(source, "downwardAPI"), "items")
            .iter()
            .map(|item| (text(item, "path"), "DownwardAPI".into()))
            .collect();
    }
    if has(source, "serviceAccountToken") {
        let path = text(get(source, "serviceAccountToken"), "path");
        return vec![(path, "ServiceAccountToken".into())];
    }
    Vec::new()
}

type Placed<'a> = (&'a str, String);

fn overlaps<'a>(
    seen: &mut Vec<Placed<'a>>,
    new: Placed<'a>,
    volume: &str,
    about: &str,
    out: &mut Vec<String>,
) {
    let show = |(path, source): &Placed<'_>| {
        if source.is_empty() {
            go_quote(path)
        } else {
            format!("{} ({source})", go_quote(path))
        }
    };
    let inside = |a: &str, b: &str| a == b || (a.starts_with(b) && a[b.len()..].starts_with('/'));
    for other in seen.iter() {
        let meets = !new.0.is_empty()
            && !other.0.is_empty()
            && (inside(other.0, new.0) || inside(new.0, other.0));
        if meets {
            out.push(format!(
                "volume {volume} ({about}): overlapping paths: {} with {}",
                show(&new),
                show(other)
            ));
        }
    }
    seen.push(new);
}

fn warn_doubles(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    for (field, key) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen: Vec<&str> = Vec::new();
        for (index, item) in list(spec, field).iter().enumerate() {
            let value = text(item, key);
            if seen.contains(&value) {
                let at = &spot.child(field);
                let at = &at.index(index);
                let at = at.child(key).path();
                out.push(format!("{at}: duplicate {key} {}", go_quote(value)));
            }
            seen.push(value);
        }
    }
    for (index, secret) in list(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let at = &spot.child("imagePullSecrets");
            let at = &at.index(index);
            let at = at.child("name").path();
            out.push(format!("{at}: invalid empty name \"\""));
        }
    }
}

fn warn_fractions(amounts: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    warn_fraction(amounts, "memory", spot, out);
    warn_fraction(amounts, "ephemeral-storage", spot, out);
}

fn warn_fraction(amounts: &Value, name: &str, spot: &Spot<'_>, out: &mut Vec<String>) {
    let Some(amount) = amounts.get(name).and_then(Quantity::from_json) else {
        return;
    };
    if amount.milli_value() % 1000 != 0 {
        out.push(format!(
            "{}: fractional byte value {} is invalid, must be an integer",
            spot.key(name).path(),
            go_quote(&amount.to_string())
        ));
    }
}

/// Warns about a claim for a fraction of a byte.
pub(crate) fn claim_sizes(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    let at = &spot.child("resources");
    for field in ["requests", "limits"] {
        let amounts = get(get(spec, "resources"), field);
        warn_fraction(amounts, "storage", &at.child(field), out);
    }
}

fn warn_notes(
    container: &Value,
    annotations: &Value,
    is_template: bool,
    spec: &Value,
    spot: &Spot<'_>,
    out: &mut Vec<String>,
) {
    if is_empty(annotations) {
        return;
    }
    let (name, context) = (text(container, "name"), get(container, "securityContext"));
    let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
    if !has(context, "seccompProfile") && has(annotations, &key) {
        out.push(format!(
            "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
            spot.key(&key).path()
        ));
    }
    let key = format!("container.apparmor.security.beta.kubernetes.io/{name}");
    let whole = get(get(spec, "securityContext"), "appArmorProfile");
    if is_template && !has(context, "appArmorProfile") && has(annotations, &key) && whole.is_null()
    {
        out.push(format!(
            "{}: deprecated since v1.30; use the \"appArmorProfile\" field instead",
            spot.key(&key).path()
        ));
    }
}

fn warn_variables(container: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, variable) in list(container, "env").iter().enumerate() {
        let name = text(variable, "name");
        if !seen.contains(&name) {
            seen.push(name);
            continue;
        }
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        let extends =
            !has(variable, "valueFrom") && value != reference && value.contains(&reference);
        if !extends {
            out.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                spot.index(index).path(),
                go_quote(name)
            ));
        }
    }
}

fn warn_ports(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    let mut all: Vec<(String, &Value)> = Vec::new();
    each_container(spec, spot, |container, spot| {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let at = &spot.child("ports");
            all.push((at.index(index).path().to_string(), port));
        }
    });
    for (index, (at, port)) in all.iter().enumerate() {
        if !text(port, "hostIP").is_empty() && number(port, "hostPort") == 0 {
            out.push(format!(
                "{at}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} \
                 Protocol:{} HostIP:{}}}",
                text(port, "name"),
                number(port, "containerPort"),
                text(port, "protocol"),
                text(port, "hostIP")
            ));
        }
        for (other_at, other) in &all[..index] {
            if let Some(how) = clash(port, other) {
                out.push(format!("{at}: {how} port definition with {other_at}"));
            }
        }
    }
    for (index, (at, port)) in all.iter().enumerate() {
        let name = text(port, "name");
        let first = all[..index].iter().find(|(_, p)| text(p, "name") == name);
        if let Some((other, _)) = first.filter(|_| !name.is_empty()) {
            out.push(format!(
                "{at}: duplicate port name {} with {other}, services and probes that select ports \
                 by name will use {other}",
                go_quote(name)
            ));
        }
    }
}

fn clash(port: &Value, other: &Value) -> Option<&'static str> {
    let same_port = number(port, "containerPort") == number(other, "containerPort")
        && text(port, "protocol") == text(other, "protocol");
    if !same_port {
        return None;
    }
    let (ip, other_ip) = (text(port, "hostIP"), text(other, "hostIP"));
    let (host, other_host) = (number(port, "hostPort"), number(other, "hostPort"));
    if ip == other_ip && host == other_host {
        Some("duplicate")
    } else if host == 0 || other_host == 0 {
        Some("overlapping")
    } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn warn_affinity(spec: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    let affinity = get(spec, "affinity");
    for side in ["podAffinity", "podAntiAffinity"] {
        for (field, inner) in [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                "podAffinityTerm",
            ),
        ] {
            for (index, term) in list(get(affinity, side), field).iter().enumerate() {
                let (term, last) = if inner.is_empty() {
                    (term, "labelSelector")
                } else {
                    (get(term, inner), "podAffinityTerm.labelSelector")
                };
                if !has(term, "labelSelector") {
                    let at = &spot.child("affinity");
                    let at = &at.child(side);
                    let at = &at.child(field);
                    let at = &at.index(index);
                    out.push(format!(
                        "{}: a null labelSelector results in matching no pod",
                        at.child(last).path()
                    ));
                }
            }
        }
    }
}
