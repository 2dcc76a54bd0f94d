//! Endpoints below an object: status, scale, binding, eviction, log, token and their kin.

use crate::decode;
use crate::handle::{Call, Handled, Outcome, method_not_allowed, no_such_resource};
use crate::patch;
use crate::reply::{LogReply, Reply, Response};
use crate::update;
use crate::write::{self, Ownership, uuid};
use access::tokenrequest::{Mint, token_request};
use kinds::Endpoint;
use model::{
    ApiError, Cause, FieldError, GroupVersionKind, LabelSelector, Reason, Timestamp, Value, json,
    meta,
};

/// Logs are not asked for further back than this, in seconds.
const YEARS: i64 = 100 * 365 * 86_400;

/// Answers a request for a subresource.
pub(crate) fn serve(call: &mut Call<'_>, verb: &str, entropy: &mut dyn FnMut() -> u64) -> Handled {
    let name = call.target.subresource.clone();
    let Some(served) = call.resource.subresource(&name).cloned() else {
        if call.resource.custom().is_some() {
            return Err(call.not_found().into());
        }
        return Err(no_such_resource().into());
    };
    let streams = matches!(name.as_str(), "exec" | "attach" | "portforward" | "proxy");
    if !streams && !served.verbs.iter().any(|v| v == verb) {
        return Err(method_not_allowed().into());
    }
    match (name.as_str(), verb) {
        ("scale", _) => scale(call, verb, entropy),
        ("log", _) => log(call),
        ("binding", _) => bind(call),
        ("eviction", _) => evict(call),
        ("token", _) => token(call, &served.gvk, entropy),
        ("finalize", _) => update::replace(call, Endpoint::Finalize, entropy),
        ("exec" | "attach" | "portforward" | "proxy", _) => Err(no_kubelet(call, &name).into()),
        (_, "get") => crate::read::get(call),
        (other, "update") => update::replace(call, endpoint(other), entropy),
        (other, "patch") => patch::patch_at(call, endpoint(other), entropy),
        _ => Err(method_not_allowed().into()),
    }
}

fn endpoint(name: &str) -> Endpoint {
    match name {
        "ephemeralcontainers" => Endpoint::Ephemeral,
        "resize" => Endpoint::Resize,
        "approval" => Endpoint::Approval,
        _ => Endpoint::Status,
    }
}

fn target_object(call: &Call<'_>) -> Result<Value, ApiError> {
    let namespace = if call.resource.namespaced {
        call.target.namespace.as_str()
    } else {
        ""
    };
    call.state
        .get(&call.resource, namespace, &call.target.name)
        .ok_or_else(|| call.not_found())
}

struct ScalePaths {
    spec: String,
    status: String,
    selector: Option<String>,
}

fn scale_paths(call: &Call<'_>) -> Option<ScalePaths> {
    let pointer = |path: &str| path.replace('.', "/");
    if let Some(custom) = call.resource.custom() {
        let scale = custom.scale.as_ref()?;
        return Some(ScalePaths {
            spec: pointer(&scale.spec_replicas),
            status: pointer(&scale.status_replicas),
            selector: scale.selector.as_deref().map(pointer),
        });
    }
    let info = kinds::scale(&call.resource.gvk)?;
    Some(ScalePaths {
        spec: info.spec_replicas.to_owned(),
        status: info.status_replicas.to_owned(),
        selector: Some(info.selector.to_owned()),
    })
}

