//! Lists and watches: from the query to a snapshot or a stream.

use crate::handle::{Call, Handled, Outcome};
use crate::read::{Form, form, is_plain};
use crate::reply::{ListReply, Reply};
use crate::watch::{Filter, WatchReply, expired};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use model::{ApiError, Cause, FieldSelector, Reason, Value, json};
use store::{Listed, Stored};
use tables::ListMeta;
use wire::ListOptions;

/// How long a watch lasts when the client does not say; the real one draws from 30 to 60 minutes.
const WATCH_DEFAULT_SECONDS: u64 = 1_800;

fn options(call: &Call<'_>) -> Result<(ListOptions, Filter), ApiError> {
    let mut options = ListOptions::from_query(call.query)?;
    let labels = std::mem::take(&mut options.label_selector);
    let mut fields = std::mem::take(&mut options.field_selector);
    check_fields(call, &fields)?;
    if call.target.watch_path && !call.target.name.is_empty() {
        fields
            .tests
            .push(("metadata.name".into(), call.target.name.clone(), true));
    }
    let inside = call.resource.namespaced && !call.target.namespace.is_empty();
    let namespace = inside.then(|| call.target.namespace.clone());
    Ok((
        options,
        Filter {
            namespace,
            labels,
            fields,
        },
    ))
}

/// Every object that a collection's selectors match, up to its `limit`.
pub(crate) fn matching(call: &Call<'_>) -> Result<Vec<Stored>, ApiError> {
    let (options, filter) = options(call)?;
    list_version(&options.resource_version)?;
    let limit = usize::try_from(options.limit).ok().filter(|l| *l > 0);
    let all = call
        .state
        .memory
        .list(&call.resource.storage, filter.namespace.as_deref());
    let matching = all
        .map(|(_, _, stored)| stored)
        .filter(|s| filter.is_open() || filter.matches(&call.resource, &s.value()));
    Ok(matching
        .take(limit.unwrap_or(usize::MAX))
        .cloned()
        .collect())
}

/// The list of what a deletion took: `gone` as it was stored, `kept` as it now waits.
pub(crate) fn deleted(call: &Call<'_>, at: u64, gone: Vec<Stored>, kept: Vec<Value>) -> Reply {
    let resource = &call.resource;
    let metadata = json!({"resourceVersion": at.to_string()});
    if kept.is_empty() && is_plain(&call.media) && !resource.converts() {
        return Reply::List(plain_list(call, &metadata, gone));
    }
    let gone = gone
        .iter()
        .map(|s| crate::state::present(resource, s.value()));
    let items: Vec<Value> = gone
        .chain(kept)
        .map(|object| match resource.custom() {
            Some(_) => object,
            None => crate::registry::untyped(object),
        })
        .collect();
    let list = json!({
        "kind": resource.list_kind,
        "apiVersion": resource.gvk.api_version(),
        "metadata": metadata,
        "items": items,
    });
    let response = crate::read::encode(&call.media, 200, &list);
    Reply::Full(crate::read::with_warnings(response, call))
}

// A resourceVersion: absent, or a number.
fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    wire::parse_uint(text).map(Some).map_err(|why| {
        let shown = model::field::go_quote(text);
        format!("resourceVersion: Invalid value: {shown}: {why}")
    })
}

// Lists and watches word the same fault differently.
fn list_version(text: &str) -> Result<Option<u64>, ApiError> {
    version(text).map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))
}

fn check_fields(call: &Call<'_>, selector: &FieldSelector) -> Result<(), ApiError> {
    let gvk = &call.resource.gvk;
    for (field, _, _) in &selector.tests {
        let known = match call.resource.custom() {
            Some(custom) => custom.selectable.contains(field),
            None => kinds::selectable_fields(gvk, &Value::Null)
                .iter()
                .any(|(name, _)| name == field),
        };
        if !known && field != "metadata.name" && field != "metadata.namespace" {
            return Err(ApiError::bad_request(unknown_field(call, field)));
        }
    }
    Ok(())
}

