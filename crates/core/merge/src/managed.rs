//! The `managedFields` of an object: read, change hands, write.

use crate::element::Element;
use crate::fieldset::{FieldSet, FieldSetError};
use crate::kind::{Entries, Kind};
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
    /// Whether both stand for the same owner: appliers keep their identity across versions.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

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

/// One entry of `managedFields`.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) who: Who,
    pub(crate) time: Option<Timestamp>,
    fields: Fields,
}

// What an owner owns. Most entries are neither read nor changed by a write.
#[derive(Clone, Debug)]
enum Fields {
    Stored(Value),
    Set(FieldSet),
}

impl Owner {
    pub(crate) fn new(who: Who, time: Option<Timestamp>, set: FieldSet) -> Self {
        Self {
            who,
            time,
            fields: Fields::Set(set),
        }
    }

    /// The fields owned; stored text was checked when it was read.
    pub(crate) fn set(&self) -> FieldSet {
        match &self.fields {
            Fields::Stored(value) => FieldSet::from_json(value).unwrap_or_default(),
            Fields::Set(set) => set.clone(),
        }
    }

    /// The fields owned, to be changed.
    pub(crate) fn set_mut(&mut self) -> &mut FieldSet {
        if let Fields::Stored(value) = &self.fields {
            self.fields = Fields::Set(FieldSet::from_json(value).unwrap_or_default());
        }
        match &mut self.fields {
            Fields::Set(set) => set,
            Fields::Stored(_) => unreachable!("stored fields were read above"),
        }
    }

    /// Whether any of these fields is owned.
    pub(crate) fn owns_any(&self, fields: &FieldSet) -> bool {
        match &self.fields {
            Fields::Stored(Value::Object(stored)) => stored_has(stored, fields),
            Fields::Stored(_) => false,
            Fields::Set(set) => set.intersects(fields),
        }
    }

    /// Gives up fields.
    pub(crate) fn give_up(&mut self, fields: &FieldSet) {
        if self.owns_any(fields) {
            self.set_mut().remove(fields);
        }
    }

    fn owns_nothing(&self) -> bool {
        match &self.fields {
            Fields::Stored(Value::Object(stored)) => stored.keys().all(|key| key == "."),
            Fields::Stored(_) => true,
            Fields::Set(set) => set.is_empty(),
        }
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
    /// Reads the `managedFields` value of an object.
    pub(crate) fn read(entries: Option<&Value>) -> Result<Self, ManagedError> {
        let entries = match entries {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(ManagedError::NotAList),
        };
        let mut out = Self {
            owners: Vec::with_capacity(entries.len()),
        };
        for (i, entry) in entries.iter().enumerate() {
            let owner = read_owner(i, entry)?;
            out.owners.retain(|other| !other.who.is(&owner.who));
            out.owners.push(owner);
        }
        Ok(out)
    }

    /// Writes the `managedFields` value: appliers first, then by time; `None` when nobody is left.
    pub(crate) fn write(mut self) -> Option<Value> {
        self.owners.retain(|owner| !owner.owns_nothing());
        self.owners.sort_by(|a, b| {
            let seconds = |owner: &Owner| owner.time.map_or(0, Timestamp::seconds);
            let (x, y) = (&a.who, &b.who);
            (x.operation.cmp(&y.operation))
                .then_with(|| seconds(a).cmp(&seconds(b)))
                .then_with(|| x.manager.cmp(&y.manager))
                .then_with(|| x.api_version.cmp(&y.api_version))
                .then_with(|| x.subresource.cmp(&y.subresource))
        });
        if self.owners.is_empty() {
            return None;
        }
        Some(self.owners.into_iter().map(write_owner).collect())
    }

    /// The entry of an owner.
    pub(crate) fn find(&self, who: &Who) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.who.is(who))
    }

    /// The entry of an owner.
    pub(crate) fn find_mut(&mut self, who: &Who) -> Option<&mut Owner> {
        self.owners.iter_mut().find(|owner| owner.who.is(who))
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
        let below = match &entry.element {
            Element::Field(name) => kind.field(name),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => Some(kind.items()),
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

fn read_owner(index: usize, entry: &Value) -> Result<Owner, ManagedError> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(ManagedError::Operation),
    };
    if text("apiVersion").is_empty() {
        return Err(ManagedError::ApiVersion);
    }
    if text("fieldsType") != "FieldsV1" {
        return Err(ManagedError::FieldsType(index, text("fieldsType").into()));
    }
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(fields) => {
            check_fields(fields).map_err(ManagedError::Fields)?;
            fields.clone()
        }
    };
    Ok(Owner {
        who: Who {
            manager: text("manager").into(),
            operation,
            api_version: text("apiVersion").into(),
            subresource: text("subresource").into(),
        },
        time: Timestamp::parse(text("time")),
        fields: Fields::Stored(fields),
    })
}

// Whether the fields can be read, without reading them.
fn check_fields(fields: &Value) -> Result<(), FieldSetError> {
    let fields = match fields {
        Value::Object(fields) => fields,
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
        check_fields(below)?;
    }
    Ok(())
}

// Whether stored fields have a member in common with a set.
fn stored_has(stored: &Map<String, Value>, fields: &FieldSet) -> bool {
    fields.entries().iter().any(|entry| {
        let Some(Value::Object(below)) = stored.get(&entry.element.to_text()) else {
            return false;
        };
        (entry.member && (below.is_empty() || below.contains_key(".")))
            || stored_has(below, &entry.below)
    })
}

fn write_owner(owner: Owner) -> Value {
    let mut entry = Map::new();
    let fields = match owner.fields {
        Fields::Stored(fields) => fields,
        Fields::Set(set) => set.to_json(),
    };
    let who = owner.who;
    entry.insert("apiVersion".into(), Value::String(who.api_version));
    entry.insert("fieldsType".into(), Value::String("FieldsV1".into()));
    entry.insert("fieldsV1".into(), fields);
    if !who.manager.is_empty() {
        entry.insert("manager".into(), Value::String(who.manager));
    }
    let operation = who.operation.as_str();
    entry.insert("operation".into(), Value::String(operation.into()));
    if !who.subresource.is_empty() {
        entry.insert("subresource".into(), Value::String(who.subresource));
    }
    if let Some(time) = owner.time {
        entry.insert("time".into(), Value::String(time.rfc3339()));
    }
    Value::Object(entry)
}
