//! JSON patches (RFC 6902) as the API server applies them.
//!
//! It is laxer than the RFC: `replace` of a missing object field adds it, `test` for null passes on a
//! missing field, indexes may be negative and count from the end, and what stands before the first
//! slash of a path is ignored. The reason of a failure is not told to the client.

use crate::go;
use model::{ApiError, Reason, Value};
use std::fmt;

/// How many operations one patch may have.
pub const OPERATIONS_MAX: usize = 10_000;

/// How much `copy` operations may add to a document.
pub const COPY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Why a patch was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonPatchError {
    /// The document is not a list of operations; holds what the decoder said.
    Decode(String),
    /// It has more than [`OPERATIONS_MAX`] operations.
    TooMany(usize),
    /// An operation does not fit the object.
    Apply(String),
}

impl fmt::Display for JsonPatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(why) => write!(f, "error decoding patch: {why}"),
            Self::TooMany(count) => write!(
                f,
                "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}"
            ),
            Self::Apply(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for JsonPatchError {}

impl JsonPatchError {
    /// The answer to the client.
    pub fn to_api_error(&self) -> ApiError {
        match self {
            Self::Decode(_) => ApiError::bad_request(self.to_string()),
            Self::TooMany(_) => ApiError::new(
                413,
                Some(Reason::RequestEntityTooLarge),
                format!("Request entity is too large: {self}"),
            ),
            Self::Apply(_) => unprocessable(),
        }
    }
}

/// The answer to a patch that cannot be applied: it says nothing about why.
pub(crate) fn unprocessable() -> ApiError {
    let message = "the server rejected our request due to an error in our request";
    let mut error = ApiError::new(422, Some(Reason::Invalid), message);
    error.with_details = true;
    error
}

/// Applies a JSON patch to a value.
pub fn json_patch(target: Value, patch: &Value) -> Result<Value, JsonPatchError> {
    let operations = decode(patch)?;
    let mut document = target;
    let mut copied = 0;
    for operation in operations {
        operation
            .run(&mut document, &mut copied)
            .map_err(JsonPatchError::Apply)?;
    }
    Ok(document)
}

/// Fields of operations that do not exist, as the texts of field validation name them.
pub fn unknown_fields(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    operations
        .flat_map(|(i, operation)| {
            let fields = operation.as_object().into_iter().flatten();
            fields
                .filter(|(name, _)| !matches!(name.as_str(), "op" | "path" | "from" | "value"))
                .map(move |(name, _)| format!("json patch unknown field \"[{i}].{name}\""))
        })
        .collect()
}

struct Operation<'p> {
    op: Option<&'p str>,
    path: Option<&'p str>,
    from: Option<&'p str>,
    value: Option<&'p Value>,
}

fn decode(patch: &Value) -> Result<Vec<Operation<'_>>, JsonPatchError> {
    let Value::Array(list) = patch else {
        if patch.is_null() {
            return Ok(Vec::new());
        }
        let got = go::json_type(patch);
        return Err(JsonPatchError::Decode(format!(
            "json: cannot unmarshal {got} into Go value of type []handlers.jsonPatchOp"
        )));
    };
    if list.len() > OPERATIONS_MAX {
        return Err(JsonPatchError::TooMany(list.len()));
    }
    list.iter().map(decode_operation).collect()
}

fn decode_operation(operation: &Value) -> Result<Operation<'_>, JsonPatchError> {
    if !operation.is_object() && !operation.is_null() {
        let got = go::json_type(operation);
        return Err(JsonPatchError::Decode(format!(
            "json: cannot unmarshal {got} into Go value of type handlers.jsonPatchOp"
        )));
    }
    let text = |key: &str| match operation.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(JsonPatchError::Decode(format!(
            "json: cannot unmarshal {} into Go struct field jsonPatchOp.{key} of type string",
            go::json_type(other)
        ))),
    };
    Ok(Operation {
        op: text("op")?,
        path: text("path")?,
        from: text("from")?,
        value: operation.get("value"),
    })
}

