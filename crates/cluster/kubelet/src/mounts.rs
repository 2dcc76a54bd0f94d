//! A Pod's volumes: whether they can be mounted, and what lies in them.

use crate::act::EventType::Warning;
use crate::environment::{self, Scene, optional};
use crate::life::Life;
use crate::shell::files::Volumes;
use crate::spec::{Container, Role, later, seconds};
use crate::turn::Turn;
use model::{Value, meta};

/// The first wait before a failed mount is tried again, in microseconds.
const RETRY_FIRST: i64 = 500_000;
/// The longest such wait.
const RETRY_MAX: i64 = 122_000_000;
/// How long a Pod waits for its volumes before it complains about all of them, in seconds.
const PATIENCE: i64 = 123;

/// A volume that cannot be had.
struct Missing {
    volume: String,
    why: String,
    /// It is not even known what to mount: a claim that is missing or not bound.
    unprocessed: bool,
}

/// Mounts all volumes, or says why not and when to try again. True when all are there.
pub(crate) fn ensure(turn: &mut Turn<'_>, life: &mut Life) -> bool {
    if life.mounts.next.is_some_and(|next| next > turn.now) {
        turn.wake(life.mounts.next);
        return false;
    }
    let scene = Scene {
        world: turn.world,
        pod: turn.pod,
        ip: "",
        host_ip: &life.host_ip,
    };
    let missing: Vec<Missing> = meta::entries(turn.pod, "/spec/volumes")
        .filter_map(|volume| missing(&scene, volume))
        .collect();
    if missing.is_empty() {
        life.mounts.next = None;
        return true;
    }
    for fault in missing.iter().filter(|m| !m.unprocessed) {
        let message = format!(
            "MountVolume.SetUp failed for volume {:?} : {}",
            fault.volume, fault.why
        );
        turn.pod_event(Warning, "FailedMount", message);
    }
    complain(turn, life, &missing);
    life.mounts.delay = match life.mounts.delay {
        0 => RETRY_FIRST,
        delay => (delay * 2).min(RETRY_MAX),
    };
    life.mounts.next = Some(later(turn.now, life.mounts.delay));
    turn.wake(life.mounts.next);
    false
}

fn complain(turn: &mut Turn<'_>, life: &mut Life, missing: &[Missing]) {
    let since = *life.mounts.waiting.get_or_insert(turn.now);
    let unprocessed: Vec<&Missing> = missing.iter().filter(|m| m.unprocessed).collect();
    let fresh = life.mounts.delay == 0 && !unprocessed.is_empty();
    if turn.now < later(since, seconds(PATIENCE)) && !fresh {
        return;
    }
    life.mounts.waiting = Some(turn.now);
    let names = |list: &[&Missing]| -> String {
        let names: Vec<&str> = list.iter().map(|m| m.volume.as_str()).collect();
        names.join(" ")
    };
    let all: Vec<&Missing> = missing.iter().collect();
    let why = unprocessed
        .first()
        .map_or("context deadline exceeded", |m| m.why.as_str());
    let message = format!(
        "Unable to attach or mount volumes: unmounted volumes=[{}], unattached volumes=[], failed to process volumes=[{}]: {why}",
        names(&all),
        names(&unprocessed),
    );
    turn.pod_event(Warning, "FailedMount", message);
}

fn missing(scene: &Scene<'_>, volume: &Value) -> Option<Missing> {
    let name = meta::text_at(volume, "/name").to_owned();
    let fault = |why| Missing {
        volume: name.clone(),
        why,
        unprocessed: false,
    };
    if let Some(source) = volume.get("secret") {
        return keys(scene, "secrets", source, "/secretName")
            .err()
            .map(fault);
    }
    if let Some(source) = volume.get("configMap") {
        return keys(scene, "configmaps", source, "/name").err().map(fault);
    }
    if let Some(claim) = volume
        .pointer("/persistentVolumeClaim/claimName")
        .and_then(Value::as_str)
    {
        return unbound(scene, claim).map(|why| Missing {
            volume: name,
            why,
            unprocessed: true,
        });
    }
    meta::entries(volume, "/projected/sources")
        .find_map(|source| projected(scene, source))
        .map(fault)
}

fn projected(scene: &Scene<'_>, source: &Value) -> Option<String> {
    if let Some(secret) = source.get("secret") {
        return keys(scene, "secrets", secret, "/name").err();
    }
    if let Some(map) = source.get("configMap") {
        return keys(scene, "configmaps", map, "/name").err();
    }
    source.get("serviceAccountToken")?;
    let account = match meta::text_at(scene.pod, "/spec/serviceAccountName") {
        "" => "default",
        account => account,
    };
    let namespace = meta::namespace(scene.pod);
    let there = scene
        .world
        .exists("", "serviceaccounts", namespace, account);
    (!there).then(|| format!("failed to fetch token: serviceaccounts {account:?} not found"))
}

