//! Finds what a write changed: the fields with a new value and the fields that are gone.
//!
//! ```text
//! before + after ── compare ──▶ Changes { set, gone }
//! ```
//!
//! A field that came or went takes all fields below it along, and every place on the way down that
//! came or went with it. Nothing is allocated for parts that are equal.

use crate::DEPTH_MAX;
use crate::element::Element;
use crate::fieldset::FieldSet;
use crate::kind::{Entries, Form, Kind, Zero};
use crate::typed::Place;
use model::{Map, Value};

/// What differs between two versions of an object.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Fields that came or have another value.
    pub(crate) set: FieldSet,
    /// Fields that went.
    pub(crate) gone: FieldSet,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.gone.is_empty()
    }

    /// Leaves out some fields and all below them.
    pub(crate) fn without(mut self, fields: &FieldSet) -> Self {
        self.set.remove_trees(fields);
        self.gone.remove_trees(fields);
        self
    }
}

/// What was there before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Was<'a> {
    /// Nothing.
    Absent,
    /// A fresh object of a built-in type: all its fields are zero, but some exist all the same.
    Fresh,
    /// This value.
    Value(&'a Value),
}

/// Compares two versions of an object, except their `managedFields`.
pub(crate) fn compare(before: Was<'_>, after: &Value, kind: Kind<'_>) -> Changes {
    let (mut set, mut gone) = (Place::default(), Place::default());
    let mut walk = Walk {
        set: &mut set,
        gone: &mut gone,
    };
    walk.value(before, Some(after), kind, At::Root, 0);
    Changes {
        set: set.below,
        gone: gone.below,
    }
}

/// Whether two values are equal; whole floats equal their integers.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((ka, va), (kb, vb))| ka == kb && same(va, vb))
        }
        (a, b) => a == b,
    }
}

// All places of a value that came or went.
fn whole(value: &Value, kind: Kind<'_>, depth: usize) -> Place {
    let mut place = Place::leaf();
    match (value, kind.form(value)) {
        (_, _) if depth >= DEPTH_MAX => {}
        (Value::Object(fields), Form::Map) if !kind.atomic_map() => {
            place.below.reserve(fields.len());
            for (name, field) in fields {
                let kind = kind.field(name).unwrap_or(Kind::Deduced);
                let below = whole(field, kind, depth + 1);
                place.below.push(below.at(Element::field(name)));
            }
        }
        (Value::Array(items), Form::List) => {
            if let Some(items) = keyed(items, kind.entries(), kind) {
                place.below.reserve(items.len());
                let mut items = items.into_iter().peekable();
                while let Some((key, item)) = items.next() {
                    let mut below = whole(item, kind.items(), depth + 1);
                    // Entries that share a key are one value together.
                    while items.next_if(|(other, _)| *other == key).is_some() {
                        below = Place::leaf();
                    }
                    place.below.push(below.at(key));
                }
            }
        }
        (_, _) => {}
    }
    place
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Root,
    Metadata,
    Elsewhere,
}

// The two sets at the place being visited.
struct Walk<'w> {
    set: &'w mut Place,
    gone: &'w mut Place,
}

