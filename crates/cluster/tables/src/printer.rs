//! Puts columns and rows together into a Table.

use crate::column::Column;
use crate::custom::{CustomColumn, custom_cells, custom_columns};
use crate::pod;
use crate::read::View;
use crate::registry::{self, Entry};
use model::{GroupVersionKind, Map, Timestamp, Value, json};
use std::borrow::Cow;

/// What a row carries of its object, as `?includeObject=` asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    /// Only its metadata, as a PartialObjectMetadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

impl IncludeObject {
    /// Reads the query parameter; empty is the default. The error is the message of the 400.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => Err(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: \
                 must be 'Metadata', 'Object', 'None', or empty"
            )),
        }
    }
}

/// Metadata of the list (or of the one object) a table shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListMeta {
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.continue`, empty at the end of the list.
    pub continue_token: String,
    /// `metadata.remainingItemCount`.
    pub remaining: Option<i64>,
}

/// Knows the columns of one kind.
#[derive(Clone, Debug)]
pub struct Printer {
    columns: Cow<'static, [Column]>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    BuiltIn(&'static Entry),
    Custom(Vec<CustomColumn>),
}

impl Printer {
    /// For a built-in kind.
    pub fn built_in(gvk: &GroupVersionKind) -> Self {
        let entry = registry::find(gvk);
        Self {
            columns: Cow::Borrowed(&entry.columns),
            source: Source::BuiltIn(entry),
        }
    }

    /// For a custom kind, from its entry of `spec.versions`.
    pub fn custom(crd_version: &Value) -> Self {
        let columns = custom_columns(crd_version);
        Self {
            columns: columns.iter().map(|c| c.column.clone()).collect(),
            source: Source::Custom(columns),
        }
    }

    /// The columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of one object, in the order of the columns.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.source {
            Source::BuiltIn(entry) => (entry.cells)(&View::new(object, now)),
            Source::Custom(columns) => custom_cells(columns, object, now),
        }
    }

    /// One entry of `rows`.
    pub fn row(&self, object: &Value, now: Timestamp, include: IncludeObject) -> Value {
        let mut row = Map::new();
        row.insert("cells".into(), self.cells(object, now).into());
        if let Source::BuiltIn(entry) = self.source
            && entry.is_pod()
            && let Some(conditions) = pod::conditions(object)
        {
            row.insert("conditions".into(), conditions);
        }
        let carried = match include {
            IncludeObject::None => Value::Null,
            IncludeObject::Object => object.clone(),
            IncludeObject::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": object.get("metadata"),
            }),
        };
        row.insert("object".into(), carried);
        Value::Object(row)
    }

    /// The whole Table. In a watch only the first event needs `headers`; a bookmark is a row of an object
    /// that has nothing but its `metadata.resourceVersion` (and annotations).
    pub fn table<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a Value>,
        now: Timestamp,
        include: IncludeObject,
        meta: &ListMeta,
        headers: bool,
    ) -> Value {
        let rows: Vec<Value> = objects
            .into_iter()
            .map(|object| self.row(object, now, include))
            .collect();
        let mut metadata = Map::new();
        for (key, text) in [
            ("resourceVersion", &meta.resource_version),
            ("continue", &meta.continue_token),
        ] {
            if !text.is_empty() {
                metadata.insert(key.into(), text.as_str().into());
            }
        }
        if let Some(remaining) = meta.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        let headers =
            headers || matches!(self.source, Source::BuiltIn(entry) if entry.repeats_headers());
        let definitions = headers.then(|| self.columns.iter().map(Column::definition).collect());
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions.map_or(Value::Null, Value::Array),
            "rows": rows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gvk(kind: &str) -> GroupVersionKind {
        GroupVersionKind::new("", "v1", kind)
    }

    #[test]
    fn a_table_has_columns_rows_and_the_list_s_place() {
        let printer = Printer::built_in(&gvk("ConfigMap"));
        let object = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z"},
            "data": {"k": "v"},
        });
        let meta = ListMeta {
            resource_version: "7".into(),
            continue_token: "next".into(),
            remaining: Some(2),
        };
        let now = Timestamp::from_seconds(65);
        let table = printer.table([&object], now, IncludeObject::Metadata, &meta, true);
        let titles: Vec<&str> = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|c| c["name"].as_str())
            .collect();
        assert_eq!(titles, ["Name", "Data", "Age"]);
        assert_eq!(
            table["metadata"].to_string(),
            r#"{"continue":"next","remainingItemCount":2,"resourceVersion":"7"}"#
        );
        assert_eq!(
            table["rows"].to_string(),
            concat!(
                r#"[{"cells":["a",1,"65s"],"object":{"apiVersion":"meta.k8s.io/v1","#,
                r#""kind":"PartialObjectMetadata","#,
                r#""metadata":{"creationTimestamp":"1970-01-01T00:00:00Z","name":"a"}}}]"#
            )
        );
        let row = |include| printer.row(&object, now, include)["object"].clone();
        assert_eq!(row(IncludeObject::None), Value::Null);
        assert_eq!(row(IncludeObject::Object), object);
    }

    #[test]
    fn later_events_of_a_watch_have_no_headers() {
        let none = ListMeta::default();
        let table = |printer: &Printer| {
            let now = Timestamp::from_seconds(0);
            printer.table([&json!({})], now, IncludeObject::None, &none, false)
        };
        let namespaces = table(&Printer::built_in(&gvk("Namespace")));
        assert_eq!(namespaces["columnDefinitions"], Value::Null);
        assert_eq!(
            namespaces["rows"][0]["cells"].to_string(),
            r#"["","","<unknown>"]"#
        );
        let services = GroupVersionKind::new("apiregistration.k8s.io", "v1", "APIService");
        assert!(table(&Printer::built_in(&services))["columnDefinitions"].is_array());
    }

    #[test]
    fn finished_pods_say_so() {
        let printer = Printer::built_in(&gvk("Pod"));
        let pod = json!({"status": {"phase": "Failed"}});
        let row = printer.row(&pod, Timestamp::from_seconds(0), IncludeObject::None);
        assert_eq!(row["conditions"][0]["reason"], "Failed");
        let row = printer.row(&json!({}), Timestamp::from_seconds(0), IncludeObject::None);
        assert_eq!(row.get("conditions"), None);
    }

    #[test]
    fn include_object_has_three_words() {
        assert_eq!(IncludeObject::parse(""), Ok(IncludeObject::Metadata));
        assert_eq!(
            IncludeObject::parse("Bogus").unwrap_err(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": \
             must be 'Metadata', 'Object', 'None', or empty"
        );
    }
}
