//! ControllerRevisions: the templates that StatefulSets and DaemonSets had.

use crate::act::{Act, CONTROLLERS, create, delete, patch};
use crate::object::{REVISION, Type, number, safe_hash};
use crate::view::{REVISIONS, View};
use model::{Value, json, meta};

/// One revision.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    pub(super) name: String,
    pub(super) number: i64,
    pub(super) template: Value,
    uid: String,
}

/// The revisions of an owner, oldest first.
pub(super) fn list(view: &View<'_>, owner: &Value) -> Vec<Revision> {
    let mut found: Vec<Revision> = view
        .controlled(meta::uid(owner), REVISIONS)
        .into_iter()
        .map(|r| {
            let mut template = r
                .pointer("/data/spec/template")
                .cloned()
                .unwrap_or_default();
            if let Some(map) = template.as_object_mut() {
                map.remove("$patch");
            }
            Revision {
                name: meta::name(&r).to_owned(),
                number: number(&r, "/revision").unwrap_or(0),
                uid: meta::uid(&r).to_owned(),
                template,
            }
        })
        .collect();
    found.sort_by(|a, b| a.number.cmp(&b.number).then_with(|| a.name.cmp(&b.name)));
    found
}

/// The revision of the owner's template; makes it, or renews its number, when needed.
pub(super) fn newest(
    kind: &Type,
    owner: &Value,
    known: &mut Vec<Revision>,
    hash_label: &str,
    acts: &mut Vec<Act>,
) -> Revision {
    let template = owner.pointer("/spec/template").cloned().unwrap_or_default();
    let next = known.last().map_or(0, |r| r.number) + 1;
    let namespace = meta::namespace(owner);
    if let Some(i) = known.iter().position(|r| r.template == template) {
        // Back to an old template: it becomes the newest again.
        if i + 1 < known.len() {
            let path = REVISION.path(namespace, &known[i].name);
            acts.push(patch(CONTROLLERS, path, &json!({"revision": next})));
            known[i].number = next;
        }
        return known[i].clone();
    }
    let collisions = crate::object::count(owner, "/status/collisionCount");
    let hash = safe_hash(&template, collisions);
    let name = format!("{}-{hash}", meta::name(owner));
    let mut stored = template.clone();
    stored["$patch"] = "replace".into();
    let mut labels = template
        .pointer("/metadata/labels")
        .cloned()
        .unwrap_or_else(|| json!({}));
    labels[hash_label] = hash.as_str().into();
    let annotations = owner.pointer("/metadata/annotations").cloned();
    let body = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision",
        "metadata": {
            "name": name, "labels": labels, "annotations": annotations.unwrap_or_else(|| json!({})),
            "ownerReferences": [kind.controller_ref(owner)],
        },
        "data": {"spec": {"template": stored}}, "revision": next,
    });
    acts.push(create(CONTROLLERS, REVISION.collection(namespace), &body).forget());
    let revision = Revision {
        name,
        number: next,
        template,
        uid: String::new(),
    };
    known.push(revision.clone());
    revision
}

/// Removes the oldest revisions that nobody uses, beyond the owner's limit.
pub(super) fn clean_up(owner: &Value, known: &[Revision], used: &[&str], acts: &mut Vec<Act>) {
    let limit = number(owner, "/spec/revisionHistoryLimit").unwrap_or(10);
    let free = known.iter().filter(|r| !used.contains(&r.name.as_str()));
    let free: Vec<&Revision> = free.collect();
    let surplus = (free.len() as i64 - limit).max(0) as usize;
    for revision in free.into_iter().take(surplus).filter(|r| !r.uid.is_empty()) {
        let path = REVISION.path(meta::namespace(owner), &revision.name);
        acts.push(delete(CONTROLLERS, path, &revision.uid));
    }
}
