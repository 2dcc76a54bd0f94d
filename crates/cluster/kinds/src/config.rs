//! ConfigMap: plain settings, and the rule that an immutable one stays.

use crate::Endpoint;
use crate::fault::{Faults, Spot};
use crate::fields::{entries, flag, get, same};
use crate::rules::{PLAIN, Rules};
use model::Value;

/// What is special about a ConfigMap.
pub(crate) static CONFIG_MAP: Rules = Rules {
    check: check_config_map,
    check_update: check_config_map_update,
    ..PLAIN
};

fn check_config_map(object: &Value, faults: &mut Faults) {
    let binary = get(object, "binaryData");
    for (key, _) in entries(object, "data") {
        if binary.get(key).is_some() {
            faults.invalid(
                &Spot::of("data").key(key),
                key.as_str(),
                "duplicate of key present in binaryData",
            );
        }
    }
}

fn check_config_map_update(new: &Value, old: &Value, _: Endpoint, faults: &mut Faults) {
    if flag(old, "immutable") && !same(get(new, "data"), get(old, "data")) {
        faults.forbidden(
            &Spot::of("data"),
            "field is immutable when `immutable` is set",
        );
    }
}
