//! What every write goes through once its object is decoded: ownership, admission, preparation,
//! validation, and the change that is committed.

use crate::admit::{self, Operation};
use crate::handle::{Call, Handled, Outcome, Stop};
use crate::registry::ResourceType;
use crate::reply::Reply;
use crate::state::{key_of, stamp, storable};
use kinds::{Endpoint, Fresh};
use model::{ApiError, FieldError, Path, Value, json, meta};
use store::Change;

/// Who a write is recorded under, when it is not recorded already (as an apply is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Compare with what is stored and give the changes to the manager.
    Track,
    /// The object carries its managed fields.
    Done,
}

const MANAGER_MAX: usize = 128;
const NAME_MAX: usize = 63;
const SUFFIX_LENGTH: usize = 5;

/// The manager of a write: the query's, else the client's name.
pub(crate) fn manager<'a>(call: &'a Call<'_>) -> &'a str {
    let named = call.query.get("fieldManager").filter(|m| !m.is_empty());
    let manager = named.unwrap_or_else(|| call.request.default_manager());
    let end = (0..=manager.len().min(MANAGER_MAX))
        .rev()
        .find(|i| manager.is_char_boundary(*i));
    &manager[..end.unwrap_or(0)]
}

/// Field paths that an endpoint leaves alone, so that nobody comes to own them there.
pub(crate) fn reset_fields(
    resource: &ResourceType,
    endpoint: Endpoint,
) -> &'static [&'static [&'static str]] {
    match resource.custom() {
        None if resource.gvk.kind == "CustomResourceDefinition" => match endpoint {
            Endpoint::Status => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        },
        None => kinds::reset_fields(&resource.gvk, endpoint),
        Some(custom) if !custom.has_status => &[],
        Some(_) => match endpoint {
            Endpoint::Status => CUSTOM_STATUS_RESET,
            _ => &[&["status"]],
        },
    }
}

const CUSTOM_STATUS_RESET: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata", "annotations"],
    &["metadata", "labels"],
    &["metadata", "finalizers"],
    &["metadata", "ownerReferences"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["spec"],
];

/// Lets the manager own what it writes.
pub(crate) fn track(
    call: &Call<'_>,
    live: Option<&Value>,
    new: Value,
    endpoint: Endpoint,
) -> Value {
    let mut tracked = merge::track_update(merge::Update {
        live,
        new,
        manager: manager(call),
        api_version: &call.resource.gvk.api_version(),
        subresource: &call.target.subresource,
        now: call.now,
        schema: call.resource.schema(),
        reset: reset_fields(&call.resource, endpoint),
    });
    if endpoint == Endpoint::Scale {
        untime_scale(&mut tracked);
    }
    tracked
}

// The real scale endpoint hands its entry over without a time.
fn untime_scale(object: &mut Value) {
    let entries = object.pointer_mut("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter(|e| e["subresource"] == "scale") {
        if let Some(map) = entry.as_object_mut() {
            map.remove("time");
        }
    }
}

/// Stores a new object.
pub(crate) fn create_object(
    call: &mut Call<'_>,
    mut object: Value,
    ownership: Ownership,
    entropy: &mut dyn FnMut() -> u64,
) -> Handled {
    let resource = call.resource.clone();
    wipe_system_fields(&mut object);
    dedup_owners(call, &mut object);
    if ownership == Ownership::Track {
        object = track(call, None, object, Endpoint::Main);
    }
    admit::mutate(call, Operation::Create, &mut object, None, entropy)?;
    renormalize_after_admission(call, &mut object)?;
    let uid = uuid(entropy);
    let metadata = meta::metadata_mut(&mut object);
    metadata.insert("uid".into(), json!(uid));
    metadata.insert("creationTimestamp".into(), stamp(call.now));
    generate_name(call, &mut object, entropy);
    let errors = prepare_new(call, &mut object, &uid, entropy);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&resource.gvk, meta::name(&object), &errors).into());
    }
    let extra = admit::validate(call, Operation::Create, Some(&object), None)?;
    let name = meta::name(&object).to_owned();
    let namespace = meta::namespace(&object).to_owned();
    if call
        .state
        .memory
        .get_parts(&resource.storage, &namespace, &name)
        .is_some()
    {
        return Err(ApiError::already_exists(&resource.gvr, &name).into());
    }
    warn(call, &object, None);
    let key = key_of(&resource, &namespace, &name);
    Ok(finish(call, 201, object, extra, |body| Change::Put {
        key,
        body,
    }))
}

