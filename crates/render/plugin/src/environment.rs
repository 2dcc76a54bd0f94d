//! Parameters as the variables that commands see.

use model::{Value, json};
use std::collections::BTreeMap;

/// One parameter; each kind may be given or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// A text.
    pub string: Option<String>,
    /// Texts by name.
    pub map: Option<BTreeMap<String, String>>,
    /// A list of texts.
    pub array: Option<Vec<String>>,
}

/// `ARGOCD_APP_PARAMETERS` and one `PARAM_...` for every value.
pub fn parameter_variables(parameters: &[Parameter]) -> Vec<(String, String)> {
    let all: Vec<Value> = parameters.iter().map(as_json).collect();
    let mut out = vec![(
        "ARGOCD_APP_PARAMETERS".to_owned(),
        Value::Array(all).to_string(),
    )];
    for parameter in parameters {
        let name = format!("PARAM_{}", escaped(&parameter.name));
        if let Some(string) = &parameter.string {
            out.push((name.clone(), string.clone()));
        }
        for (key, value) in parameter.map.iter().flatten() {
            out.push((format!("{name}_{}", escaped(key)), value.clone()));
        }
        for (index, value) in parameter.array.iter().flatten().enumerate() {
            out.push((format!("{name}_{index}"), value.clone()));
        }
    }
    out
}

fn as_json(parameter: &Parameter) -> Value {
    let mut out = json!({"name": parameter.name});
    if let Some(string) = &parameter.string {
        out["string"] = json!(string);
    }
    if let Some(map) = &parameter.map {
        out["map"] = json!(map);
    }
    if let Some(array) = &parameter.array {
        out["array"] = json!(array);
    }
    out
}

// Upper case; what is no letter, digit or `_` becomes `_`.
fn escaped(name: &str) -> String {
    let upper = name.to_uppercase();
    let keep = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    upper
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}
