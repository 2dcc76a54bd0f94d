//! JSON in the order of Go's struct fields: `kind`, `apiVersion`, `metadata`, `spec`, `status`.

use crate::table::{Kind, Shape, Special, StructType, Table, table};
use json::write::{self, Layout};
use model::{GroupVersionKind, Map, Value};

/// Prints an object of a built-in kind with its fields in Go's order, others with sorted keys.
pub fn to_json(gvk: &GroupVersionKind, value: &Value, layout: Layout) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    let table = table();
    match (table.kind(gvk), value) {
        (Some(ty), Value::Object(map)) => {
            let printer = Printer { table, layout };
            printer.structure(&mut out, map, ty, 0);
        }
        _ => write::append(&mut out, value, layout, 0),
    }
    out
}

struct Printer<'t> {
    table: &'t Table,
    layout: Layout,
}

impl Printer<'_> {
    fn structure(
        &self,
        out: &mut Vec<u8>,
        map: &Map<String, Value>,
        ty: &StructType,
        level: usize,
    ) {
        let mut entries: Vec<(usize, &str, &Value)> = map
            .iter()
            .map(|(key, value)| {
                let place = ty.find(key).map_or(usize::MAX, |(index, _)| index);
                (place, key.as_str(), value)
            })
            .collect();
        entries.sort_by_key(|(place, _, _)| *place);
        out.push(b'{');
        for (i, (place, key, value)) in entries.into_iter().enumerate() {
            write::separate(out, i == 0, self.layout, level + 1);
            write::string(out, key);
            write::colon(out, self.layout);
            match ty.fields.get(place) {
                Some(field) => self.value(out, value, &field.shape, level + 1),
                None => write::append(out, value, self.layout, level + 1),
            }
        }
        write::close(out, b'}', map.is_empty(), self.layout, level);
    }

    fn value(&self, out: &mut Vec<u8>, value: &Value, shape: &Shape, level: usize) {
        match (&shape.kind, value) {
            (Kind::Struct(id), Value::Object(map)) => {
                self.structure(out, map, self.table.get(*id), level);
            }
            (Kind::Map(elem), Value::Object(map)) => {
                out.push(b'{');
                for (i, (key, entry)) in map.iter().enumerate() {
                    write::separate(out, i == 0, self.layout, level + 1);
                    write::string(out, key);
                    write::colon(out, self.layout);
                    self.value(out, entry, elem, level + 1);
                }
                write::close(out, b'}', map.is_empty(), self.layout, level);
            }
            (Kind::List(elem), Value::Array(list)) => self.list(out, list, elem, level),
            (
                Kind::Special(
                    Special::SchemaOrArray(schema)
                    | Special::SchemaOrBool(schema)
                    | Special::SchemaOrStrings(schema),
                ),
                Value::Object(_),
            ) => self.value(out, value, schema, level),
            (Kind::Special(Special::SchemaOrArray(schema)), Value::Array(list)) => {
                self.list(out, list, schema, level);
            }
            _ => write::append(out, value, self.layout, level),
        }
    }

    fn list(&self, out: &mut Vec<u8>, list: &[Value], elem: &Shape, level: usize) {
        out.push(b'[');
        for (i, entry) in list.iter().enumerate() {
            write::separate(out, i == 0, self.layout, level + 1);
            self.value(out, entry, elem, level + 1);
        }
        write::close(out, b']', list.is_empty(), self.layout, level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn fields_stand_in_go_order() {
        let gvk = GroupVersionKind::new("", "v1", "Service");
        let value = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": {"x": "<"}},
            "spec": {"clusterIP": "None", "ports": [{"targetPort": 80, "port": 80, "protocol": "TCP"}]},
            "status": {"loadBalancer": {}}
        });
        assert_eq!(
            String::from_utf8(to_json(&gvk, &value, Layout::Compact)).unwrap(),
            r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"a","annotations":{"x":"\u003c"}},"spec":{"ports":[{"protocol":"TCP","port":80,"targetPort":80}],"clusterIP":"None"},"status":{"loadBalancer":{}}}"#
        );
    }
}
