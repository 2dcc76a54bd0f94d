//! Keeps the telling part of answers too long to keep whole.
//!
//! | name | keeps |
//! |---|---|
//! | `groups A B` | of a discovery document: the groups of those names (`core` is the unnamed one) |
//! | `resources A B` | of a resource list: the entries of those names and their subresources |
//! | `paths A B` | of `/` or an OpenAPI index: those paths |
//! | `openapi A B` | of an OpenAPI document: the types whose names end so, and paths that end so without descriptions |
//! | `items N` | of a list: the first N items |
//! | `bookmarks` | of a stream: everything but plain bookmarks, which come when the server likes |
//! | `causes` | of a refusal: everything, with the causes sorted where a real server has no order |
//! | `sort POINTER` | everything, with that list sorted |
//! | `keys` | only the names of the fields at the top |

use serde_json::{Map, Value};

pub(crate) fn apply(rules: &[String], body: &mut Value) -> Result<(), String> {
    for rule in rules {
        let mut words = rule.split(' ');
        let name = words.next().unwrap_or_default();
        let names: Vec<&str> = words.collect();
        match name {
            "groups" => groups(body, &names),
            "resources" => resources(body, &names),
            "paths" => paths(body, &names),
            "openapi" => openapi(body, &names),
            "items" => items(body, &names)?,
            "keys" => keys(body),
            "bookmarks" => bookmarks(body),
            "causes" => causes(body),
            "sort" => sort(body, &names),
            _ => return Err(format!("`@trim {rule}` is unknown")),
        }
    }
    Ok(())
}

fn groups(body: &mut Value, names: &[&str]) {
    let keep = |group: &Value| {
        let name = group
            .pointer("/metadata/name")
            .or_else(|| group.get("name"));
        names.contains(&name.and_then(Value::as_str).unwrap_or("core"))
    };
    for key in ["items", "groups"] {
        retain(body.get_mut(key), keep);
    }
}

fn resources(body: &mut Value, names: &[&str]) {
    retain(body.get_mut("resources"), |resource| {
        let name = resource["name"].as_str().unwrap_or_default();
        names.contains(&name.split('/').next().unwrap_or_default())
    });
}

fn paths(body: &mut Value, names: &[&str]) {
    retain(body.get_mut("paths"), |path| {
        names.contains(&path.as_str().unwrap_or_default())
    });
    if let Some(paths) = body.get_mut("paths").and_then(Value::as_object_mut) {
        retain_keys(paths, |path| names.contains(&path));
    }
}

fn openapi(body: &mut Value, names: &[&str]) {
    let keep = |name: &str| names.iter().any(|end| name.ends_with(end));
    for pointer in ["/components/schemas", "/paths"] {
        if let Some(Value::Object(entries)) = body.pointer_mut(pointer) {
            retain_keys(entries, keep);
        }
    }
    forget_prose(body);
}

// A field that is called `description` holds an object; prose is text.
fn forget_prose(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| key != "description" || !value.is_string());
            fields.values_mut().for_each(forget_prose);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_prose),
        _ => {}
    }
}

fn items(body: &mut Value, names: &[&str]) -> Result<(), String> {
    let count = names.first().and_then(|n| n.parse().ok());
    let count: usize = count.ok_or("`@trim items` needs a number")?;
    for key in ["items", "rows"] {
        if let Some(list) = body.get_mut(key).and_then(Value::as_array_mut) {
            list.truncate(count);
        }
    }
    Ok(())
}

fn keys(body: &mut Value) {
    if let Some(fields) = body.as_object() {
        *body = fields.keys().cloned().collect();
    }
}

fn bookmarks(body: &mut Value) {
    retain(body.get_mut("stream"), |event| {
        let metadata = event.pointer("/object/metadata").and_then(Value::as_object);
        let plain = metadata.is_some_and(|m| m.keys().all(|key| key == "resourceVersion"));
        event["type"] != "BOOKMARK" || !plain
    });
}

// The message repeats the causes; it is put together again in the new order.
fn causes(body: &mut Value) {
    let text = |cause: &Value| {
        let part = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("field"), part("message"))
    };
    let Some(causes) = body
        .pointer_mut("/details/causes")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    let before: Vec<String> = causes.iter().map(text).collect();
    causes.sort_by_cached_key(text);
    let after: Vec<String> = causes.iter().map(text).collect();
    if let Some(Value::String(message)) = body.get_mut("message") {
        *message = message.replace(&before.join(", "), &after.join(", "));
    }
}

fn sort(body: &mut Value, names: &[&str]) {
    for pointer in names {
        if let Some(list) = body.pointer_mut(pointer).and_then(Value::as_array_mut) {
            list.sort_by_key(Value::to_string);
        }
    }
}

fn retain(list: Option<&mut Value>, keep: impl Fn(&Value) -> bool) {
    if let Some(list) = list.and_then(Value::as_array_mut) {
        list.retain(keep);
    }
}

fn retain_keys(fields: &mut Map<String, Value>, keep: impl Fn(&str) -> bool) {
    fields.retain(|key, _| keep(key));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(rule: &str, mut body: Value, left: Value) {
        apply(&[rule.to_owned()], &mut body).unwrap();
        assert_eq!(body, left);
    }

    #[test]
    fn each_rule_keeps_its_part() {
        let two = json!({"items": [{"metadata": {"name": "apps"}}, {"metadata": {}}]});
        check(
            "groups apps",
            two.clone(),
            json!({"items": [{"metadata": {"name": "apps"}}]}),
        );
        check("groups core", two, json!({"items": [{"metadata": {}}]}));
        let list = json!({"resources": [{"name": "a"}, {"name": "a/status"}, {"name": "b"}]});
        check(
            "resources a",
            list,
            json!({"resources": [{"name": "a"}, {"name": "a/status"}]}),
        );
        check("items 1", json!({"items": [1, 2]}), json!({"items": [1]}));
        check("keys", json!({"b": 1, "a": 2}), json!(["a", "b"]));
        let index = json!({"paths": {"api/v1": 1, "apis": 2}});
        check("paths apis", index, json!({"paths": {"apis": 2}}));
        let cause = |f: &str| json!({"field": f, "message": "bad"});
        let refusal = json!({"message": "no: [b: bad, a: bad]", "details": {"causes": [cause("b"), cause("a")]}});
        let left = json!({"message": "no: [a: bad, b: bad]", "details": {"causes": [cause("a"), cause("b")]}});
        check("causes", refusal, left);
        check(
            "sort /x",
            json!({"x": ["b", "a"]}),
            json!({"x": ["a", "b"]}),
        );
        let document = json!({"components": {"schemas": {
            "x.Toy": {"description": "prose", "properties": {"description": {"type": "string"}}},
            "x.Boy": {},
        }}});
        let left = json!({"components": {"schemas": {
            "x.Toy": {"properties": {"description": {"type": "string"}}},
        }}});
        check("openapi .Toy", document, left);
    }
}
