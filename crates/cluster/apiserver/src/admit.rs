//! Runs a write past the cluster's own rules: plugins, policies, webhooks, quotas.

use crate::handle::{Call, Stop};
use crate::registry::untyped;
use crate::state::key_of;
use crate::write::{suffix, uuid};
pub(crate) use admission::Operation;
use admission::webhook::{self, Step};
use admission::{Host, Review};
use model::{ApiError, GroupVersionKind, GroupVersionResource, Value, json, meta};
use store::Change;

/// Lets plugins and mutating webhooks change the object to be stored.
pub(crate) fn mutate(
    call: &mut Call<'_>,
    operation: Operation,
    object: &mut Value,
    old: Option<&Value>,
    entropy: &mut dyn FnMut() -> u64,
) -> Result<(), Stop> {
    let options = options(call, operation);
    let seed = entropy();
    let mut warnings = {
        let review = review(call, operation, None, old, &options);
        admission::mutate(&review, object, call.state, &mut || suffix(seed))?
    };
    if call.state.has_webhooks() {
        let managed = object.pointer("/metadata/managedFields").cloned();
        let before = object.clone();
        let review = review(call, operation, Some(&before), old, &options);
        let host = Lender {
            call,
            review: &review,
            seed,
        };
        match webhook::mutating(&review, object, call.state, &host, call.answers)? {
            Step::Call(calls) => return Err(Stop::Ask(calls)),
            Step::Done(more) => warnings.extend(more),
        }
        restore_managed(object, managed);
    }
    call.warnings.extend(warnings);
    Ok(())
}

// What webhooks change is not theirs to own, and ownership is not theirs to change.
fn restore_managed(object: &mut Value, managed: Option<Value>) {
    let metadata = meta::metadata_mut(object);
    match managed {
        Some(managed) => metadata.insert("managedFields".into(), managed),
        None => metadata.remove("managedFields"),
    };
}

