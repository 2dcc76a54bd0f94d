//! Which lists a strategic merge merges, and by which keys; which kinds have no namespace.
//!
//! The built-in facts are those of the schema that the real program carries (`data/schema.txt`,
//! made by `tools/kustomize/schema`). A kustomization may bring a schema of its own.

use model::Value;
use std::collections::HashMap;
use std::sync::OnceLock;

const BUILTIN: &str = include_str!("../data/schema.txt");
/// How deep schemas that are written inside each other may nest.
const DEPTH_MAX: usize = 200;

/// What is known of a place in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing.
    Unknown,
    /// That there is nothing to merge.
    Leaf,
    /// A definition.
    Object(u32),
    /// A list that is merged.
    List(u32),
}

#[derive(Debug, Default)]
struct Definition {
    fields: HashMap<Box<str>, Place>,
    // What all other fields are.
    rest: Option<Place>,
}

#[derive(Debug)]
struct List {
    keys: Vec<Box<str>>,
    element: Place,
}

/// A set of definitions.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    definitions: Vec<Definition>,
    lists: Vec<List>,
    names: HashMap<Box<str>, u32>,
    types: HashMap<(Box<str>, Box<str>), Place>,
    scopes: HashMap<(Box<str>, Box<str>), bool>,
    // Fields that are not there are unknown, and not just uninteresting.
    complete: bool,
}

impl Schema {
    /// The facts about Kubernetes' own kinds.
    pub(crate) fn builtin() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| {
            let mut schema = Self::default();
            for line in BUILTIN.lines() {
                schema.line(line);
            }
            schema
        })
    }

    fn line(&mut self, line: &str) {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("def"), Some(name), first) => {
                let id = self.define(name);
                for field in first.into_iter().chain(words) {
                    let Some((field, way)) = field.split_once('=') else {
                        continue;
                    };
                    let place = self.way(way);
                    self.add_field(id, field, place);
                }
            }
            (Some("type"), Some(version), Some(kind)) => {
                let place = match words.next() {
                    None | Some("-") => Place::Leaf,
                    Some(name) => Place::Object(self.define(name)),
                };
                self.types.insert((version.into(), kind.into()), place);
            }
            (Some("scope"), Some(version), Some(kind)) => {
                let namespaced = words.next() == Some("namespaced");
                self.scopes
                    .insert((version.into(), kind.into()), namespaced);
            }
            _ => {}
        }
    }

    fn add_field(&mut self, id: u32, field: &str, place: Place) {
        let definition = &mut self.definitions[id as usize];
        if field == "*" {
            definition.rest = Some(place);
        } else {
            definition.fields.insert(field.into(), place);
        }
    }

    fn define(&mut self, name: &str) -> u32 {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.definitions.len() as u32;
        self.definitions.push(Definition::default());
        self.names.insert(name.into(), id);
        id
    }

    // `definition`, or `[key,key]definition`.
    fn way(&mut self, text: &str) -> Place {
        let Some((keys, element)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) else {
            return Place::Object(self.define(text));
        };
        let element = if element == "-" {
            Place::Leaf
        } else {
            Place::Object(self.define(element))
        };
        let keys = keys.split(',').filter(|key| !key.is_empty());
        let keys = keys.map(Into::into).collect();
        self.list(keys, element)
    }

    fn list(&mut self, keys: Vec<Box<str>>, element: Place) -> Place {
        self.lists.push(List { keys, element });
        Place::List(self.lists.len() as u32 - 1)
    }

    /// Reads an OpenAPI document.
    pub(crate) fn from_openapi(document: &Value) -> Self {
        let mut schema = Self {
            complete: true,
            ..Self::default()
        };
        let definitions = document["definitions"].as_object();
        for (name, definition) in definitions.into_iter().flatten() {
            let id = schema.define(name);
            schema.fill(id, definition, 0);
            for kind in definition["x-kubernetes-group-version-kind"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let key = type_key(kind);
                schema.types.insert(key, Place::Object(id));
            }
        }
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let kind = &item["get"]["x-kubernetes-group-version-kind"];
            if !kind.is_object() {
                continue;
            }
            let namespaced = path.contains("namespaces/{namespace}");
            let known = schema.scopes.entry(type_key(kind)).or_insert(namespaced);
            *known |= namespaced;
        }
        schema
    }

    fn fill(&mut self, id: u32, definition: &Value, depth: usize) {
        for (field, property) in definition["properties"].as_object().into_iter().flatten() {
            let place = self.property(property, depth);
            self.add_field(id, field, place);
        }
        let more = &definition["additionalProperties"];
        if more.is_object() {
            let place = self.property(more, depth);
            self.add_field(id, "*", place);
        }
    }

    fn property(&mut self, property: &Value, depth: usize) -> Place {
        if depth > DEPTH_MAX {
            return Place::Leaf;
        }
        if let Some(target) = property["$ref"].as_str() {
            let name = target.strip_prefix("#/definitions/").unwrap_or(target);
            return Place::Object(self.define(name));
        }
        let strategy = property["x-kubernetes-patch-strategy"].as_str();
        let merged = strategy.is_some_and(|words| words.split(',').any(|word| word == "merge"));
        if property["type"] == "array" {
            if !merged {
                return Place::Leaf;
            }
            let keys = match property["x-kubernetes-list-map-keys"].as_array() {
                Some(keys) => keys
                    .iter()
                    .filter_map(Value::as_str)
                    .map(Into::into)
                    .collect(),
                None => property["x-kubernetes-patch-merge-key"]
                    .as_str()
                    .into_iter()
                    .map(Into::into)
                    .collect(),
            };
            let element = self.property(&property["items"], depth + 1);
            return self.list(keys, element);
        }
        if property["properties"].is_object() || property["additionalProperties"].is_object() {
            let id = self.definitions.len() as u32;
            self.definitions.push(Definition::default());
            self.fill(id, property, depth + 1);
            return Place::Object(id);
        }
        Place::Leaf
    }

    fn of_type(&self, api_version: &str, kind: &str) -> Option<Place> {
        self.types.get(&(api_version.into(), kind.into())).copied()
    }

    fn field(&self, id: u32, name: &str) -> Place {
        let definition = &self.definitions[id as usize];
        match definition.fields.get(name).copied().or(definition.rest) {
            Some(place) => place,
            None if self.complete => Place::Unknown,
            None => Place::Leaf,
        }
    }
}

