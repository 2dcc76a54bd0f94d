//! CustomResourceDefinitions: what is filled in for one, what is wrong with one, and what clients
//! are told about its kind.

mod defaults;
mod publish;

pub use defaults::{default_crd, initial_status};
pub use publish::{component_name, publish, publish_list};

use model::Value;

/// The text at a path of keys, empty when there is none.
pub(crate) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter()
        .try_fold(value, |v, key| v.get(key))
        .and_then(Value::as_str)
        .unwrap_or_default()
}
