//! Small things every test does with ConfigMaps.

use serde_json::{Value, json};
use testkit::{Client, Request, Response};

pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(crate) fn path(name: &str) -> String {
    format!("{MAPS}/{name}")
}

pub(crate) fn create(client: &Client, object: &Value) -> Value {
    let answer = client
        .send(&Request::new("POST", MAPS).json(object))
        .unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json().unwrap()
}

pub(crate) fn named(client: &Client, name: &str) -> Value {
    create(client, &json!({"metadata": {"name": name}}))
}

pub(crate) fn merge_request(name: &str, patch: &Value) -> Request {
    let mut request = Request::new("PATCH", &path(name));
    request.body = patch.to_string().into_bytes();
    request.header("Content-Type", "application/merge-patch+json")
}

pub(crate) fn merge(client: &Client, name: &str, patch: &Value) -> Value {
    let answer = client.send(&merge_request(name, patch)).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().unwrap()
}

pub(crate) fn delete(client: &Client, name: &str) -> Response {
    let answer = client.send(&Request::new("DELETE", &path(name))).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer
}

pub(crate) fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().unwrap();
    text.parse().unwrap()
}

pub(crate) fn json(client: &Client, path: &str) -> Value {
    let answer = client.get(path).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json().unwrap()
}
