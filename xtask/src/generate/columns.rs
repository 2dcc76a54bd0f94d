//! The columns of the table a server answers to a list.

use super::discovery::Listable;
use super::fetch;
use serde_json::{Map, Value};
use testkit::Client;

const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Column definitions by resource (`apps/v1/deployments`), without descriptions.
pub(crate) fn read(
    client: &Client,
    resources: &[Listable],
) -> Result<Value, Box<dyn std::error::Error>> {
    let mut all = Map::new();
    for resource in resources {
        let path = format!("{}?limit=1", resource.path());
        let mut table = fetch(client, &path, Some(ACCEPT))?;
        let mut columns = table["columnDefinitions"].take();
        for column in columns.as_array_mut().into_iter().flatten() {
            if let Some(fields) = column.as_object_mut() {
                fields.remove("description");
            }
        }
        all.insert(resource.key(), columns);
    }
    Ok(Value::Object(all))
}
