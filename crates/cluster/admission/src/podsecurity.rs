//! Pod security standards: namespaces say by label how much a pod may ask of its node.
//!
//! `enforce` refuses pods, `warn` warns about pods and the workloads that make them; `audit` has
//! no effect on the answer. What a level forbids is in [`checks`].

mod baseline;
pub mod checks;
mod restricted;

use crate::{Cluster, Operation, Review, Warnings};
use checks::{Fault, faults};
use model::{ApiError, FieldError, Path, Value, json, meta};
use std::collections::BTreeMap;
use std::fmt;

const PREFIX: &str = "pod-security.kubernetes.io/";
const PODS_MAX: usize = 3000;

/// How much is allowed, from everything to little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    Privileged,
    /// No known privilege escalations.
    Baseline,
    /// Hardened pods only.
    Restricted,
}

/// A level as it was defined in a minor version of Kubernetes; `None` is the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standard {
    /// The level.
    pub level: Level,
    /// The 1.x version whose rules hold.
    pub minor: Option<u32>,
}

impl fmt::Display for Standard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.minor {
            None => write!(f, "{level}:latest"),
            Some(minor) => write!(f, "{level}:v1.{minor}"),
        }
    }
}

/// What a namespace's labels ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Policy {
    enforce: Standard,
    warn: Standard,
}

fn parse_level(text: &str) -> Option<Level> {
    match text {
        "privileged" => Some(Level::Privileged),
        "baseline" => Some(Level::Baseline),
        "restricted" => Some(Level::Restricted),
        _ => None,
    }
}

/// The minor version, `None` for the latest; an error when it is neither.
fn parse_version(text: &str) -> Result<Option<u32>, ()> {
    if text == "latest" {
        return Ok(None);
    }
    let digits = text.strip_prefix("v1.").ok_or(())?;
    let plain = digits == "0" || !digits.starts_with('0');
    if !plain || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(());
    }
    digits.parse().map(Some).map_err(|_| ())
}

fn policy_of(namespace: &Value) -> (Policy, Vec<FieldError>) {
    let open = Standard {
        level: Level::Privileged,
        minor: None,
    };
    let mut policy = Policy {
        enforce: open,
        warn: open,
    };
    let mut faults = Vec::new();
    let mut read = |mode: &str, standard: &mut Standard, broken: Level| {
        let path = Path::new("metadata.labels");
        let (level_label, version_label) =
            (format!("{PREFIX}{mode}"), format!("{PREFIX}{mode}-version"));
        let level = meta::label(namespace, &level_label);
        let parsed = level.map(parse_level);
        if let (Some(None), Some(text)) = (parsed, level) {
            let why = "must be one of privileged, baseline, restricted";
            faults.push(FieldError::invalid(
                &path.key(&level_label),
                &json!(text),
                why,
            ));
        }
        if let Some(level) = parsed {
            standard.level = level.unwrap_or(broken);
        }
        let version = meta::label(namespace, &version_label);
        if let Some(text) = version {
            standard.minor = parse_version(text).unwrap_or_else(|()| {
                let why = r#"must be "latest" or "v1.x""#;
                faults.push(FieldError::invalid(
                    &path.key(&version_label),
                    &json!(text),
                    why,
                ));
                None
            });
        }
        (
            parsed.flatten().is_some(),
            level.is_some(),
            version.is_some(),
        )
    };
    let (enforced, _, _) = read("enforce", &mut policy.enforce, Level::Restricted);
    let mut audit = open;
    read("audit", &mut audit, Level::Privileged);
    let (_, warns, warn_version) = read("warn", &mut policy.warn, Level::Privileged);
    if !warns && enforced && policy.enforce.level > policy.warn.level {
        policy.warn.level = policy.enforce.level;
        if !warn_version {
            policy.warn.minor = policy.enforce.minor;
        }
    }
    (policy, faults)
}

/// Refuses or warns about what the namespace's standard forbids; checks the labels themselves.
pub fn validate(review: &Review<'_>, cluster: &dyn Cluster) -> Result<Warnings, ApiError> {
    let Some(object) = review.object else {
        return Ok(Vec::new());
    };
    if review.is_any("", "namespaces") {
        return validate_namespace(review, object, cluster);
    }
    let pod = review.is_any("", "pods");
    let Some(pointer) = pod.then_some("").or_else(|| template(review)) else {
        return Ok(Vec::new());
    };
    if pod && !concerns(review, object) {
        return Ok(Vec::new());
    }
    let Some(namespace) = cluster.get("", "namespaces", "", review.namespace) else {
        return Ok(Vec::new());
    };
    let (policy, _) = policy_of(&namespace);
    let Some(subject) = object.pointer(pointer).filter(|s| s.get("spec").is_some()) else {
        return Ok(Vec::new());
    };
    if pod {
        let found = faults(policy.enforce, subject);
        if !found.is_empty() {
            let why = format!(
                "violates PodSecurity \"{}\": {}",
                policy.enforce,
                details(&found)
            );
            return Err(review.forbidden(&why));
        }
    }
    let found = faults(policy.warn, subject);
    if found.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "would violate PodSecurity \"{}\": {}",
        policy.warn,
        details(&found)
    )])
}

