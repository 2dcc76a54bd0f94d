//! Whether `Chart.lock` belongs to `Chart.yaml`.

use serde_json::Value;

/// The digest `Chart.lock` has when it belongs to these dependencies.
///
/// Both lists hold objects with the fields of `dependencies` in `Chart.yaml`, in Helm's order and
/// without the empty ones.
pub fn lock_digest(wanted: &[Value], locked: &[Value]) -> String {
    let list = |items: &[Value]| {
        if items.is_empty() {
            return "null".to_owned();
        }
        let items: Vec<String> = items.iter().map(dependency).collect();
        format!("[{}]", items.join(","))
    };
    crate::digest(format!("[{},{}]", list(wanted), list(locked)).as_bytes())
}

// A dependency as Go prints it: fields in the order of the struct.
fn dependency(value: &Value) -> String {
    let mut fields = Vec::new();
    for (key, always) in [
        ("name", true),
        ("version", false),
        ("repository", true),
        ("condition", false),
        ("tags", false),
        ("enabled", false),
        ("import-values", false),
        ("alias", false),
    ] {
        let field = value.get(key).cloned().unwrap_or(Value::Null);
        let empty = match &field {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => false,
        };
        if !empty {
            fields.push(format!("\"{key}\":{}", go_json(&field)));
        } else if always {
            fields.push(format!("\"{key}\":\"\""));
        }
    }
    format!("{{{}}}", fields.join(","))
}

fn go_json(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
