//! ResourceQuotas: what a namespace may use, counted as objects come.
//!
//! [`charge`] is the last step of admission: it refuses a write that would exceed a quota, and
//! gives the new quota statuses to store together with the write. [`recompute`] counts from
//! scratch, for when a quota is made or changed, and when objects go.

pub mod usage;

use crate::resources::{self, Amounts};
use crate::{Cluster, Operation, Review};
use model::{ApiError, Quantity, Timestamp, Value, json, meta};
use std::sync::Arc;
use usage::{Counted, matches_scopes, usage_of};

/// A quota's new status.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaUpdate {
    /// Namespace of the quota.
    pub namespace: String,
    /// Name of the quota.
    pub name: String,
    /// Its `status`, complete.
    pub status: Value,
}

const UNCOUNTED: [(&str, &str); 10] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
];

/// Charges the write to the namespace's quotas; an empty list when none changes or it is a dry run.
pub fn charge(
    review: &Review<'_>,
    cluster: &dyn Cluster,
    now: Timestamp,
) -> Result<Vec<QuotaUpdate>, ApiError> {
    let Some(object) = review.object.filter(|_| handled(review)) else {
        return Ok(Vec::new());
    };
    let quotas = cluster.list("", "resourcequotas", Some(review.namespace));
    if quotas.is_empty() {
        return Ok(Vec::new());
    }
    let counted = Counted::new(&review.gvr.group, &review.gvr.resource);
    let concerned = concerned(review, &counted, object, &quotas)?;
    if concerned.is_empty() {
        return Ok(Vec::new());
    }
    let usage = usage_of(&counted, object, now);
    let negative: Vec<&str> = usage
        .iter()
        .filter(|(_, amount)| amount.is_negative())
        .map(|(name, _)| name.as_str())
        .collect();
    if !negative.is_empty() {
        let why = format!(
            "quota usage is negative for resource(s): {}",
            negative.join(",")
        );
        return Err(review.forbidden(&why));
    }
    let mut updates = Vec::new();
    for quota in concerned {
        let mut delta = usage.clone();
        let before = review.old.filter(|_| review.operation == Operation::Update);
        if let Some(old) = before.filter(|old| matches_scopes(quota, &counted, old)) {
            delta = less(&usage, &usage_of(&counted, old, now));
        }
        updates.extend(charge_one(review, quota, delta)?);
    }
    Ok(if review.dry_run { Vec::new() } else { updates })
}

/// Whether the request can change what quotas count.
fn handled(review: &Review<'_>) -> bool {
    let key = (review.gvr.group.as_str(), review.gvr.resource.as_str());
    if review.namespace.is_empty() || key == ("", "namespaces") || UNCOUNTED.contains(&key) {
        return false;
    }
    let created = review.operation == Operation::Create;
    let updated = review.operation == Operation::Update;
    match (key, review.subresource) {
        (("", "pods"), "resize") => updated,
        (("", "pods"), "") => {
            let deadline = |pod: Option<&Value>| {
                pod.and_then(|p| p.pointer("/spec/activeDeadlineSeconds")?.as_i64())
                    .is_some()
            };
            created || (updated && deadline(review.object) != deadline(review.old))
        }
        (("", "services" | "persistentvolumeclaims"), "") => created || updated,
        (_, "") => created,
        _ => false,
    }
}

/// The quotas that count this object; refuses when one cannot be applied to it.
fn concerned<'a>(
    review: &Review<'_>,
    counted: &Counted,
    object: &Value,
    quotas: &'a [Arc<Value>],
) -> Result<Vec<&'a Value>, ApiError> {
    let mut found = Vec::new();
    for quota in quotas {
        let hard = resources::read(quota.pointer("/status/hard"));
        let watched: Vec<&str> = hard
            .keys()
            .map(String::as_str)
            .filter(|n| counted.counts(n))
            .collect();
        if watched.is_empty() || !matches_scopes(quota, counted, object) {
            continue;
        }
        let name = meta::name(quota);
        if let Some(missing) = counted.missing(&watched, object) {
            return Err(review.forbidden(&format!("failed quota: {name}: {missing}")));
        }
        let used = resources::read(quota.pointer("/status/used"));
        if watched.iter().any(|n| !used.contains_key(*n)) {
            let why = format!(
                "status unknown for quota: {name}, resources: {}",
                watched.join(",")
            );
            return Err(review.forbidden(&why));
        }
        found.push(&**quota);
    }
    Ok(found)
}

fn less(new: &Amounts, old: &Amounts) -> Amounts {
    let mut delta = Amounts::new();
    for (name, amount) in new {
        let rest = old.get(name).map_or(*amount, |held| amount.minus(*held));
        let rest = if rest.is_negative() {
            Quantity::ZERO
        } else {
            rest
        };
        delta.insert(name.clone(), rest);
    }
    delta
}

fn charge_one(
    review: &Review<'_>,
    quota: &Value,
    mut delta: Amounts,
) -> Result<Option<QuotaUpdate>, ApiError> {
    let hard = resources::read(quota.pointer("/status/hard"));
    delta.retain(|name, amount| hard.contains_key(name) && !amount.is_zero());
    if delta.is_empty() {
        return Ok(None);
    }
    let mut used = resources::read(quota.pointer("/status/used"));
    let before = used.clone();
    resources::add(&mut used, &delta);
    let exceeded = |name: &String| used.get(name) > hard.get(name);
    let over: Vec<&String> = delta.keys().filter(|name| exceeded(name)).collect();
    if !over.is_empty() && review.subresource != "status" {
        let only = |amounts: &Amounts| {
            let mut amounts = amounts.clone();
            amounts.retain(|name, _| over.contains(&name));
            resources::show(&amounts)
        };
        return Err(review.forbidden(&format!(
            "exceeded quota: {}, requested: {}, used: {}, limited: {}",
            meta::name(quota),
            only(&delta),
            only(&before),
            only(&hard)
        )));
    }
    Ok(Some(QuotaUpdate {
        namespace: meta::namespace(quota).into(),
        name: meta::name(quota).into(),
        status: json!({"hard": quota.pointer("/status/hard"), "used": texts(&used)}),
    }))
}

fn texts(amounts: &Amounts) -> Value {
    let pairs = amounts.iter();
    pairs
        .map(|(name, amount)| (name.clone(), json!(amount.to_string())))
        .collect()
}

/// The status of a quota, counted from the objects there are.
pub fn recompute(quota: &Value, cluster: &dyn Cluster, now: Timestamp) -> Value {
    let namespace = meta::namespace(quota);
    let hard = resources::read(quota.pointer("/spec/hard"));
    let mut used = Amounts::new();
    for counted in Counted::of_names(hard.keys().map(String::as_str)) {
        for name in hard.keys().filter(|n| counted.counts(n)) {
            used.entry(name.clone()).or_insert(Quantity::ZERO);
        }
        for object in cluster.list(&counted.group, &counted.resource, Some(namespace)) {
            if !matches_scopes(quota, &counted, &object) {
                continue;
            }
            let mut more = usage_of(&counted, &object, now);
            more.retain(|name, _| hard.contains_key(name));
            resources::add(&mut used, &more);
        }
    }
    json!({"hard": quota.pointer("/spec/hard"), "used": texts(&used)})
}

#[cfg(test)]
mod tests;