fn details(faults: &[Fault]) -> String {
    let texts: Vec<String> = faults
        .iter()
        .map(|f| match f.detail.as_str() {
            "" => f.reason.clone(),
            detail => format!("{} ({detail})", f.reason),
        })
        .collect();
    texts.join(", ")
}

fn reasons(faults: &[Fault]) -> String {
    let texts: Vec<&str> = faults.iter().map(|f| f.reason.as_str()).collect();
    texts.join(", ")
}

/// Where a workload keeps its pod template.
fn template(review: &Review<'_>) -> Option<&'static str> {
    if !review.subresource.is_empty() {
        return None;
    }
    match (review.gvr.group.as_str(), review.gvr.resource.as_str()) {
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets")
        | ("batch", "jobs") => Some("/spec/template"),
        ("batch", "cronjobs") => Some("/spec/jobTemplate/spec/template"),
        ("", "podtemplates") => Some("/template"),
        _ => None,
    }
}

/// Whether a write to a pod can change what the standard looks at.
fn concerns(review: &Review<'_>, pod: &Value) -> bool {
    if !matches!(review.subresource, "" | "ephemeralcontainers" | "resize") {
        return false;
    }
    let Some(old) = review.old.filter(|_| review.operation == Operation::Update) else {
        return true;
    };
    let images = |pod: &Value, list: &str| -> Vec<String> {
        let items = meta::entries(pod, list);
        items
            .map(|c| meta::text_at(c, "/image").to_owned())
            .collect()
    };
    let named = |pod: &Value| -> BTreeMap<String, String> {
        let items = meta::entries(pod, "/spec/ephemeralContainers");
        let text = |c: &Value, field: &str| meta::text_at(c, field).to_owned();
        items
            .map(|c| (text(c, "/name"), text(c, "/image")))
            .collect()
    };
    let lists = ["/spec/containers", "/spec/initContainers"];
    let held = named(old);
    lists
        .iter()
        .any(|list| images(pod, list) != images(old, list))
        || named(pod)
            .iter()
            .any(|(name, image)| held.get(name) != Some(image))
}

fn validate_namespace(
    review: &Review<'_>,
    namespace: &Value,
    cluster: &dyn Cluster,
) -> Result<Warnings, ApiError> {
    if !review.subresource.is_empty() {
        return Ok(Vec::new());
    }
    let (policy, faults) = policy_of(namespace);
    let before = review.old.map(policy_of);
    let known = before.as_ref().is_some_and(|(_, held)| *held == faults);
    if !faults.is_empty() && !known {
        return Err(ApiError::invalid(
            review.gvk,
            meta::name(namespace),
            &faults,
        ));
    }
    let Some((before, _)) = before else {
        return Ok(Vec::new());
    };
    let (new, old) = (policy.enforce, before.enforce);
    let looser = new.minor == old.minor && new.level <= old.level;
    if new.level == Level::Privileged || looser {
        return Ok(Vec::new());
    }
    Ok(existing_pods(meta::name(namespace), new, cluster))
}

fn existing_pods(namespace: &str, standard: Standard, cluster: &dyn Cluster) -> Warnings {
    let pods = cluster.list("", "pods", Some(namespace));
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for pod in pods.iter().take(PODS_MAX) {
        let faults = faults(standard, pod);
        if !faults.is_empty() {
            found
                .entry(reasons(&faults))
                .or_default()
                .push(meta::name(pod));
        }
    }
    let mut warnings = Vec::new();
    if pods.len() > PODS_MAX {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {PODS_MAX} of {} existing pods",
            pods.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{standard}\""
        ));
    }
    let mut lines: Vec<String> = found
        .iter()
        .map(|(why, names)| pod_line(why, names))
        .collect();
    lines.sort();
    warnings.extend(lines);
    warnings
}

fn pod_line(why: &str, names: &[&str]) -> String {
    let first = names.iter().min().copied().unwrap_or("");
    match names.len() {
        1 => format!("{first}: {why}"),
        2 => format!("{first} (and 1 other pod): {why}"),
        more => format!("{first} (and {} other pods): {why}", more - 1),
    }
}

#[cfg(test)]
mod tests;
