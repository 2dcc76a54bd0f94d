//! The schemas of what is served, as `kubectl explain`, `apply` and validation read them.

use crate::hash::sha512_hex;
use crate::registry::ResourceType;
use crate::reply::Response;
use crate::request::Request;
use crate::state::State;
use kinds::catalog;
use model::{ApiError, GroupVersionKind, Map, Reason, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const REF: &str = "#/components/schemas/";

/// Paths that have a document of their own but serve no objects.
const UNTYPED: [&str; 4] = [".well-known/openid-configuration", "api", "apis", "version"];

/// `/openapi/v3`: where each group version's document is, with a hash of its content.
pub(crate) fn index(state: &State, request: &Request) -> Response {
    let mut paths = Map::new();
    let mut add = |path: String, hash: &str| {
        let url = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path, json!({"serverRelativeURL": url}));
    };
    for path in UNTYPED {
        add(path.to_owned(), &sha512_hex(path.as_bytes()));
    }
    for (group, versions) in state.registry.groups() {
        if !group.is_empty() {
            add(format!("apis/{group}"), &sha512_hex(group.as_bytes()));
        }
        for version in versions {
            let path = if group.is_empty() {
                format!("api/{version}")
            } else {
                format!("apis/{group}/{version}")
            };
            add(path, &document_hash(state, group, version));
        }
    }
    let body = json!({"paths": paths}).to_string().into_bytes();
    let tag = sha512_hex(&body);
    if request
        .header("if-none-match")
        .is_some_and(|t| t.trim_matches('"') == tag)
    {
        return unmodified(&tag);
    }
    Response {
        status: 200,
        content_type: "text/plain; charset=utf-8".into(),
        headers: vec![("etag", format!("\"{tag}\"")), ("vary", "Accept".into())],
        body,
    }
}

fn unmodified(tag: &str) -> Response {
    let headers = vec![("etag", format!("\"{tag}\"")), ("vary", "Accept".into())];
    Response {
        status: 304,
        content_type: "".into(),
        headers,
        body: Vec::new(),
    }
}

// Built-in documents change with the catalogue alone, custom ones with their definitions.
fn document_hash(state: &State, group: &str, version: &str) -> String {
    let mut text = format!(
        "{group}/{version}/{}",
        catalog::builtin().version["gitVersion"]
    );
    for resource in resources(state, group, version).filter(|r| r.custom().is_some()) {
        if let Some(crd) = definition(state, resource) {
            text.push_str(&format!(
                "{}:{}",
                model::meta::uid(&crd),
                model::meta::generation(&crd)
            ));
        }
    }
    sha512_hex(text.as_bytes())
}

fn resources<'a>(
    state: &'a State,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Arc<ResourceType>> {
    let all = state.registry.resources().iter();
    all.filter(move |r| r.gvr.group == group && r.gvr.version == version)
}

fn definition(state: &State, resource: &ResourceType) -> Option<Value> {
    let name = &resource.custom()?.crd;
    let kind = state
        .registry
        .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")?;
    state.get(kind, "", name)
}

/// One group version's document; `None` when it is not served.
pub(crate) fn document(state: &State, request: &Request, path: &str) -> Option<Response> {
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_owned()),
        ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
        ["apis", group] if state.registry.groups().iter().any(|(g, _)| g == group) => {
            return Some(untyped_document(path));
        }
        _ if UNTYPED.contains(&path) => return Some(untyped_document(path)),
        _ => return None,
    };
    if !state.registry.serves(&group, &version) {
        return None;
    }
    let tag = document_hash(state, &group, &version);
    if request
        .header("if-none-match")
        .is_some_and(|t| t.trim_matches('"') == tag)
    {
        return Some(unmodified(&tag));
    }
    let (paths, schemas) = describe(state, &group, &version);
    let title = if schemas_are_custom(state, &group, &version) {
        json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"})
    } else {
        json!({"title": "Kubernetes", "version": "1.36"})
    };
    let document = json!({
        "openapi": "3.0.0", "info": title, "paths": paths, "components": {"schemas": schemas},
    });
    let mut response = Response::json(200, document.to_string().into_bytes());
    response.headers.push(("etag", format!("\"{tag}\"")));
    response.headers.push(("vary", "Accept".into()));
    Some(response)
}

