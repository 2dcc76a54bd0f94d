//! HTTPS in front of a cluster.

use crate::clock;
use crate::cluster::Cluster;
use crate::error::StartError;
use apiserver::{Certificate, Credentials, Method, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use model::{ApiError, Reason};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The largest request body; the real API server has the same limit.
const BODY_MAX: usize = 3 << 20;
/// How long a client may take to shake hands.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long open requests may take to end at a stop.
const DRAIN_MAX: Duration = Duration::from_millis(500);

/// A cluster that listens.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    cluster: Cluster,
    listener: TcpListener,
    tls: TlsAcceptor,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Takes the listener of a cluster and makes its certificate.
    pub fn new(cluster: Cluster, listener: TcpListener) -> Result<Self, StartError> {
        let address = listener.local_addr().map_err(|source| StartError::Listen {
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            source,
        })?;
        let tls = acceptor(&cluster, address)?;
        Ok(Self {
            address,
            cluster,
            listener,
            tls,
        })
    }

    /// `https://host:port`, as clients on this machine reach it.
    pub fn url(&self) -> String {
        let host = if self.address.ip().is_unspecified() {
            "127.0.0.1".to_owned()
        } else {
            self.address.ip().to_string()
        };
        if host.contains(':') {
            format!("https://[{host}]:{}", self.address.port())
        } else {
            format!("https://{host}:{}", self.address.port())
        }
    }

    /// The certificate of the cluster's authority, PEM.
    pub fn ca(&self) -> &str {
        self.cluster.identity().ca()
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self) -> Result<String, StartError> {
        self.cluster
            .identity()
            .kubeconfig(&self.url(), clock::now())
    }
}

fn acceptor(cluster: &Cluster, address: SocketAddr) -> Result<TlsAcceptor, StartError> {
    let fault = |e: &dyn std::fmt::Display| StartError::Identity(e.to_string());
    let identity = cluster.identity();
    let pair = identity.serving(&address.ip().to_string(), clock::now())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(CertificateDer::from(identity.ca_der()?))
        .map_err(|e| fault(&e))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|e| fault(&e))?;
    let chain = vec![CertificateDer::from(pair.certificate_der)];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.key_der));
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| fault(&e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|e| fault(&e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until `stop` resolves, then lets open requests end for a moment.
pub async fn serve(server: Server, stop: impl Future<Output = ()>) {
    let Server {
        cluster,
        listener,
        tls,
        ..
    } = server;
    let controllers = tokio::spawn({
        let cluster = cluster.clone();
        async move { cluster.run_controllers().await }
    });
    let graceful = hyper_util::server::graceful::GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let (stream, _) = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file handles, most likely: give connections a moment to end.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let _ = stream.set_nodelay(true);
        let (cluster, tls, watcher) = (cluster.clone(), tls.clone(), graceful.watcher());
        tokio::spawn(async move {
            let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_MAX, tls.accept(stream)).await
            else {
                return;
            };
            let credentials = credentials(&stream);
            let service = service_fn(move |request| {
                let (cluster, credentials) = (cluster.clone(), credentials.clone());
                async move {
                    Ok::<_, std::convert::Infallible>(respond(cluster, credentials, request).await)
                }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            let connection = builder
                .serve_connection(TokioIo::new(stream), service)
                .into_owned();
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(error = %error, "a connection ended badly");
            }
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(DRAIN_MAX, graceful.shutdown()).await;
    controllers.abort();
}

fn credentials(stream: &tokio_rustls::server::TlsStream<tokio::net::TcpStream>) -> Credentials {
    let certificates = stream.get_ref().1.peer_certificates();
    let subject = certificates
        .and_then(|c| c.first())
        .and_then(|c| pki::subject(c));
    Credentials {
        certificate: subject.map(|s| Certificate {
            common_name: s.common_name,
            organizations: s.organizations,
            fingerprint: s.fingerprint,
        }),
    }
}

async fn respond(
    cluster: Cluster,
    credentials: Credentials,
    request: http::Request<Incoming>,
) -> http::Response<crate::answer::AnswerBody> {
    let (head, body) = request.into_parts();
    let body = match read(body).await {
        Ok(body) => body,
        Err(error) => {
            let reply = apiserver::Reply::Full(Response::error(&error));
            return crate::Answer::new(cluster, reply).into_http();
        }
    };
    let head_only = head.method == http::Method::HEAD;
    let request = Request {
        method: method(&head.method),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or("").to_owned(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.as_str().to_owned().into(),
                    String::from_utf8_lossy(value.as_bytes()).into_owned(),
                )
            })
            .collect(),
        body: body.into(),
        credentials,
    };
    let mut response = cluster.call(request).await.into_http();
    if head_only {
        *response.body_mut() = http_body_util::Empty::new().boxed_unsync();
    }
    response
}

async fn read(body: Incoming) -> Result<Bytes, ApiError> {
    let limited = Limited::new(body, BODY_MAX).collect().await;
    limited
        .map(http_body_util::Collected::to_bytes)
        .map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let message = format!("Request entity too large: limit is {BODY_MAX}");
                ApiError::new(413, Some(Reason::RequestEntityTooLarge), message)
            } else {
                ApiError::bad_request(format!("error reading the body: {error}"))
            }
        })
}

fn method(method: &http::Method) -> Method {
    match *method {
        http::Method::GET => Method::Get,
        http::Method::HEAD => Method::Head,
        http::Method::POST => Method::Post,
        http::Method::PUT => Method::Put,
        http::Method::PATCH => Method::Patch,
        http::Method::DELETE => Method::Delete,
        _ => Method::Other,
    }
}