/// Lets plugins, policies, webhooks and quotas refuse; returns what else must be stored.
pub(crate) fn validate(
    call: &mut Call<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Vec<Change>, Stop> {
    let options = options(call, operation);
    let review = review(call, operation, object, old, &options);
    let host = Lender {
        call,
        review: &review,
        seed: 0,
    };
    if operation == Operation::Delete {
        admission::mutate(&review, &mut Value::Null, call.state, &mut String::new)?;
        if call.state.has_webhooks() {
            let mutating =
                webhook::mutating(&review, &mut Value::Null, call.state, &host, call.answers)?;
            if let Step::Call(calls) = mutating {
                return Err(Stop::Ask(calls));
            }
        }
    }
    escalation(call, operation, object, old)?;
    let mut warnings = admission::validate(&review, call.state)?;
    if call.state.has_policies() {
        warnings.extend(admission::policy::validate(&review, call.state, &host)?);
    }
    if call.state.has_webhooks() {
        match webhook::validating(&review, call.state, &host, call.answers)? {
            Step::Call(calls) => return Err(Stop::Ask(calls)),
            Step::Done(more) => warnings.extend(more),
        }
    }
    let changes = charge(call, &review)?;
    call.warnings.extend(warnings);
    Ok(changes)
}

// Nobody can grant what they do not hold.
fn escalation(
    call: &Call<'_>,
    operation: Operation,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let gvr = &call.resource.gvr;
    let (true, Some(object)) = (gvr.group == "rbac.authorization.k8s.io", object) else {
        return Ok(());
    };
    let write = access::escalation::Write {
        user: call.user,
        resource: &gvr.resource,
        namespace: &call.target.namespace,
        name: &call.target.name,
        object,
        old: old.filter(|_| operation == Operation::Update),
    };
    access::escalation::check(&call.state.rbac, &write)
}

/// What webhooks and policies borrow from the API server.
struct Lender<'a, 'b> {
    call: &'a Call<'b>,
    review: &'a Review<'a>,
    seed: u64,
}

impl Host for Lender<'_, '_> {
    fn evaluate(&self, expression: &str, variables: &[(&str, &Value)]) -> Result<Value, String> {
        expression::Program::compile(expression)?.eval(variables)
    }

    fn json_patch(&self, object: &Value, patch: &Value) -> Result<Value, String> {
        merge::json_patch(object.clone(), patch).map_err(|error| error.to_string())
    }

    // The same call of the same request has the same uid however often the request is handled.
    fn uid(&self, key: &str) -> String {
        let mut text = format!(
            "{key}|{}|{}|{}",
            self.call.now.micros(),
            self.review.name,
            self.seed
        );
        text.push_str(&self.call.request.path);
        let mut words = crate::hash::words(text.as_bytes()).into_iter();
        uuid(&mut || words.next().unwrap_or_default())
    }

    fn resource_of(&self, gvk: &GroupVersionKind) -> Option<(GroupVersionResource, bool)> {
        let found = self.call.state.registry.find_kind(gvk)?;
        Some((found.gvr.clone(), found.namespaced))
    }

    fn equivalents(
        &self,
        gvr: &GroupVersionResource,
        subresource: &str,
    ) -> Vec<(GroupVersionResource, GroupVersionKind)> {
        let registry = &self.call.state.registry;
        let Some(own) = registry.find(&gvr.group, &gvr.version, &gvr.resource) else {
            return Vec::new();
        };
        let same = registry
            .resources()
            .iter()
            .filter(|r| r.storage == own.storage);
        let kind = |r: &crate::ResourceType| match r.subresource(subresource) {
            Some(sub) => sub.gvk.clone(),
            None => r.gvk.clone(),
        };
        same.map(|r| (r.gvr.clone(), kind(r))).collect()
    }

    fn convert(&self, object: &Value, to: &GroupVersionKind) -> Result<Value, String> {
        let from = meta::gvk(object).ok_or("the object has no apiVersion and kind")?;
        let mut converted = object.clone();
        crate::convert::convert(&mut converted, &from, to);
        Ok(converted)
    }

    fn settle(&self, object: &mut Value) -> Result<(), ApiError> {
        crate::decode::renormalize(&self.call.resource, object).map(|_| ())
    }

    fn mutate_again(&self, object: &mut Value) -> Result<(), ApiError> {
        let seed = self.seed;
        admission::mutate(self.review, object, self.call.state, &mut || suffix(seed)).map(|_| ())
    }
}

// What the write takes from its namespace's quotas, as their new status.
fn charge(call: &Call<'_>, review: &Review<'_>) -> Result<Vec<Change>, Stop> {
    if !call.state.has_quota(review.namespace) || review.operation == Operation::Delete {
        return Ok(Vec::new());
    }
    let charged = admission::quota::charge(review, call.state, call.now)?;
    let Some(kind) = call.state.registry.find("", "v1", "resourcequotas") else {
        return Ok(Vec::new());
    };
    let put = |update: admission::quota::QuotaUpdate| {
        let mut quota = call.state.get(kind, &update.namespace, &update.name)?;
        quota["status"] = update.status;
        let key = key_of(kind, &update.namespace, &update.name);
        Some(Change::Put {
            key,
            body: untyped(quota),
        })
    };
    Ok(charged.into_iter().filter_map(put).collect())
}

fn review<'a>(
    call: &'a Call<'_>,
    operation: Operation,
    object: Option<&'a Value>,
    old: Option<&'a Value>,
    options: &'a Value,
) -> Review<'a> {
    let shown = object.or(old);
    let name = if call.target.name.is_empty() {
        shown.map_or("", meta::name)
    } else {
        &call.target.name
    };
    let own = call.resource.gvk.kind == "Namespace" && call.resource.gvk.group.is_empty();
    let namespace = if own {
        name
    } else {
        call.target.namespace.as_str()
    };
    Review {
        operation,
        gvk: &call.resource.gvk,
        gvr: &call.resource.gvr,
        subresource: &call.target.subresource,
        namespace,
        name,
        object,
        old,
        user: call.user,
        dry_run: call.dry_run(),
        options,
    }
}

fn options(call: &Call<'_>, operation: Operation) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update if call.request.method == crate::Method::Patch => "PatchOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete | Operation::Connect => "DeleteOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    for field in ["fieldManager", "fieldValidation", "propagationPolicy"] {
        if let Some(value) = call.query.get(field) {
            options[field] = json!(value);
        }
    }
    if call.dry_run() {
        options["dryRun"] = json!(["All"]);
    }
    options
}
