//! Prints schemas and versions in the form that some messages of the API server show them in.
//!
//! That form has every field, absent or not, with the names of the server's own types.

use super::text;
use crate::DEPTH_MAX;
use model::Value;

// The name in the message, the name in JSON, and what stands for an absent value.
const SCHEMA: [(&str, &str, &str); 43] = [
    ("ID", "id", "\"\""),
    ("Schema", "$schema", "\"\""),
    ("Ref", "$ref", "null"),
    ("Description", "description", "\"\""),
    ("Type", "type", "\"\""),
    ("Nullable", "nullable", "false"),
    ("Format", "format", "\"\""),
    ("Title", "title", "\"\""),
    ("Default", "default", "null"),
    ("Maximum", "maximum", "null"),
    ("ExclusiveMaximum", "exclusiveMaximum", "false"),
    ("Minimum", "minimum", "null"),
    ("ExclusiveMinimum", "exclusiveMinimum", "false"),
    ("MaxLength", "maxLength", "null"),
    ("MinLength", "minLength", "null"),
    ("Pattern", "pattern", "\"\""),
    ("MaxItems", "maxItems", "null"),
    ("MinItems", "minItems", "null"),
    ("UniqueItems", "uniqueItems", "false"),
    ("MultipleOf", "multipleOf", "null"),
    ("Enum", "enum", "null"),
    ("MaxProperties", "maxProperties", "null"),
    ("MinProperties", "minProperties", "null"),
    ("Required", "required", "null"),
    ("Items", "items", "null"),
    ("AllOf", "allOf", "null"),
    ("OneOf", "oneOf", "null"),
    ("AnyOf", "anyOf", "null"),
    ("Not", "not", "null"),
    ("Properties", "properties", "null"),
    ("AdditionalProperties", "additionalProperties", "null"),
    ("PatternProperties", "patternProperties", "null"),
    ("Dependencies", "dependencies", "null"),
    ("AdditionalItems", "additionalItems", "null"),
    ("Definitions", "definitions", "null"),
    ("ExternalDocs", "externalDocs", "null"),
    ("Example", "example", "null"),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        "null",
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        "false",
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", "false"),
    ("XListMapKeys", "x-kubernetes-list-map-keys", "null"),
    ("XListType", "x-kubernetes-list-type", "null"),
    ("XMapType", "x-kubernetes-map-type", "null"),
];

const RULE: [(&str, &str, &str); 6] = [
    ("Rule", "rule", "\"\""),
    ("Message", "message", "\"\""),
    ("MessageExpression", "messageExpression", "\"\""),
    ("Reason", "reason", "null"),
    ("FieldPath", "fieldPath", "\"\""),
    ("OptionalOldSelf", "optionalOldSelf", "null"),
];

/// Prints a schema.
pub(super) fn show_schema(schema: &Value) -> String {
    escape_html(&schema_text(schema, 0))
}

/// Prints the versions of a CRD; what all versions share is left out, as the server does.
pub(super) fn show_versions(versions: &[Value], shared: Shared) -> String {
    let shown: Vec<String> = versions.iter().map(|v| version(v, shared)).collect();
    escape_html(&format!("[{}]", shown.join(",")))
}

/// What is the same in all versions of a CRD and so counts as a property of the CRD.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) schema: bool,
    pub(super) subresources: bool,
    pub(super) columns: bool,
    pub(super) selectable: bool,
}

