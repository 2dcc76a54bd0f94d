//! Sets of field paths: what a manager owns in an object.
//!
//! A set is a tree of [`Element`]s in order. A path is in the set when its last step is marked as a
//! member; `fieldsV1` writes that mark as `"."` where the step has further steps below it, and as an
//! empty object where it has none.
//!
//! ```text
//! {"f:data":{".":{},"f:a":{}}}  ◀──▶  .data, .data.a
//! ```

use crate::DEPTH_MAX;
use crate::element::Element;
use crate::go;
use model::{Map, Value};
use std::cmp::Ordering;
use std::fmt;

/// A set of field paths.
///
/// Entries are sorted by element, and every entry is a member or has members below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    entries: Vec<Entry>,
}

/// One step in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) element: Element,
    /// Whether the path that ends here is in the set.
    pub(crate) member: bool,
    /// The paths that go on from here.
    pub(crate) below: FieldSet,
}

/// Why a `fieldsV1` value could not be read; holds the text that is no path element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldSetError(pub String);

impl fmt::Display for FieldSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no path element", self.0)
    }
}

impl std::error::Error for FieldSetError {}

impl FieldSet {
    /// A set with no paths.
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Reads a `fieldsV1` object.
    pub fn from_json(fields: &Value) -> Result<Self, FieldSetError> {
        let (set, _) = read(fields, 0)?;
        Ok(set)
    }

    /// The `fieldsV1` object.
    pub fn to_json(&self) -> Value {
        self.clone().into_json()
    }

    /// The `fieldsV1` object, made from the set itself.
    pub fn into_json(self) -> Value {
        Value::Object(self.into_fields(false))
    }

    /// The `fieldsV1` text in the order the API server stores it: as [`to_json`](Self::to_json), but
    /// list keys are in the order of their values (`80` before `443`), not of their text.
    pub fn to_json_text(&self) -> String {
        let mut out = String::new();
        self.write_json(false, &mut out);
        out
    }

    /// Adds a path. The empty path is nobody's and changes nothing.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let at = match self.entries.binary_search_by(|e| e.element.cmp(first)) {
            Ok(at) => at,
            Err(at) => {
                let entry = Entry {
                    element: first.clone(),
                    member: false,
                    below: Self::new(),
                };
                self.entries.insert(at, entry);
                at
            }
        };
        let entry = &mut self.entries[at];
        if rest.is_empty() {
            entry.member = true;
        } else {
            entry.below.insert(rest);
        }
    }

    /// Whether the path is in the set.
    pub fn has(&self, path: &[Element]) -> bool {
        let Some((last, steps)) = path.split_last() else {
            return false;
        };
        let mut set = self;
        for step in steps {
            match set.entry(step) {
                Some(entry) => set = &entry.below,
                None => return false,
            }
        }
        set.entry(last).is_some_and(|entry| entry.member)
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many paths are in the set.
    pub fn len(&self) -> usize {
        let count = |e: &Entry| usize::from(e.member) + e.below.len();
        self.entries.iter().map(count).sum()
    }

    /// The paths of either set.
    #[must_use]
    pub fn union(mut self, other: &Self) -> Self {
        self.absorb(other.clone());
        self
    }

    /// The paths of this set that are not in the other. A path stays when only paths above or below
    /// it are in the other.
    #[must_use]
    pub fn difference(mut self, other: &Self) -> Self {
        self.remove(other);
        self
    }

    /// The paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::new();
        for (mine, theirs) in self.shared(other) {
            out.push(Entry {
                element: mine.element.clone(),
                member: mine.member && theirs.member,
                below: mine.below.intersection(&theirs.below),
            });
        }
        out
    }

    /// Whether every path of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut theirs = other.entries.iter().peekable();
        for mine in &self.entries {
            while theirs.next_if(|e| e.element < mine.element).is_some() {}
            let Some(theirs) = theirs.next_if(|e| e.element == mine.element) else {
                return false;
            };
            if (mine.member && !theirs.member) || !mine.below.is_subset(&theirs.below) {
                return false;
            }
        }
        true
    }

    /// Whether the sets have a path in common.
    pub fn intersects(&self, other: &Self) -> bool {
        self.shared(other).any(|(mine, theirs)| {
            (mine.member && theirs.member) || mine.below.intersects(&theirs.below)
        })
    }

    /// All paths. At each level the paths that end there come first, then those that go on.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut out = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut out);
        out
    }
}

