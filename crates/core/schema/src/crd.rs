//! CustomResourceDefinitions: what is filled in for one, what is wrong with one, and what clients
//! are told about its kind.

mod check;
mod conversion;
mod defaults;
mod defaults_fit;
mod field_path;
mod internal;
mod openapi;
mod publish;
mod structural;
#[cfg(test)]
mod tests;
mod version;

pub use check::{RuleCheck, check_crd, check_crd_update, is_established};
pub use defaults::{default_crd, initial_status};
pub use field_path::field_path;
pub use publish::{component_name, publish, publish_list};

use model::Value;

/// The text at a path of keys, empty when there is none.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter()
        .try_fold(value, |v, key| v.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}