// A Secret or ConfigMap volume: the object and the keys that are asked for.
fn keys(scene: &Scene<'_>, resource: &str, source: &Value, name: &str) -> Result<(), String> {
    let items = meta::entries(source, "/items");
    let mut wanted = items.map(|item| meta::text_at(item, "/key")).peekable();
    if wanted.peek().is_none() {
        let object = meta::text_at(source, name);
        let namespace = meta::namespace(scene.pod);
        if optional(source) || scene.world.exists("", resource, namespace, object) {
            return Ok(());
        }
        let word = resource.trim_end_matches('s');
        return Err(format!("{word} {object:?} not found"));
    }
    let Some(entries) = environment::content(scene, resource, source, name)? else {
        return Ok(());
    };
    match wanted.find(|key| !entries.contains_key(*key)) {
        Some(key) if !optional(source) => Err(if resource == "secrets" {
            format!("references non-existent secret key: {key}")
        } else {
            format!("configmap references non-existent config key: {key}")
        }),
        _ => Ok(()),
    }
}

fn unbound(scene: &Scene<'_>, claim: &str) -> Option<String> {
    let namespace = meta::namespace(scene.pod);
    let prefix = format!("error processing PVC {namespace}/{claim}");
    let Some(object) = scene
        .world
        .object("", "persistentvolumeclaims", namespace, claim)
    else {
        let why = format!("persistentvolumeclaims {claim:?} not found");
        return Some(format!(
            "{prefix}: failed to fetch PVC from API server: {why}"
        ));
    };
    let bound = meta::text_at(&object, "/status/phase") == "Bound";
    (!bound).then(|| format!("{prefix}: PVC is not bound"))
}

/// What lies in the volumes of a Pod when its first script starts.
pub(crate) fn contents(scene: &Scene<'_>) -> Volumes {
    let mut volumes = Volumes::default();
    for volume in meta::entries(scene.pod, "/spec/volumes") {
        let name = meta::text_at(volume, "/name");
        volumes.add(name);
        if let Some(source) = volume.get("secret") {
            put(
                scene,
                &mut volumes,
                name,
                ("secrets", source, "/secretName"),
            );
        } else if let Some(source) = volume.get("configMap") {
            put(scene, &mut volumes, name, ("configmaps", source, "/name"));
        } else if let Some(source) = volume.get("downwardAPI") {
            downward(scene, &mut volumes, name, source);
        }
        for source in meta::entries(volume, "/projected/sources") {
            if let Some(secret) = source.get("secret") {
                put(scene, &mut volumes, name, ("secrets", secret, "/name"));
            } else if let Some(map) = source.get("configMap") {
                put(scene, &mut volumes, name, ("configmaps", map, "/name"));
            } else if let Some(source) = source.get("downwardAPI") {
                downward(scene, &mut volumes, name, source);
            } else if let Some(token) = source.get("serviceAccountToken") {
                let path = meta::text_at(token, "/path");
                volumes.write(name, path, "simulated-token".into());
            }
        }
    }
    volumes
}

fn put(
    scene: &Scene<'_>,
    volumes: &mut Volumes,
    volume: &str,
    (resource, source, name): (&str, &Value, &str),
) {
    let Ok(Some(mut entries)) = environment::content(scene, resource, source, name) else {
        return;
    };
    let mut items = meta::entries(source, "/items").peekable();
    if items.peek().is_none() {
        for (key, text) in entries {
            volumes.write(volume, &key, text);
        }
        return;
    }
    for item in items {
        if let Some(text) = entries.remove(meta::text_at(item, "/key")) {
            volumes.write(volume, meta::text_at(item, "/path"), text);
        }
    }
}

fn downward(scene: &Scene<'_>, volumes: &mut Volumes, volume: &str, source: &Value) {
    for item in meta::entries(source, "/items") {
        let path = meta::text_at(item, "/path");
        let field = item.pointer("/fieldRef/fieldPath").and_then(Value::as_str);
        let text = if let Some(field) = field {
            environment::field(scene, field).unwrap_or_default()
        } else if let Some(reference) = item.get("resourceFieldRef") {
            let container = Container {
                value: &Value::Null,
                role: Role::Main,
            };
            environment::resource(scene, &container, reference)
        } else {
            continue;
        };
        volumes.write(volume, path, text);
    }
}