const MISSING: &str = "missing value";

impl Operation<'_> {
    fn run(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        match self.op.unwrap_or("unknown") {
            "add" => {
                let path = self.path("add")?;
                add(document, path, self.value_or_null(), "add")
            }
            "remove" => remove(document, self.path("remove")?, "remove").map(drop),
            "replace" => self.replace(document),
            "move" => {
                let from = self.from("move")?;
                let value = remove(document, from, "move")?;
                add(document, self.path("move")?, value, "move")
            }
            "copy" => self.copy(document, copied),
            "test" => self.test(document),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn path(&self, what: &str) -> Result<&str, String> {
        self.path
            .ok_or_else(|| format!("{what} operation failed to decode path: {MISSING}"))
    }

    fn from(&self, what: &str) -> Result<&str, String> {
        self.from
            .ok_or_else(|| format!("{what} operation failed to decode from: {MISSING}"))
    }

    fn value_or_null(&self) -> Value {
        self.value.cloned().unwrap_or(Value::Null)
    }

    fn replace(&self, document: &mut Value) -> Result<(), String> {
        let path = self.path("replace")?;
        if path.is_empty() {
            return match self.value {
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    *document = value.clone();
                    Ok(())
                }
                _ => Err("replace operation value must be object or array".into()),
            };
        }
        let missing =
            || format!("replace operation does not apply: doc is missing path: {path}: {MISSING}");
        let (place, key) = find_mut(document, path).ok_or_else(missing)?;
        match place {
            Value::Object(fields) => {
                fields.insert(key, self.value_or_null());
            }
            Value::Array(items) => {
                let at = index(&key, items.len()).map_err(|_| {
                    format!(
                        "replace operation does not apply: doc is missing key: {path}: {MISSING}"
                    )
                })?;
                items[at] = self.value_or_null();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(missing());
            }
        }
        Ok(())
    }

    fn copy(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        let from = self.from("copy")?;
        let missing = || {
            format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}")
        };
        let (place, key) = find(document, from).ok_or_else(missing)?;
        let value = get(place, &key)
            .map_err(|why| format!("error in copy for from: '{from}': {why}"))?
            .cloned()
            .unwrap_or(Value::Null);
        let path = self.path("copy")?;
        *copied += value.to_string().len();
        if *copied > COPY_BYTES_MAX {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, \
                 exceeding the limit {COPY_BYTES_MAX}"
            ));
        }
        add(document, path, value, "copy")
    }

    fn test(&self, document: &Value) -> Result<(), String> {
        let path = self.path("test")?;
        let failed = || Err(format!("testing value {path} failed: test failed"));
        let wanted = self.value.unwrap_or(&Value::Null);
        if path.is_empty() {
            return if document == wanted { Ok(()) } else { failed() };
        }
        let Some((place, key)) = find(document, path) else {
            return Err(format!(
                "test operation does not apply: is missing path: {path}: {MISSING}"
            ));
        };
        let found =
            get(place, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?;
        if found.unwrap_or(&Value::Null) == wanted {
            return Ok(());
        }
        failed()
    }
}

fn add(document: &mut Value, path: &str, value: Value, what: &str) -> Result<(), String> {
    let missing =
        || format!("{what} operation does not apply: doc is missing path: \"{path}\": {MISSING}");
    let (place, key) = find_mut(document, path).ok_or_else(missing)?;
    match place {
        Value::Object(fields) => {
            fields.insert(key, value);
            Ok(())
        }
        Value::Array(items) if key == "-" => {
            items.push(value);
            Ok(())
        }
        Value::Array(items) => {
            let at = index(&key, items.len() + 1)
                .map_err(|why| format!("error in {what} for path: '{path}': {why}"))?;
            items.insert(at, value);
            Ok(())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing()),
    }
}

