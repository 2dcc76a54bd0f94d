//! A stream of changes: which ones a client sees, and how each line is written.

use crate::read::{Form, form};
use crate::registry::ResourceType;
use crate::reply::typed_json;
use model::{ApiError, FieldSelector, LabelSelector, Reason, Timestamp, Value, json};
use std::sync::Arc;
use store::{Event, EventKind, Memory, Stored};
use tables::ListMeta;
use wire::Media;

/// How many events a watcher takes from the store at once.
const BATCH_MAX: usize = 512;

/// One watch, as data: what to send first, and how to turn later events into lines.
#[derive(Debug)]
pub struct WatchReply {
    pub(crate) resource: Arc<ResourceType>,
    pub(crate) filter: Filter,
    pub(crate) media: Media,
    pub(crate) include: tables::IncludeObject,
    /// Objects to send as ADDED before anything else.
    pub(crate) initial: Vec<Stored>,
    /// Whether a marked bookmark ends the initial objects.
    pub(crate) mark_initial_end: bool,
    /// The version after which events are sent.
    pub(crate) version: u64,
    /// Whether the client wants bookmarks.
    pub bookmarks: bool,
    /// How long the watch lasts at most.
    pub timeout_seconds: u64,
    /// `Warning` and other headers.
    pub headers: Vec<(&'static str, String)>,
    pub(crate) sent_columns: bool,
    /// An error to send instead of anything else.
    pub(crate) failed: Option<ApiError>,
    pub(crate) over: bool,
}

/// Which objects a list or watch is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
}

/// Why a watch is over.
#[derive(Debug, PartialEq, Eq)]
pub enum WatchEnd {
    /// The store no longer has the events this watcher needs.
    Expired,
}

impl Filter {
    /// Whether every object matches.
    pub(crate) fn is_open(&self) -> bool {
        self.labels.is_everything() && self.fields.tests.is_empty()
    }

    /// Whether an object's body matches.
    pub(crate) fn matches(&self, resource: &ResourceType, body: &Value) -> bool {
        self.labels.matches_object(body) && field_matches(resource, &self.fields, body)
    }
}

fn field_matches(resource: &ResourceType, selector: &FieldSelector, body: &Value) -> bool {
    if selector.tests.is_empty() {
        return true;
    }
    let special = match resource.custom() {
        None => kinds::selectable_fields(&resource.gvk, body),
        Some(_) => Vec::new(),
    };
    selector.matches(|field| match field {
        "metadata.name" => model::meta::name(body).to_owned(),
        "metadata.namespace" => model::meta::namespace(body).to_owned(),
        _ => match special.iter().find(|(name, _)| *name == field) {
            Some((_, value)) => value.clone(),
            None => custom_field(body, field),
        },
    })
}

