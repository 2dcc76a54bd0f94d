//! Requests to the API server.

use crate::{NodeError, Options};
use http::{Method, Request};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use model::Value;

/// A client of the cluster that a kubeconfig names.
pub(crate) async fn client(options: &Options) -> Result<Client, NodeError> {
    let path = options.kubeconfig.display().to_string();
    let wrong = |source| NodeError::Kubeconfig {
        path: path.clone(),
        source,
    };
    let file = Kubeconfig::read_from(&options.kubeconfig).map_err(wrong)?;
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(wrong)?;
    Client::try_from(config).map_err(|source| NodeError::Api {
        what: format!("make a client of `{path}`"),
        source: Box::new(source),
    })
}

/// Sends one request; the answer is the object.
pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, kube::Error> {
    let kind = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let bytes = body.map(|b| b.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "kubelet/scripted")
        .body(bytes)
        .map_err(kube::Error::HttpError)?;
    client.request::<Value>(request).await
}

/// The HTTP code of a refusal.
pub(crate) fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}
