//! From a request body to an object of the expected kind, defaulted and normalised.

use crate::handle::Call;
use crate::registry::ResourceType;
use model::{ApiError, FieldError, GroupVersion, GroupVersionKind, Path, Reason, Value, meta};
use schema::Cursor;
use wire::BodyFormat;

/// How problems that are not fatal are treated: unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    Ignore,
    Warn,
    Strict,
}

impl Strictness {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        match call.query.get("fieldValidation") {
            Some("Strict") => Self::Strict,
            Some("Ignore") => Self::Ignore,
            _ => Self::Warn,
        }
    }
}

/// Reads the body of a create or update as an object of the called resource.
pub(crate) fn object(call: &mut Call<'_>) -> Result<Value, ApiError> {
    let resource = call.resource.clone();
    if resource.custom().is_some() {
        return custom(call, &resource);
    }
    other(call, &resource.gvk)
}

/// Reads the body as an object of a built-in kind.
pub(crate) fn other(call: &mut Call<'_>, gvk: &GroupVersionKind) -> Result<Value, ApiError> {
    let bytes = &call.request.body;
    let fault = |why: &str| cannot_handle(gvk, why);
    let (mut value, problems) = match wire::body_format(call.request.header("content-type"))? {
        BodyFormat::Json => {
            // What the body says it is comes before what is wrong with it.
            let named = wire::interpret(bytes).map_err(|why| unrecognized(gvk, &why, bytes))?;
            check_kind(&named, gvk)?;
            let decoded = gotypes::decode_json(gvk, bytes).map_err(|e| fault(&e.to_string()))?;
            (decoded.value, decoded.strict)
        }
        BodyFormat::Yaml => {
            let (mut value, mut problems) = read_yaml(gvk, bytes)?;
            check_kind(&kind_of(&value), gvk)?;
            let unknown = gotypes::decode(gvk, &mut value).map_err(|e| fault(&e.to_string()))?;
            problems.extend(unknown);
            (value, problems)
        }
        BodyFormat::Protobuf => {
            let (named, mut value) =
                gotypes::decode_protobuf(bytes).map_err(|why| unrecognized(gvk, &why, bytes))?;
            check_kind(&named, gvk)?;
            gotypes::decode(gvk, &mut value).map_err(|e| fault(&e.to_string()))?;
            (value, Vec::new())
        }
    };
    report(call, gvk, problems)?;
    if !value.is_object() {
        value = Value::Object(model::Map::new());
    }
    value["apiVersion"] = gvk.api_version().into();
    value["kind"] = gvk.kind.clone().into();
    fill(gvk, &mut value);
    Ok(value)
}

// A YAML body, and the keys that stand in it twice.
/// What Go's YAML reader says of a body that is no UTF-8.
pub(crate) const NO_UTF8: &str = "yaml: invalid leading UTF-8 octet";

fn read_yaml(gvk: &GroupVersionKind, bytes: &[u8]) -> Result<(Value, Vec<String>), ApiError> {
    let text = std::str::from_utf8(bytes).map_err(|_| unrecognized(gvk, NO_UTF8, bytes))?;
    let document =
        yaml::parse_document(text).map_err(|why| unrecognized(gvk, &why.to_string(), bytes))?;
    Ok((document.value, document.duplicates))
}

// The kind an object names; what it leaves to the path is empty.
fn kind_of(value: &Value) -> GroupVersionKind {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or("");
    let gv = GroupVersion::parse(text("apiVersion")).unwrap_or_default();
    GroupVersionKind::new(gv.group, gv.version, text("kind"))
}

fn unrecognized(gvk: &GroupVersionKind, why: &str, bytes: &[u8]) -> ApiError {
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        gvk.kind,
        wire::summary(bytes)
    ))
}

fn check_kind(named: &GroupVersionKind, gvk: &GroupVersionKind) -> Result<(), ApiError> {
    let versioned = !named.version.is_empty();
    let other_kind = !named.kind.is_empty() && named.kind != gvk.kind;
    if !other_kind && (!versioned || named.group_version() == gvk.group_version()) {
        return Ok(());
    }
    let kind = if named.kind.is_empty() {
        &gvk.kind
    } else {
        &named.kind
    };
    let gv = if versioned {
        named.group_version()
    } else {
        gvk.group_version()
    };
    Err(wrong_kind(kind, &gv, gvk))
}

