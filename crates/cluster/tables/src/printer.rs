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
    /// Reads the query parameter; empty is the default. `None` for words it does not have.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            "None" => Some(Self::None),
            _ => None,
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

    /// The whole Table. In a watch only the first event has `headers`.
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
