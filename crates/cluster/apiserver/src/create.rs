//! POST of a new object.

use crate::decode;
use crate::handle::{Call, Handled};
use crate::write::{self, Ownership};
use model::{ApiError, meta};

/// Creates the object in the body.
pub(crate) fn create(call: &mut Call<'_>, entropy: &mut dyn FnMut() -> u64) -> Handled {
    wire::CreateOptions::for_create(call.query)?;
    let mut object = decode::object(call)?;
    decode::check_namespace(call, &mut object)?;
    // What is no number is no version, and is passed over.
    let version = meta::resource_version(&object).parse::<u64>();
    if version.is_ok_and(|v| v != 0) {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(ApiError::internal_plain(why).into());
    }
    write::create_object(call, object, Ownership::Track, entropy)
}