fn as_scale(call: &Call<'_>, object: &Value, paths: &ScalePaths) -> Value {
    let mut metadata = json!({
        "name": meta::name(object),
        "uid": meta::uid(object),
        "resourceVersion": meta::resource_version(object),
        "creationTimestamp": meta::text(object, "creationTimestamp"),
    });
    if call.resource.namespaced {
        metadata["namespace"] = json!(meta::namespace(object));
    }
    let replicas = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": replicas(&paths.status)});
    let selector = paths.selector.as_ref().and_then(|p| object.pointer(p));
    let shown = match selector {
        Some(Value::String(text)) => text.clone(),
        Some(spec @ Value::Object(map)) => {
            // A plain map of labels, as a ReplicationController has it, or a label selector.
            let plain = !map.contains_key("matchLabels") && !map.contains_key("matchExpressions");
            let spec = if plain {
                json!({"matchLabels": map})
            } else {
                spec.clone()
            };
            LabelSelector::from_spec(Some(&spec))
                .map(|s| s.to_string())
                .unwrap_or_default()
        }
        _ => String::new(),
    };
    if !shown.is_empty() {
        status["selector"] = json!(shown);
    }
    let count = replicas(&paths.spec);
    let spec = if count == 0 {
        json!({})
    } else {
        json!({"replicas": count})
    };
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

fn scale(call: &mut Call<'_>, verb: &str, entropy: &mut dyn FnMut() -> u64) -> Handled {
    let Some(paths) = scale_paths(call) else {
        return Err(no_such_resource().into());
    };
    let gvk = GroupVersionKind::new("autoscaling", "v1", "Scale");
    let mut put = None;
    if verb == "update" {
        let wanted = decode::other(call, &gvk)?;
        decode::require_name(call, &wanted)?;
        put = Some(wanted);
    }
    let old = target_object(call)?;
    if verb == "get" {
        let shown = as_scale(call, &old, &paths);
        return Ok(Outcome::reply(Reply::Full(crate::read::one(
            call, 200, &shown,
        ))));
    }
    let wanted = match put {
        Some(wanted) => wanted,
        None => patched_scale(call, &as_scale(call, &old, &paths))?,
    };
    let name = meta::name(&wanted);
    if !name.is_empty() && name != call.target.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.target.name
        ))
        .into());
    }
    update::check_patch_version(call, &wanted, &old)?;
    let replicas = wanted
        .pointer("/spec/replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    if replicas < 0 {
        let fault = model::FieldError::invalid(
            &model::Path::new("spec.replicas"),
            &json!(replicas),
            "must be greater than or equal to 0",
        );
        return Err(ApiError::invalid(&gvk, &call.target.name, &[fault]).into());
    }
    let mut new = old.clone();
    set_pointer(&mut new, &paths.spec, json!(replicas));
    let outcome =
        write::update_object(call, new, &old, Endpoint::Scale, Ownership::Track, entropy)?;
    let stored = match outcome.changes.first() {
        Some(store::Change::Put { body, .. }) => {
            crate::state::present(&call.resource, body.clone())
        }
        _ => old,
    };
    let shown = as_scale(call, &stored, &paths);
    Ok(Outcome {
        reply: Reply::Full(crate::read::one(call, 200, &shown)),
        changes: outcome.changes,
    })
}

fn patched_scale(call: &Call<'_>, current: &Value) -> Result<Value, ApiError> {
    let patch = wire::parse_json(&call.request.body)
        .map_err(|why| ApiError::bad_request(format!("error decoding patch: {why}")))?
        .value;
    let mut new = current.clone();
    if call.request.content_type() == "application/json-patch+json" {
        return merge::json_patch(new, &patch).map_err(|error| error.to_api_error());
    }
    // A Scale has no lists, so the other forms all merge alike.
    merge::merge_patch(&mut new, &patch);
    Ok(new)
}

fn set_pointer(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for part in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = at
            .as_object_mut()
            .expect("made an object above")
            .entry(part)
            .or_insert(Value::Null);
    }
    *at = value;
}

// The logs of a Pod come from its node: here it is only found out what is asked for.
fn log(call: &Call<'_>) -> Handled {
    let options = log_options(call)?;
    let pod = target_object(call)?;
    let container = log_container(&pod, call.query.get("container").unwrap_or(""))?;
    if meta::text_at(&pod, "/spec/nodeName").is_empty() {
        let empty = Response {
            status: 204,
            content_type: "text/plain".into(),
            headers: Vec::new(),
            body: Vec::new(),
        };
        return Ok(Outcome::reply(Reply::Full(empty)));
    }
    let unserved = no_kubelet(call, "log");
    Ok(Outcome::reply(Reply::Log(Box::new(LogReply {
        namespace: call.target.namespace.clone(),
        pod: call.target.name.clone(),
        container,
        unserved,
        ..options
    }))))
}

