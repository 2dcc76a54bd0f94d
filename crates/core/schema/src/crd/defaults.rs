//! What is filled in when a CustomResourceDefinition is written.

use super::text;
use model::{Map, Value, json};

const WEBHOOK_PORT: u16 = 443;

/// Fills the defaults into the spec of a CustomResourceDefinition.
///
/// `names.singular` is the lower-cased kind, `names.listKind` the kind and `List`, the conversion
/// strategy is `None`, and a conversion webhook's service listens on 443.
pub fn default_crd(crd: &mut Value) {
    let kind = text(crd, &["spec", "names", "kind"]).to_owned();
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut)
        && !kind.is_empty()
    {
        fill_text(names, "singular", &kind.to_lowercase());
        fill_text(names, "listKind", &format!("{kind}List"));
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    if let Some(service) = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut)
    {
        let port = service.entry("port").or_insert(Value::Null);
        if port.is_null() {
            *port = json!(WEBHOOK_PORT);
        }
    }
}

/// The status of a CustomResourceDefinition that was just created.
pub fn initial_status(crd: &Value) -> Value {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|v| v.get("storage").and_then(Value::as_bool) == Some(true))
        .map(|v| [text(v, &["name"])]);
    json!({
        "conditions": null,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    })
}

fn fill_text(fields: &mut Map<String, Value>, name: &str, text: &str) {
    let given = fields.get(name).and_then(Value::as_str);
    if given.is_none_or(str::is_empty) {
        fields.insert(name.to_owned(), json!(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_conversion_are_filled_in() {
        let mut crd =
            json!({"spec": {"group": "e.com", "names": {"plural": "gadgets", "kind": "Gadget"}}});
        default_crd(&mut crd);
        assert_eq!(
            crd["spec"],
            json!({
                "group": "e.com",
                "names": {
                    "plural": "gadgets",
                    "singular": "gadget",
                    "kind": "Gadget",
                    "listKind": "GadgetList",
                },
                "conversion": {"strategy": "None"},
            })
        );
    }

    #[test]
    fn given_names_and_a_webhook_stay() {
        let mut crd = json!({"spec": {
            "names": {"kind": "Ox", "singular": "ox", "listKind": "Oxen"},
            "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}},
        }});
        default_crd(&mut crd);
        assert_eq!(crd["spec"]["names"]["listKind"], "Oxen");
        assert_eq!(
            crd.pointer("/spec/conversion/webhook/clientConfig/service/port"),
            Some(&json!(443))
        );
    }

    #[test]
    fn a_new_crd_has_stored_its_storage_version() {
        let crd = json!({"spec": {"versions": [
            {"name": "v1alpha1", "storage": false},
            {"name": "v1", "storage": true},
        ]}});
        assert_eq!(
            initial_status(&crd).to_string(),
            r#"{"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":["v1"]}"#
        );
    }
}
