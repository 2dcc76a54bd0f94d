//! HTTPS in front of a cluster.

use crate::clock;
use crate::cluster::Cluster;
use crate::error::StartError;
use apiserver::{Certificate, Credentials, Method, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
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
/// Of a larger body this much is read and thrown away, so that a client that writes before it
/// reads gets to see the refusal.
const REFUSED_BODY_MAX: u64 = 64 << 20;
/// How long a client may take to shake hands.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long a client may take to say what it wants, and how long a connection may lie idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(20);
/// How long a client may take to send a body; the real API server gives a request as long.
const BODY_TIME_MAX: Duration = Duration::from_secs(60);
/// How large the head of a request may be.
const HEAD_MAX: usize = 1 << 20;
/// How many headers a request may have.
const HEADERS_MAX: usize = 1_000;
/// How many requests one HTTP/2 connection may have open, watches included.
const STREAMS_MAX: u32 = 1_000;
/// How often an HTTP/2 connection is asked whether its other end is still there.
const PING_EVERY: Duration = Duration::from_secs(30);
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
    let graceful = GracefulShutdown::new();
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
            converse(cluster, stream, watcher).await;
        });
    }
    drop(listener);
    cluster.stop();
    let _ = tokio::time::timeout(DRAIN_MAX, graceful.shutdown()).await;
    controllers.abort();
}

type Stream = tokio_rustls::server::TlsStream<tokio::net::TcpStream>;

// Answers the requests of one connection until either side ends it.
async fn converse(cluster: Cluster, stream: Stream, watcher: Watcher) {
    let credentials = credentials(&stream);
    let speaks_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = service_fn(move |request| {
        let (cluster, credentials) = (cluster.clone(), credentials.clone());
        async move { Ok::<_, std::convert::Infallible>(respond(cluster, credentials, request).await) }
    });
    let stream = TokioIo::new(stream);
    let ended = if speaks_http2 {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEAD_MAX as u32);
        watcher
            .watch(builder.serve_connection(stream, service))
            .await
    } else {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_MAX);
        watcher
            .watch(builder.serve_connection(stream, service))
            .await
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

fn credentials(stream: &Stream) -> Credentials {
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
    if !is_sound(head.uri.path()) {
        let reply = apiserver::Reply::Full(Response::text(400, "400 Bad Request"));
        return crate::Answer::new(cluster, reply).into_http();
    }
    let read = tokio::time::timeout(BODY_TIME_MAX, read(body)).await;
    let body = match read.unwrap_or_else(|_| Err(too_slow())) {
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

// Whether a path starts where paths start and has no broken escapes.
fn is_sound(path: &str) -> bool {
    let mut escapes = path.split('%').skip(1).map(str::as_bytes);
    let whole = |rest: &[u8]| rest.len() >= 2 && rest[..2].iter().all(u8::is_ascii_hexdigit);
    path.starts_with('/') && escapes.all(whole)
}

async fn read(mut body: Incoming) -> Result<Bytes, ApiError> {
    let said = body.size_hint().lower();
    if said > BODY_MAX as u64 {
        if said <= REFUSED_BODY_MAX {
            skip(body).await;
        }
        return Err(too_large());
    }
    match Limited::new(&mut body, BODY_MAX).collect().await {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => {
            skip(body).await;
            Err(too_large())
        }
        Err(error) => Err(ApiError::bad_request(format!(
            "error reading the body: {error}"
        ))),
    }
}

// Reads what is left of a body that is refused.
async fn skip(mut body: Incoming) {
    let mut skipped = 0;
    while let Some(Ok(frame)) = body.frame().await {
        skipped += frame.data_ref().map_or(0, |data| data.len() as u64);
        if skipped > REFUSED_BODY_MAX {
            return;
        }
    }
}

fn too_large() -> ApiError {
    let message = format!("Request entity too large: limit is {BODY_MAX}");
    ApiError::new(413, Some(Reason::RequestEntityTooLarge), message)
}

fn too_slow() -> ApiError {
    let message = "Timeout: request did not complete within the allotted timeout";
    ApiError::new(504, Some(Reason::Timeout), message)
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
