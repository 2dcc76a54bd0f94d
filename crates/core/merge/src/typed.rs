//! Checks an applied configuration against its schema and says which fields it mentions.
//!
//! Both answers come from one walk: the set of fields becomes what the applier owns, the faults
//! become the text of the refusal.

use crate::DEPTH_MAX;
use crate::element::Element;
use crate::fieldset::{Entry, FieldSet};
use crate::go;
use crate::kind::{Entries, Form, Keyless, Kind, Scalar};
use model::{Map, Value};

/// The fields a configuration mentions, or the text that says what is wrong with it.
pub(crate) fn fields_of(value: &Value, kind: Kind<'_>) -> Result<FieldSet, String> {
    let mut walk = Walk { faults: Vec::new() };
    let place = walk.value(value, kind, 0);
    match walk.faults.len() {
        0 => Ok(place.below),
        1 => Err(walk.faults[0].text()),
        _ => {
            let lines = walk.faults.iter().map(|f| format!("\n  {}", f.text()));
            Err(format!("errors:{}", lines.collect::<String>()))
        }
    }
}

/// The fields a stored object holds, whether it fits its schema or not.
#[cfg(test)]
pub(crate) fn fields_of_stored(value: &Value, kind: Kind<'_>) -> FieldSet {
    let mut walk = Walk { faults: Vec::new() };
    walk.value(value, kind, 0).below
}

/// What is in a set at one place: the place itself, and the paths below it.
#[derive(Default)]
pub(crate) struct Place {
    pub(crate) member: bool,
    pub(crate) below: FieldSet,
}

impl Place {
    pub(crate) fn leaf() -> Self {
        Self {
            member: true,
            below: FieldSet::new(),
        }
    }

    pub(crate) fn at(self, element: Element) -> Entry {
        Entry {
            element,
            member: self.member,
            below: self.below,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

struct Fault {
    path: String,
    message: String,
}

impl Fault {
    fn text(&self) -> String {
        if self.path.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.path, self.message)
    }
}

struct Walk {
    faults: Vec<Fault>,
}

impl Walk {
    fn fault(&mut self, message: String) {
        let path = String::new();
        self.faults.push(Fault { path, message });
    }

    // Faults found since `mark` lie below `element`.
    fn prefix(&mut self, mark: usize, element: impl FnOnce() -> String) {
        if self.faults.len() > mark {
            let text = element();
            for fault in &mut self.faults[mark..] {
                fault.path.insert_str(0, &text);
            }
        }
    }

    fn value(&mut self, value: &Value, kind: Kind<'_>, depth: usize) -> Place {
        if depth > DEPTH_MAX {
            self.fault("exceeded max depth".into());
            return Place::leaf();
        }
        match kind.form(value) {
            Form::Map => self.map(value, kind, depth),
            Form::List => self.list(value, kind, depth),
            Form::Scalar => {
                self.scalar(value, kind);
                Place::leaf()
            }
        }
    }

    fn scalar(&mut self, value: &Value, kind: Kind<'_>) {
        let wanted = kind.shape().scalar.unwrap_or(Scalar::Any);
        let fits = match (value, wanted) {
            (Value::Null, _)
            | (Value::Number(_), Scalar::Numeric | Scalar::Any)
            | (Value::String(_), Scalar::Text | Scalar::Any)
            | (Value::Bool(_), Scalar::Boolean | Scalar::Any) => true,
            (_, _) => false,
        };
        if fits {
            return;
        }
        self.fault(match wanted {
            Scalar::Numeric => format!(
                "expected numeric (int or float), got {}",
                go::type_name(value)
            ),
            Scalar::Text => format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go::sharp(value)
            ),
            Scalar::Boolean => format!("expected boolean, got &{{{}}}", go::verb(value)),
            Scalar::Any => format!("expected any scalar, got &{{{}}}", go::verb(value)),
        });
    }

    fn map(&mut self, value: &Value, kind: Kind<'_>, depth: usize) -> Place {
        let atomic = kind.atomic_map();
        let mut below = FieldSet::new();
        match value {
            Value::Object(fields) => self.fields(fields, kind, depth, &mut below),
            Value::Null => {}
            Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.fault(format!("expected map, got &{{{}}}", go::verb(value)));
            }
        }
        if atomic {
            return Place::leaf();
        }
        Place {
            member: false,
            below,
        }
    }

