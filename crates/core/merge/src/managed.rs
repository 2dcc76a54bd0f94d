//! The `managedFields` of an object: read, change hands, write.

use crate::DEPTH_MAX;
use crate::compare::Changes;
use crate::element::Element;
use crate::fieldset::{FieldSet, FieldSetError};
use crate::kind::{Entries, Kind};
use crate::stored::{self, Extent, Meeting};
use model::{Map, Timestamp, Value};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who owns fields: one entry of `managedFields` without its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) manager: String,
    pub(crate) operation: Operation,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

impl Who {
    /// The text that orders owners in conflict messages.
    pub(crate) fn identity(&self) -> String {
        let mut out = String::from("{");
        let version = match self.operation {
            Operation::Apply => "",
            Operation::Update => &self.api_version,
        };
        for (key, text) in [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", version),
            ("subresource", &self.subresource),
        ] {
            if !text.is_empty() {
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(&format!("\"{key}\":"));
                crate::go::write_json_string(text, &mut out);
            }
        }
        out.push('}');
        out
    }
}

/// One entry of `managedFields`, checked and in the form it is stored in.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    entry: Map<String, Value>,
}

impl Owner {
    /// A new entry.
    pub(crate) fn new(who: Who, time: Option<Timestamp>, set: FieldSet) -> Self {
        let text = |text: &str| Value::String(text.to_owned());
        let operation = text(who.operation.as_str());
        let mut entry = Map::new();
        entry.insert("apiVersion".into(), Value::String(who.api_version));
        entry.insert("fieldsType".into(), text("FieldsV1"));
        entry.insert("fieldsV1".into(), set.into_json());
        if !who.manager.is_empty() {
            entry.insert("manager".into(), Value::String(who.manager));
        }
        entry.insert("operation".into(), operation);
        if !who.subresource.is_empty() {
            entry.insert("subresource".into(), Value::String(who.subresource));
        }
        let mut owner = Self { entry };
        owner.set_time(time);
        owner
    }

    fn text(&self, key: &str) -> &str {
        self.entry
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    pub(crate) fn manager(&self) -> &str {
        self.text("manager")
    }

    pub(crate) fn api_version(&self) -> &str {
        self.text("apiVersion")
    }

    pub(crate) fn subresource(&self) -> &str {
        self.text("subresource")
    }

    pub(crate) fn operation(&self) -> Operation {
        match self.text("operation") {
            "Apply" => Operation::Apply,
            _ => Operation::Update,
        }
    }

    pub(crate) fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(self.text("time"))
    }

    pub(crate) fn seconds(&self) -> i64 {
        self.time().map_or(0, Timestamp::seconds)
    }

    pub(crate) fn set_time(&mut self, time: Option<Timestamp>) {
        match time {
            Some(time) => {
                self.entry
                    .insert("time".into(), Value::String(time.rfc3339()));
            }
            None => {
                self.entry.remove("time");
            }
        }
    }

    /// Who this is.
    pub(crate) fn who(&self) -> Who {
        Who {
            manager: self.manager().into(),
            operation: self.operation(),
            api_version: self.api_version().into(),
            subresource: self.subresource().into(),
        }
    }

    /// Whether this is that owner: appliers keep their identity across versions.
    pub(crate) fn is(&self, who: &Who) -> bool {
        self.manager() == who.manager
            && self.operation() == who.operation
            && self.subresource() == who.subresource
            && (who.operation == Operation::Apply || self.api_version() == who.api_version)
    }

    /// Makes this the entry of somebody else.
    pub(crate) fn rename(&mut self, who: Who) {
        let (time, set) = (self.time(), self.set());
        *self = Self::new(who, time, set);
    }

    fn fields(&self) -> Option<&Map<String, Value>> {
        self.entry.get("fieldsV1").and_then(Value::as_object)
    }

    fn fields_mut(&mut self) -> Option<&mut Map<String, Value>> {
        self.entry
            .get_mut("fieldsV1")
            .and_then(Value::as_object_mut)
    }

    /// The fields owned; they were checked when the entry was read.
    pub(crate) fn set(&self) -> FieldSet {
        let fields = self.entry.get("fieldsV1");
        fields
            .and_then(|fields| FieldSet::from_json(fields).ok())
            .unwrap_or_default()
    }