// Defaults, system fields and the kind's own rules for a new object.
fn prepare_new(
    call: &Call<'_>,
    object: &mut Value,
    uid: &str,
    entropy: &mut dyn FnMut() -> u64,
) -> Vec<FieldError> {
    let resource = &call.resource;
    let gvk = &resource.gvk;
    match resource.custom() {
        Some(custom) => {
            if custom.has_status {
                object
                    .as_object_mut()
                    .expect("decoded as an object")
                    .remove("status");
            }
            meta::metadata_mut(object).insert("generation".into(), json!(1));
            let mut errors = kinds::validate_metadata(gvk, resource.namespaced, object);
            errors.extend(validate_custom(call, object, None));
            errors
        }
        None if gvk.kind == "CustomResourceDefinition" => {
            crate::controllers::prepare_definition(object);
            let mut errors = kinds::validate_metadata(gvk, resource.namespaced, object);
            errors.extend(schema::check_crd(object, &expression::compile_errors));
            errors
        }
        None => {
            let mut errors = Vec::new();
            if gvk.kind == "Service" && gvk.group.is_empty() {
                errors.extend(call.state.addresses.allocate(object, None, entropy()));
            }
            kinds::prepare_create(
                gvk,
                object,
                &Fresh {
                    uid,
                    now: call.now,
                    user: Some(call.user),
                },
            );
            let mut all = kinds::validate_metadata(gvk, resource.namespaced, object);
            all.extend(kinds::validate_create(gvk, object));
            all.extend(policy_faults(gvk, object));
            if all.is_empty() { errors } else { all }
        }
    }
}

