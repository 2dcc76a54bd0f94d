//! One call of a webhook: where to, with what, and how long to wait.

use model::{Value, json, meta};

/// What happens when a webhook cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The request is refused.
    Fail,
    /// The request goes on.
    Ignore,
}

impl FailurePolicy {
    /// Reads `failurePolicy`.
    pub fn of(holder: &Value) -> Self {
        match meta::text_at(holder, "/failurePolicy") {
            "Ignore" => Self::Ignore,
            _ => Self::Fail,
        }
    }
}

/// Where a webhook listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A URL.
    Url(String),
    /// A Service of the cluster.
    Service {
        /// Namespace of the Service.
        namespace: String,
        /// Name of the Service.
        name: String,
        /// URL path, with its slash, or empty.
        path: String,
        /// Port of the Service.
        port: u16,
    },
}

impl Target {
    /// The URL as messages print it, without the timeout parameter.
    pub fn url(&self) -> String {
        match self {
            Self::Url(url) => url.clone(),
            Self::Service {
                namespace,
                name,
                path,
                port,
            } => format!("https://{name}.{namespace}.svc:{port}{path}"),
        }
    }
}

/// A call to be made by the caller: POST `body` as JSON over TLS and read a JSON answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Names the call within its request; answers are given back under it.
    pub key: String,
    /// `request.uid`, which the answer must repeat.
    pub uid: String,
    /// Name of the webhook.
    pub webhook: String,
    /// Name of its configuration object.
    pub configuration: String,
    /// Where it listens.
    pub target: Target,
    /// PEM certificates to trust, base64 as in the configuration; empty for the system's.
    pub ca_bundle: String,
    /// How long to wait; also sent as the `timeout` parameter.
    pub timeout_seconds: u32,
    /// What happens when it cannot be asked.
    pub failure_policy: FailurePolicy,
    /// The AdmissionReview to send.
    pub body: Value,
}

impl Call {
    /// Prepares a call; an error when the webhook speaks no version we know.
    pub(crate) fn new(
        key: String,
        uid: String,
        configuration: &str,
        webhook: &Value,
        request: Value,
    ) -> Result<Self, String> {
        let mut versions = meta::entries(webhook, "/admissionReviewVersions");
        let version = versions.find_map(|v| v.as_str().filter(|v| matches!(*v, "v1" | "v1beta1")));
        let Some(version) = version else {
            return Err(
                "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)"
                    .into(),
            );
        };
        let timeout = webhook.get("timeoutSeconds").and_then(Value::as_u64);
        Ok(Self {
            key,
            uid,
            webhook: meta::text_at(webhook, "/name").into(),
            configuration: configuration.into(),
            target: target(webhook)?,
            ca_bundle: meta::text_at(webhook, "/clientConfig/caBundle").into(),
            timeout_seconds: timeout.and_then(|t| u32::try_from(t).ok()).unwrap_or(10),
            failure_policy: FailurePolicy::of(webhook),
            body: json!({
                "kind": "AdmissionReview",
                "apiVersion": format!("admission.k8s.io/{version}"),
                "request": request,
            }),
        })
    }

    /// The URL to post to, with the timeout parameter.
    pub fn url(&self) -> String {
        let url = self.target.url();
        let join = if url.contains('?') { '&' } else { '?' };
        format!("{url}{join}timeout={}s", self.timeout_seconds)
    }
}

fn target(webhook: &Value) -> Result<Target, String> {
    let url = meta::text_at(webhook, "/clientConfig/url");
    if !url.is_empty() {
        return Ok(Target::Url(url.into()));
    }
    let Some(service) = webhook.pointer("/clientConfig/service") else {
        return Err(
            "could not get REST client: webhook configuration must have either service or URL"
                .into(),
        );
    };
    let path = meta::text_at(service, "/path").trim_start_matches('/');
    let port = service.get("port").and_then(Value::as_u64);
    Ok(Target::Service {
        namespace: meta::text_at(service, "/namespace").into(),
        name: meta::text_at(service, "/name").into(),
        path: if path.is_empty() {
            String::new()
        } else {
            format!("/{path}")
        },
        port: port.and_then(|p| u16::try_from(p).ok()).unwrap_or(443),
    })
}