fn log_options(call: &Call<'_>) -> Result<LogReply, ApiError> {
    let number = |name: &str| -> Result<Option<i64>, ApiError> {
        let text = call.query.get(name).filter(|text| !text.is_empty());
        let number = text.map(wire::parse_int).transpose();
        number.map_err(ApiError::bad_request)
    };
    let flag = |name: &str| {
        let text = call.query.get(name);
        text.is_some_and(|text| !matches!(text, "false" | "0" | "False" | "f" | "F"))
    };
    let (tail, limit) = (number("tailLines")?, number("limitBytes")?);
    let since = number("sinceSeconds")?;
    let since_time = call.query.get("sinceTime").and_then(Timestamp::parse);
    let mut faults = Vec::new();
    let at = |field: &str| model::Path::new(field);
    if let Some(tail) = tail.filter(|tail| *tail < 0) {
        let why = "must be greater than or equal to 0";
        faults.push(FieldError::invalid(&at("tailLines"), &tail.into(), why));
    }
    if let Some(limit) = limit.filter(|limit| *limit < 1) {
        let why = "must be greater than 0";
        faults.push(FieldError::invalid(&at("limitBytes"), &limit.into(), why));
    }
    if since.is_some() && since_time.is_some() {
        let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        faults.push(FieldError::forbidden(&at(""), why));
    } else if let Some(since) = since.filter(|since| *since < 1) {
        let why = "must be greater than 0";
        faults.push(FieldError::invalid(&at("sinceSeconds"), &since.into(), why));
    }
    if !faults.is_empty() {
        let gvk = GroupVersionKind::new("", "", "PodLogOptions");
        return Err(ApiError::invalid(&gvk, &call.target.name, &faults));
    }
    let ago = since.map(|since| call.now.plus_seconds(-since.min(YEARS)));
    Ok(LogReply {
        follow: flag("follow"),
        previous: flag("previous"),
        timestamps: flag("timestamps"),
        tail: tail.and_then(|tail| u64::try_from(tail).ok()),
        limit: limit.and_then(|limit| u64::try_from(limit).ok()),
        since: ago.or(since_time),
        ..LogReply::default()
    })
}

// The container that is asked for, or the only one.
fn log_container(pod: &Value, asked: &str) -> Result<String, ApiError> {
    let name = meta::name(pod);
    let names = |list: &str| -> Vec<&str> {
        meta::entries(pod, &format!("/spec/{list}"))
            .map(|c| meta::text_at(c, "/name"))
            .collect()
    };
    let regular = names("containers");
    let all = [
        names("initContainers"),
        regular.clone(),
        names("ephemeralContainers"),
    ]
    .concat();
    match (asked, regular.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", _) => Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        (asked, _) if all.contains(&asked) => Ok(asked.to_owned()),
        (asked, _) => Err(ApiError::bad_request(format!(
            "container {asked} is not valid for pod {name}"
        ))),
    }
}

fn no_kubelet(call: &Call<'_>, what: &str) -> ApiError {
    let node = call
        .state
        .get(&call.resource, &call.target.namespace, &call.target.name);
    let node = node
        .as_ref()
        .map_or("", |pod| meta::text_at(pod, "/spec/nodeName"));
    ApiError::internal(format!(
        "{what} of {}/{}: no kubelet answers for node {node:?}",
        call.target.namespace, call.target.name
    ))
}

// What a scheduler sends: puts a Pod on a node, once.
fn bind(call: &mut Call<'_>) -> Handled {
    let gvk = GroupVersionKind::new("", "v1", "Binding");
    let binding = decode::other(call, &gvk)?;
    if meta::name(&binding) != call.target.name {
        let why = "name in URL does not match name in Binding object";
        return Err(ApiError::bad_request(why).into());
    }
    let pod = target_object(call)?;
    let node = meta::text_at(&binding, "/target/name").to_owned();
    if node.is_empty() {
        let fault = model::FieldError::required(&model::Path::new("target.name"), "");
        return Err(ApiError::invalid(&gvk, &call.target.name, &[fault]).into());
    }
    let conflict = |why: &str| {
        let gvr = model::GroupVersionResource::new("", "v1", "pods/binding");
        ApiError::conflict(&gvr, &call.target.name, why)
    };
    let placed = meta::text_at(&pod, "/spec/nodeName");
    if meta::deletion_timestamp(&pod).is_some() {
        return Err(conflict(&format!(
            "pod {} is being deleted, cannot be assigned to a host",
            call.target.name
        ))
        .into());
    }
    if !placed.is_empty() {
        return Err(conflict(&format!(
            "pod {} is already assigned to node {placed:?}",
            call.target.name
        ))
        .into());
    }
    let mut new = pod.clone();
    new["spec"]["nodeName"] = json!(node);
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": call.now.rfc3339(),
    });
    let status = new
        .as_object_mut()
        .expect("a pod is an object")
        .entry("status")
        .or_insert_with(|| json!({}));
    let conditions = status
        .as_object_mut()
        .map(|s| s.entry("conditions").or_insert_with(|| json!([])));
    if let Some(list) = conditions.and_then(Value::as_array_mut) {
        list.retain(|c| c["type"] != "PodScheduled");
        list.push(condition);
    }
    let new = write::track(call, Some(&pod), new, Endpoint::Main);
    let key = crate::state::key_of(&call.resource, meta::namespace(&pod), meta::name(&pod));
    let outcome = write::finish(call, 201, new, Vec::new(), |body| store::Change::Put {
        key,
        body,
    });
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Outcome {
        reply: Reply::Full(crate::read::encode(&call.media, 201, &done)),
        changes: outcome.changes,
    })
}

