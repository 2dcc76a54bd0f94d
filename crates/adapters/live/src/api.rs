//! A connection to a cluster and plain requests over it.

use crate::LiveError;
use crate::discovery::Kinds;
use http::{Method, Request};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use model::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::RwLock;

/// Under which name writes are recorded.
pub(crate) const MANAGER: &str = "argocd-controller";
/// How long a plain request may take.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// A cluster. Clones share the connection.
#[derive(Clone)]
pub struct Cluster {
    pub(crate) client: Client,
    pub(crate) kinds: Arc<RwLock<Kinds>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// Connects to the cluster that a kubeconfig names; without one, to the usual one.
    pub async fn connect(path: Option<&Path>, context: Option<&str>) -> Result<Self, LiveError> {
        let wrong = |source| LiveError::Kubeconfig {
            path: path.map(Path::to_path_buf),
            source,
        };
        let file = match path {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        Self::of(file.map_err(wrong)?, context).await
    }

    /// Connects to the cluster of a kubeconfig in memory.
    pub async fn connect_with(kubeconfig: &str) -> Result<Self, LiveError> {
        let file = Kubeconfig::from_yaml(kubeconfig)
            .map_err(|source| LiveError::Kubeconfig { path: None, source })?;
        Self::of(file, None).await
    }

    async fn of(file: Kubeconfig, context: Option<&str>) -> Result<Self, LiveError> {
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let mut config = kube::Config::from_custom_kubeconfig(file, &options)
            .await
            .map_err(|source| LiveError::Kubeconfig { path: None, source })?;
        config.connect_timeout = Some(Duration::from_secs(10));
        // Watches are quiet for long; plain requests have a limit of their own.
        config.read_timeout = None;
        let client = Client::try_from(config).map_err(LiveError::api("make a client"))?;
        let kinds = Kinds::discover(&client).await?;
        Ok(Self {
            client,
            kinds: Arc::new(RwLock::new(kinds)),
        })
    }

    /// Sends one request; the answer is an object.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Value, LiveError> {
        send(&self.client, method, path, content_type, body).await
    }

    /// Reads one path.
    pub(crate) async fn read(&self, path: &str) -> Result<Value, LiveError> {
        self.send(Method::GET, path, "application/json", None).await
    }
}

pub(crate) async fn send(
    client: &Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: Option<&Value>,
) -> Result<Value, LiveError> {
    let what = format!("{} {path}", method.as_str().to_lowercase());
    let bytes = body.map(|b| b.to_string().into_bytes()).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .header("accept", "application/json")
        .body(bytes)
        .map_err(|error| LiveError::api(what.clone())(kube::Error::HttpError(error)))?;
    let answer = tokio::time::timeout(REQUEST_MAX, client.request::<Value>(request)).await;
    if let Ok(answer) = answer {
        return answer.map_err(LiveError::api(what));
    }
    let late = format!("no answer within {}s", REQUEST_MAX.as_secs());
    Err(LiveError::api(what)(kube::Error::Service(late.into())))
}
