//! What storing an object changes: the API server keeps built-in kinds as protobuf, which cannot
//! tell an empty list from none.

use crate::table::{Field, Kind, Shape, StructType, Table, below, table};
use model::{GroupVersionKind, Map, Value};

/// Brings a decoded object to the form it has after being stored and read again: an empty list or
/// map that Go always prints becomes null.
///
/// Field ownership is computed from the object before this, answers are printed after it. Kinds
/// that are stored as JSON (definitions of kinds, registrations of servers) stay as they are.
pub fn store(gvk: &GroupVersionKind, value: &mut Value) {
    let as_json = matches!(
        gvk.group.as_str(),
        "apiextensions.k8s.io" | "apiregistration.k8s.io"
    );
    let table = table();
    if let (false, Some(ty), Value::Object(map)) = (as_json, table.kind(gvk), value) {
        structure(table, map, ty);
    }
}

fn structure(table: &Table, map: &mut Map<String, Value>, ty: &StructType) {
    if !ty.nullable {
        return;
    }
    for field in &ty.fields {
        let own = is_own(field);
        let inner = below(&field.shape).is_some_and(|id| table.get(id).nullable);
        if !own && !inner {
            continue;
        }
        if let Some(slot) = map.get_mut(&field.name) {
            if own && is_empty(slot) {
                *slot = Value::Null;
            } else if inner {
                descend(table, slot, &field.shape);
            }
        }
    }
}

fn is_own(field: &Field) -> bool {
    !field.omit_empty && matches!(field.shape.kind, Kind::Map(_) | Kind::List(_))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn descend(table: &Table, value: &mut Value, shape: &Shape) {
    match (&shape.kind, value) {
        (Kind::Struct(id), Value::Object(map)) => structure(table, map, table.get(*id)),
        (Kind::List(elem), Value::Array(list)) => {
            for entry in list {
                descend(table, entry, elem);
            }
        }
        (Kind::Map(elem), Value::Object(map)) => {
            for entry in map.values_mut() {
                descend(table, entry, elem);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn empty_lists_that_are_always_printed_become_null() {
        let gvk = GroupVersionKind::new("rbac.authorization.k8s.io", "v1", "ClusterRole");
        let mut role = json!({"metadata": {"name": "a"}, "rules": []});
        store(&gvk, &mut role);
        assert_eq!(role, json!({"metadata": {"name": "a"}, "rules": null}));

        let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
        let mut deployment = json!({"spec": {"template": {"spec": {"containers": []}}}});
        store(&gvk, &mut deployment);
        assert_eq!(
            deployment,
            json!({"spec": {"template": {"spec": {"containers": null}}}})
        );
    }
}
