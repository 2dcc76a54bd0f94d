//! What the webhook server of a run answers.
//!
//! | path | answer |
//! |---|---|
//! | `/allow` | yes |
//! | `/deny` | no, with code 403 and a reason |
//! | `/deny-plain` | no, and nothing else |
//! | `/label` | yes, with a JSON patch that adds the label `injected: yes`, and a warning |
//! | `/convert` | a conversion that moves `spec.size` to `spec.dimensions.size` and back |
//! | anything else | an empty object, which is not a valid answer |

use serde_json::{Value, json};

// [{"op":"add","path":"/metadata/labels","value":{"injected":"yes"}}]
const PATCH: &str =
    "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscyIsInZhbHVlIjp7ImluamVjdGVkIjoieWVzIn19XQ==";

pub(crate) fn answer(path: &str, review: &Value) -> Value {
    let path = path.split('?').next().unwrap_or(path);
    let uid = review.pointer("/request/uid").cloned().unwrap_or_default();
    let response = match path {
        "/allow" => json!({"uid": uid, "allowed": true}),
        "/deny" => json!({
            "uid": uid,
            "allowed": false,
            "status": {"code": 403, "reason": "Forbidden", "message": "not in this house"},
        }),
        "/deny-plain" => json!({"uid": uid, "allowed": false}),
        "/label" => json!({
            "uid": uid,
            "allowed": true,
            "patchType": "JSONPatch",
            "patch": PATCH,
            "warnings": ["a label was added"],
        }),
        "/convert" => return convert(review),
        _ => return json!({}),
    };
    json!({
        "apiVersion": review["apiVersion"],
        "kind": review["kind"],
        "response": response,
    })
}

fn convert(review: &Value) -> Value {
    let wanted = review["request"]["desiredAPIVersion"].clone();
    let objects = review["request"]["objects"].as_array().cloned();
    let converted = objects.unwrap_or_default().into_iter().map(|mut object| {
        let old = wanted.as_str().is_some_and(|v| v.ends_with("/v1"));
        let size = if old {
            object["spec"]["dimensions"]["size"].take()
        } else {
            object["spec"]["size"].take()
        };
        object["spec"] = if size.is_null() {
            json!({})
        } else if old {
            json!({"size": size})
        } else {
            json!({"dimensions": {"size": size}})
        };
        object["apiVersion"] = wanted.clone();
        object
    });
    json!({
        "apiVersion": review["apiVersion"],
        "kind": review["kind"],
        "response": {
            "uid": review["request"]["uid"],
            "convertedObjects": converted.collect::<Vec<_>>(),
            "result": {"status": "Success"},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_moves_the_size_both_ways() {
        let review = |version: &str, spec: Value| json!({"request": {"uid": "u", "desiredAPIVersion": version, "objects": [{"spec": spec}]}});
        let there = answer("/convert", &review("g/v2", json!({"size": 3})));
        let object = &there["response"]["convertedObjects"][0];
        assert_eq!(
            *object,
            json!({"apiVersion": "g/v2", "spec": {"dimensions": {"size": 3}}})
        );
        let back = answer("/convert", &review("g/v1", object["spec"].clone()));
        assert_eq!(
            back["response"]["convertedObjects"][0]["spec"],
            json!({"size": 3})
        );
    }
}
