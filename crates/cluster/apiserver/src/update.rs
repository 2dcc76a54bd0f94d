//! PUT of a whole object.

use crate::decode;
use crate::handle::{Call, Handled};
use crate::write::{self, Ownership};
use kinds::Endpoint;
use model::{ApiError, Value, meta};

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Replaces the object on the main endpoint.
pub(crate) fn update(call: &mut Call<'_>, entropy: &mut dyn FnMut() -> u64) -> Handled {
    replace(call, Endpoint::Main, entropy)
}

/// Replaces the object, or the part of it that an endpoint speaks for.
pub(crate) fn replace(
    call: &mut Call<'_>,
    endpoint: Endpoint,
    entropy: &mut dyn FnMut() -> u64,
) -> Handled {
    wire::CreateOptions::for_update(call.query)?;
    let mut object = decode::object(call)?;
    decode::require_name(call, &object)?;
    decode::check_name(call, &mut object)?;
    let namespace = meta::namespace(&object).to_owned();
    let Some(old) = call
        .state
        .get(&call.resource, &namespace, &call.target.name)
    else {
        let creates =
            call.resource.custom().is_none() && kinds::allows_create_on_update(&call.resource.gvk);
        if endpoint == Endpoint::Main && creates {
            return write::create_object(call, object, Ownership::Track, entropy);
        }
        return Err(call.not_found().into());
    };
    check_uid(call, &object, &old)?;
    check_version(call, &object, &old)?;
    write::update_object(call, object, &old, endpoint, Ownership::Track, entropy)
}

// A whole object that names a uid is meant for the object with that uid alone.
fn check_uid(call: &Call<'_>, new: &Value, old: &Value) -> Result<(), ApiError> {
    let (wanted, found) = (meta::uid(new), meta::uid(old));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let gvr = call.gvr();
    let group = match call.resource.custom() {
        Some(_) => format!("{}/", gvr.group),
        None => String::new(),
    };
    let place = match meta::namespace(old) {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{}/{place}{}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: \
         {wanted}, UID in object meta: {found}",
        gvr.resource,
        meta::name(old)
    );
    Err(ApiError::conflict(gvr, meta::name(old), &why))
}

/// Refuses a write that was made against another version.
pub(crate) fn check_version(call: &Call<'_>, new: &Value, old: &Value) -> Result<(), ApiError> {
    let wanted = meta::resource_version(new);
    if wanted.is_empty() || wanted == "0" {
        let unconditional =
            call.resource.custom().is_none() && kinds::unconditional_update(&call.resource.gvk);
        return if unconditional {
            Ok(())
        } else {
            Err(write::version_required(call, meta::name(old)))
        };
    }
    if let Err(why) = wire::parse_uint(wanted) {
        return Err(ApiError::internal_plain(why));
    }
    if wanted != meta::resource_version(old) {
        return Err(ApiError::conflict(call.gvr(), meta::name(old), MODIFIED));
    }
    Ok(())
}

/// Refuses a patch that names another version; one that names none goes ahead.
pub(crate) fn check_patch_version(
    call: &Call<'_>,
    new: &Value,
    old: &Value,
) -> Result<(), ApiError> {
    let wanted = meta::resource_version(new);
    if !wanted.is_empty() && wanted != meta::resource_version(old) {
        return Err(ApiError::conflict(call.gvr(), meta::name(old), MODIFIED));
    }
    Ok(())
}