fn unknown_field(call: &Call<'_>, field: &str) -> String {
    let gvk = &call.resource.gvk;
    let special = kinds::selectable_fields(gvk, &Value::Null);
    if call.resource.custom().is_some() {
        return format!("field label not supported: {field}");
    }
    if special.is_empty() {
        return format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
    format!("field label not supported: {field}")
}

/// GET of a collection.
pub(crate) fn list(call: &mut Call<'_>) -> Handled {
    let (options, filter) = options(call)?;
    crate::read::check_table(call)?;
    if call.resource.gvk.kind == "ComponentStatus" {
        return Ok(component_statuses(call));
    }
    let page = page(call, &options, &filter)?;
    let mut metadata = json!({"resourceVersion": page.version.to_string()});
    if let Some(token) = &page.next {
        metadata["continue"] = json!(token);
    } else if call.resource.custom().is_some() && form(&call.media) == Form::Object {
        // Lists of custom resources say it even when they are complete.
        metadata["continue"] = json!("");
    }
    if let Some(left) = page.remaining {
        metadata["remainingItemCount"] = json!(left);
    }
    let resource = &call.resource;
    if is_plain(&call.media) && !resource.converts() {
        return Ok(Outcome::reply(Reply::List(plain_list(
            call, &metadata, page.items,
        ))));
    }
    let objects: Vec<Value> = page
        .items
        .iter()
        .map(|s| crate::state::present(resource, s.value()))
        .collect();
    let shown = match form(&call.media) {
        Form::Table => {
            let list = ListMeta {
                resource_version: page.version.to_string(),
                continue_token: page.next.unwrap_or_default(),
                remaining: page.remaining.map(|n| n as i64),
            };
            let include = crate::read::include_object(call);
            resource
                .printer
                .table(&objects, call.now, include, &list, true)
        }
        Form::Metadata => json!({
            "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "items": objects.iter().map(crate::read::metadata_only).collect::<Vec<_>>(),
        }),
        Form::Object => {
            let items: Vec<Value> = match resource.custom() {
                Some(_) => objects,
                None => objects.into_iter().map(crate::registry::untyped).collect(),
            };
            json!({
                "kind": resource.list_kind, "apiVersion": resource.gvk.api_version(),
                "metadata": metadata, "items": items,
            })
        }
    };
    let response = crate::read::encode(&call.media, 200, &shown);
    Ok(Outcome::reply(Reply::Full(crate::read::with_warnings(
        response, call,
    ))))
}

fn plain_list(call: &Call<'_>, metadata: &Value, items: Vec<Stored>) -> ListReply {
    let resource = &call.resource;
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        json!(resource.list_kind),
        json!(resource.gvk.api_version()),
    );
    let item_prefix = match resource.custom() {
        Some(_) => resource.type_prefix.clone(),
        None => "".into(),
    };
    ListReply {
        head: head.into_bytes(),
        item_prefix,
        items,
        tail: b"]}\n".to_vec(),
        headers: crate::read::warning_headers(&call.warnings).collect(),
    }
}

struct Page {
    items: Vec<Stored>,
    version: u64,
    next: Option<String>,
    remaining: Option<usize>,
}

