//! What is served: version, health, groups, resources, and the way to the schemas.

use crate::handle::no_such_resource;
use crate::openapi;
use crate::registry::ResourceType;
use crate::reply::{Reply, Response};
use crate::request::{Method, Request};
use crate::state::State;
use model::{ApiError, Value, json};
use std::sync::Arc;
use wire::{Endpoint, Media, Query};

/// Answers a path that names no resource.
pub(crate) fn serve(state: &State, request: &Request, query: &Query) -> Result<Reply, ApiError> {
    if !matches!(request.method, Method::Get | Method::Head) {
        return Err(crate::handle::method_not_allowed());
    }
    let path = request.path.trim_end_matches('/');
    let agent = request.header("user-agent").unwrap_or("");
    let plain = |value: &Value| -> Result<Response, ApiError> {
        let mut media = wire::accept(request.header("accept"), Endpoint::Plain)?;
        media.pretty = wire::is_pretty(query, agent);
        Ok(encode(&media, value))
    };
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let response = match parts.as_slice() {
        [] | [""] => plain(&root_paths(state))?,
        ["version"] => plain(&kinds::catalog::builtin().version)?,
        ["healthz" | "livez" | "readyz", ..] => health(query, &parts),
        ["api" | "apis"] => groups(state, request, query, parts[0] == "apis")?,
        ["api", "v1"] => plain(&resource_list(state, "", "v1"))?,
        ["apis", group] => match state.registry.groups().iter().find(|(g, _)| g == group) {
            Some((group, versions)) => plain(&with_type(api_group(group, versions), "APIGroup"))?,
            None => return Ok(Reply::Full(not_found())),
        },
        ["apis", group, version] if state.registry.serves(group, version) => {
            plain(&resource_list(state, group, version))?
        }
        ["openapi", "v3"] => openapi::index(state, request),
        ["openapi", "v3", rest @ ..] => match openapi::document(state, request, &rest.join("/")) {
            Some(response) => response,
            None => Response {
                status: 404,
                content_type: "".into(),
                headers: Vec::new(),
                body: Vec::new(),
            },
        },
        ["openapi", "v2"] => openapi::swagger(state, request)?,
        [".well-known", "openid-configuration"] => match &state.settings.signer {
            Some(_) => {
                let url = format!("https://{}", state.settings.address);
                plain(&pki::openid_configuration(&state.settings.issuer, &url))?
            }
            None => not_found(),
        },
        ["openid", "v1", "jwks"] => match &state.settings.signer {
            Some(signer) => plain(&signer.jwks())?,
            None => not_found(),
        },
        ["api", ..] => return Err(no_such_resource()),
        _ => not_found(),
    };
    Ok(Reply::Full(response))
}

fn not_found() -> Response {
    Response::text(404, "404 page not found\n")
}

fn encode(media: &Media, value: &Value) -> Response {
    Response {
        status: 200,
        content_type: media.content_type().into(),
        headers: Vec::new(),
        body: wire::write(media, value),
    }
}

fn health(query: &Query, parts: &[&str]) -> Response {
    const CHECKS: [&str; 3] = ["ping", "log", "etcd"];
    if let [_, check] = parts {
        return if CHECKS.contains(check) {
            Response::text(200, "ok")
        } else {
            not_found()
        };
    }
    if query.get("verbose").is_none() {
        return Response::text(200, "ok");
    }
    let mut text: String = CHECKS.iter().map(|c| format!("[+]{c} ok\n")).collect();
    text.push_str(&format!("{} check passed\n", parts[0]));
    Response::text(200, text)
}

fn root_paths(state: &State) -> Value {
    let mut paths = vec![
        "/.well-known/openid-configuration".to_owned(),
        "/api".into(),
        "/api/v1".into(),
        "/apis".into(),
        "/apis/".into(),
    ];
    for (group, versions) in state
        .registry
        .groups()
        .iter()
        .filter(|(g, _)| !g.is_empty())
    {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|v| format!("/apis/{group}/{v}")));
    }
    for path in [
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ] {
        paths.push(path.into());
    }
    paths.sort();
    json!({"paths": paths})
}

// `/api` and `/apis`: the old lists, or everything at once for those who ask.
fn groups(
    state: &State,
    request: &Request,
    query: &Query,
    named: bool,
) -> Result<Response, ApiError> {
    let mut media = wire::accept(request.header("accept"), Endpoint::Discovery)?;
    media.pretty = wire::is_pretty(query, request.header("user-agent").unwrap_or(""));
    if media.converts_to().is_some() {
        return Ok(aggregated(state, request, &media, named));
    }
    let value = if named {
        group_list(state)
    } else {
        api_versions(state)
    };
    Ok(encode(&media, &value))
}

fn api_versions(state: &State) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": state.settings.address},
        ],
    })
}