impl FieldSet {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    pub(crate) fn entry(&self, element: &Element) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|e| e.element.cmp(element));
        at.ok().map(|at| &self.entries[at])
    }

    /// Finds the entry of a field without building an element for it.
    pub(crate) fn field(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|e| match e.element.name() {
            Some(field) => field.cmp(name),
            None => Ordering::Greater,
        });
        at.ok().map(|at| &self.entries[at])
    }

    /// Makes room for more entries.
    pub(crate) fn reserve(&mut self, entries: usize) {
        self.entries.reserve_exact(entries);
    }

    /// Appends an entry that sorts after all others; one that holds no path is dropped.
    pub(crate) fn push(&mut self, entry: Entry) {
        if entry.member || !entry.below.is_empty() {
            self.entries.push(entry);
        }
    }

    /// Puts pushed entries in order; entries of equal element become one.
    pub(crate) fn sort(&mut self) {
        if self.entries.is_sorted_by(|a, b| a.element < b.element) {
            return;
        }
        self.entries.sort_by(|a, b| a.element.cmp(&b.element));
        self.entries.dedup_by(|next, kept| {
            let same = next.element == kept.element;
            if same {
                kept.member |= next.member;
                kept.below.absorb(std::mem::take(&mut next.below));
            }
            same
        });
    }

    /// Adds all paths of the other set.
    pub(crate) fn absorb(&mut self, other: Self) {
        if self.entries.is_empty() {
            *self = other;
            return;
        }
        for theirs in other.entries {
            let place = self
                .entries
                .binary_search_by(|e| e.element.cmp(&theirs.element));
            match place {
                Ok(at) => {
                    let mine = &mut self.entries[at];
                    mine.member |= theirs.member;
                    mine.below.absorb(theirs.below);
                }
                Err(at) => self.entries.insert(at, theirs),
            }
        }
    }

    /// Takes all paths of the other set out of this one.
    pub(crate) fn remove(&mut self, other: &Self) {
        if other.entries.is_empty() {
            return;
        }
        self.entries.retain_mut(|mine| {
            if let Some(theirs) = other.entry(&mine.element) {
                mine.member &= !theirs.member;
                mine.below.remove(&theirs.below);
            }
            mine.member || !mine.below.is_empty()
        });
    }

    /// Takes out the paths of the other set and everything below them.
    pub(crate) fn remove_trees(&mut self, other: &Self) {
        if other.entries.is_empty() {
            return;
        }
        self.entries.retain_mut(|mine| {
            let Some(theirs) = other.entry(&mine.element) else {
                return true;
            };
            if theirs.member {
                return false;
            }
            mine.below.remove_trees(&theirs.below);
            mine.member || !mine.below.is_empty()
        });
    }

    fn shared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a Entry, &'a Entry)> {
        let mut theirs = other.entries.iter().peekable();
        self.entries.iter().filter_map(move |mine| {
            while theirs.next_if(|e| e.element < mine.element).is_some() {}
            let found = theirs.next_if(|e| e.element == mine.element)?;
            Some((mine, found))
        })
    }

    fn collect_paths(&self, prefix: &mut Vec<Element>, out: &mut Vec<Vec<Element>>) {
        for entry in self.entries.iter().filter(|e| e.member) {
            let mut path = prefix.clone();
            path.push(entry.element.clone());
            out.push(path);
        }
        for entry in &self.entries {
            prefix.push(entry.element.clone());
            entry.below.collect_paths(prefix, out);
            prefix.pop();
        }
    }

    /// The content of a `fieldsV1` object, with the mark of a member where there is more.
    pub(crate) fn into_fields(self, member: bool) -> Map<String, Value> {
        let mark =
            (member && !self.is_empty()).then(|| (String::from("."), Value::Object(Map::new())));
        let steps = self.entries.into_iter().map(|entry| {
            let below = entry.below.into_fields(entry.member);
            (entry.element.into_text(), Value::Object(below))
        });
        mark.into_iter().chain(steps).collect()
    }

    fn write_json(&self, member: bool, out: &mut String) {
        out.push('{');
        if member && !self.entries.is_empty() {
            out.push_str("\".\":{},");
        }
        for (i, entry) in self.entries.iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            go::write_json_string(&entry.element.text(), out);
            out.push(':');
            entry.below.write_json(entry.member, out);
        }
        out.push('}');
    }
}

/// A path as people read it: `.spec.containers[name="c"].image`.
pub fn path_text(path: &[Element]) -> String {
    path.iter().map(Element::to_string).collect()
}

// The set below a value, and whether the value itself is a member.
fn read(fields: &Value, depth: usize) -> Result<(FieldSet, bool), FieldSetError> {
    let fields = match fields {
        Value::Object(fields) if depth < DEPTH_MAX => fields,
        Value::Null => return Ok((FieldSet::new(), true)),
        other => return Err(FieldSetError(other.to_string())),
    };
    let mut set = FieldSet {
        entries: Vec::with_capacity(fields.len()),
    };
    let mut member = false;
    for (key, value) in fields {
        if key == "." {
            member = true;
            continue;
        }
        if let Some(element) = Element::parse(key)? {
            let (below, member) = read(value, depth + 1)?;
            set.push(Entry {
                element,
                member,
                below,
            });
        }
    }
    set.sort();
    let leaf = set.is_empty();
    Ok((set, member || leaf))
}

#[cfg(test)]
mod tests;
