//! Reads an object leniently: absent and null are the same, and nothing fails.

use crate::age;
use model::{LabelSelector, Quantity, Timestamp, Value, meta};
use std::ops::Deref;

/// One object to print, and when.
pub(crate) struct View<'a> {
    object: &'a Value,
    /// The time of day, for ages.
    pub(crate) now: Timestamp,
}

impl Deref for View<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.object
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(object: &'a Value, now: Timestamp) -> Self {
        Self { object, now }
    }

    /// `metadata.name`.
    pub(crate) fn name(&self) -> &str {
        meta::name(self)
    }

    /// The object's own age.
    pub(crate) fn age(&self) -> String {
        self.since(self.time("metadata.creationTimestamp"))
    }

    /// The age of a point in time; `<unknown>` for none.
    pub(crate) fn since(&self, from: Option<Timestamp>) -> String {
        from.map_or_else(|| "<unknown>".into(), |from| age::age(from, self.now))
    }

    /// Whether deletion was asked for.
    pub(crate) fn deleting(&self) -> bool {
        self.at("metadata.deletionTimestamp").is_some()
    }
}

/// Dotted paths into a value.
pub(crate) trait Read {
    /// What stands at a dotted path; null counts as absent.
    fn at(&self, path: &str) -> Option<&Value>;

    /// The text at a path, when there is one.
    fn opt(&self, path: &str) -> Option<&str> {
        self.at(path).and_then(Value::as_str)
    }

    /// The text at a path, empty when absent.
    fn text(&self, path: &str) -> &str {
        self.opt(path).unwrap_or("")
    }

    /// The text at a path, `other` when absent or empty.
    fn filled<'a>(&'a self, path: &str, other: &'a str) -> &'a str {
        let text = self.text(path);
        if text.is_empty() { other } else { text }
    }

    /// The whole number at a path, 0 when absent.
    fn int(&self, path: &str) -> i64 {
        self.at(path).and_then(Value::as_i64).unwrap_or(0)
    }

    /// Whether the path holds `true`.
    fn flag(&self, path: &str) -> bool {
        self.at(path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The list at a path, empty when absent.
    fn list(&self, path: &str) -> &[Value] {
        self.at(path)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// The texts of a list.
    fn texts(&self, path: &str) -> Vec<&str> {
        self.list(path).iter().filter_map(Value::as_str).collect()
    }

    /// How many entries a list or a map has.
    fn count(&self, path: &str) -> i64 {
        match self.at(path) {
            Some(Value::Array(items)) => items.len() as i64,
            Some(Value::Object(map)) => map.len() as i64,
            _ => 0,
        }
    }

    /// The point in time at a path.
    fn time(&self, path: &str) -> Option<Timestamp> {
        Timestamp::parse(self.opt(path)?)
    }

    /// The quantity at a path, canonical; `0` when absent.
    fn quantity(&self, path: &str) -> String {
        let amount = self.at(path).and_then(Quantity::from_json);
        amount.unwrap_or(Quantity::ZERO).to_string()
    }

    /// An entry of `status.conditions` by type.
    fn condition(&self, ty: &str) -> Option<&Value> {
        let conditions = self.list("status.conditions");
        conditions.iter().find(|c| c.text("type") == ty)
    }

    /// Whether a condition is there and `True`.
    fn holds(&self, ty: &str) -> bool {
        self.condition(ty)
            .is_some_and(|c| c.text("status") == "True")
    }

    /// `a=b,c=d` of a map of labels, `<none>` when empty.
    fn labels(&self, path: &str) -> String {
        let map = self.at(path).and_then(Value::as_object);
        let pairs: Vec<String> = map
            .into_iter()
            .flatten()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
            .collect();
        or_none(pairs.join(","))
    }

    /// A label selector as its URL form, `<none>` when empty, `<error>` when malformed.
    fn selector(&self, path: &str) -> String {
        LabelSelector::from_spec(self.at(path))
            .map_or_else(|_| "<error>".into(), |s| or_none(s.to_string()))
    }
}

impl Read for Value {
    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(self, |value, key| value.get(key))
            .filter(|value| !value.is_null())
    }
}

/// The text, or `<none>` in place of nothing.
pub(crate) fn or_none(text: String) -> String {
    if text.is_empty() {
        "<none>".into()
    } else {
        text
    }
}

/// Joins the first `max` entries and counts the rest: `a,b,c + 2 more...`.
pub(crate) fn shortened<T: AsRef<str>>(entries: &[T], max: usize, separator: &str) -> String {
    let shown: Vec<&str> = entries.iter().take(max).map(AsRef::as_ref).collect();
    let mut text = shown.join(separator);
    if entries.len() > max {
        text.push_str(&format!(" + {} more...", entries.len() - max));
    }
    text
}

/// Names and images of a list of containers, each joined by commas.
pub(crate) fn containers(object: &Value, path: &str) -> (String, String) {
    let containers = object.list(path);
    let join = |field: &str| {
        let parts: Vec<&str> = containers.iter().map(|c| c.text(field)).collect();
        parts.join(",")
    };
    (join("name"), join("image"))
}

/// A row of cells from values of any printable type.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(model::Value::from($cell)),*] };
}
pub(crate) use cells;

/// `True`, `False`, or `<unset>` for neither.
pub(crate) fn truth(value: Option<&Value>) -> &'static str {
    match value.and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
}