fn version(version: &Value, shared: Shared) -> String {
    let flag = |key: &str| version.get(key).and_then(Value::as_bool) == Some(true);
    let part = |key: &str, hidden: bool| version.get(key).filter(|v| !hidden && !v.is_null());
    let schema = part("schema", shared.schema).map_or("null".to_owned(), |schema| {
        let inner = schema.get("openAPIV3Schema").filter(|s| s.is_object());
        let inner = inner.map_or("null".to_owned(), |s| schema_text(s, 0));
        format!("{{\"OpenAPIV3Schema\":{inner}}}")
    });
    let subresources = part("subresources", shared.subresources).map(subresources);
    let columns = part("additionalPrinterColumns", shared.columns).map(columns);
    let selectable = part("selectableFields", shared.selectable).map(|list| {
        let list = list.as_array().into_iter().flatten();
        let shown = list.map(|f| format!("{{\"JSONPath\":{}}}", quoted(f, "jsonPath")));
        format!("[{}]", shown.collect::<Vec<_>>().join(","))
    });
    let null = || "null".to_owned();
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\
         \"Schema\":{schema},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\
         \"SelectableFields\":{}}}",
        quoted(version, "name"),
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        version.get("deprecationWarning").unwrap_or(&Value::Null),
        subresources.unwrap_or_else(null),
        columns.unwrap_or_else(null),
        selectable.unwrap_or_else(null),
    )
}

fn quoted(value: &Value, key: &str) -> String {
    Value::from(text(value, &[key])).to_string()
}

fn subresources(value: &Value) -> String {
    let status = if value.get("status").is_some() {
        "{}"
    } else {
        "null"
    };
    let scale = value.get("scale").map_or("null".to_owned(), |scale| {
        format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            quoted(scale, "specReplicasPath"),
            quoted(scale, "statusReplicasPath"),
            scale.get("labelSelectorPath").unwrap_or(&Value::Null),
        )
    });
    format!("{{\"Status\":{status},\"Scale\":{scale}}}")
}

fn columns(value: &Value) -> String {
    let shown = value.as_array().into_iter().flatten().map(|column| {
        format!(
            "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\
             \"JSONPath\":{}}}",
            quoted(column, "name"),
            quoted(column, "type"),
            quoted(column, "format"),
            quoted(column, "description"),
            column.get("priority").and_then(Value::as_i64).unwrap_or(0),
            quoted(column, "jsonPath"),
        )
    });
    format!("[{}]", shown.collect::<Vec<_>>().join(","))
}

fn schema_text(schema: &Value, depth: usize) -> String {
    if depth > DEPTH_MAX {
        return "null".into();
    }
    let mut out = String::from("{");
    for (name, key, absent) in SCHEMA {
        let shown = match schema.get(key).filter(|v| !v.is_null()) {
            None => absent.to_owned(),
            Some(value) => keyword(key, value, depth),
        };
        out.push_str(&format!("\"{name}\":{shown},"));
    }
    let rules = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    let rules = rules.filter(|r| !r.is_empty()).map(|rules| {
        let shown: Vec<String> = rules.iter().map(rule).collect();
        format!("[{}]", shown.join(","))
    });
    let rules = rules.unwrap_or_else(|| "null".to_owned());
    out.push_str(&format!("\"XValidations\":{rules}}}"));
    out
}

fn keyword(key: &str, value: &Value, depth: usize) -> String {
    let below = |schema: &Value| schema_text(schema, depth + 1);
    match (key, value) {
        ("items", items) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", below(items)),
        ("not", not) => below(not),
        ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
            let shown: Vec<String> = parts.iter().map(below).collect();
            format!("[{}]", shown.join(","))
        }
        ("properties", Value::Object(properties)) => {
            let shown = properties
                .iter()
                .map(|(name, schema)| format!("{}:{}", Value::from(name.as_str()), below(schema)));
            format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
        }
        ("additionalProperties", Value::Bool(allows)) => {
            format!("{{\"Allows\":{allows},\"Schema\":null}}")
        }
        ("additionalProperties", schema) => {
            format!("{{\"Allows\":true,\"Schema\":{}}}", below(schema))
        }
        (_, other) => other.to_string(),
    }
}

fn rule(rule: &Value) -> String {
    let shown = RULE.iter().map(|(name, key, absent)| {
        let value = rule.get(key).map_or((*absent).to_owned(), Value::to_string);
        format!("\"{name}\":{value}")
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(","))
}

// Go's JSON writes these characters so that they are safe inside of HTML.
fn escape_html(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