    /// Owns these fields and no others.
    pub(crate) fn replace(&mut self, set: FieldSet) {
        self.entry.insert("fieldsV1".into(), set.into_json());
    }

    /// How much of these fields is owned.
    pub(crate) fn extent(&self, set: &FieldSet) -> Extent {
        self.fields()
            .map_or(Extent::Part, |fields| stored::extent(fields, set))
    }

    /// How the owned fields meet others.
    pub(crate) fn meet(&self, set: &FieldSet) -> Meeting {
        self.fields()
            .map_or(Meeting::Apart, |fields| stored::meet(fields, set))
    }

    /// Gives up fields.
    pub(crate) fn give_up(&mut self, set: &FieldSet) {
        if let Some(fields) = self.fields_mut() {
            stored::take(fields, set);
        }
    }

    /// Comes to own more fields.
    pub(crate) fn gain(&mut self, set: FieldSet) {
        if let Some(fields) = self.fields_mut() {
            stored::put(fields, set);
        }
    }

    fn owns_nothing(&self) -> bool {
        self.fields().is_none_or(stored::is_empty)
    }
}

/// All entries of an object's `managedFields`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managed {
    pub(crate) owners: Vec<Owner>,
}

/// Why `managedFields` could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ManagedError {
    Operation,
    ApiVersion,
    FieldsType(usize, String),
    Fields(FieldSetError),
    NotAList,
}

impl std::fmt::Display for ManagedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Operation => f.write_str("operation must be `Apply` or `Update`"),
            Self::ApiVersion => f.write_str("apiVersion must not be empty"),
            Self::FieldsType(i, kind) if kind.is_empty() => {
                write!(f, "missing fieldsType in managed fields entry {i}")
            }
            Self::FieldsType(i, kind) => write!(
                f,
                "invalid fieldsType {} in managed fields entry {i}",
                crate::go::quote(kind)
            ),
            Self::Fields(why) => write!(f, "error decoding set: {why}"),
            Self::NotAList => f.write_str("managedFields must be a list of entries"),
        }
    }
}

impl Managed {
    /// Takes over the stored `managedFields` value of an object.
    pub(crate) fn read(entries: Option<Value>) -> Result<Self, ManagedError> {
        let entries = match entries {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(ManagedError::NotAList),
        };
        let mut out = Self {
            owners: Vec::with_capacity(entries.len()),
        };
        for (i, entry) in entries.into_iter().enumerate() {
            let owner = read_owner(i, entry)?;
            let who = owner.who();
            out.owners.retain(|other| !other.is(&who));
            out.owners.push(owner);
        }
        Ok(out)
    }

    /// Takes over `managedFields` that a client sent: they are brought into the stored form.
    pub(crate) fn read_sent(entries: Value) -> Result<Self, ManagedError> {
        let mut managed = Self::read(Some(entries))?;
        for owner in &mut managed.owners {
            let set =
                FieldSet::from_json(&owner.entry["fieldsV1"]).map_err(ManagedError::Fields)?;
            *owner = Owner::new(owner.who(), owner.time(), set);
        }
        Ok(managed)
    }

    /// Writes the `managedFields` value: appliers first, then by time; `None` when nobody is left.
    pub(crate) fn write(mut self) -> Option<Value> {
        self.drop_empty();
        self.owners.sort_by(|a, b| {
            (a.operation().cmp(&b.operation()))
                .then_with(|| a.seconds().cmp(&b.seconds()))
                .then_with(|| a.manager().cmp(b.manager()))
                .then_with(|| a.api_version().cmp(b.api_version()))
                .then_with(|| a.subresource().cmp(b.subresource()))
        });
        if self.owners.is_empty() {
            return None;
        }
        let entries = self
            .owners
            .into_iter()
            .map(|owner| Value::Object(owner.entry));
        Some(entries.collect())
    }

