//! PATCH in its four forms.

use crate::decode::{self, Strictness};
use crate::handle::{Call, Handled};
use crate::update::check_patch_version;
use crate::write::{self, Ownership};
use json::write::Layout;
use kinds::Endpoint;
use model::{ApiError, FieldError, GroupVersion, Path, Value, json, meta};
use wire::{Origin, PatchType};

fn kind(call: &Call<'_>) -> Result<PatchType, ApiError> {
    let origin = if call.resource.custom().is_some() {
        Origin::Custom
    } else {
        Origin::BuiltIn
    };
    wire::patch_type(call.request.header("content-type"), origin)
}

/// Patches the object on the main endpoint.
pub(crate) fn patch(call: &mut Call<'_>, entropy: &mut dyn FnMut() -> u64) -> Handled {
    patch_at(call, Endpoint::Main, entropy)
}

/// Patches an object at an endpoint.
pub(crate) fn patch_at(
    call: &mut Call<'_>,
    endpoint: Endpoint,
    entropy: &mut dyn FnMut() -> u64,
) -> Handled {
    let kind = kind(call)?;
    wire::PatchOptions::from_query(call.query, kind)?;
    let namespace = if call.resource.namespaced {
        call.target.namespace.clone()
    } else {
        String::new()
    };
    let live = call
        .state
        .get(&call.resource, &namespace, &call.target.name);
    if kind == PatchType::Apply {
        return apply(call, live, endpoint, entropy);
    }
    let Some(old) = live else {
        return Err(call.not_found().into());
    };
    let (mut new, patch) = patched(call, kind, &old)?;
    strict(call, kind, (&old, &patch), &mut new)?;
    restore_type(call, &mut new);
    decode::require_name(call, &new)?;
    decode::check_name(call, &mut new)?;
    check_patch_version(call, &new, &old)?;
    write::update_object(call, new, &old, endpoint, Ownership::Track, entropy)
}

// The object after the patch, and the patch as data.
fn patched(call: &Call<'_>, kind: PatchType, old: &Value) -> Result<(Value, Value), ApiError> {
    let undecodable = |why: &str| ApiError::bad_request(format!("error decoding patch: {why}"));
    let patch = wire::parse_json(&call.request.body)
        .map_err(|why| undecodable(&why.to_string()))?
        .value;
    if kind == PatchType::Json {
        let new = merge::json_patch(old.clone(), &patch).map_err(|error| error.to_api_error())?;
        return Ok((new, patch));
    }
    if !patch.is_object() {
        let found = json_word(&patch);
        return Err(undecodable(&format!(
            "json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let new = if let (PatchType::Strategic, Some(schema)) = (kind, call.resource.schema()) {
        merge::strategic(old, &patch, schema).map_err(|error| error.to_api_error())?
    } else {
        let mut new = old.clone();
        merge::merge_patch(&mut new, &patch);
        new
    };
    Ok((new, patch))
}

fn json_word(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
        Value::Object(_) => "object",
        Value::Null => "null",
    }
}

fn strict(
    call: &mut Call<'_>,
    kind: PatchType,
    (old, patch): (&Value, &Value),
    new: &mut Value,
) -> Result<(), ApiError> {
    let resource = call.resource.clone();
    // Strategic patches are shown as Go prints maps, the others by what they made of the object:
    // that is made once more here, so that patches that are fine pay nothing for it.
    let shown = |call: &Call<'_>| {
        if kind == PatchType::Strategic {
            return go_map(patch);
        }
        let object = patched(call, kind, old).map(|(object, _)| object);
        let text = gotypes::to_json(&resource.gvk, &object.unwrap_or_default(), Layout::Compact);
        String::from_utf8_lossy(&text).into_owned()
    };
    let invalid = |call: &Call<'_>, why: &str| {
        let shown = shown(call);
        let shown = model::field::go_quote(&shown);
        invalid_patch(&FieldError::invalid_shown(&Path::new("patch"), shown, why))
    };
    if let Some(why) = other_type(&resource.gvk, new) {
        return Err(invalid(call, &why));
    }
    // A patch that leaves an object of the wrong shape is invalid, not a bad request.
    let unknown = decode::normalize(&resource, new).map_err(|why| invalid(call, &why))?;
    if unknown.is_empty() {
        return Ok(());
    }
    match Strictness::of(call) {
        Strictness::Ignore => Ok(()),
        Strictness::Warn => {
            call.warnings.extend(unknown);
            Ok(())
        }
        Strictness::Strict => Err(invalid(
            call,
            &format!("strict decoding error: {}", unknown.join(", ")),
        )),
    }
}