// The expressions of an admission policy must compile.
fn policy_faults(gvk: &model::GroupVersionKind, policy: &Value) -> Vec<FieldError> {
    if gvk.kind != "ValidatingAdmissionPolicy" {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (list, field) in [
        ("validations", "expression"),
        ("matchConditions", "expression"),
    ] {
        for (i, entry) in meta::entries(policy, &format!("/spec/{list}")).enumerate() {
            let text = meta::text_at(entry, &format!("/{field}"));
            if text.trim().is_empty() {
                continue;
            }
            if let Err(why) = expression::Program::compile(text) {
                let at = Path::new("spec").child(list).index(i).child(field);
                let why = format!("compilation failed: {why}");
                faults.push(FieldError::invalid(&at, &json!(text), &why));
            }
        }
    }
    faults
}

/// Value validation of a custom resource.
pub(crate) fn validate_custom(
    call: &Call<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let Some(custom) = call.resource.custom() else {
        return Vec::new();
    };
    let validator = custom.validator.as_ref();
    let mut errors = validator
        .map(|v| match old {
            None => v.validate(object),
            Some(old) if call.target.subresource == "status" => v.validate_status(object, old),
            Some(old) => v.validate_update(object, old),
        })
        .unwrap_or_default();
    if let Some(scale) = &custom.scale {
        errors.extend(schema::check_scale(object, &scale.source));
    }
    let Some(rules) = custom.rules.as_ref().filter(|r| !r.is_empty()) else {
        return errors;
    };
    if schema::blocks_rules(&errors) {
        errors.push(schema::rules_not_checked());
    } else {
        errors.extend(rules.check(object, old));
    }
    errors
}

/// Stores a changed object, or finds that nothing changed.
pub(crate) fn update_object(
    call: &mut Call<'_>,
    mut new: Value,
    old: &Value,
    endpoint: Endpoint,
    ownership: Ownership,
    entropy: &mut dyn FnMut() -> u64,
) -> Handled {
    let resource = call.resource.clone();
    keep_system_fields(&mut new, old);
    dedup_owners(call, &mut new);
    if ownership == Ownership::Track {
        new = track(call, Some(old), new, endpoint);
    }
    admit::mutate(call, Operation::Update, &mut new, Some(old), entropy)?;
    renormalize_after_admission(call, &mut new)?;
    let errors = prepare_changed(call, &mut new, old, endpoint, entropy);
    if !errors.is_empty() {
        return Err(ApiError::invalid(&resource.gvk, meta::name(old), &errors).into());
    }
    let extra = admit::validate(call, Operation::Update, Some(&new), Some(old))?;
    warn(call, &new, Some(old));
    meta::set_text(&mut new, "resourceVersion", meta::resource_version(old));
    let key = key_of(&resource, meta::namespace(old), meta::name(old));
    if may_go(&new) && !call.dry_run() {
        return Ok(finish(call, 200, new, extra, |last| Change::Delete {
            key,
            last,
        }));
    }
    if resource.custom().is_none() {
        gotypes::store(&resource.gvk, &mut new);
    }
    if new == *old {
        return Ok(Outcome::reply(Reply::Full(crate::read::one(
            call, 200, old,
        ))));
    }
    Ok(finish(call, 200, new, extra, |body| Change::Put {
        key,
        body,
    }))
}

fn prepare_changed(
    call: &Call<'_>,
    new: &mut Value,
    old: &Value,
    endpoint: Endpoint,
    entropy: &mut dyn FnMut() -> u64,
) -> Vec<FieldError> {
    let resource = &call.resource;
    let gvk = &resource.gvk;
    match resource.custom() {
        Some(custom) => {
            prepare_custom_update(new, old, custom.has_status, endpoint);
            let mut errors = kinds::validate_metadata_update(new, old);
            errors.extend(kinds::validate_metadata(gvk, resource.namespaced, new));
            errors.extend(validate_custom(call, new, Some(old)));
            errors
        }
        None if gvk.kind == "CustomResourceDefinition" => {
            crate::controllers::prepare_definition_update(new, old, endpoint);
            let mut errors = kinds::validate_metadata_update(new, old);
            if endpoint == Endpoint::Main && new.get("spec") != old.get("spec") {
                errors.extend(schema::check_crd_update(
                    new,
                    old,
                    &expression::compile_errors,
                ));
            }
            errors
        }
        None => {
            let mut late = Vec::new();
            let fresh = Fresh {
                uid: meta::uid(old),
                now: call.now,
                user: Some(call.user),
            };
            kinds::prepare_update(gvk, new, old, endpoint, &fresh);
            if gvk.kind == "Service" && gvk.group.is_empty() && endpoint == Endpoint::Main {
                late = call.state.addresses.allocate(new, Some(old), entropy());
            }
            let mut errors = kinds::validate_metadata_update(new, old);
            errors.extend(kinds::validate_update(gvk, new, old, endpoint));
            if new.get("spec") != old.get("spec") {
                errors.extend(policy_faults(gvk, new));
            }
            if errors.is_empty() { late } else { errors }
        }
    }
}

fn prepare_custom_update(new: &mut Value, old: &Value, has_status: bool, endpoint: Endpoint) {
    let put = |object: &mut Value, field: &str, value: Option<&Value>| {
        let map = object.as_object_mut().expect("decoded as an object");
        match value {
            Some(value) => map.insert(field.to_owned(), value.clone()),
            None => map.remove(field),
        };
    };
    if endpoint == Endpoint::Status {
        // Only the status, and who manages it, may come from this endpoint.
        let status = new.get("status").cloned();
        let managed = new.pointer("/metadata/managedFields").cloned();
        *new = old.clone();
        put(new, "status", status.as_ref());
        if let Some(managed) = managed {
            meta::metadata_mut(new).insert("managedFields".into(), managed);
        }
        return;
    }
    if has_status {
        put(new, "status", old.get("status"));
    }
    let same = |a: &Value, b: &Value| {
        let mut fields: std::collections::BTreeSet<&String> = a
            .as_object()
            .into_iter()
            .flat_map(model::Map::keys)
            .collect();
        fields.extend(b.as_object().into_iter().flat_map(model::Map::keys));
        fields
            .into_iter()
            .filter(|f| *f != "metadata" && !(has_status && *f == "status"))
            .all(|f| a.get(f) == b.get(f))
    };
    if !same(new, old) {
        meta::metadata_mut(new).insert("generation".into(), json!(meta::generation(old) + 1));
    }
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(crate) fn may_go(object: &Value) -> bool {
    let grace = object
        .pointer("/metadata/deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    let held_by_spec = meta::entries(object, "/spec/finalizers").next().is_some()
        && object.pointer("/status/phase") == Some(&json!("Terminating"));
    meta::deletion_timestamp(object).is_some()
        && meta::finalizers(object).next().is_none()
        && grace.unwrap_or(0) == 0
        && !held_by_spec
}

/// The answer to a write, and its changes: `main` first, so that it gets the next version.
pub(crate) fn finish(
    call: &mut Call<'_>,
    status: u16,
    mut object: Value,
    extra: Vec<Change>,
    main: impl FnOnce(Value) -> Change,
) -> Outcome {
    if call.resource.custom().is_none() {
        gotypes::store(&call.resource.gvk, &mut object);
    }
    if call.dry_run() {
        if status == 201 {
            meta::set_text(&mut object, "resourceVersion", "");
        }
        return Outcome::reply(Reply::Full(crate::read::one(call, status, &object)));
    }
    let version = call.state.next_version();
    meta::set_text(&mut object, "resourceVersion", &version.to_string());
    let reply = Reply::Full(crate::read::one(call, status, &object));
    let mut changes = vec![main(storable(&call.resource, object))];
    changes.extend(extra);
    Outcome { reply, changes }
}

// What only the server sets is taken off a new object.
fn wipe_system_fields(object: &mut Value) {
    let metadata = meta::metadata_mut(object);
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        metadata.remove(field);
    }
    metadata.remove("resourceVersion");
}

// What an update cannot take away is carried over.
fn keep_system_fields(new: &mut Value, old: &Value) {
    let from = old.get("metadata").unwrap_or(&Value::Null);
    let metadata = meta::metadata_mut(new);
    for field in [
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "resourceVersion",
    ] {
        match from.get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        if !metadata.contains_key(field)
            && let Some(value) = from.get(field)
        {
            metadata.insert(field.into(), value.clone());
        }
    }
}

fn dedup_owners(call: &mut Call<'_>, object: &mut Value) {
    let Some(owners) = object
        .pointer_mut("/metadata/ownerReferences")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    let before = owners.len();
    let mut seen: Vec<Value> = Vec::with_capacity(before);
    for owner in owners.drain(..) {
        if !seen.contains(&owner) {
            seen.push(owner);
        }
    }
    *owners = seen;
    if owners.len() < before {
        call.warnings.push(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner \
             references in 1.20+, and may reject such requests as early as 1.24; please fix your \
             requests"
                .into(),
        );
    }
}

// A webhook may have added fields that the kind does not have, or zero values.
fn renormalize_after_admission(call: &Call<'_>, object: &mut Value) -> Result<(), Stop> {
    if call.answers.is_empty() {
        return Ok(());
    }
    crate::decode::renormalize(&call.resource, object)?;
    Ok(())
}

fn generate_name(call: &Call<'_>, object: &mut Value, entropy: &mut dyn FnMut() -> u64) {
    let base = meta::text(object, "generateName").to_owned();
    if !meta::name(object).is_empty() || base.is_empty() {
        return;
    }
    let end = base.len().min(NAME_MAX - SUFFIX_LENGTH);
    let end = (0..=end)
        .rev()
        .find(|i| base.is_char_boundary(*i))
        .unwrap_or(0);
    let namespace = meta::namespace(object).to_owned();
    for _ in 0..8 {
        let name = format!("{}{}", &base[..end], suffix(entropy()));
        let taken = call
            .state
            .memory
            .get_parts(&call.resource.storage, &namespace, &name)
            .is_some();
        meta::set_text(object, "name", &name);
        if !taken {
            return;
        }
    }
}

/// Five random characters, without vowels and look-alikes.
pub(crate) fn suffix(mut random: u64) -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let size = ALPHABET.len() as u64;
    (0..SUFFIX_LENGTH)
        .map(|_| {
            let c = ALPHABET[(random % size) as usize] as char;
            random /= size;
            c
        })
        .collect()
}

/// A random (version 4) uuid.
pub(crate) fn uuid(entropy: &mut dyn FnMut() -> u64) -> String {
    let (high, low) = (entropy(), entropy());
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

fn warn(call: &mut Call<'_>, new: &Value, old: Option<&Value>) {
    if call.resource.custom().is_none() {
        call.warnings
            .extend(kinds::warnings(&call.resource.gvk, new, old));
    }
}

/// 422 for an update that names no version where the kind insists on one.
pub(crate) fn version_required(call: &Call<'_>, name: &str) -> ApiError {
    let error = FieldError::invalid(
        &Path::new("metadata.resourceVersion"),
        &json!(0),
        "must be specified for an update",
    );
    let mut answer = ApiError::invalid(&call.resource.gvk, name, &[error]);
    answer.message = answer.message.replacen(
        &call.resource.gvk.group_kind(),
        &call.gvr().group_resource(),
        1,
    );
    answer.kind.clone_from(&call.gvr().resource);
    answer
}
