//! Events as the real controllers write them: core/v1 with a count, or, for the scheduler,
//! events.k8s.io with a series.

use crate::act::{Act, CONTROLLERS, SCHEDULER, create, patch};
use crate::index::EventKey;
use crate::object::Type;
use crate::view::View;
use model::{Value, json, meta};

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grade {
    Normal,
    Warning,
}

impl Grade {
    fn word(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What an event says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note<'a> {
    pub(crate) component: &'a str,
    pub(crate) grade: Grade,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// An event of a controller about an object.
pub(crate) fn about(view: &View<'_>, kind: &Type, object: &Value, note: Note<'_>) -> Act {
    about_nth(view, kind, object, note, 0)
}

/// The n-th event of one moment whose words are yet the same, since they speak of a name that is
/// not known.
pub(crate) fn about_nth(
    view: &View<'_>,
    kind: &Type,
    object: &Value,
    note: Note<'_>,
    n: i64,
) -> Act {
    let mut involved = json!({
        "kind": kind.kind, "apiVersion": kind.api_version, "name": meta::name(object),
        "uid": meta::uid(object),
    });
    let version = meta::resource_version(object);
    if !version.is_empty() {
        involved["resourceVersion"] = version.into();
    }
    if !meta::namespace(object).is_empty() {
        involved["namespace"] = meta::namespace(object).into();
    }
    counted(view, CONTROLLERS, involved, note, Value::Null, n)
}

/// An event of a kubelet about a Pod.
pub fn pod_event(
    view: &View<'_>,
    pod: &Value,
    node: &str,
    (kind, reason, message): (&str, &str, &str),
    field_path: &str,
) -> Act {
    let mut involved = json!({
        "kind": "Pod", "apiVersion": "v1", "name": meta::name(pod), "uid": meta::uid(pod),
        "namespace": meta::namespace(pod), "resourceVersion": meta::resource_version(pod),
    });
    if !field_path.is_empty() {
        involved["fieldPath"] = field_path.into();
    }
    let note = Note {
        component: "kubelet",
        grade: if kind == "Warning" {
            Grade::Warning
        } else {
            Grade::Normal
        },
        reason,
        message,
    };
    counted(view, "kubelet", involved, note, node.into(), 0)
}

// One that was said before is counted.
fn counted(
    view: &View<'_>,
    agent: &'static str,
    involved: Value,
    note: Note<'_>,
    host: Value,
    n: i64,
) -> Act {
    let key = key_of(&involved, note);
    let now = view.now.rfc3339();
    if let Some(known) = view.index.events().find(&key) {
        let body = json!({"count": known.count + 1, "lastTimestamp": now});
        return patch(agent, event_path(&known.namespace, &known.name), &body).forget();
    }
    let namespace = event_namespace(&involved).to_owned();
    let mut source = json!({"component": note.component});
    if !host.is_null() {
        source["host"] = host.clone();
    }
    let body = json!({
        "kind": "Event", "apiVersion": "v1",
        "metadata": {"name": event_name(view, &involved, &key, n), "namespace": namespace},
        "reason": note.reason, "message": note.message, "type": note.grade.word(),
        "source": source, "count": 1, "firstTimestamp": now, "lastTimestamp": now,
        "reportingComponent": note.component,
        "reportingInstance": if host.is_null() { "".into() } else { host },
        "involvedObject": involved,
    });
    create(
        agent,
        format!("/api/v1/namespaces/{namespace}/events"),
        &body,
    )
    .forget()
}

/// An event of the scheduler about a Pod. Said again within six minutes it becomes a series.
pub(crate) fn scheduling(
    view: &View<'_>,
    pod: &Value,
    grade: Grade,
    (reason, action): (&str, &str),
    message: &str,
) -> Act {
    let involved = json!({
        "kind": "Pod", "apiVersion": "v1", "name": meta::name(pod), "uid": meta::uid(pod),
        "namespace": meta::namespace(pod), "resourceVersion": meta::resource_version(pod),
    });
    let note = Note {
        component: "default-scheduler",
        grade,
        reason,
        message,
    };
    let key = key_of(&involved, note);
    let now = view.now.rfc3339_micros();
    if let Some(known) = view.index.events().find(&key) {
        let body = json!({"series": {"count": known.count + 1, "lastObservedTime": now}});
        return patch(SCHEDULER, event_path(&known.namespace, &known.name), &body).forget();
    }
    let namespace = meta::namespace(pod).to_owned();
    let body = json!({
        "kind": "Event", "apiVersion": "v1",
        "metadata": {"name": event_name(view, &involved, &key, 0), "namespace": namespace},
        "reason": reason, "message": message, "type": grade.word(), "action": action,
        "eventTime": now, "source": {}, "firstTimestamp": null, "lastTimestamp": null,
        "reportingComponent": note.component, "reportingInstance": "default-scheduler-sandbox",
        "involvedObject": involved,
    });
    create(
        SCHEDULER,
        format!("/api/v1/namespaces/{namespace}/events"),
        &body,
    )
    .forget()
}

fn key_of<'a>(involved: &'a Value, note: Note<'a>) -> EventKey<'a> {
    EventKey {
        uid: meta::text_at(involved, "/uid"),
        field_path: meta::text_at(involved, "/fieldPath"),
        version: if note.component == "default-scheduler" {
            meta::text_at(involved, "/resourceVersion")
        } else {
            ""
        },
        component: note.component,
        kind: note.grade.word(),
        reason: note.reason,
        message: note.message,
    }
}

fn event_namespace(involved: &Value) -> &str {
    let namespace = meta::text_at(involved, "/namespace");
    if namespace.is_empty() {
        "default"
    } else {
        namespace
    }
}

// The object's name and a time in nanoseconds, as real ones have; the digits below a second come
// from what is said, so that two events of one moment differ.
fn event_name(view: &View<'_>, involved: &Value, key: &EventKey<'_>, n: i64) -> String {
    let below = (key.digest().wrapping_add(n as u64 * 7_919) % 1_000_000_000) as i64;
    let nanos = view.now.seconds() * 1_000_000_000 + below;
    format!("{}.{nanos:x}", meta::text_at(involved, "/name"))
}

fn event_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/events/{name}")
}