fn untyped_document(path: &str) -> Response {
    let get = json!({"get": {"responses": {"200": {"description": "OK"}}}});
    let document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {format!("/{path}/"): get},
    });
    Response::json(200, document.to_string().into_bytes())
}

fn schemas_are_custom(state: &State, group: &str, version: &str) -> bool {
    resources(state, group, version).all(|r| r.custom().is_some())
}

// The paths of a group version and every schema they reach.
fn describe(state: &State, group: &str, version: &str) -> (Map<String, Value>, Map<String, Value>) {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let mut wanted = BTreeSet::new();
    for resource in resources(state, group, version) {
        let name = match definition(state, resource) {
            Some(crd) => {
                let gvk = &resource.gvk;
                let name = schema::component_name(group, version, &gvk.kind);
                let list = schema::component_name(group, version, &resource.list_kind);
                let own = schema::publish(&crd, version);
                collect_refs(&own, &mut wanted);
                schemas.insert(name.clone(), own);
                let listed = schema::publish_list(&crd, version);
                collect_refs(&listed, &mut wanted);
                schemas.insert(list, listed);
                Some(name)
            }
            None => catalog::builtin().schema_names.get(&resource.gvk).cloned(),
        };
        if resource.custom().is_none() {
            wanted.extend(name.clone());
            let list = GroupVersionKind::new(group, version, &resource.list_kind);
            wanted.extend(catalog::builtin().schema_names.get(&list).cloned());
        }
        add_paths(&mut paths, resource, name.as_deref());
    }
    let delete = GroupVersionKind::new("", "v1", "DeleteOptions");
    wanted.extend(catalog::builtin().schema_names.get(&delete).cloned());
    close(&mut schemas, wanted);
    (paths, schemas)
}

// Adds every named schema, and what it refers to, from the catalogue.
fn close(schemas: &mut Map<String, Value>, wanted: BTreeSet<String>) {
    let mut open: Vec<String> = wanted.into_iter().collect();
    while let Some(name) = open.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        let Some(schema) = catalog::builtin().raw_schemas.get(&name) else {
            continue;
        };
        let mut refs = BTreeSet::new();
        collect_refs(schema, &mut refs);
        open.extend(refs);
        schemas.insert(name, schema.clone());
    }
}

fn collect_refs(schema: &Value, into: &mut BTreeSet<String>) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str().and_then(|text| text.strip_prefix(REF)) {
                    Some(name) if key == "$ref" => {
                        into.insert(name.to_owned());
                    }
                    _ => collect_refs(value, into),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|item| collect_refs(item, into)),
        _ => {}
    }
}

fn add_paths(paths: &mut Map<String, Value>, resource: &ResourceType, schema: Option<&str>) {
    let gvr = &resource.gvr;
    let root = if gvr.group.is_empty() {
        format!("/api/{}", gvr.version)
    } else {
        format!("/apis/{}/{}", gvr.group, gvr.version)
    };
    let place = if resource.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}{place}/{}", gvr.resource);
    let one = format!("{collection}/{{name}}");
    let serves = |verb: &str| resource.verbs.iter().any(|v| v == verb);
    let operation =
        |action: &str, body: bool| operation(resource, &resource.gvk, action, body, schema);
    let mut on_collection = Map::new();
    let mut on_one = Map::new();
    for (verb, method, action, body) in [
        ("list", "get", "list", false),
        ("create", "post", "post", true),
        ("deletecollection", "delete", "deletecollection", false),
    ] {
        if serves(verb) {
            on_collection.insert(method.into(), operation(action, body));
        }
    }
    for (verb, method, body) in [
        ("get", "get", false),
        ("update", "put", true),
        ("patch", "patch", true),
        ("delete", "delete", false),
    ] {
        if serves(verb) {
            on_one.insert(method.into(), operation(method, body));
        }
    }
    if resource.namespaced && serves("list") {
        let everywhere = json!({"get": operation("list", false)});
        paths.insert(format!("{root}/{}", gvr.resource), everywhere);
    }
    for sub in &resource.subresources {
        let mut on_sub = Map::new();
        for (verb, method) in [
            ("get", "get"),
            ("create", "post"),
            ("update", "put"),
            ("patch", "patch"),
        ] {
            if sub.verbs.iter().any(|v| v == verb) {
                let body = method != "get";
                on_sub.insert(
                    method.into(),
                    self::operation(resource, &sub.gvk, method, body, schema),
                );
            }
        }
        if !on_sub.is_empty() {
            paths.insert(format!("{one}/{}", sub.name), Value::Object(on_sub));
        }
    }
    for (path, operations) in [(collection, on_collection), (one, on_one)] {
        if !operations.is_empty() {
            paths.insert(path, Value::Object(operations));
        }
    }
}