fn type_key(kind: &Value) -> (Box<str>, Box<str>) {
    let text = |name: &str| kind[name].as_str().unwrap_or("");
    let version = match (text("group"), text("version")) {
        ("", version) => version.to_owned(),
        (group, version) => format!("{group}/{version}"),
    };
    (version.into(), text("kind").into())
}

/// The schemas in use: the built-in one, one of the kustomization's own, or both.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    own: Option<Schema>,
    builtin: bool,
    set: bool,
}

/// Which of the schemas a place belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    own: bool,
    place: Place,
}

impl Cursor {
    pub(crate) const UNKNOWN: Self = Self {
        own: false,
        place: Place::Unknown,
    };

    pub(crate) fn is_unknown(self) -> bool {
        self.place == Place::Unknown
    }
}

impl Schemas {
    /// Only what is built in.
    pub(crate) fn new() -> Self {
        Self {
            own: None,
            builtin: true,
            set: false,
        }
    }

    /// Takes a schema of the kustomization in the place of the built-in one; only the first counts.
    pub(crate) fn use_own(&mut self, schema: Schema) {
        if !self.set {
            self.own = Some(schema);
            self.builtin = false;
            self.set = true;
        }
    }

    /// Says that the built-in schema was asked for by version: later ones are not taken.
    pub(crate) fn fix_builtin(&mut self) {
        self.set = true;
    }

    pub(crate) fn of_type(&self, api_version: &str, kind: &str) -> Cursor {
        let own = self
            .own
            .as_ref()
            .and_then(|own| own.of_type(api_version, kind));
        if let Some(place) = own {
            return Cursor { own: true, place };
        }
        let builtin = self.builtin.then(Schema::builtin);
        match builtin.and_then(|schema| schema.of_type(api_version, kind)) {
            Some(place) => Cursor { own: false, place },
            None => Cursor::UNKNOWN,
        }
    }

    fn schema(&self, cursor: Cursor) -> Option<&Schema> {
        if cursor.own {
            self.own.as_ref()
        } else {
            Some(Schema::builtin())
        }
    }

    pub(crate) fn field(&self, cursor: Cursor, name: &str) -> Cursor {
        let place = match (cursor.place, self.schema(cursor)) {
            (Place::Object(id), Some(schema)) => schema.field(id, name),
            _ => Place::Unknown,
        };
        Cursor { place, ..cursor }
    }

    /// The keys and the elements of a list that is merged.
    pub(crate) fn merged_list(&self, cursor: Cursor) -> Option<(Vec<&str>, Cursor)> {
        let (Place::List(id), Some(schema)) = (cursor.place, self.schema(cursor)) else {
            return None;
        };
        let list = &schema.lists[id as usize];
        let keys = list.keys.iter().map(|key| &**key).collect();
        let element = Cursor {
            place: list.element,
            ..cursor
        };
        Some((keys, element))
    }

    /// Whether a kind is known to have no namespace.
    pub(crate) fn is_cluster_scoped(&self, api_version: &str, kind: &str) -> bool {
        let key = (api_version.into(), kind.into());
        let known = Schema::builtin().scopes.get(&key);
        let own = || self.own.as_ref().and_then(|own| own.scopes.get(&key));
        known.or_else(own).is_some_and(|namespaced| !namespaced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_the_ports_of_a_container() {
        let schemas = Schemas::new();
        let mut at = schemas.of_type("apps/v1", "Deployment");
        for field in ["spec", "template", "spec", "containers"] {
            at = schemas.field(at, field);
        }
        let (keys, element) = schemas.merged_list(at).expect("containers are merged");
        assert_eq!(keys, ["name"]);
        let ports = schemas.field(element, "ports");
        let (keys, _) = schemas.merged_list(ports).expect("ports are merged");
        assert_eq!(keys, ["containerPort", "protocol"]);
        assert!(
            schemas
                .merged_list(schemas.field(element, "args"))
                .is_none()
        );
    }

    #[test]
    fn scopes() {
        let schemas = Schemas::new();
        assert!(schemas.is_cluster_scoped("v1", "Namespace"));
        assert!(!schemas.is_cluster_scoped("v1", "Pod"));
        assert!(!schemas.is_cluster_scoped("example.com/v1", "Thing"));
    }
}
