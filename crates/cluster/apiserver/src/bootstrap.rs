//! What a cluster holds before anybody used it.

use crate::registry::untyped;
use crate::state::State;
use crate::write::uuid;
use model::{Timestamp, Value, json, meta};
use store::{Change, Key};

/// The objects a fresh cluster starts with that are not there yet.
pub fn missing(state: &State, now: Timestamp, entropy: &mut dyn FnMut() -> u64) -> Vec<Change> {
    let mut changes = Vec::new();
    for object in &kinds::catalog::builtin().bootstrap {
        let Some(gvk) = meta::gvk(object) else {
            continue;
        };
        let Some(resource) = state.registry.find_kind(&gvk) else {
            continue;
        };
        let (namespace, name) = (
            meta::namespace(object).to_owned(),
            meta::name(object).to_owned(),
        );
        if state
            .memory
            .get_parts(&resource.storage, &namespace, &name)
            .is_some()
        {
            continue;
        }
        let mut object = object.clone();
        let rest = server_filled(&mut object);
        let mut owned = merge::track_update(merge::Update {
            live: None,
            new: object,
            manager: "kube-apiserver",
            api_version: &gvk.api_version(),
            subresource: "",
            now,
            schema: resource.schema(),
            reset: kinds::reset_fields(&gvk, kinds::Endpoint::Main),
        });
        if let (Some(map), Some(rest)) = (owned.as_object_mut(), rest) {
            map.insert("spec".into(), rest);
        }
        let mut body: Value = untyped(owned);
        let metadata = meta::metadata_mut(&mut body);
        metadata.insert("uid".into(), json!(uuid(entropy)));
        metadata.insert("creationTimestamp".into(), json!(now.rfc3339()));
        let key = Key::new(resource.storage.clone(), namespace, name);
        changes.push(Change::Put { key, body });
    }
    changes
}

// The spec of a Namespace holds only what the server puts there, so no manager owns it.
fn server_filled(object: &mut Value) -> Option<Value> {
    let own = object["kind"] == "Namespace";
    object.as_object_mut().filter(|_| own)?.remove("spec")
}