    fn fields(
        &mut self,
        fields: &Map<String, Value>,
        kind: Kind<'_>,
        depth: usize,
        below: &mut FieldSet,
    ) {
        below.reserve(fields.len());
        for (name, field) in fields {
            let mark = self.faults.len();
            let Some((field_kind, declared)) = kind.step(name) else {
                self.fault("field not declared in schema".into());
                self.prefix(mark, || format!(".{name}"));
                return;
            };
            let mut place = self.value(field, field_kind, depth + 1);
            self.prefix(mark, || format!(".{name}"));
            let empty = match field {
                Value::Null => true,
                Value::Object(fields) => fields.is_empty(),
                Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            };
            place.member |= empty || !declared;
            if !place.is_empty() {
                below.push(place.at(Element::field(name)));
            }
        }
    }

    fn list(&mut self, value: &Value, kind: Kind<'_>, depth: usize) -> Place {
        let entries = kind.entries();
        let mut below = FieldSet::new();
        match (value, entries) {
            (Value::Array(items), Entries::Atomic) => {
                for (i, item) in items.iter().enumerate() {
                    let mark = self.faults.len();
                    self.value(item, kind.items(), depth + 1);
                    self.prefix(mark, || format!("[{i}]"));
                }
            }
            (Value::Array(items), _) => self.items(items, entries, kind, depth, &mut below),
            (Value::Null, _) => {}
            (Value::Object(_) | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {
                self.fault(format!("expected list, got &{{{}}}", go::verb(value)));
            }
        }
        if matches!(entries, Entries::Atomic) {
            return Place::leaf();
        }
        Place {
            member: false,
            below,
        }
    }

    fn items(
        &mut self,
        items: &[Value],
        entries: Entries<'_>,
        kind: Kind<'_>,
        depth: usize,
        below: &mut FieldSet,
    ) {
        let mut keys: Vec<Element> = Vec::with_capacity(items.len());
        for (i, item) in items.iter().enumerate() {
            match kind.key_of(entries, item) {
                Ok(key) => keys.push(key),
                Err(why) => {
                    self.fault(format!("element {i}: {}", keyless_text(&why)));
                    return;
                }
            }
        }
        let twice = repeated(&keys);
        for (i, (item, key)) in items.iter().zip(keys).enumerate() {
            let again = twice.iter().find(|r| r.later.contains(&i));
            if again.is_some() {
                self.fault(format!("duplicate entries for key {key}"));
            }
            let mark = self.faults.len();
            let mut place = self.value(item, kind.items(), depth + 1);
            self.prefix(mark, || key.to_string());
            place.member = true;
            if twice.iter().any(|r| r.first == i || r.later.contains(&i)) {
                place.below = FieldSet::new();
            }
            below.push(place.at(key));
        }
        below.sort();
    }
}

struct Repeated {
    first: usize,
    later: Vec<usize>,
}

// Which entries have the key of an entry before them; usually none.
fn repeated(keys: &[Element]) -> Vec<Repeated> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys[*a].cmp(&keys[*b]).then(a.cmp(b)));
    let mut found = Vec::new();
    for group in order.chunk_by(|a, b| keys[*a] == keys[*b]) {
        if let [first, later @ ..] = group
            && !later.is_empty()
        {
            found.push(Repeated {
                first: *first,
                later: later.to_vec(),
            });
        }
    }
    found
}

fn keyless_text(why: &Keyless) -> String {
    match why {
        Keyless::NullEntry => "associative list with keys may not have a null element".into(),
        Keyless::NotAMap => "associative list with keys may not have non-map elements".into(),
        Keyless::AllKeysMissing(keys) => {
            let keys: Vec<_> = keys.iter().map(|k| go::quote(k)).collect();
            format!(
                "associative list with keys has an element that omits all key fields [{}] (and \
                 doesn't have default values for any key fields)",
                keys.join(" ")
            )
        }
        Keyless::SetOfMaps => {
            "associative list without keys has an element that's a map type".into()
        }
        Keyless::SetOfLists => "not supported: associative list with lists as elements".into(),
        Keyless::SetOfNull => {
            "associative list without keys has an element that's an explicit null".into()
        }
    }
}
