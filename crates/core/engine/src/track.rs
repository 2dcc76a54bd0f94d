//! Says which live object belongs to which application.
//!
//! ```text
//! object + settings ── mark ──▶ object with its tracking id
//! live object + settings ── owner ──▶ application's instance name, or nobody's
//! ```

use crate::annotation::{INSTALLATION_ID, TRACKING_ID};
use model::{ResourceKey, Value, meta};

/// Longest value of a label.
const LABEL_MAX: usize = 63;

/// By what an application knows its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// By the tracking id in an annotation.
    #[default]
    Annotation,
    /// By a label alone.
    Label,
    /// By the annotation; the label is there for people.
    AnnotationAndLabel,
}

impl Method {
    /// Reads the setting; anything unknown is the annotation.
    pub fn parse(word: &str) -> Self {
        match word {
            "label" => Self::Label,
            "annotation+label" => Self::AnnotationAndLabel,
            _ => Self::Annotation,
        }
    }
}

/// How objects are tracked in one installation.
#[derive(Clone, Debug)]
pub struct Tracking {
    /// The method.
    pub method: Method,
    /// The label that names the application.
    pub label: String,
    /// Tells installations apart that share a cluster; empty when there is but one.
    pub installation: String,
}

impl Default for Tracking {
    fn default() -> Self {
        Self {
            method: Method::default(),
            label: "app.kubernetes.io/instance".into(),
            installation: String::new(),
        }
    }
}

/// A tracking id, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackingId {
    /// The application's instance name.
    pub instance: String,
    /// The object it was written for.
    pub key: ResourceKey,
}

impl TrackingId {
    /// Reads `instance:group/kind:namespace/name`; `None` when it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let (instance, kind, place) = (parts.next()?, parts.next()?, parts.next()?);
        let (group, kind) = split_once_only(kind)?;
        let (namespace, name) = split_once_only(place)?;
        Some(Self {
            instance: instance.into(),
            key: ResourceKey {
                group: group.into(),
                kind: kind.into(),
                namespace: namespace.into(),
                name: name.into(),
            },
        })
    }

    /// The id as it is written.
    pub fn text(&self) -> String {
        let ResourceKey {
            group,
            kind,
            namespace,
            name,
        } = &self.key;
        format!("{}:{group}/{kind}:{namespace}/{name}", self.instance)
    }
}

fn split_once_only(text: &str) -> Option<(&str, &str)> {
    text.split_once('/').filter(|(_, rest)| !rest.contains('/'))
}

/// The name objects carry for an application: with its namespace when that is not the
/// controller's own.
pub fn instance_name(app: &str, app_namespace: &str, controller_namespace: &str) -> String {
    if app_namespace.is_empty() || app_namespace == controller_namespace {
        app.to_owned()
    } else {
        format!("{app_namespace}_{app}")
    }
}

/// Marks an object as belonging to an application. Definitions are never marked, so that they are
/// never pruned and never deleted with the application.
pub fn mark(object: &mut Value, instance: &str, destination: &str, tracking: &Tracking) {
    let Some(gvk) = meta::gvk(object) else {
        return;
    };
    if gvk.kind == "CustomResourceDefinition" {
        return;
    }
    let namespace = match meta::namespace(object) {
        "" => destination,
        own => own,
    };
    let id = TrackingId {
        instance: instance.into(),
        key: ResourceKey {
            group: gvk.group,
            kind: gvk.kind,
            namespace: namespace.into(),
            name: meta::name(object).into(),
        },
    };
    match tracking.method {
        Method::Annotation => set(object, "annotations", TRACKING_ID, &id.text()),
        Method::Label => set(object, "labels", &tracking.label, instance),
        Method::AnnotationAndLabel => {
            set(object, "annotations", TRACKING_ID, &id.text());
            set(object, "labels", &tracking.label, shortened(instance));
        }
    }
    if tracking.installation.is_empty() {
        unset(object, "annotations", INSTALLATION_ID);
    } else if tracking.method != Method::Label {
        set(
            object,
            "annotations",
            INSTALLATION_ID,
            &tracking.installation,
        );
    }
}

fn shortened(instance: &str) -> &str {
    let end = (0..=instance.len().min(LABEL_MAX))
        .rev()
        .find(|i| instance.is_char_boundary(*i));
    instance[..end.unwrap_or(0)].trim_end_matches(|c: char| !c.is_ascii_alphanumeric())
}

fn set(object: &mut Value, map: &str, key: &str, value: &str) {
    let metadata = meta::metadata_mut(object);
    let entry = metadata
        .entry(map)
        .or_insert_with(|| Value::Object(model::Map::new()));
    if !entry.is_object() {
        *entry = Value::Object(model::Map::new());
    }
    if let Some(map) = entry.as_object_mut() {
        map.insert(key.into(), value.into());
    }
}

