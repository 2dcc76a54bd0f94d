//! Which kinds have columns of their own, and how to fill them.

use crate::column::Column;
use crate::read::{Read, View, cells as row};
use crate::{access, autoscale, control, core, device, network, pod, storage, workload};
use model::{GroupVersionKind, Timestamp, Value};
use std::sync::OnceLock;

/// How one built-in kind is printed.
pub(crate) struct BuiltIn {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
    /// Short text for [`Column::read_all`].
    pub(crate) columns: &'static str,
    pub(crate) cells: fn(&View) -> Vec<Value>,
}

/// A kind with its columns read.
#[derive(Debug)]
pub(crate) struct Entry {
    group: &'static str,
    kind: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) cells: fn(&View) -> Vec<Value>,
}

impl Entry {
    fn of(kind: &BuiltIn) -> Self {
        Self {
            group: kind.group,
            kind: kind.kind,
            columns: Column::read_all(kind.columns),
            cells: kind.cells,
        }
    }

    /// API services, served by the aggregator, repeat their columns with every event of a watch.
    pub(crate) fn repeats_headers(&self) -> bool {
        self.kind == "APIService"
    }

    /// Whether this is the entry of pods, whose rows carry conditions.
    pub(crate) fn is_pod(&self) -> bool {
        self.kind == "Pod"
    }
}

/// All entries, sorted for searching.
fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let families = [
            core::KINDS,
            pod::KINDS,
            workload::KINDS,
            network::KINDS,
            storage::KINDS,
            autoscale::KINDS,
            access::KINDS,
            control::KINDS,
            device::KINDS,
        ];
        let mut entries: Vec<Entry> = families.into_iter().flatten().map(Entry::of).collect();
        entries.sort_by_key(|entry| (entry.kind, entry.group));
        entries
    })
}

/// The entry of a kind; name and creation time for kinds without one.
pub(crate) fn find(gvk: &GroupVersionKind) -> &'static Entry {
    static PLAIN: OnceLock<Entry> = OnceLock::new();
    let wanted = (gvk.kind.as_str(), gvk.group.as_str());
    match entries().binary_search_by(|entry| (entry.kind, entry.group).cmp(&wanted)) {
        Ok(at) => &entries()[at],
        Err(_) => PLAIN.get_or_init(|| {
            Entry::of(&BuiltIn {
                group: "",
                kind: "",
                columns: "Name:name|Created At:d",
                cells: plain,
            })
        }),
    }
}

fn plain(view: &View) -> Vec<Value> {
    let created = view.time("metadata.creationTimestamp");
    let created = created.map_or_else(|| "0001-01-01T00:00:00Z".into(), Timestamp::rfc3339);
    row![view.name(), created]
}

/// The columns of a built-in kind; `Name` and `Created At` for kinds without columns of their own.
pub fn columns(gvk: &GroupVersionKind) -> &'static [Column] {
    &find(gvk).columns
}

/// The cells of one object of a built-in kind, in the order of [`columns`].
pub fn cells(gvk: &GroupVersionKind, object: &Value, now: Timestamp) -> Vec<Value> {
    (find(gvk).cells)(&View::new(object, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn every_kind_survives_an_empty_object_and_fills_its_columns() {
        for entry in entries() {
            let object = json!({});
            let cells = (entry.cells)(&View::new(&object, Timestamp::from_seconds(0)));
            // The server gives an IPAddress one cell more than it has columns.
            let extra = usize::from(entry.kind == "IPAddress");
            assert_eq!(cells.len(), entry.columns.len() + extra, "{}", entry.kind);
        }
    }

    #[test]
    fn unknown_kinds_show_when_they_were_made() {
        let gvk = GroupVersionKind::new("", "v1", "LimitRange");
        let object =
            json!({"metadata": {"name": "a", "creationTimestamp": "2026-11-15T19:57:10Z"}});
        let cells = cells(&gvk, &object, Timestamp::from_seconds(0));
        assert_eq!(cells, [json!("a"), json!("2026-11-15T19:57:10Z")]);
        assert_eq!(columns(&gvk)[1].ty, "date");
    }
}