fn custom_field(body: &Value, field: &str) -> String {
    let mut at = body;
    for part in field.split('.') {
        match at.get(part) {
            Some(next) => at = next,
            None => return String::new(),
        }
    }
    match at {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl WatchReply {
    /// The store key whose events matter.
    pub fn storage(&self) -> &str {
        &self.resource.storage
    }

    /// `Content-Type` of the stream.
    pub fn content_type(&self) -> &'static str {
        "application/json"
    }

    /// The version up to which this watch has seen everything.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The lines to send before any event.
    pub fn open(&mut self, now: Timestamp) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(error) = self.failed.take() {
            line(&mut out, "ERROR", error.to_status().to_string().as_bytes());
            self.over = true;
            return out;
        }
        for stored in std::mem::take(&mut self.initial) {
            self.write(&mut out, "ADDED", &stored, now);
        }
        if self.mark_initial_end {
            self.bookmark(&mut out, true);
        }
        out
    }

    /// Whether an error was sent, after which nothing follows.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The lines of all events up to `durable` that were not sent yet.
    pub fn advance(
        &mut self,
        memory: &Memory,
        durable: u64,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) -> Result<(), WatchEnd> {
        if self.over {
            return Ok(());
        }
        loop {
            let events = memory.events_after(&self.resource.storage, self.version, BATCH_MAX);
            let Ok(events) = events else {
                let error = expired(self.version, memory.compacted());
                line(out, "ERROR", error.to_status().to_string().as_bytes());
                return Err(WatchEnd::Expired);
            };
            let full = events.len() == BATCH_MAX;
            for event in events {
                if event.version > durable {
                    return Ok(());
                }
                self.version = event.version;
                self.event(out, &event, now);
            }
            if !full {
                self.version = self.version.max(durable);
                return Ok(());
            }
        }
    }

    /// A bookmark line at the version reached.
    pub fn bookmark(&self, out: &mut Vec<u8>, initial_end: bool) {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let gvk = &self.resource.gvk;
        let object = match form(&self.media) {
            Form::Object => {
                json!({"kind": gvk.kind, "apiVersion": gvk.api_version(), "metadata": metadata})
            }
            Form::Table => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": self.version.to_string()},
                "columnDefinitions": null, "rows": [{"cells": [], "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}}],
            }),
            Form::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            }),
        };
        line(out, "BOOKMARK", object.to_string().as_bytes());
    }

    fn event(&mut self, out: &mut Vec<u8>, event: &Event, now: Timestamp) {
        if self
            .filter
            .namespace
            .as_deref()
            .is_some_and(|ns| ns != &*event.key.namespace)
        {
            return;
        }
        let plain = match event.kind {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        };
        if self.filter.is_open() {
            self.write(out, plain, &event.object, now);
            return;
        }
        let matches = |stored: &Stored| self.filter.matches(&self.resource, &stored.value());
        let before = match event.kind {
            EventKind::Added => false,
            EventKind::Modified | EventKind::Deleted => {
                event.previous.as_ref().is_none_or(&matches)
            }
        };
        let after = event.kind != EventKind::Deleted && matches(&event.object);
        match (before, after) {
            (true, true) => self.write(out, "MODIFIED", &event.object, now),
            (false, true) => self.write(out, "ADDED", &event.object, now),
            // The object as it was when it last matched, at the version that took it away.
            (true, false) if event.kind == EventKind::Modified => {
                let mut last = event.previous.as_ref().unwrap_or(&event.object).value();
                last["metadata"]["resourceVersion"] = event.version.to_string().into();
                self.write_value(out, "DELETED", last, now);
            }
            (true, false) => self.write(out, "DELETED", &event.object, now),
            (false, false) => {}
        }
    }

    fn write(&mut self, out: &mut Vec<u8>, kind: &str, stored: &Stored, now: Timestamp) {
        if form(&self.media) == Form::Object && !self.resource.converts() {
            start(out, kind);
            typed_json(stored, &self.resource.type_prefix, out);
            out.extend_from_slice(b"}\n");
            return;
        }
        self.write_value(out, kind, stored.value(), now);
    }

    fn write_value(&mut self, out: &mut Vec<u8>, kind: &str, body: Value, now: Timestamp) {
        let object = crate::state::present(&self.resource, body);
        let shown = match form(&self.media) {
            Form::Object => object,
            Form::Metadata => crate::read::metadata_only(&object),
            Form::Table => {
                let list = ListMeta {
                    resource_version: model::meta::resource_version(&object).to_owned(),
                    ..ListMeta::default()
                };
                let columns = !self.sent_columns;
                self.sent_columns = true;
                self.resource
                    .printer
                    .table([&object], now, self.include, &list, columns)
            }
        };
        line(out, kind, shown.to_string().as_bytes());
    }
}

/// What a client hears whose version is no longer in the history.
pub(crate) fn expired(asked: u64, oldest: u64) -> ApiError {
    ApiError::new(
        410,
        Some(Reason::Expired),
        format!("too old resource version: {asked} ({oldest})"),
    )
}

// `type` stands before `object`: streaming clients rely on it.
fn start(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
}

fn line(out: &mut Vec<u8>, kind: &str, object: &[u8]) {
    start(out, kind);
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}
