//! From a request body to an object of the expected kind, defaulted and normalised.

use crate::handle::Call;
use crate::registry::ResourceType;
use model::{ApiError, GroupVersion, GroupVersionKind, Reason, Value, meta};
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

/// A body read as JSON, YAML or protobuf, with its duplicate fields.
pub(crate) struct Body {
    pub(crate) value: Value,
    pub(crate) problems: Vec<String>,
}

// Custom resources have no protobuf form.
fn no_protobuf() -> ApiError {
    let message = "the body of the request was in an unknown format - accepted media types include: \
         application/json, application/yaml";
    ApiError::new(415, Some(Reason::UnsupportedMediaType), message)
}

/// Reads the body of a create or update as an object of the called resource.
pub(crate) fn object(call: &mut Call<'_>) -> Result<Value, ApiError> {
    let resource = call.resource.clone();
    if resource.custom().is_some() {
        let body = read(call, &resource.gvk, true)?;
        let value = check_custom_kind(body.value, &resource.gvk, &call.request.body)?;
        return custom(
            call,
            &resource,
            Body {
                value,
                problems: body.problems,
            },
        );
    }
    other(call, &resource.gvk)
}

/// Reads the body as an object of a built-in kind.
pub(crate) fn other(call: &mut Call<'_>, gvk: &GroupVersionKind) -> Result<Value, ApiError> {
    let mut value = match wire::body_format(call.request.header("content-type"))? {
        BodyFormat::Json => {
            let body = &call.request.body;
            let decoded = gotypes::decode_json(gvk, body);
            let fits = decoded.as_ref().is_ok_and(|d| names(&d.value, gvk));
            if !fits {
                // What the body says it is comes before what is wrong with it.
                check_kind(read(call, gvk, false)?.value, gvk)?;
            }
            let decoded = decoded.map_err(|e| cannot_handle(gvk, &e.to_string()))?;
            report(call, gvk, decoded.strict)?;
            decoded.value
        }
        BodyFormat::Yaml | BodyFormat::Protobuf => {
            let mut value = check_kind(read(call, gvk, false)?.value, gvk)?;
            let unknown =
                gotypes::decode(gvk, &mut value).map_err(|e| cannot_handle(gvk, &e.to_string()))?;
            report(call, gvk, unknown)?;
            value
        }
    };
    value["apiVersion"] = gvk.api_version().into();
    value["kind"] = gvk.kind.clone().into();
    fill(gvk, &mut value);
    Ok(value)
}

// Whether an object names a kind, or leaves it to the path.
fn names(value: &Value, gvk: &GroupVersionKind) -> bool {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or("");
    matches!(text("kind"), "") | (text("kind") == gvk.kind)
        && (text("apiVersion").is_empty() || text("apiVersion") == gvk.api_version())
}

/// Reads the raw body by its content type.
pub(crate) fn read(
    call: &Call<'_>,
    gvk: &GroupVersionKind,
    custom: bool,
) -> Result<Body, ApiError> {
    let bytes = &call.request.body;
    let unparsable = |why: String| {
        unrecognized(
            gvk,
            &format!("couldn't get version/kind; json parse error: {why}"),
            bytes,
        )
    };
    match wire::body_format(call.request.header("content-type"))? {
        BodyFormat::Json => {
            let parsed = wire::parse_json(bytes).map_err(|why| unparsable(why.to_string()))?;
            Ok(Body {
                value: parsed.value,
                problems: parsed.duplicates,
            })
        }
        BodyFormat::Yaml => {
            let value = yaml::parse(&String::from_utf8_lossy(bytes))
                .map_err(|why| unparsable(why.to_string()))?;
            Ok(Body {
                value,
                problems: Vec::new(),
            })
        }
        BodyFormat::Protobuf if custom => Err(no_protobuf()),
        BodyFormat::Protobuf => {
            let (_, value) =
                gotypes::decode_protobuf(bytes).map_err(|why| unrecognized(gvk, &why, bytes))?;
            Ok(Body {
                value,
                problems: Vec::new(),
            })
        }
    }
}

fn unrecognized(gvk: &GroupVersionKind, why: &str, bytes: &[u8]) -> ApiError {
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        gvk.kind,
        summary(bytes)
    ))
}

// The first bytes of a body, as text when it looks like JSON and in hex otherwise.
fn summary(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 30;
    let Some(first) = bytes.first() else {
        return "<empty>".into();
    };
    let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
    let text = if *first == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().map(|b| format!("{b:02x}")).collect()
    };
    if bytes.len() > SHOWN_MAX {
        format!("{text} ...")
    } else {
        text
    }
}

fn check_kind(mut value: Value, gvk: &GroupVersionKind) -> Result<Value, ApiError> {
    let Some(map) = value.as_object_mut() else {
        let why = "couldn't get version/kind; json parse error: json: cannot unmarshal ";
        let found = match &value {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "bool",
            Value::Null | Value::Object(_) => {
                return check_kind(Value::Object(model::Map::new()), gvk);
            }
        };
        return Err(unrecognized(
            gvk,
            &format!(
                "{why}{found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            ),
            value.to_string().as_bytes(),
        ));
    };
    let kind = map
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    let api_version = map
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or("")
        .to_owned();
    let wanted = gvk.api_version();
    if !kind.is_empty() && kind != gvk.kind || !api_version.is_empty() && api_version != wanted {
        let kind = if kind.is_empty() {
            gvk.kind.clone()
        } else {
            kind
        };
        let gv = GroupVersion::parse(&api_version).unwrap_or_default();
        let gv = if api_version.is_empty() {
            gvk.group_version()
        } else {
            gv
        };
        return Err(wrong_kind(&kind, &gv, gvk));
    }
    map.insert("kind".into(), Value::String(gvk.kind.clone()));
    map.insert("apiVersion".into(), Value::String(wanted));
    Ok(value)
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

fn check_custom_kind(
    value: Value,
    gvk: &GroupVersionKind,
    bytes: &[u8],
) -> Result<Value, ApiError> {
    let found = |field: &str| {
        value
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned()
    };
    let (kind, api_version) = (found("kind"), found("apiVersion"));
    if kind.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        return Err(unrecognized(
            gvk,
            &format!("Object 'Kind' is missing in '{text}'"),
            bytes,
        ));
    }
    if api_version.is_empty() || kind != gvk.kind || api_version != gvk.api_version() {
        let gv = GroupVersion::parse(&api_version).unwrap_or_default();
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            gvk.api_version()
        )))
        .or_else(|error| {
            if gv == gvk.group_version() && kind != gvk.kind {
                Err(ApiError::bad_request(format!(
                    "{kind} in version {:?} cannot be handled as a {}: no kind {kind:?} is registered for version {api_version:?}",
                    gv.version, gvk.kind
                )))
            } else {
                Err(error)
            }
        });
    }
    Ok(value)
}

fn custom(call: &mut Call<'_>, resource: &ResourceType, body: Body) -> Result<Value, ApiError> {
    let mut value = body.value;
    let unknown = renormalize(resource, &mut value)?;
    report(call, &resource.gvk, merge_problems(unknown, body.problems))?;
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