fn remove(document: &mut Value, path: &str, what: &str) -> Result<Value, String> {
    let missing =
        || format!("{what} operation does not apply: doc is missing path: \"{path}\": {MISSING}");
    let (place, key) = find_mut(document, path).ok_or_else(missing)?;
    let trouble = |why: String| format!("error in {what} for path: '{path}': {why}");
    match place {
        Value::Object(fields) => fields.remove(&key).ok_or_else(|| {
            trouble(format!(
                "Unable to remove nonexistent key: {key}: {MISSING}"
            ))
        }),
        Value::Array(items) => {
            let at = index(&key, items.len()).map_err(trouble)?;
            Ok(items.remove(at))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(missing()),
    }
}

// The container a path points into, and the key in it.
fn find_mut<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let (_, steps) = path.split_once('/')?;
    let (steps, key) = match steps.rsplit_once('/') {
        Some((steps, key)) => (Some(steps), key),
        None => (None, steps),
    };
    let mut place = document;
    for step in steps.into_iter().flat_map(|s| s.split('/')) {
        let step = unescape(step);
        place = match place {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => {
                let at = index(&step, items.len()).ok()?;
                items.get_mut(at)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    matches!(place, Value::Object(_) | Value::Array(_)).then(|| (place, unescape(key)))
}

fn find<'d>(document: &'d Value, path: &str) -> Option<(&'d Value, String)> {
    let (_, steps) = path.split_once('/')?;
    let (steps, key) = match steps.rsplit_once('/') {
        Some((steps, key)) => (Some(steps), key),
        None => (None, steps),
    };
    let mut place = document;
    for step in steps.into_iter().flat_map(|s| s.split('/')) {
        place = get(place, &unescape(step)).ok()??;
    }
    matches!(place, Value::Object(_) | Value::Array(_)).then(|| (place, unescape(key)))
}

fn get<'d>(place: &'d Value, key: &str) -> Result<Option<&'d Value>, String> {
    match place {
        Value::Object(fields) => Ok(fields.get(key)),
        Value::Array(items) => index(key, items.len()).map(|at| items.get(at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(None),
    }
}

fn unescape(step: &str) -> String {
    if !step.contains('~') {
        return step.to_owned();
    }
    let mut out = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, taken) = match rest.as_bytes().get(1) {
            Some(b'1') => ("/", 2),
            Some(b'0') => ("~", 2),
            _ => ("~", 1),
        };
        out.push_str(text);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

// An index into a list of `len` places; negative ones count from the end.
fn index(key: &str, len: usize) -> Result<usize, String> {
    let number: i64 = key
        .parse()
        .map_err(|_| format!("value was not a proper array index: '{key}'"))?;
    let len = len as i64;
    let at = if number < 0 { number + len } else { number };
    if at < 0 || at >= len {
        return Err(format!(
            "Unable to access invalid index: {number}: invalid index referenced"
        ));
    }
    Ok(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn patched(operations: Value) -> Result<Value, JsonPatchError> {
        let document =
            json!({"a": [1, 2, {"b": 1}], "o": {"x": 1, "y/z": 2, "t~u": 3, "n": null}, "s": "t"});
        json_patch(document, &operations)
    }

    #[test]
    fn operations_do_what_the_rfc_says() {
        for (operations, pointer, result) in [
            (
                json!([{"op": "add", "path": "/a/1", "value": 9}]),
                "/a",
                json!([1, 9, 2, {"b": 1}]),
            ),
            (
                json!([{"op": "add", "path": "/a/-", "value": 9}]),
                "/a/3",
                json!(9),
            ),
            (
                json!([{"op": "add", "path": "/o/q", "value": {}}]),
                "/o/q",
                json!({}),
            ),
            (
                json!([{"op": "remove", "path": "/o/y~1z"}]),
                "/o",
                json!({"x": 1, "t~u": 3, "n": null}),
            ),
            (
                json!([{"op": "replace", "path": "/o/t~0u", "value": 4}]),
                "/o/t~0u",
                json!(4),
            ),
            (
                json!([{"op": "move", "from": "/a/2/b", "path": "/o/b"}]),
                "/o/b",
                json!(1),
            ),
            (
                json!([{"op": "copy", "from": "/a", "path": "/c"}]),
                "/c",
                json!([1, 2, {"b": 1}]),
            ),
            (
                json!([{"op": "test", "path": "/a/2", "value": {"b": 1}}]),
                "/s",
                json!("t"),
            ),
            // Beyond the RFC.
            (
                json!([{"op": "replace", "path": "/o/new", "value": 4}]),
                "/o/new",
                json!(4),
            ),
            (
                json!([{"op": "replace", "path": "/a/-1", "value": 4}]),
                "/a/2",
                json!(4),
            ),
            (
                json!([{"op": "test", "path": "/o/none", "value": null}]),
                "/s",
                json!("t"),
            ),
            (
                json!([{"op": "add", "path": "ignored/o/k", "value": 4}]),
                "/o/k",
                json!(4),
            ),
            (json!(null), "/s", json!("t")),
        ] {
            let done = patched(operations.clone()).unwrap();
            assert_eq!(done.pointer(pointer), Some(&result), "{operations}");
        }
    }

    #[test]
    fn what_does_not_apply_is_answered_without_a_reason() {
        for operations in [
            json!([{"op": "test", "path": "/o/x", "value": 2}]),
            json!([{"op": "remove", "path": "/o/none"}]),
            json!([{"op": "add", "path": "/a/7", "value": 1}]),
            json!([{"op": "add", "path": "/none/deep", "value": 1}]),
            json!([{"op": "add", "path": "/s/x", "value": 1}]),
            json!([{"op": "replace", "path": "/a/x", "value": 1}]),
            json!([{"op": "move", "from": "/none", "path": "/x"}]),
            json!([{"op": "add", "path": "", "value": 1}]),
            json!([{"op": "bogus", "path": "/s"}]),
            json!([{"path": "/s"}]),
            json!([{"op": "add", "value": 1}]),
        ] {
            let error = patched(operations.clone()).unwrap_err();
            assert!(matches!(error, JsonPatchError::Apply(_)), "{operations}");
            assert_eq!(
                error.to_api_error().to_status(),
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
                    "message": "the server rejected our request due to an error in our request",
                    "reason": "Invalid", "details": {},
                })
            );
        }
    }

    #[test]
    fn what_is_no_patch_is_refused_in_gos_words() {
        for (document, message) in [
            (
                json!({}),
                "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                json!([1]),
                "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            ),
            (
                json!([{"op": 1}]),
                "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            ),
        ] {
            let error = patched(document).unwrap_err().to_api_error();
            assert_eq!(
                (error.code, error.message),
                (400, format!("error decoding patch: {message}"))
            );
        }
    }

    #[test]
    fn limits_hold() {
        let many = vec![json!({"op": "test", "path": "/s", "value": "t"}); OPERATIONS_MAX + 1];
        let error = patched(Value::Array(many)).unwrap_err();
        assert_eq!(error, JsonPatchError::TooMany(OPERATIONS_MAX + 1));
        assert_eq!(error.to_api_error().code, 413);
        let big = json!({"a": "x".repeat(1024 * 1024)});
        let copies = json!([
            {"op": "copy", "from": "/a", "path": "/b"}, {"op": "copy", "from": "/a", "path": "/c"},
            {"op": "copy", "from": "/a", "path": "/d"},
        ]);
        assert!(matches!(
            json_patch(big, &copies),
            Err(JsonPatchError::Apply(_))
        ));
    }

    #[test]
    fn unknown_fields_are_named() {
        let patch = json!([{"op": "test", "path": "/s", "value": "t"}, {"op": "test", "foo": 1}]);
        assert_eq!(
            unknown_fields(&patch),
            ["json patch unknown field \"[1].foo\""]
        );
    }
}
