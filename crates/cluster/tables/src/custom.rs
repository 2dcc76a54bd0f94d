//! Columns that a CustomResourceDefinition asks for, and their cells.

use crate::age::age;
use crate::column::Column;
use crate::jsonpath::JsonPath;
use crate::read::Read;
use model::{Timestamp, Value, meta};

/// A column of a custom resource and where its cells come from.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomColumn {
    /// Heading, type and priority.
    pub column: Column,
    path: Option<JsonPath>,
}

/// The columns of one entry of `spec.versions`: the name, then its `additionalPrinterColumns`, or the
/// age when there are none. A column whose path cannot be read ends the list.
pub fn custom_columns(crd_version: &Value) -> Vec<CustomColumn> {
    let mut columns = vec![CustomColumn {
        column: Column::object_name(),
        path: None,
    }];
    let wanted = crd_version.list("additionalPrinterColumns");
    if wanted.is_empty() {
        let column = Column::read("Age:d");
        let path = JsonPath::parse(".metadata.creationTimestamp").ok();
        columns.push(CustomColumn { column, path });
    }
    for definition in wanted {
        let text = definition.text("jsonPath");
        let Ok(path) = JsonPath::parse(text) else {
            break;
        };
        let description = match definition.text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {text}"),
            description => description.to_owned(),
        };
        columns.push(CustomColumn {
            column: Column {
                name: definition.text("name").into(),
                ty: definition.text("type").into(),
                format: definition.text("format").into(),
                priority: i32::try_from(definition.int("priority")).unwrap_or(i32::MAX),
                description,
            },
            path: Some(path),
        });
    }
    columns
}

/// The cells of one custom object. Only the first value of a path is shown.
pub fn custom_cells(columns: &[CustomColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let cell = |column: &CustomColumn| {
        let Some(path) = &column.path else {
            return Value::from(meta::name(object));
        };
        match path
            .find(object)
            .ok()
            .and_then(|found| found.into_iter().next())
        {
            Some(value) => show(&column.column.ty, &value, now),
            None => Value::Null,
        }
    };
    columns.iter().map(cell).collect()
}

fn show(ty: &str, value: &Value, now: Timestamp) -> Value {
    match (ty, value) {
        ("string", value) => Value::from(printed(value)),
        ("integer", Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            (None, Some(real)) => go_whole(real).into(),
            (None, None) => Value::Null,
        },
        ("number", Value::Number(number)) => match number.as_f64() {
            // Go writes whole numbers without a fraction.
            Some(real) if real.fract() == 0.0 && real.abs() < 9e15 => (real as i64).into(),
            Some(real) => real.into(),
            None => Value::Null,
        },
        ("boolean", Value::Bool(truth)) => (*truth).into(),
        ("date", Value::String(text)) => date(text, now).into(),
        _ => Value::Null,
    }
}

fn date(text: &str, now: Timestamp) -> String {
    if text.is_empty() || text == "null" {
        return "<unknown>".into();
    }
    Timestamp::parse(text).map_or_else(|| "<invalid>".into(), |from| age(from, now))
}

/// A value as text: plain where it is a scalar, JSON where it is not.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (None, Some(real)) => go_float(real),
            _ => number.to_string(),
        },
        Value::Array(_) | Value::Object(_) => html_safe(&value.to_string()),
    }
}

/// A float cut to a whole number; what does not fit becomes the least one, as processors do it.
fn go_whole(real: f64) -> i64 {
    if real.abs() < 9_223_372_036_854_775_808.0 {
        real as i64
    } else {
        i64::MIN
    }
}

/// The shortest text of a float, with an exponent from a million on and below a ten-thousandth.
fn go_float(real: f64) -> String {
    let text = format!("{real:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..=5).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => format!("{real}"),
    }
}

/// Go's JSON keeps clear of HTML.
fn html_safe(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn cells_take_the_type_of_their_column() {
        let version = json!({"additionalPrinterColumns": [
            {"name": "S", "type": "string", "jsonPath": ".spec.s"},
            {"name": "Whole", "type": "integer", "jsonPath": ".spec.real"},
            {"name": "Real", "type": "number", "jsonPath": ".spec.n", "format": "double"},
            {"name": "Flag", "type": "boolean", "jsonPath": ".spec.b", "priority": 1},
            {"name": "Text", "type": "boolean", "jsonPath": ".spec.s", "description": "Own words."},
            {"name": "When", "type": "date", "jsonPath": ".spec.when"},
            {"name": "Never", "type": "date", "jsonPath": ".spec.s"},
            {"name": "Map", "type": "string", "jsonPath": ".spec.map"},
            {"name": "Float", "type": "string", "jsonPath": ".spec.real"},
            {"name": "Ready", "type": "string",
             "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
            {"name": "Absent", "type": "string", "jsonPath": ".spec.nope"},
        ]});
        let object = json!({
            "metadata": {"name": "w"},
            "spec": {"s": "text", "real": 2.5, "n": 3, "b": true, "when": "1970-01-01T00:00:00Z",
                     "map": {"a": "<b>"}},
            "status": {"conditions": [{"type": "Other", "status": "False"},
                                      {"type": "Ready", "status": "True"}]},
        });
        let columns = custom_columns(&version);
        let cells = custom_cells(&columns, &object, Timestamp::from_seconds(90));
        assert_eq!(
            Value::from(cells).to_string(),
            r#"["w","text",2,3,true,null,"90s","<invalid>","{\"a\":\"\\u003cb\\u003e\"}","2.5","True",null]"#
        );
        assert_eq!(columns[5].column.description, "Own words.");
        assert_eq!(
            columns[1].column.description,
            "Custom resource definition column (in JSONPath format): .spec.s"
        );
    }

    #[test]
    fn without_columns_there_is_the_age() {
        let columns = custom_columns(&json!({"name": "v1"}));
        let object =
            json!({"metadata": {"name": "w", "creationTimestamp": "1970-01-01T00:00:00Z"}});
        let cells = custom_cells(&columns, &object, Timestamp::from_seconds(5));
        assert_eq!(cells, [json!("w"), json!("5s")]);
        assert_eq!(
            (
                columns[1].column.name.as_str(),
                columns[1].column.ty.as_str()
            ),
            ("Age", "date")
        );
    }

    #[test]
    fn floats_print_as_go_prints_them() {
        for (real, text) in [
            (0.1, "0.1"),
            (123_456.5, "123456.5"),
            (1_234_567.5, "1.2345675e+06"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (1.5e-7, "1.5e-07"),
        ] {
            assert_eq!(go_float(real), text);
        }
    }
}