// Picks the version and the items of one page.
fn page(call: &Call<'_>, options: &ListOptions, filter: &Filter) -> Result<Page, ApiError> {
    let memory = &call.state.memory;
    let storage: &str = &call.resource.storage;
    let namespace = filter.namespace.as_deref();
    let newest = memory.version();
    let (mut at, mut after) = (newest, None);
    if !options.continue_token.is_empty() {
        let token = Token::parse(&options.continue_token)
            .map_err(|why| ApiError::bad_request(format!("invalid continue token: {why}")))?;
        if !matches!(options.resource_version.as_str(), "" | "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(ApiError::bad_request(why));
        }
        // A negative version reads the newest one.
        at = u64::try_from(token.version).unwrap_or(newest);
        if at > newest {
            return Err(too_large(at, newest));
        }
        after = Some(token.position(namespace, call.resource.namespaced));
    } else if let Some(asked) = list_version(&options.resource_version)? {
        if asked > newest {
            return Err(too_large(asked, newest));
        }
        if options.resource_version_match == "Exact" {
            at = asked;
        }
    }
    if let (true, Some(name)) = (
        at == newest && after.is_none(),
        filter.fields.required("metadata.name"),
    ) && (namespace.is_some() || !call.resource.namespaced)
    {
        let found = memory.get_parts(storage, namespace.unwrap_or(""), name);
        let items = found
            .filter(|s| filter.matches(&call.resource, &s.value()))
            .cloned();
        return Ok(Page {
            items: items.into_iter().collect(),
            version: at,
            next: None,
            remaining: None,
        });
    }
    let limit = usize::try_from(options.limit)
        .ok()
        .filter(|l| *l > 0)
        .unwrap_or(usize::MAX);
    let from = after
        .as_ref()
        .map(|(ns, name): &(String, String)| (ns.as_str(), name.as_str()));
    let gone = |_| expired_list(call);
    if filter.is_open() {
        let page = memory
            .list_at(storage, namespace, at, from, limit)
            .map_err(gone)?;
        let last = page.items.last().filter(|_| page.more);
        let next = last.map(|l| Token::after(at, l, namespace.is_some(), call).to_string());
        let remaining = match last {
            Some(last) => {
                let total = memory.count_at(storage, namespace, at).map_err(gone)?;
                let before = passed(call, namespace, at, last)?;
                Some(total.saturating_sub(before))
            }
            None => None,
        };
        let items = page.items.into_iter().map(|l| l.object).collect();
        return Ok(Page {
            items,
            version: at,
            next,
            remaining,
        });
    }
    let all = memory
        .list_at(storage, namespace, at, from, usize::MAX)
        .map_err(gone)?;
    let mut all = all.items.into_iter();
    let mut picked: Vec<Listed> = Vec::new();
    while picked.len() < limit {
        let Some(listed) = all.next() else { break };
        if filter.matches(&call.resource, &listed.object.value()) {
            picked.push(listed);
        }
    }
    let last = picked.last().filter(|_| all.len() > 0);
    let next = last.map(|l| Token::after(at, l, namespace.is_some(), call).to_string());
    let items = picked.into_iter().map(|l| l.object).collect();
    Ok(Page {
        items,
        version: at,
        next,
        remaining: None,
    })
}

// How many objects a reader has seen once it got to `last`.
fn passed(
    call: &Call<'_>,
    namespace: Option<&str>,
    at: u64,
    last: &Listed,
) -> Result<usize, ApiError> {
    let memory = &call.state.memory;
    let total = memory
        .count_at(&call.resource.storage, namespace, at)
        .unwrap_or(0);
    let from = Some((&*last.namespace, &*last.name));
    let rest = memory
        .list_at(&call.resource.storage, namespace, at, from, usize::MAX)
        .map_err(|_| expired_list(call))?;
    Ok(total.saturating_sub(rest.items.len()))
}

/// Where a list goes on: the version it reads and the last key it gave.
struct Token {
    version: i64,
    start: String,
}

impl Token {
    fn parse(text: &str) -> Result<Self, String> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .map_err(|_| "continue key is not valid: illegal base64 data".to_owned())?;
        let value = wire::parse_json(&bytes)
            .map_err(|why| format!("continue key is not valid: {why}"))?
            .value;
        let start = value["start"].as_str().unwrap_or("").to_owned();
        if value["v"] != "meta.k8s.io/v1" {
            return Err(
                "continue key is not valid: server does not recognize this encoded version".into(),
            );
        }
        if start.is_empty() {
            return Err(
                "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"
                    .into(),
            );
        }
        let version = value["rv"].as_i64().unwrap_or(0);
        if version == 0 {
            return Err(
                "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
                    .into(),
            );
        }
        if start.split('/').any(|part| matches!(part, "." | "..")) {
            return Err(format!("continue key is not valid: {start}"));
        }
        Ok(Self { version, start })
    }

    fn after(version: u64, last: &Listed, inside: bool, call: &Call<'_>) -> Self {
        let start = if inside || !call.resource.namespaced {
            format!("/{}\0", last.name)
        } else {
            format!("/{}/{}\0", last.namespace, last.name)
        };
        Self {
            version: version as i64,
            start,
        }
    }

    // Namespace and name after which to go on.
    fn position(&self, namespace: Option<&str>, namespaced: bool) -> (String, String) {
        let start = self.start.trim_start_matches('/').trim_end_matches('\0');
        match (namespace, start.split_once('/')) {
            (None, Some((ns, name))) if namespaced => (ns.to_owned(), name.to_owned()),
            (namespace, _) => (namespace.unwrap_or("").to_owned(), start.to_owned()),
        }
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = json!(self.start);
        let text = format!(
            "{{\"v\":\"meta.k8s.io/v1\",\"rv\":{},\"start\":{start}}}",
            self.version
        );
        f.write_str(&URL_SAFE_NO_PAD.encode(text))
    }
}

