//! The rules of the baseline and restricted levels, one function each.
//!
//! Every rule takes a pod or pod template and gives at most one [`Fault`] whose words are those of
//! a real API server, since people search for them.

use super::{Level, Standard, baseline, restricted};
use model::{Value, meta};
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
pub(super) fn fault(reason: &str, detail: String) -> Option<Fault> {
    Some(Fault {
        reason: reason.into(),
        detail,
    })
}

/// A pod with the version of the rules.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) pod: &'a Value,
    pub(super) minor: u32,
}

type Check = fn(Subject<'_>) -> Option<Fault>;

/// All rules of the standard that the pod breaks, in the order a real API server tells them.
pub fn faults(standard: Standard, pod: &Value) -> Vec<Fault> {
    let minor = standard.minor.unwrap_or(u32::MAX);
    // Some restricted rules take the place of baseline ones, from a version on.
    let base: [(Check, u32); 12] = [
        (baseline::app_armor, u32::MAX),
        (baseline::capabilities_baseline, 22),
        (baseline::host_namespaces, u32::MAX),
        (baseline::host_path_volumes, 0),
        (baseline::host_ports, u32::MAX),
        (baseline::host_probes, u32::MAX),
        (baseline::privileged, u32::MAX),
        (baseline::proc_mount_baseline, 35),
        (baseline::selinux, u32::MAX),
        (baseline::seccomp_baseline, 19),
        (baseline::sysctls, u32::MAX),
        (baseline::windows_host_process, u32::MAX),
    ];
    let strict: [Check; 7] = [
        restricted::privilege_escalation,
        restricted::capabilities_restricted,
        restricted::proc_mount_restricted,
        restricted::restricted_volumes,
        restricted::run_as_non_root,
        restricted::run_as_user,
        restricted::seccomp_restricted,
    ];
    let subject = Subject { pod, minor };
    match standard.level {
        Level::Privileged => Vec::new(),
        Level::Baseline => base
            .iter()
            .filter_map(|(check, _)| check(subject))
            .collect(),
        Level::Restricted => {
            let kept = base
                .iter()
                .filter(|(_, replaced)| *replaced == u32::MAX || minor < *replaced);
            let kept = kept.map(|(check, _)| check);
            kept.chain(&strict)
                .filter_map(|check| check(subject))
                .collect()
        }
    }
}

impl<'a> Subject<'a> {
    pub(super) fn spec(self, pointer: &str) -> Option<&'a Value> {
        self.pod
            .get("spec")?
            .pointer(pointer)
            .filter(|v| !v.is_null())
    }

    pub(super) fn containers(self) -> impl Iterator<Item = &'a Value> {
        let lists = [
            "/spec/initContainers",
            "/spec/containers",
            "/spec/ephemeralContainers",
        ];
        lists
            .into_iter()
            .flat_map(move |list| meta::entries(self.pod, list))
    }

    pub(super) fn windows(self) -> bool {
        self.minor >= 25 && self.spec("/os/name").and_then(Value::as_str) == Some("windows")
    }

    pub(super) fn own_user_namespace(self) -> bool {
        self.minor >= 35 && self.spec("/hostUsers") == Some(&Value::Bool(false))
    }
}

pub(super) fn name(container: &Value) -> &str {
    meta::text_at(container, "/name")
}

pub(super) fn context<'a>(container: &'a Value, pointer: &str) -> Option<&'a Value> {
    let context = container.get("securityContext")?;
    context.pointer(pointer).filter(|v| !v.is_null())
}

pub(super) fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<String> = items
        .into_iter()
        .map(|i| format!("\"{}\"", i.as_ref()))
        .collect();
    items.join(", ")
}

pub(super) fn plural<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

pub(super) fn containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural(names.len(), "container", "containers"),
        quoted(names)
    )
}

/// `pod and containers "a", "b"`: who set something.
pub(super) fn setters(pod: bool, names: &[&str]) -> String {
    match (pod, names.is_empty()) {
        (true, true) => "pod".into(),
        (true, false) => format!("pod and {}", containers(names)),
        (false, _) => containers(names),
    }
}

pub(super) fn bad_types<'a>(
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