fn wrong_kind(kind: &str, gv: &GroupVersion, gvk: &GroupVersionKind) -> ApiError {
    let known = kinds::catalog::builtin()
        .resources
        .iter()
        .any(|r| r.gvk.kind == kind && r.gvk.group == gv.group && r.gvk.version == gv.version);
    let why = if known {
        let package = |group: &str| match group.split('.').next().unwrap_or("") {
            "" => "core".to_owned(),
            first => first.to_owned(),
        };
        format!(
            "converting ({}.{kind}) to ({}.{}): unknown conversion",
            gv.version,
            package(&gvk.group),
            gvk.kind
        )
    } else {
        format!(
            "no kind {kind:?} is registered for version {:?} in scheme \"pkg/runtime/scheme.go:111\"",
            gv.to_string()
        )
    };
    ApiError::bad_request(format!(
        "{kind} in version {:?} cannot be handled as a {}: {why}",
        gv.version, gvk.kind
    ))
}

// Custom resources have no protobuf form.
fn no_protobuf() -> ApiError {
    let message = "the body of the request was in an unknown format - accepted media types include: \
         application/json, application/yaml";
    ApiError::new(415, Some(Reason::UnsupportedMediaType), message)
}

// Custom resources must say what they are.
fn check_custom_kind(value: &Value, gvk: &GroupVersionKind, bytes: &[u8]) -> Result<(), ApiError> {
    let named = kind_of(value);
    if named.kind.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let why = format!("Object 'Kind' is missing in '{text}'");
        return Err(unrecognized(gvk, &why, bytes));
    }
    if named.group_version() != gvk.group_version() {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            named.api_version(),
            gvk.api_version()
        )));
    }
    if named.kind != gvk.kind {
        let why = format!("must be {}", gvk.kind);
        let fault = FieldError::invalid(&Path::new("kind"), &named.kind.as_str().into(), &why);
        return Err(ApiError::invalid(&named, meta::name(value), &[fault]));
    }
    Ok(())
}

fn custom(call: &mut Call<'_>, resource: &ResourceType) -> Result<Value, ApiError> {
    let gvk = &resource.gvk;
    let bytes = &call.request.body;
    let (mut value, duplicates) = match wire::body_format(call.request.header("content-type"))? {
        BodyFormat::Json => {
            let parsed = wire::parse_json(bytes).map_err(|why| {
                let why = format!("couldn't get version/kind; json parse error: {why}");
                unrecognized(gvk, &why, bytes)
            })?;
            (parsed.value, parsed.duplicates)
        }
        BodyFormat::Yaml => read_yaml(gvk, bytes)?,
        BodyFormat::Protobuf => return Err(no_protobuf()),
    };
    check_custom_kind(&value, gvk, bytes)?;
    let unknown = renormalize(resource, &mut value)?;
    report(call, gvk, merge_problems(unknown, duplicates))?;
    Ok(value)
}

fn decode_metadata(object: &mut Value) -> Result<Vec<String>, String> {
    match object.get_mut("metadata") {
        Some(metadata) => gotypes::decode_object_meta(metadata).map_err(|e| e.to_string()),
        None => Ok(Vec::new()),
    }
}

fn cannot_handle(gvk: &GroupVersionKind, why: &str) -> ApiError {
    ApiError::bad_request(format!(
        "{} in version {:?} cannot be handled as a {}: {why}",
        gvk.kind, gvk.version, gvk.kind
    ))
}

// Unknown and duplicate fields in the order of the document, which sorted paths come close to.
fn merge_problems(unknown: Vec<String>, duplicates: Vec<String>) -> Vec<String> {
    if duplicates.is_empty() {
        return unknown;
    }
    let mut all = unknown;
    all.extend(duplicates);
    all.sort_by(|a, b| path_of(a).cmp(path_of(b)));
    all
}

fn path_of(problem: &str) -> &str {
    problem.split_once('"').map_or(problem, |(_, path)| path)
}