fn operation(
    resource: &ResourceType,
    gvk: &GroupVersionKind,
    action: &str,
    body: bool,
    schema: Option<&str>,
) -> Value {
    let parameter = |name: &str, ty: &str| json!({"name": name, "in": "query", "schema": {"type": ty, "uniqueItems": true}});
    let mut parameters: Vec<Value> = Vec::new();
    if body || action == "delete" || action == "deletecollection" {
        parameters.push(parameter("dryRun", "string"));
    }
    if body {
        parameters.push(parameter("fieldManager", "string"));
        parameters.push(parameter("fieldValidation", "string"));
    }
    if action == "patch" {
        parameters.push(parameter("force", "boolean"));
    }
    let mut operation = json!({
        "parameters": parameters,
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
    });
    if let Some(schema) = schema.filter(|_| *gvk == resource.gvk && action != "deletecollection") {
        let content = json!({"application/json": {"schema": {"$ref": format!("{REF}{schema}")}}});
        operation["responses"] = json!({"200": {"description": "OK", "content": content}});
    }
    operation
}

/// `/openapi/v2`, in JSON: everything in one document, in the older form.
pub(crate) fn swagger(state: &State, request: &Request) -> Result<Response, ApiError> {
    let accept = request.header("accept").unwrap_or("");
    let takes = |media: &str| accept.split(',').any(|a| a.trim().starts_with(media));
    if !(accept.is_empty() || takes("application/json") || takes("*/*") || takes("application/*")) {
        return Err(ApiError::new(
            406,
            Some(Reason::NotAcceptable),
            "406: Not Acceptable\n\nAvailable representations: application/json",
        ));
    }
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for (group, versions) in state.registry.groups() {
        for version in versions {
            let (more_paths, more_schemas) = describe(state, group, version);
            paths.extend(more_paths);
            schemas.extend(more_schemas);
        }
    }
    for path in paths.values_mut() {
        for operation in path.as_object_mut().into_iter().flatten().map(|(_, o)| o) {
            flatten_operation(operation);
        }
    }
    let mut definitions = Value::Object(schemas);
    to_v2(&mut definitions);
    let document = json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": catalog::builtin().version["gitVersion"]},
        "paths": paths,
        "definitions": definitions,
    });
    Ok(Response::json(200, document.to_string().into_bytes()))
}

// Version 2 writes parameter types and answers without the `schema` and `content` in between.
fn flatten_operation(operation: &mut Value) {
    for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
        let ty = parameter["schema"]["type"].clone();
        *parameter =
            json!({"name": parameter["name"], "in": "query", "type": ty, "uniqueItems": true});
    }
    if let Some(schema) = operation
        .pointer("/responses/200/content/application~1json/schema")
        .cloned()
    {
        operation["responses"] = json!({"200": {"description": "OK", "schema": schema}});
    }
    to_v2(operation);
}

fn to_v2(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let only_ref = map
                .get("allOf")
                .and_then(|a| a.get(0))
                .and_then(|r| r.get("$ref"))
                .cloned();
            if let Some(target) = only_ref {
                map.remove("allOf");
                map.insert("$ref".into(), target);
            }
            if map.get("oneOf").is_some_and(Value::is_array) && !map.contains_key("type") {
                map.remove("oneOf");
                map.insert("type".into(), json!("string"));
            }
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(text) if key == "$ref" => {
                        *text = text.replace(REF, "#/definitions/");
                    }
                    other => to_v2(other),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(to_v2),
        _ => {}
    }
}
