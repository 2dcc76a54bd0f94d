//! Collects the faults of an object, and says where each one is.
//!
//! A [`Spot`] is a path that costs nothing until a fault is found: it lives on the stack and
//! points at its parent, and only a fault turns it into text.

use model::{FieldError, Path, Value};

/// Where in the object a check stands.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    parent: Option<&'a Spot<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Spot<'a> {
    /// A field of the object itself; may hold dots.
    pub(crate) const fn of(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Child(name),
        }
    }

    /// A field below this one; may hold dots.
    pub(crate) const fn child<'b>(&'b self, name: &'b str) -> Spot<'b>
    where
        'a: 'b,
    {
        Spot {
            parent: Some(self),
            step: Step::Child(name),
        }
    }

    /// A list entry.
    pub(crate) const fn index<'b>(&'b self, index: usize) -> Spot<'b>
    where
        'a: 'b,
    {
        Spot {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    /// A map entry.
    pub(crate) const fn key<'b>(&'b self, key: &'b str) -> Spot<'b>
    where
        'a: 'b,
    {
        Spot {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    /// The path as text.
    pub(crate) fn path(&self) -> Path {
        let parent = self.parent.map_or_else(Path::root, Spot::path);
        match self.step {
            Step::Child(name) => parent.child(name),
            Step::Index(index) => parent.index(index),
            Step::Key(key) => parent.key(key),
        }
    }
}

/// The faults found so far, in the order they were found.
#[derive(Default)]
pub(crate) struct Faults {
    list: Vec<FieldError>,
}

impl Faults {
    /// Everything found.
    pub(crate) fn into_list(self) -> Vec<FieldError> {
        self.list
    }

    /// How many faults there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a ready fault.
    pub(crate) fn push(&mut self, fault: FieldError) {
        self.list.push(fault);
    }

    /// The field must be given.
    pub(crate) fn required(&mut self, spot: &Spot<'_>, detail: &str) {
        self.push(FieldError::required(&spot.path(), detail));
    }

    /// The value breaks a rule.
    pub(crate) fn invalid(&mut self, spot: &Spot<'_>, value: impl Into<Value>, detail: &str) {
        self.push(FieldError::invalid(&spot.path(), &value.into(), detail));
    }

    /// The value breaks a rule and is printed as it stands.
    pub(crate) fn invalid_shown(&mut self, spot: &Spot<'_>, shown: &str, detail: &str) {
        self.push(FieldError::invalid_shown(&spot.path(), shown, detail));
    }

    /// The value breaks each of these rules.
    pub(crate) fn invalid_each(&mut self, spot: &Spot<'_>, value: &str, details: Vec<String>) {
        for detail in details {
            self.invalid(spot, value, &detail);
        }
    }

    /// The value is none of `supported`, which is printed as it stands.
    pub(crate) fn unsupported(
        &mut self,
        spot: &Spot<'_>,
        value: impl Into<Value>,
        supported: &[&str],
    ) {
        self.push(FieldError::not_supported(
            &spot.path(),
            &value.into(),
            supported,
        ));
    }

    /// The field must not be given or changed.
    pub(crate) fn forbidden(&mut self, spot: &Spot<'_>, detail: &str) {
        self.push(FieldError::forbidden(&spot.path(), detail));
    }

    /// The value stands twice.
    pub(crate) fn duplicate(&mut self, spot: &Spot<'_>, value: impl Into<Value>) {
        self.push(FieldError::duplicate(&spot.path(), &value.into()));
    }

    /// The value names something that does not exist.
    pub(crate) fn not_found(&mut self, spot: &Spot<'_>, value: impl Into<Value>) {
        self.push(FieldError::not_found(&spot.path(), &value.into()));
    }

    /// The value is longer than `max` bytes.
    pub(crate) fn too_long(&mut self, spot: &Spot<'_>, max: usize) {
        self.push(FieldError::too_long(&spot.path(), max));
    }

    /// The list holds more than `max` items.
    pub(crate) fn too_many(&mut self, spot: &Spot<'_>, actual: usize, max: usize) {
        self.push(FieldError::too_many(&spot.path(), actual, max));
    }

    /// The number must not be below zero.
    pub(crate) fn non_negative(&mut self, spot: &Spot<'_>, value: i64) {
        if value < 0 {
            self.invalid(spot, value, "must be greater than or equal to 0");
        }
    }

    /// The text must be one of `supported`; an empty one is missing.
    pub(crate) fn one_of(&mut self, spot: &Spot<'_>, text: &str, supported: &[&str]) {
        match text {
            "" => self.required(spot, ""),
            text if supported.contains(&text) => {}
            text => self.unsupported(spot, text, supported),
        }
    }

    /// The text, when there is one, must be one of `supported`.
    pub(crate) fn maybe_one_of(&mut self, spot: &Spot<'_>, value: &Value, supported: &[&str]) {
        if let Some(text) = value.as_str().filter(|text| !supported.contains(text)) {
            self.unsupported(spot, text, supported);
        }
    }

    /// The field must be what it was.
    pub(crate) fn immutable(&mut self, spot: &Spot<'_>, new: &Value, old: &Value) {
        if !crate::fields::same(new, old) {
            self.invalid(spot, new.clone(), "field is immutable");
        }
    }
}