fn too_large(asked: u64, current: u64) -> ApiError {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut error = ApiError::new(504, Some(Reason::Timeout), message);
    error.causes.push(Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
    });
    error.retry_after_seconds = 1;
    error
}

// Says how to go on although the version is gone: with a token that reads the newest one.
fn expired_list(call: &Call<'_>) -> ApiError {
    let token = Token::parse(call.query.get("continue").unwrap_or("")).ok();
    let mut error = ApiError::new(410, Some(Reason::Expired), "");
    let Some(token) = token else {
        error.message = "The resourceVersion for the provided list is too old.".into();
        return error;
    };
    error.message =
        "The provided continue parameter is too old to display a consistent list result. \
         You can start a new list without the continue parameter, or use the continue token in \
         this response to retrieve the remainder of the results. Continuing with the provided \
         token results in an inconsistent list - objects that were created, modified, or deleted \
         between the time the first chunk was returned and now may show up in the list."
            .into();
    error.continue_token = Token {
        version: -1,
        start: token.start,
    }
    .to_string();
    error
}

fn component_statuses(call: &Call<'_>) -> Outcome {
    let one = |name: &str| json!({"metadata": {"name": name}, "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]});
    let items: Vec<Value> = ["scheduler", "controller-manager", "etcd-0"]
        .map(one)
        .to_vec();
    let list =
        json!({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": items});
    let response = crate::read::encode(&call.media, 200, &list);
    Outcome::reply(Reply::Full(crate::read::with_warnings(response, call)))
}

/// GET of a collection with `watch`.
pub(crate) fn watch(call: &mut Call<'_>) -> Handled {
    let (options, filter) = options(call)?;
    crate::read::check_table(call)?;
    let memory = &call.state.memory;
    let now_version = memory.version();
    let asked = version(&options.resource_version).map_err(ApiError::internal_plain)?;
    let from_start = asked.is_none_or(|v| v == 0) || options.send_initial_events == Some(true);
    let wants_initial = from_start && options.send_initial_events != Some(false);
    let mut failed = None;
    let mut start = now_version;
    let mut initial = Vec::new();
    if wants_initial {
        if let Some(asked) = asked.filter(|v| *v > now_version) {
            return Err(too_large(asked, now_version).into());
        }
        let stored = memory.list(&call.resource.storage, filter.namespace.as_deref());
        initial = stored
            .filter(|(_, _, s)| filter.is_open() || filter.matches(&call.resource, &s.value()))
            .map(|(_, _, s)| s.clone())
            .collect();
    } else if let Some(asked) = asked.filter(|v| *v > 0) {
        start = asked;
        let oldest = memory.compacted_of(&call.resource.storage);
        if asked < oldest {
            failed = Some(expired(asked, oldest));
        }
    }
    let reply = WatchReply {
        resource: call.resource.clone(),
        filter,
        media: call.media.clone(),
        include: crate::read::include_object(call),
        initial,
        mark_initial_end: options.send_initial_events == Some(true)
            && options.allow_watch_bookmarks,
        version: start,
        bookmarks: options.allow_watch_bookmarks,
        timeout_seconds: options
            .timeout_seconds
            .and_then(|s| u64::try_from(s).ok())
            .filter(|s| *s > 0)
            .unwrap_or(WATCH_DEFAULT_SECONDS),
        headers: crate::read::warning_headers(&call.warnings).collect(),
        sent_columns: false,
        failed,
        over: false,
    };
    Ok(Outcome::reply(Reply::Watch(Box::new(reply))))
}