    /// The entry of an owner.
    pub(crate) fn find(&self, who: &Who) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.is(who))
    }

    /// The entry of an owner.
    pub(crate) fn find_mut(&mut self, who: &Who) -> Option<&mut Owner> {
        self.owners.iter_mut().find(|owner| owner.is(who))
    }

    /// The stored entry of an owner.
    pub(crate) fn peek<'v>(entries: Option<&'v Value>, who: &Who) -> Option<&'v Value> {
        let text = |entry: &'v Value, key: &str| entry.get(key).and_then(Value::as_str);
        entries?.as_array()?.iter().find(|entry| {
            text(entry, "manager").unwrap_or_default() == who.manager
                && text(entry, "operation") == Some(who.operation.as_str())
                && text(entry, "subresource").unwrap_or_default() == who.subresource
                && text(entry, "apiVersion") == Some(&who.api_version)
        })
    }

    /// Takes what changed from those who own it.
    pub(crate) fn give_up(&mut self, changes: &Changes, kind: Kind<'_>) {
        for owner in &mut self.owners {
            let (set, gone) = (owner.meet(&changes.set), owner.meet(&changes.gone));
            if set == Meeting::Unclear || gone == Meeting::Unclear {
                let mut fields = owner.set();
                reconcile(&mut fields, kind);
                owner.replace(fields);
            }
            if set != Meeting::Apart {
                owner.give_up(&changes.set);
            }
            if gone != Meeting::Apart {
                owner.give_up(&changes.gone);
            }
        }
    }

    /// Drops entries without fields.
    pub(crate) fn drop_empty(&mut self) {
        self.owners.retain(|owner| !owner.owns_nothing());
    }
}

/// Brings a set in line with a schema that has become atomic where it was granular: whoever owned
/// parts of a value now owns the value.
pub(crate) fn reconcile(set: &mut FieldSet, kind: Kind<'_>) {
    let mut atoms = FieldSet::new();
    find_atoms(set, kind, &mut Vec::new(), &mut atoms);
    if !atoms.is_empty() {
        set.remove_trees(&atoms);
        set.absorb(atoms);
    }
}

fn find_atoms(set: &FieldSet, kind: Kind<'_>, path: &mut Vec<Element>, atoms: &mut FieldSet) {
    for entry in set.entries() {
        if entry.below.is_empty() {
            continue;
        }
        let below = match entry.element.name() {
            Some(name) => kind.field(name),
            None => Some(kind.items()),
        };
        let Some(below @ Kind::Described(..)) = below else {
            continue;
        };
        let shape = below.shape();
        path.push(entry.element.clone());
        let atomic = match (shape.map, shape.list) {
            (true, false) => below.atomic_map(),
            (false, true) => matches!(below.entries(), Entries::Atomic),
            (_, _) => false,
        };
        if atomic {
            atoms.insert(path);
        } else {
            find_atoms(&entry.below, below, path, atoms);
        }
        path.pop();
    }
}

fn read_owner(index: usize, entry: Value) -> Result<Owner, ManagedError> {
    let Value::Object(entry) = entry else {
        return Err(ManagedError::NotAList);
    };
    let mut owner = Owner { entry };
    if !matches!(owner.text("operation"), "Apply" | "Update") {
        return Err(ManagedError::Operation);
    }
    if owner.api_version().is_empty() {
        return Err(ManagedError::ApiVersion);
    }
    if owner.text("fieldsType") != "FieldsV1" {
        let kind = owner.text("fieldsType").into();
        return Err(ManagedError::FieldsType(index, kind));
    }
    match owner.entry.get("fieldsV1") {
        None | Some(Value::Null) => owner.replace(FieldSet::new()),
        Some(fields) => check_fields(fields, 0).map_err(ManagedError::Fields)?,
    }
    Ok(owner)
}

// Whether the fields can be read, without reading them.
fn check_fields(fields: &Value, depth: usize) -> Result<(), FieldSetError> {
    let fields = match fields {
        Value::Object(fields) if depth < DEPTH_MAX => fields,
        Value::Null => return Ok(()),
        other => return Err(FieldSetError(other.to_string())),
    };
    for (key, below) in fields {
        if key == "." {
            continue;
        }
        if !key.starts_with("f:") {
            Element::parse(key)?;
        }
        check_fields(below, depth + 1)?;
    }
    Ok(())
}
