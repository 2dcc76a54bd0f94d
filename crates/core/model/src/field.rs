//! Field paths and the faults of single fields, worded as the API server words them.

use serde_json::Value;
use std::fmt;

/// Where in an object a field is: `spec.containers[0].image`, `data[key with.dots]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// The path of the object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The path of a field below this one; `name` may hold dots.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.to_owned())
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// The path of a list entry.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The path of a map entry, written `path[key]`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// The text of the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The sort of fault.
    pub kind: FieldErrorKind,
    /// Path of the field, as the answer prints it.
    pub field: String,
    /// Ready text after the kind's own words, `None` when there is nothing to add.
    pub detail: Option<String>,
    /// The refused value as it is printed, `None` where the kind prints none.
    pub value: Option<String>,
}

/// The sorts of field faults, each with its reason and opening words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The value does not exist elsewhere in the cluster.
    NotFound,
    /// The field must be given.
    Required,
    /// The value stands twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is none of an enumeration.
    NotSupported,
    /// The field must not be given or changed here.
    Forbidden,
    /// The value is longer than allowed.
    TooLong,
    /// The list or map holds more than allowed.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The check itself failed.
    Internal,
}

/// Prints a value as field errors do: strings quoted as Go quotes them, the rest as JSON.
pub fn show(value: &Value) -> String {
    match value {
        Value::String(s) => go_quote(s),
        other => other.to_string(),
    }
}

/// Quotes a string as Go's `%q` does.
pub fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{b}' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl FieldError {
    fn of(kind: FieldErrorKind, path: &Path, value: Option<String>, detail: &str) -> Self {
        let detail = (!detail.is_empty()).then(|| detail.to_owned());
        Self {
            kind,
            field: path.as_str().to_owned(),
            detail,
            value,
        }
    }

    /// The field must be given.
    pub fn required(path: &Path, detail: &str) -> Self {
        Self::of(FieldErrorKind::Required, path, None, detail)
    }

    /// The value breaks a rule.
    pub fn invalid(path: &Path, value: &Value, detail: &str) -> Self {
        Self::of(FieldErrorKind::Invalid, path, Some(show(value)), detail)
    }

    /// The value breaks a rule; `shown` is printed as it stands.
    pub fn invalid_shown(path: &Path, shown: impl Into<String>, detail: &str) -> Self {
        Self::of(FieldErrorKind::Invalid, path, Some(shown.into()), detail)
    }

    /// The value stands twice.
    pub fn duplicate(path: &Path, value: &Value) -> Self {
        Self::of(FieldErrorKind::Duplicate, path, Some(show(value)), "")
    }

    /// The value is none of `supported`.
    pub fn not_supported<S: AsRef<str>>(path: &Path, value: &Value, supported: &[S]) -> Self {
        let quoted: Vec<_> = supported.iter().map(|s| go_quote(s.as_ref())).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::of(
            FieldErrorKind::NotSupported,
            path,
            Some(show(value)),
            &detail,
        )
    }

    /// The value names something that does not exist.
    pub fn not_found(path: &Path, value: &Value) -> Self {
        Self::of(FieldErrorKind::NotFound, path, Some(show(value)), "")
    }

    /// The field must not be given or changed.
    pub fn forbidden(path: &Path, detail: &str) -> Self {
        Self::of(FieldErrorKind::Forbidden, path, None, detail)
    }

    /// The value is longer than `max` bytes.
    pub fn too_long(path: &Path, max: usize) -> Self {
        let detail = format!("may not be more than {max} bytes");
        Self::of(FieldErrorKind::TooLong, path, None, &detail)
    }

    /// The list holds `actual` items where `max` are allowed.
    pub fn too_many(path: &Path, actual: usize, max: usize) -> Self {
        let detail = format!(
            "must have at most {max} item{}",
            if max == 1 { "" } else { "s" }
        );
        Self::of(
            FieldErrorKind::TooMany,
            path,
            Some(actual.to_string()),
            &detail,
        )
    }

    /// The value has the wrong JSON type.
    pub fn type_invalid(path: &Path, shown: impl Into<String>, detail: &str) -> Self {
        Self::of(
            FieldErrorKind::TypeInvalid,
            path,
            Some(shown.into()),
            detail,
        )
    }

    /// The `reason` of the cause in the answer.
    pub fn reason(&self) -> &'static str {
        match self.kind {
            FieldErrorKind::NotFound => "FieldValueNotFound",
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            FieldErrorKind::Internal => "InternalError",
        }
    }

    /// The message without the field, as causes carry it.
    pub fn body(&self) -> String {
        let words = match self.kind {
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::Internal => "Internal error",
        };
        let mut out = words.to_owned();
        if let Some(value) = &self.value {
            out.push_str(": ");
            out.push_str(value);
        }
        if let Some(detail) = &self.detail {
            out.push_str(": ");
            out.push_str(detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_read_as_the_api_server_writes_them() {
        let path = Path::root()
            .child("spec")
            .child("ports")
            .index(1)
            .child("name");
        assert_eq!(
            FieldError::required(&path, "").to_string(),
            "spec.ports[1].name: Required value"
        );
        assert_eq!(
            FieldError::not_supported(&path, &json!("x"), &["a", "b"]).to_string(),
            r#"spec.ports[1].name: Unsupported value: "x": supported values: "a", "b""#
        );
        assert_eq!(
            FieldError::invalid(&path, &json!({"app": "web"}), "no").body(),
            r#"Invalid value: {"app":"web"}: no"#
        );
    }
}