impl Walk<'_> {
    fn value(
        &mut self,
        before: Was<'_>,
        after: Option<&Value>,
        kind: Kind<'_>,
        at: At,
        depth: usize,
    ) {
        match (before, after) {
            (Was::Absent, None) => return,
            (Was::Absent, Some(value)) => return *self.set = whole(value, kind, depth),
            (Was::Value(value), None) => return *self.gone = whole(value, kind, depth),
            (Was::Fresh | Was::Value(_), _) => {}
        }
        let form_before = match before {
            Was::Absent => None,
            Was::Fresh => Some(Form::Map),
            Was::Value(value) => Some(kind.form(value)),
        };
        let form_after = after.map(|value| kind.form(value));
        // Where the form changed, the old one is looked at first, then the new one.
        if let (Some(old), Some(new)) = (form_before, form_after)
            && old != new
        {
            self.handle(old, before, after, kind, at, depth);
        }
        if let Some(form) = form_after.or(form_before) {
            self.handle(form, before, after, kind, at, depth);
        }
    }

    fn handle(
        &mut self,
        form: Form,
        before: Was<'_>,
        after: Option<&Value>,
        kind: Kind<'_>,
        at: At,
        depth: usize,
    ) {
        let descended = match form {
            _ if depth >= DEPTH_MAX => false,
            Form::Scalar => false,
            Form::Map if kind.atomic_map() => false,
            Form::Map => self.map(before, after, kind, at, depth),
            Form::List => self.list(before, after, kind, depth),
        };
        if !descended {
            self.leaf(before, after);
        }
    }

    fn leaf(&mut self, before: Was<'_>, after: Option<&Value>) {
        let Some(after) = after else {
            return;
        };
        let equal = match before {
            Was::Absent => true,
            Was::Fresh => matches!(after, Value::Object(fields) if fields.is_empty()),
            Was::Value(before) => same(before, after),
        };
        self.set.member |= !equal;
    }

    // Whether the fields were looked at one by one; maps that are empty on both sides are leaves.
    fn map(
        &mut self,
        before: Was<'_>,
        after: Option<&Value>,
        kind: Kind<'_>,
        at: At,
        depth: usize,
    ) -> bool {
        let new = after.and_then(Value::as_object).filter(|f| !f.is_empty());
        let old = match before {
            Was::Value(value) => value.as_object().filter(|f| !f.is_empty()),
            Was::Absent | Was::Fresh => None,
        };
        if old.is_none() && new.is_none() {
            return false;
        }
        if let (None, Some(new)) = (old, new) {
            self.set.below.reserve(new.len());
        }
        if let (Was::Fresh, Some(new)) = (before, new) {
            for (name, value) in new {
                let before = match kind.zero_field(name) {
                    Zero::Absent => Was::Absent,
                    Zero::Struct => Was::Fresh,
                    Zero::Value(value) => Was::Value(value),
                };
                self.field(name, before, Some(value), kind, at, depth);
            }
            return true;
        }
        let empty = Map::new();
        let (old, new) = (old.unwrap_or(&empty), new.unwrap_or(&empty));
        let (mut olds, mut news) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => return true,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((a, _)), Some((b, _))) => a.cmp(b),
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            let before = old.map_or(Was::Absent, |(_, value)| Was::Value(value));
            if let Some((name, _)) = old.or(new) {
                let after = new.map(|(_, value)| value);
                self.field(name, before, after, kind, at, depth);
            }
        }
    }

    fn field(
        &mut self,
        name: &str,
        before: Was<'_>,
        after: Option<&Value>,
        kind: Kind<'_>,
        at: At,
        depth: usize,
    ) {
        let below = match at {
            At::Root if name == "metadata" => At::Metadata,
            At::Metadata if name == "managedFields" => return,
            At::Root | At::Metadata | At::Elsewhere => At::Elsewhere,
        };
        // Equal values need no look at their type.
        if let (Was::Value(before), Some(after)) = (before, after)
            && below == At::Elsewhere
            && same(before, after)
        {
            return;
        }
        let kind = kind.field(name).unwrap_or(Kind::Deduced);
        let (mut set, mut gone) = (Place::default(), Place::default());
        let mut walk = Walk {
            set: &mut set,
            gone: &mut gone,
        };
        walk.value(before, after, kind, below, depth + 1);
        if !set.is_empty() {
            self.set.below.push(set.at(Element::field(name)));
        }
        if !gone.is_empty() {
            self.gone.below.push(gone.at(Element::field(name)));
        }
    }

    fn list(
        &mut self,
        before: Was<'_>,
        after: Option<&Value>,
        kind: Kind<'_>,
        depth: usize,
    ) -> bool {
        let entries = kind.entries();
        let old: &[Value] = match before {
            Was::Value(Value::Array(items)) => items,
            Was::Value(_) | Was::Absent | Was::Fresh => &[],
        };
        let new = after
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        if matches!(entries, Entries::Atomic) || (old.is_empty() && new.is_empty()) {
            return false;
        }
        if old.len() == new.len() && old == new {
            return true;
        }
        let (Some(old), Some(new)) = (keyed(old, entries, kind), keyed(new, entries, kind)) else {
            return false;
        };
        self.items(&old, &new, kind.items(), depth);
        true
    }

    fn items(
        &mut self,
        old: &[(Element, &Value)],
        new: &[(Element, &Value)],
        kind: Kind<'_>,
        depth: usize,
    ) {
        let (mut old, mut new) = (old, new);
        loop {
            let Some(key) = first_of(old, new).cloned() else {
                return;
            };
            let olds = old.iter().take_while(|(k, _)| *k == key).count();
            let news = new.iter().take_while(|(k, _)| *k == key).count();
            let (these, those) = (&old[..olds], &new[..news]);
            self.item(key, these, those, kind, depth);
            (old, new) = (&old[olds..], &new[news..]);
        }
    }

    // Entries that share a key are one value together; usually there is one on each side.
    fn item(
        &mut self,
        key: Element,
        old: &[(Element, &Value)],
        new: &[(Element, &Value)],
        kind: Kind<'_>,
        depth: usize,
    ) {
        let (mut set, mut gone) = (Place::default(), Place::default());
        let before = match old {
            [(_, value)] => Was::Value(value),
            _ => Was::Absent,
        };
        let after = match new {
            [(_, value)] => Some(*value),
            _ => None,
        };
        let mut walk = Walk {
            set: &mut set,
            gone: &mut gone,
        };
        match (old.len() > 1, new.len() > 1) {
            (true, true) => {
                let equal = old.len() == new.len()
                    && old.iter().zip(new).all(|((_, a), (_, b))| same(a, b));
                set.member = !equal;
            }
            (true, false) => {
                walk.value(before, after, kind, At::Elsewhere, depth + 1);
                gone.member = true;
            }
            (false, true) => {
                walk.value(before, after, kind, At::Elsewhere, depth + 1);
                set.member = true;
            }
            (false, false) => walk.value(before, after, kind, At::Elsewhere, depth + 1),
        }
        if !set.is_empty() {
            self.set.below.push(set.at(key.clone()));
        }
        if !gone.is_empty() {
            self.gone.below.push(gone.at(key));
        }
    }
}

// The smaller of the two next keys.
fn first_of<'e>(old: &'e [(Element, &Value)], new: &'e [(Element, &Value)]) -> Option<&'e Element> {
    match (old.first(), new.first()) {
        (Some((a, _)), Some((b, _))) => Some(a.min(b)),
        (Some((key, _)), None) | (None, Some((key, _))) => Some(key),
        (None, None) => None,
    }
}

// Entries with their keys, by key; `None` when an entry has none.
fn keyed<'v>(
    items: &'v [Value],
    entries: Entries<'_>,
    kind: Kind<'_>,
) -> Option<Vec<(Element, &'v Value)>> {
    if matches!(entries, Entries::Atomic) {
        return None;
    }
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        out.push((kind.key_of(entries, item).ok()?, item));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    Some(out)
}