fn report(
    call: &mut Call<'_>,
    gvk: &GroupVersionKind,
    problems: Vec<String>,
) -> Result<(), ApiError> {
    if problems.is_empty() {
        return Ok(());
    }
    match Strictness::of(call) {
        Strictness::Ignore => Ok(()),
        Strictness::Warn => {
            call.warnings.extend(problems);
            Ok(())
        }
        Strictness::Strict => Err(cannot_handle(
            gvk,
            &format!("strict decoding error: {}", problems.join(", ")),
        )),
    }
}

/// Brings an object to the form that decoding gives: what patches and webhooks leave runs through
/// this. Returns the unknown fields, or why it is no object of its kind.
pub(crate) fn normalize(resource: &ResourceType, value: &mut Value) -> Result<Vec<String>, String> {
    let gvk = &resource.gvk;
    if resource.custom().is_some() {
        return normalize_custom(resource, value);
    }
    let unknown = gotypes::decode(gvk, value).map_err(|e| e.to_string())?;
    fill(gvk, value);
    Ok(unknown)
}

/// [`normalize`], with a refusal in the words of a body that cannot be decoded.
pub(crate) fn renormalize(
    resource: &ResourceType,
    value: &mut Value,
) -> Result<Vec<String>, ApiError> {
    normalize(resource, value).map_err(|why| cannot_handle(&resource.gvk, &why))
}

// Prunes and defaults a custom resource; returns the fields its schema does not have.
fn normalize_custom(resource: &ResourceType, value: &mut Value) -> Result<Vec<String>, String> {
    let mut unknown = decode_metadata(value)?;
    if let Some(schema) = resource.schema() {
        embedded_metadata(value, schema, "", &mut unknown)?;
        let pruned = schema::prune(value, schema);
        unknown.extend(
            pruned
                .into_iter()
                .map(|path| format!("unknown field {path:?}")),
        );
        unknown.sort();
        schema::apply_defaults(value, schema);
    }
    Ok(unknown)
}

// Objects inside objects have the metadata that every object has.
fn embedded_metadata(
    value: &mut Value,
    at: Cursor<'_>,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let Some(below) = at.field(key) else { continue };
                let place = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                embedded_metadata(inner, below, &place, unknown)?;
                if below.node().embedded_resource
                    && let Some(metadata) = inner.get_mut("metadata")
                {
                    let odd = gotypes::decode_object_meta(metadata).map_err(|e| e.to_string())?;
                    let full = format!("\"{place}.metadata.");
                    unknown.extend(odd.iter().map(|o| o.replacen("\"metadata.", &full, 1)));
                }
            }
        }
        Value::Array(list) => {
            let Some(below) = at.items() else {
                return Ok(());
            };
            for (i, inner) in list.iter_mut().enumerate() {
                embedded_metadata(inner, below, &format!("{path}[{i}]"), unknown)?;
            }
        }
        _ => {}
    }
    Ok(())
}

// The defaults of a built-in kind.
fn fill(gvk: &GroupVersionKind, value: &mut Value) {
    kinds::default(gvk, value);
    if gvk.kind == "CustomResourceDefinition" {
        schema::default_crd(value);
    }
}

/// Refuses an object that leaves its name to the path: a whole object says what it is.
pub(crate) fn require_name(call: &Call<'_>, object: &Value) -> Result<(), ApiError> {
    if !meta::name(object).is_empty() {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        call.target.name
    )))
}

/// The name a body and a path agree on.
pub(crate) fn check_name(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    let (name, wanted) = (meta::name(object).to_owned(), &call.target.name);
    if name.is_empty() {
        meta::set_text(object, "name", wanted);
    } else if name != *wanted {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    check_namespace(call, object)
}

/// The namespace a body and a path agree on.
pub(crate) fn check_namespace(call: &Call<'_>, object: &mut Value) -> Result<(), ApiError> {
    let wanted = if call.resource.namespaced {
        call.target.namespace.as_str()
    } else {
        ""
    };
    let found = meta::namespace(object);
    if found == wanted {
        return Ok(());
    }
    if !found.is_empty() && !wanted.is_empty() {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    meta::set_text(object, "namespace", wanted);
    Ok(())
}