fn with_type(mut value: Value, kind: &str) -> Value {
    value["kind"] = json!(kind);
    value["apiVersion"] = json!("v1");
    value
}

fn api_group(group: &str, versions: &[String]) -> Value {
    let entry = |v: &String| json!({"groupVersion": format!("{group}/{v}"), "version": v});
    json!({
        "name": group,
        "versions": versions.iter().map(entry).collect::<Vec<_>>(),
        "preferredVersion": versions.first().map(entry),
    })
}

fn group_list(state: &State) -> Value {
    let named = state
        .registry
        .groups()
        .iter()
        .filter(|(g, _)| !g.is_empty());
    let groups: Vec<Value> = named.map(|(g, versions)| api_group(g, versions)).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn of_version<'a>(
    state: &'a State,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = &'a Arc<ResourceType>> {
    let all = state.registry.resources().iter();
    all.filter(move |r| r.gvr.group == group && r.gvr.version == version)
}

fn resource_list(state: &State, group: &str, version: &str) -> Value {
    let mut resources = Vec::new();
    for resource in of_version(state, group, version) {
        let mut entry = json!({
            "name": resource.gvr.resource,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.gvk.kind,
            "verbs": resource.verbs,
        });
        if !resource.short_names.is_empty() {
            entry["shortNames"] = json!(resource.short_names);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        if resource.verbs.iter().any(|v| v == "watch") {
            entry["storageVersionHash"] = json!(storage_hash(resource));
        }
        if !resource.verbs.is_empty() {
            resources.push(entry);
        }
        for sub in &resource.subresources {
            let mut entry = json!({
                "name": format!("{}/{}", resource.gvr.resource, sub.name),
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": sub.gvk.kind,
                "verbs": sub.verbs,
            });
            if sub.gvk.group_version() != resource.gvk.group_version() {
                entry["group"] = json!(sub.gvk.group);
                entry["version"] = json!(sub.gvk.version);
            }
            resources.push(entry);
        }
    }
    let gv = model::GroupVersion::new(group, version).to_string();
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv, "resources": resources})
}

// Eight bytes that move when the stored version of a kind does.
fn storage_hash(resource: &ResourceType) -> String {
    let gvk = &resource.storage_gvk;
    crate::hash::short(format!("{}/{}/{}", gvk.group, gvk.version, gvk.kind).as_bytes())
}

fn aggregated(state: &State, request: &Request, media: &Media, named: bool) -> Response {
    let tag = etag(state, named);
    if request
        .header("if-none-match")
        .is_some_and(|t| t.trim_matches('"') == tag)
    {
        return Response {
            status: 304,
            content_type: "".into(),
            headers: vec![("etag", format!("\"{tag}\"")), ("vary", "Accept".into())],
            body: Vec::new(),
        };
    }
    let api_version = media.convert.as_ref().map_or("v2", |c| c.version.as_str());
    let groups = state
        .registry
        .groups()
        .iter()
        .filter(|(g, _)| g.is_empty() != named);
    let items: Vec<Value> = groups
        .map(|(g, versions)| group_discovery(state, g, versions))
        .collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{api_version}"),
        "metadata": {},
        "items": items,
    });
    let mut response = encode(media, &document);
    response.headers.push(("etag", format!("\"{tag}\"")));
    response.headers.push(("vary", "Accept".into()));
    response
}

fn etag(state: &State, named: bool) -> String {
    let mut text = format!("{named}");
    for resource in state.registry.resources() {
        let gvr = &resource.gvr;
        text.push_str(&format!(
            "|{}/{}/{}:{:?}:{:?}",
            gvr.group, gvr.version, gvr.resource, resource.short_names, resource.categories
        ));
        text.extend(resource.subresources.iter().map(|s| format!("/{}", s.name)));
    }
    crate::hash::sha512_hex(text.as_bytes())
}

fn group_discovery(state: &State, group: &str, versions: &[String]) -> Value {
    let metadata = if group.is_empty() {
        json!({})
    } else {
        json!({"name": group})
    };
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = of_version(state, group, version)
                .map(|r| entry(r))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn entry(resource: &ResourceType) -> Value {
    // Built-in kinds leave group and version to the enclosing entry; definitions repeat them.
    let custom = resource.custom().is_some();
    let response_kind = |gvk: &model::GroupVersionKind| {
        if custom || gvk.group_version() != resource.gvk.group_version() {
            json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind})
        } else {
            json!({"group": "", "version": "", "kind": gvk.kind})
        }
    };
    let mut entry = json!({
        "resource": resource.gvr.resource,
        "responseKind": response_kind(&resource.gvk),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let subs = resource.subresources.iter().map(|s| {
            json!({"subresource": s.name, "responseKind": response_kind(&s.gvk), "verbs": s.verbs})
        });
        entry["subresources"] = subs.collect();
    }
    entry
}
