//! kube-rs against the embedded cluster: every call a controller makes, each with a deadline.
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod apply;
mod calls;
mod controller;
mod delete;
mod discovery;
mod watch;

use e2e::Sandbox;
use kube::{Client, Config, config};
use std::future::Future;
use std::time::Duration;

/// How long anything may take.
const SOON: Duration = Duration::from_secs(20);

/// A sandbox and a client with its kubeconfig, client certificate included.
async fn start() -> (Sandbox, Client) {
    let sandbox = Sandbox::start();
    let kubeconfig = config::Kubeconfig::read_from(&sandbox.kubeconfig).unwrap();
    let options = config::KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    (sandbox, Client::try_from(config).unwrap())
}

/// What a future gives, unless it takes too long.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("in time")
}

/// A typed object from JSON.
fn object<T: for<'de> serde::Deserialize<'de>>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The code of an error that the API answered with.
fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result.unwrap_err() {
        kube::Error::Api(status) => status.code,
        other => panic!("{other:?}"),
    }
}
