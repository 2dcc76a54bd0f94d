//! Reads one object, and writes objects in the form a client asked for.

use crate::handle::{Call, Handled, Outcome};
use crate::reply::{Reply, Response, typed_json};
use model::{ApiError, Value, json, meta};
use tables::{IncludeObject, ListMeta};
use wire::{Format, Media};

/// GET of one object.
pub(crate) fn get(call: &mut Call<'_>) -> Handled {
    let resource = &call.resource;
    let options = wire::GetOptions::from_query(call.query)?;
    check_version(&options.resource_version)?;
    check_table(call)?;
    let Some(stored) = state_get(call) else {
        return Err(call.not_found().into());
    };
    if is_plain(&call.media) && !resource.converts() {
        let mut body = Vec::with_capacity(512);
        typed_json(stored, &resource.type_prefix, &mut body);
        return Ok(Outcome::reply(Reply::Full(with_warnings(
            Response::json(200, body),
            call,
        ))));
    }
    let object = crate::state::present(resource, stored.value());
    Ok(Outcome::reply(Reply::Full(one(call, 200, &object))))
}

// A get has no use for a version but to be sure that it is one.
fn check_version(text: &str) -> Result<(), ApiError> {
    if text.is_empty() {
        return Ok(());
    }
    wire::parse_uint(text).map(drop).map_err(|why| {
        let shown = model::field::go_quote(text);
        ApiError::internal_plain(format!("resourceVersion: Invalid value: {shown}: {why}"))
    })
}

/// Refuses a table with rows of an unknown kind.
pub(crate) fn check_table(call: &Call<'_>) -> Result<(), ApiError> {
    if form(&call.media) == Form::Table {
        wire::TableOptions::from_query(call.query)?;
    }
    Ok(())
}

fn state_get<'a>(call: &Call<'a>) -> Option<&'a store::Stored> {
    let target = call.target;
    let namespace = if call.resource.namespaced {
        target.namespace.as_str()
    } else {
        ""
    };
    call.state
        .memory
        .get_parts(&call.resource.storage, namespace, &target.name)
}

/// The answer that holds one object, in the form asked for.
pub(crate) fn one(call: &Call<'_>, status: u16, object: &Value) -> Response {
    let shown = match form(&call.media) {
        Form::Object => return with_warnings(encode(&call.media, status, object), call),
        Form::Table => {
            let rows = std::slice::from_ref(object);
            let list = ListMeta {
                resource_version: meta::resource_version(object).to_owned(),
                ..ListMeta::default()
            };
            call.resource
                .printer
                .table(rows, call.now, include_object(call), &list, true)
        }
        Form::Metadata => metadata_only(object),
    };
    with_warnings(encode(&call.media, status, &shown), call)
}

/// Writes a value in the media type asked for.
pub(crate) fn encode(media: &Media, status: u16, value: &Value) -> Response {
    let body = wire::write(media, value);
    let content_type = match media.format {
        Format::Json => "application/json",
        Format::Yaml => "application/yaml",
    };
    Response {
        status,
        content_type: content_type.into(),
        headers: Vec::new(),
        body,
    }
}

/// Adds the `Warning` headers a call gathered.
pub(crate) fn with_warnings(mut response: Response, call: &Call<'_>) -> Response {
    response.headers.extend(warning_headers(&call.warnings));
    response
}

/// Warnings as headers.
pub(crate) fn warning_headers(warnings: &[String]) -> impl Iterator<Item = (&'static str, String)> {
    warnings
        .iter()
        .map(|w| ("warning", format!("299 - {}", model::field::go_quote(w))))
}

/// The metadata of an object alone.
pub(crate) fn metadata_only(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

/// How much of each object a table's rows carry.
pub(crate) fn include_object(call: &Call<'_>) -> IncludeObject {
    let asked = call
        .query
        .get("includeObject")
        .and_then(|v| IncludeObject::parse(v).ok());
    asked.unwrap_or(IncludeObject::Metadata)
}

/// What an answer is turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Table,
    Metadata,
}

/// The form a client asked for.
pub(crate) fn form(media: &Media) -> Form {
    match media.converts_to() {
        None => Form::Object,
        Some("Table") => Form::Table,
        Some(_) => Form::Metadata,
    }
}

/// Whether stored bytes can be sent as they are.
pub(crate) fn is_plain(media: &Media) -> bool {
    media.format == Format::Json && !media.pretty && media.convert.is_none()
}