fn unset(object: &mut Value, map: &str, key: &str) {
    let metadata = meta::metadata_mut(object);
    let Some(entries) = metadata.get_mut(map).and_then(Value::as_object_mut) else {
        return;
    };
    entries.remove(key);
    if entries.is_empty() {
        metadata.remove(map);
    }
}

/// The instance name a live object is tracked under; empty when it is nobody's.
pub fn owner(live: &Value, tracking: &Tracking) -> String {
    if !tracking.installation.is_empty()
        && tracking.method != Method::Label
        && meta::annotation(live, INSTALLATION_ID) != Some(&tracking.installation)
    {
        return String::new();
    }
    match tracking.method {
        Method::Label => meta::label(live, &tracking.label).unwrap_or("").to_owned(),
        Method::Annotation | Method::AnnotationAndLabel => meta::annotation(live, TRACKING_ID)
            .and_then(TrackingId::parse)
            .map(|id| id.instance)
            .unwrap_or_default(),
    }
}

/// Whether a live object's tracking id was written for itself and not copied from another.
pub fn is_own_id(live: &Value, target: Option<&ResourceKey>, tracking: &Tracking) -> bool {
    if tracking.method == Method::Label {
        return true;
    }
    let said = match target {
        Some(target) => target.clone(),
        None => match meta::annotation(live, TRACKING_ID).and_then(TrackingId::parse) {
            Some(id) => id.key,
            None => return true,
        },
    };
    let Some(gvk) = meta::gvk(live) else {
        return true;
    };
    let namespace = meta::namespace(live);
    (namespace.is_empty() || namespace == said.namespace)
        && meta::name(live) == said.name
        && gvk.group == said.group
        && gvk.kind == said.kind
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn service() -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}})
    }

    #[test]
    fn ids_name_the_application_and_the_object() {
        let mut object = service();
        mark(&mut object, "guestbook", "default", &Tracking::default());
        let id = "guestbook:/Service:default/web";
        assert_eq!(object["metadata"]["annotations"][TRACKING_ID], id);
        assert_eq!(
            TrackingId::parse(id).map(|id| id.text()).as_deref(),
            Some(id)
        );
        assert_eq!(owner(&object, &Tracking::default()), "guestbook");
        // Cluster-scoped objects carry the destination's namespace.
        let mut role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}});
        mark(&mut role, "team_app", "dest", &Tracking::default());
        assert_eq!(
            role["metadata"]["annotations"][TRACKING_ID],
            "team_app:rbac.authorization.k8s.io/ClusterRole:dest/x"
        );
        assert_eq!(instance_name("app", "team", "argocd"), "team_app");
        assert_eq!(instance_name("app", "argocd", "argocd"), "app");
    }

    #[test]
    fn what_is_no_id_tracks_nothing() {
        for text in [
            "",
            "a",
            "a:b",
            "a:b:c",
            "a:/Service:x",
            "a:b/c/d:x/y",
            "a:b/c:x/y/z",
        ] {
            assert_eq!(TrackingId::parse(text), None, "{text}");
        }
        // What stands behind the third colon belongs to the name.
        let id = TrackingId::parse("a:g/K:ns/n:m").expect("it has three parts");
        assert_eq!(id.key.name, "n:m");
    }

    #[test]
    fn definitions_are_never_marked() {
        let mut crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x.y"}});
        let before = crd.clone();
        mark(&mut crd, "app", "d", &Tracking::default());
        assert_eq!(crd, before);
    }

    #[test]
    fn another_installations_object_is_nobodys() {
        let tracking = Tracking {
            installation: "blue".into(),
            ..Tracking::default()
        };
        let mut object = service();
        mark(&mut object, "app", "d", &tracking);
        assert_eq!(owner(&object, &tracking), "app");
        let green = Tracking {
            installation: "green".into(),
            ..Tracking::default()
        };
        assert_eq!(owner(&object, &green), "");
        // One that has no id of its own takes a foreign one off.
        mark(&mut object, "app", "d", &Tracking::default());
        assert_eq!(object["metadata"]["annotations"].get(INSTALLATION_ID), None);
    }

    #[test]
    fn a_copied_id_is_not_the_objects_own() {
        let mut object = service();
        mark(&mut object, "app", "d", &Tracking::default());
        object["metadata"]["namespace"] = "d".into();
        assert!(is_own_id(&object, None, &Tracking::default()));
        object["metadata"]["name"] = "copy".into();
        assert!(!is_own_id(&object, None, &Tracking::default()));
        let label = Tracking {
            method: Method::Label,
            ..Tracking::default()
        };
        assert!(is_own_id(&object, None, &label));
    }

    #[test]
    fn labels_for_people_are_shortened() {
        let tracking = Tracking {
            method: Method::AnnotationAndLabel,
            ..Tracking::default()
        };
        let long = format!("{}-{}", "a".repeat(62), "b".repeat(10));
        let mut object = service();
        mark(&mut object, &long, "d", &tracking);
        assert_eq!(
            object["metadata"]["labels"][&tracking.label],
            "a".repeat(62)
        );
    }
}
