//! The kubelet's own HTTPS server, as far as `kubectl logs` needs it.

use crate::lives::Lives;
use crate::time::now;
use crate::{NodeError, server_error};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kubelet::{LogCursor, LogOptions};
use model::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// A server that listens but does not serve yet.
pub(crate) struct Server {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    pub(crate) port: u16,
}

impl Server {
    /// Listens on a free port of loopback with a certificate of its own.
    pub(crate) async fn bind() -> Result<Self, NodeError> {
        let authority = pki::Authority::new(now()).map_err(server_error("make an authority"))?;
        let pair = authority
            .serving(&["127.0.0.1".into(), "localhost".into()], now())
            .map_err(server_error("make a certificate"))?;
        let certificates: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(pair.certificate_pem.as_bytes())
                .collect::<Result<_, _>>()
                .map_err(server_error("read the certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes())
            .map_err(server_error("read the key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(server_error("set up TLS"))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(server_error("set up TLS"))?;
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .map_err(server_error("listen on loopback"))?;
        let port = listener
            .local_addr()
            .map_err(server_error("listen on loopback"))?
            .port();
        Ok(Self {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            port,
        })
    }

    /// Serves until it is dropped.
    pub(crate) async fn serve(self, lives: Lives) {
        while let Ok((stream, _)) = self.listener.accept().await {
            let (acceptor, lives) = (self.acceptor.clone(), lives.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let service = service_fn(move |request: Request<Incoming>| {
                    let answer = answer(&lives, request.uri().path(), request.uri().query());
                    async move { Ok::<_, Infallible>(answer) }
                });
                // A connection that breaks is the client's business.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }
}

fn answer(lives: &Lives, path: &str, query: Option<&str>) -> Answer {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["healthz"] => text(StatusCode::OK, "ok"),
        ["containerLogs", namespace, pod, container] => {
            let key = ((*namespace).to_owned(), (*pod).to_owned());
            logs(lives, key, container, query.unwrap_or(""))
        }
        _ => text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
}

fn text(status: StatusCode, body: impl Into<String>) -> Answer {
    let body = Full::new(Bytes::from(body.into())).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

fn logs(lives: &Lives, key: (String, String), container: &str, query: &str) -> Answer {
    let (options, follow) = match options(query) {
        Ok(options) => options,
        Err(why) => return text(StatusCode::BAD_REQUEST, why),
    };
    match lives.log(&key, container, &options) {
        Err(why) => text(StatusCode::BAD_REQUEST, why),
        Ok(chunk) => match chunk.next.filter(|_| follow) {
            None => text(StatusCode::OK, chunk.text),
            Some(cursor) => {
                let (sender, receiver) = mpsc::channel(4);
                tokio::spawn(send_all(lives.clone(), key, chunk.text, cursor, sender));
                Response::new(Streamed { receiver }.boxed_unsync())
            }
        },
    }
}

async fn send_all(
    lives: Lives,
    key: (String, String),
    first: String,
    mut cursor: LogCursor,
    sender: mpsc::Sender<Bytes>,
) {
    let mut changes = lives.changes();
    // Something may have come since the first piece was read.
    changes.mark_changed();
    let mut text = first;
    loop {
        if !text.is_empty() && sender.send(Bytes::from(text)).await.is_err() {
            return;
        }
        tokio::select! {
            () = sender.closed() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        let chunk = lives.log_after(&key, &cursor);
        text = chunk.text;
        let Some(next) = chunk.next else {
            let _ = sender.send(Bytes::from(text)).await;
            return;
        };
        cursor = next;
    }
}

struct Streamed {
    receiver: mpsc::Receiver<Bytes>,
}

impl Body for Streamed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver
            .poll_recv(context)
            .map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes))))
    }
}

// The API server has checked the options: here they are only read.
fn options(query: &str) -> Result<(LogOptions, bool), String> {
    let mut options = LogOptions::default();
    let mut follow = false;
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let flag = matches!(value, "true" | "1");
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name}: {value:?} is not a number"))
        };
        match name {
            "follow" => follow = flag,
            "previous" => options.previous = flag,
            "timestamps" => options.timestamps = flag,
            "tailLines" => options.tail = Some(number()?),
            "limitBytes" => options.limit = Some(number()?),
            "sinceSeconds" => {
                let ago = i64::try_from(number()?).unwrap_or(i64::MAX / 2_000_000);
                options.since = Some(now().plus_seconds(-ago));
            }
            "sinceTime" => {
                let value = value.replace("%3A", ":").replace("%2B", "+");
                options.since = Timestamp::parse(&value);
            }
            _ => {}
        }
    }
    Ok((options, follow))
}
