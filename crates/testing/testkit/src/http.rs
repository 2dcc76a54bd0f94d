//! A blocking HTTPS/1.1 client: one request, one whole answer, a deadline.
//!
//! Takes the address, the authority's certificate and a bearer token of an API server; gives
//! status, headers and body. Connections are kept and used again.

use crate::wire;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most idle connections a client keeps.
const IDLE_MAX: usize = 8;
/// How long an answer may take unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address is not one this client understands.
    #[error("`{0}` is not an address of the form `https://host:port`")]
    Address(String),
    /// The certificate of the authority cannot be read.
    #[error("the authority's certificate cannot be used: {0}")]
    Authority(String),
    /// The connection failed or was cut.
    #[error("`{url}` did not answer {what}")]
    Connection {
        /// Where we asked.
        url: String,
        /// What we asked for.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// What to ask.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path with query.
    pub path: String,
    /// Headers besides Host, Authorization and Content-Length.
    pub headers: Vec<(String, String)>,
    /// Body; may be empty.
    pub body: Vec<u8>,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            ..Self::default()
        }
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a JSON body and its Content-Type.
    #[must_use]
    pub fn json(mut self, body: &serde_json::Value) -> Self {
        self.body = body.to_string().into_bytes();
        self.header("Content-Type", "application/json")
    }
}

/// What was answered.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// Headers in the order they came.
    pub headers: Vec<(String, String)>,
    /// Body, without chunk framing.
    pub body: Vec<u8>,
    /// Whether the body came to its end; false when a watch was cut at the deadline.
    pub complete: bool,
}

impl Response {
    /// The first header of that name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The body as text, with replacements for what is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; `None` when it is something else.
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

pub(crate) type Stream = StreamOwned<ClientConnection, TcpStream>;

/// A client of one server as one user.
#[derive(Debug)]
pub struct Client {
    url: String,
    host: String,
    port: u16,
    tls: Arc<ClientConfig>,
    token: Option<String>,
    idle: Mutex<Vec<Stream>>,
}

impl Client {
    /// A client for `https://host:port` that trusts the given authority alone.
    pub fn new(url: &str, ca_pem: &str, token: Option<&str>) -> Result<Self, HttpError> {
        let (host, port) = split_address(url)?;
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            host,
            port,
            tls: Arc::new(tls_config(ca_pem)?),
            token: token.map(str::to_owned),
            idle: Mutex::default(),
        })
    }

    /// The same server as another user; `None` is nobody at all.
    #[must_use]
    pub fn with_token(&self, token: Option<&str>) -> Self {
        Self {
            url: self.url.clone(),
            host: self.host.clone(),
            port: self.port,
            tls: Arc::clone(&self.tls),
            token: token.map(str::to_owned),
            idle: Mutex::default(),
        }
    }

    /// Sends a request and waits for the whole answer.
    pub fn send(&self, request: &Request) -> Result<Response, HttpError> {
        self.send_within(request, PATIENCE)
    }

    /// Asks for a path.
    pub fn get(&self, path: &str) -> Result<Response, HttpError> {
        self.send(&Request::new("GET", path))
    }

    /// Sends a request; a body that is still flowing when the time is over is returned as far as
    /// it came.
    pub fn send_within(&self, request: &Request, time: Duration) -> Result<Response, HttpError> {
        let until = Instant::now() + time;
        let kept = self.idle().pop();
        let first = kept.map(|stream| self.exchange(stream, request, until));
        let answer = match first {
            // A kept connection may have been closed by the server meanwhile.
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) if error.kind() == io::ErrorKind::TimedOut => Err(error),
            Some(Err(_)) | None => self
                .connect(until)
                .and_then(|stream| self.exchange(stream, request, until)),
        };
        answer.map_err(|source| HttpError::Connection {
            url: self.url.clone(),
            what: format!("{} {}", request.method, request.path),
            source,
        })
    }

    /// Asks for a path whose answer is a stream of lines, as a watch is, and hands over each line
    /// as it comes until `each` says no, the stream ends or the time is over. Gives the status.
    pub fn follow(
        &self,
        path: &str,
        time: Duration,
        each: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<u16, HttpError> {
        let until = Instant::now() + time;
        let request = Request::new("GET", path);
        let authority = format!("{}:{}", self.host, self.port);
        let followed = self.connect(until).and_then(|mut stream| {
            wire::write_request(&mut stream, &authority, self.token.as_deref(), &request)?;
            wire::read_lines(&mut stream, until, each)
        });
        followed.map_err(|source| HttpError::Connection {
            url: self.url.clone(),
            what: format!("GET {path}"),
            source,
        })
    }

    fn exchange(
        &self,
        mut stream: Stream,
        request: &Request,
        until: Instant,
    ) -> io::Result<Response> {
        let authority = format!("{}:{}", self.host, self.port);
        wire::write_request(&mut stream, &authority, self.token.as_deref(), request)?;
        let (answer, reusable) = wire::read_response(&mut stream, &request.method, until)?;
        let mut idle = self.idle();
        if reusable && idle.len() < IDLE_MAX {
            idle.push(stream);
        }
        Ok(answer)
    }

    fn connect(&self, until: Instant) -> io::Result<Stream> {
        let socket = TcpStream::connect((self.host.as_str(), self.port))?;
        socket.set_nodelay(true)?;
        wire::limit(&socket, until)?;
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let tls = ClientConnection::new(Arc::clone(&self.tls), name).map_err(io::Error::other)?;
        Ok(StreamOwned::new(tls, socket))
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Stream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn split_address(url: &str) -> Result<(String, u16), HttpError> {
    let bad = || HttpError::Address(url.to_owned());
    let rest = url.strip_prefix("https://").ok_or_else(bad)?;
    let rest = rest.trim_end_matches('/');
    let (host, port) = rest.rsplit_once(':').ok_or_else(bad)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok((host.to_owned(), port.parse().map_err(|_| bad())?))
}

fn tls_config(ca_pem: &str) -> Result<ClientConfig, HttpError> {
    let bad = |e: &dyn std::fmt::Display| HttpError::Authority(e.to_string());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        let certificate = certificate.map_err(|e| bad(&e))?;
        roots.add(certificate).map_err(|e| bad(&e))?;
    }
    if roots.is_empty() {
        return Err(bad(&"no certificate in the text"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| bad(&e))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_https_with_a_port() {
        let split = |url| split_address(url).ok();
        assert_eq!(
            split("https://127.0.0.1:6443"),
            Some(("127.0.0.1".into(), 6443))
        );
        assert_eq!(split("https://[::1]:6443/"), Some(("::1".into(), 6443)));
        assert_eq!(split("http://127.0.0.1:6443"), None);
        assert_eq!(split("https://127.0.0.1"), None);
    }
}