// Deletes a Pod unless a disruption budget says no.
fn evict(call: &mut Call<'_>) -> Handled {
    let gvk = GroupVersionKind::new("policy", "v1", "Eviction");
    let eviction = decode::other(call, &gvk)?;
    let pod = target_object(call)?;
    if let Some(budget) = blocking_budget(call, &pod) {
        let mut error = ApiError::new(
            429,
            Some(Reason::TooManyRequests),
            "Cannot evict pod as it would violate the pod's disruption budget.",
        );
        error.causes.push(Cause {
            reason: "DisruptionBudget".into(),
            message: format!(
                "The disruption budget {} needs {} healthy pods and has {} currently",
                meta::name(&budget),
                budget
                    .pointer("/status/desiredHealthy")
                    .and_then(Value::as_i64)
                    .unwrap_or(0),
                budget
                    .pointer("/status/currentHealthy")
                    .and_then(Value::as_i64)
                    .unwrap_or(0),
            ),
            field: String::new(),
        });
        return Err(error.into());
    }
    let options = eviction
        .get("deleteOptions")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mut request = call.request.clone();
    request.body = options.to_string().into_bytes();
    let mut inner = Call {
        state: call.state,
        request: &request,
        query: call.query,
        target: call.target,
        resource: call.resource.clone(),
        user: call.user,
        media: call.media.clone(),
        now: call.now,
        answers: call.answers,
        warnings: Vec::new(),
    };
    let outcome = crate::delete::delete(&mut inner)?;
    let done = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    Ok(Outcome {
        reply: Reply::Full(crate::read::encode(&call.media, 201, &done)),
        changes: outcome.changes,
    })
}

fn blocking_budget(call: &Call<'_>, pod: &Value) -> Option<Value> {
    let ready = meta::entries(pod, "/status/conditions")
        .any(|c| c["type"] == "Ready" && c["status"] == "True");
    let budgets = call
        .state
        .registry
        .find("policy", "v1", "poddisruptionbudgets")?
        .clone();
    let mut all = call
        .state
        .list(&budgets, Some(&call.target.namespace))
        .into_iter();
    all.find(|budget| {
        let selector = LabelSelector::from_spec(budget.pointer("/spec/selector"));
        let allowed = budget
            .pointer("/status/disruptionsAllowed")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        ready && allowed <= 0 && selector.is_ok_and(|s| s.matches_object(pod))
    })
}

fn token(call: &mut Call<'_>, gvk: &GroupVersionKind, entropy: &mut dyn FnMut() -> u64) -> Handled {
    let body = decode::other(call, gvk)?;
    let account = target_object(call)?;
    let Some(signer) = call.state.settings.signer.clone() else {
        return Err(ApiError::internal("this cluster has no key to sign tokens with").into());
    };
    let mint = Mint {
        issuer: &call.state.settings.issuer,
        id: &uuid(entropy),
        now: call.now,
    };
    let find = |resource: &str, namespace: &str, name: &str| {
        let kind = call.state.registry.find("", "v1", resource)?;
        call.state.get(kind, namespace, name)
    };
    let minted = token_request(&body, &account, mint, &find)?;
    let signed = pki::sign_token(&signer, &minted.claims)
        .map_err(|why| ApiError::internal(format!("failed to sign the token: {why}")))?;
    let mut asked = body;
    if let Some(map) = asked.as_object_mut() {
        map.remove("status");
    }
    if let Some(spec) = asked.get_mut("spec").and_then(Value::as_object_mut) {
        spec.retain(|_, value| !value.is_null());
    }
    let owned = merge::track_update(merge::Update {
        live: None,
        new: asked,
        manager: write::manager(call),
        api_version: &gvk.api_version(),
        subresource: "token",
        now: call.now,
        schema: kinds::catalog::builtin()
            .schemas
            .named("io.k8s.api.authentication.v1.TokenRequest"),
        reset: &[],
    });
    let mut answer = minted.answer(&signed);
    if let Some(managed) = owned.pointer("/metadata/managedFields") {
        meta::metadata_mut(&mut answer).insert("managedFields".into(), managed.clone());
    }
    Ok(Outcome::reply(Reply::Full(crate::read::one(
        call, 201, &answer,
    ))))
}