fn invalid_patch(fault: &FieldError) -> ApiError {
    let mut error = ApiError::invalid(
        &model::GroupVersionKind::default(),
        "",
        std::slice::from_ref(fault),
    );
    error.message = format!(" \"\" is invalid: {fault}");
    error
}

fn go_map(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{k}:{}", go_map(v)))
                .collect();
            format!("map[{}]", parts.join(" "))
        }
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(go_map).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".into(),
        other => other.to_string(),
    }
}

// What a patch made of an object's type, when that is another one.
fn other_type(gvk: &model::GroupVersionKind, new: &Value) -> Option<String> {
    let text = |field: &str| new.get(field).and_then(Value::as_str).unwrap_or("");
    let (kind, version) = (text("kind"), text("apiVersion"));
    let fits = |found: &str, own: &str| found.is_empty() || found == own;
    if fits(kind, &gvk.kind) && fits(version, &gvk.api_version()) {
        return None;
    }
    Some(format!(
        "no kind {kind:?} is registered for version {version:?} here"
    ))
}

fn restore_type(call: &Call<'_>, object: &mut Value) {
    object["apiVersion"] = json!(call.resource.gvk.api_version());
    object["kind"] = json!(call.resource.gvk.kind);
}

fn apply(
    call: &mut Call<'_>,
    live: Option<Value>,
    endpoint: Endpoint,
    entropy: &mut dyn FnMut() -> u64,
) -> Handled {
    let resource = call.resource.clone();
    let applied = applied_object(call)?;
    if endpoint != Endpoint::Main && live.is_none() {
        return Err(call.not_found().into());
    }
    if let Some(old) = &live {
        check_patch_version(call, &applied, old)?;
    }
    let outcome = merge::apply(&merge::Apply {
        live: live.as_ref(),
        applied: &applied,
        manager: write::manager(call),
        force: call.query.flag("force").unwrap_or(false),
        api_version: &resource.gvk.api_version(),
        subresource: &call.target.subresource,
        now: call.now,
        schema: resource.schema(),
        reset: write::reset_fields(&resource, endpoint),
    })
    .map_err(|error| error.to_api_error())?;
    let mut new = outcome.object;
    decode::renormalize(&resource, &mut new)?;
    restore_type(call, &mut new);
    decode::check_name(call, &mut new)?;
    match live {
        None => {
            meta::set_text(&mut new, "resourceVersion", "");
            write::create_object(call, new, Ownership::Done, entropy)
        }
        Some(old) => write::update_object(call, new, &old, endpoint, Ownership::Done, entropy),
    }
}

// The body of an apply: YAML or JSON of the path's own kind.
fn applied_object(call: &mut Call<'_>) -> Result<Value, ApiError> {
    let mut object = match wire::parse_json(&call.request.body) {
        Ok(parsed) => parsed.value,
        Err(_) => applied_yaml(call)?,
    };
    if !object.is_object() {
        let found = json_word(&object);
        return Err(ApiError::bad_request(format!(
            "error decoding YAML: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )));
    }
    let gvk = &call.resource.gvk;
    let found = |field: &str| {
        object
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let (kind, api_version) = (found("kind"), found("apiVersion"));
    let gv = GroupVersion::parse(&api_version).unwrap_or_default();
    if kind != gvk.kind || api_version != gvk.api_version() {
        let shown = if api_version.is_empty() {
            "/".to_owned()
        } else {
            gv.to_string()
        };
        return Err(ApiError::bad_request(format!(
            "invalid object type: {shown}, Kind={kind}"
        )));
    }
    if meta::entries(&object, "/metadata/managedFields")
        .next()
        .is_some()
    {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    let name = meta::name(&object).to_owned();
    if !name.is_empty() && name != call.target.name {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.target.name
        )));
    }
    // What clients that print Go's structs send along without meaning it.
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata
            .get("creationTimestamp")
            .is_some_and(Value::is_null)
    {
        metadata.remove("creationTimestamp");
    }
    Ok(object)
}

// YAML that says a key twice is read as it would be with the last one, and the client is told.
fn applied_yaml(call: &mut Call<'_>) -> Result<Value, ApiError> {
    let undecodable = |why: &str| ApiError::bad_request(format!("error decoding YAML: {why}"));
    let text = std::str::from_utf8(&call.request.body).map_err(|_| undecodable(decode::NO_UTF8))?;
    let document = yaml::parse_document(text).map_err(|why| undecodable(&why.to_string()))?;
    if let Some(problem) = document.strict_error() {
        match Strictness::of(call) {
            Strictness::Ignore => {}
            Strictness::Warn => call.warnings.extend(document.duplicates.iter().cloned()),
            Strictness::Strict => return Err(undecodable(&problem)),
        }
    }
    Ok(document.value)
}
