//! One request at a time: connections, proxies, redirects, limits.

use crate::url::Url;
use crate::{ARCHIVE_MAX, ChartsError, REQUEST_TIMEOUT, Repository, tls};
use base64::Engine as _;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many times an answer may send us on.
const REDIRECTS_MAX: usize = 10;
/// How long the answer of a proxy may be.
const PROXY_HEAD_MAX: usize = 8 * 1024;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

// What is sent besides the address and who we are.
struct Sent<'a> {
    method: Method,
    headers: &'a [(HeaderName, &'a str)],
    body: Bytes,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: HeaderName) -> &str {
        let value = self.headers.get(name);
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }
}

/// Sends requests as a repository wants them.
#[derive(Debug)]
pub(crate) struct Client {
    tls: Arc<ClientConfig>,
    proxy: Option<Url>,
    no_proxy: Vec<String>,
}

impl Client {
    pub(crate) fn new(repository: &Repository) -> Result<Self, ChartsError> {
        let proxy = match repository.proxy.as_str() {
            "" => None,
            proxy => Some(Url::parse(proxy)?),
        };
        let skipped = repository
            .no_proxy
            .split(',')
            .map(|host| host.trim().to_owned());
        Ok(Self {
            tls: tls::config(&repository.tls, &repository.url)?,
            proxy,
            no_proxy: skipped.filter(|host| !host.is_empty()).collect(),
        })
    }

    /// Something that a repository names: its credentials go along where they may.
    pub(crate) async fn archive(
        &self,
        repository: &Repository,
        url: &str,
    ) -> Result<Vec<u8>, ChartsError> {
        let target = Url::parse(url)?;
        let own = Url::parse(&repository.url).is_ok_and(|own| own.same_origin(&target));
        let authorization = if own || repository.pass_credentials {
            basic(repository)
        } else {
            None
        };
        let answer = self.get(&target, authorization, &[], ARCHIVE_MAX).await?;
        expect_ok(&target, &answer)?;
        Ok(answer.body)
    }

    /// Sends one request with a JSON body to the repository's own server.
    pub(crate) async fn call(
        &self,
        repository: &Repository,
        method: Method,
        url: &str,
        body: Vec<u8>,
    ) -> Result<Answer, ChartsError> {
        let url = Url::parse(url)?;
        let content = [(header::CONTENT_TYPE, "application/json")];
        let sent = Sent {
            method,
            headers: if body.is_empty() { &[] } else { &content },
            body: body.into(),
        };
        let authorization = basic(repository);
        let once = self.once(&url, authorization.as_deref(), &sent, ARCHIVE_MAX);
        tokio::time::timeout(REQUEST_TIMEOUT, once)
            .await
            .map_err(|_| unreachable(&url, "http", "it took too long"))?
    }

    /// Asks for something, and follows where the answer sends us.
    pub(crate) async fn get(
        &self,
        url: &Url,
        authorization: Option<String>,
        headers: &[(HeaderName, &str)],
        max: u64,
    ) -> Result<Answer, ChartsError> {
        let mut at = url.clone();
        let mut authorization = authorization;
        for _ in 0..=REDIRECTS_MAX {
            let sent = Sent {
                method: Method::GET,
                headers,
                body: Bytes::new(),
            };
            let once = self.once(&at, authorization.as_deref(), &sent, max);
            let answer = tokio::time::timeout(REQUEST_TIMEOUT, once)
                .await
                .map_err(|_| unreachable(&at, "http", "it took too long"))??;
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(answer);
            }
            let next = answer.header(header::LOCATION);
            let next = Url::parse(&crate::url::join(&at.to_string(), next))?;
            if !next.same_origin(&at) {
                // Who we are is nobody else's business.
                authorization = None;
            }
            at = next;
        }
        Err(unreachable(url, "http", "it sends us around in circles"))
    }

    async fn once(
        &self,
        url: &Url,
        authorization: Option<&str>,
        sent: &Sent<'_>,
        max: u64,
    ) -> Result<Answer, ChartsError> {
        let stream = self.connect(url).await?;
        let fault = |error: hyper::Error| unreachable(url, "http", &error.to_string());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(fault)?;
        let driver = tokio::spawn(connection);
        let mut request = Request::builder()
            .method(sent.method.clone())
            .uri(&url.target)
            .header(header::HOST, &url.authority)
            .header(header::USER_AGENT, "tiphys");
        for (name, value) in sent.headers {
            request = request.header(name, *value);
        }
        if let Some(authorization) = authorization {
            let mut value = HeaderValue::from_str(authorization).map_err(|_| {
                malformed(url, "the credentials have characters no header may have")
            })?;
            value.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, value);
        }
        let request = request
            .body(Full::new(sent.body.clone()))
            .map_err(|error| malformed(url, &error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(fault)?;
        let (parts, body) = answer.into_parts();
        let body = read(body, max, url).await;
        driver.abort();
        Ok(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: body?,
        })
    }

    async fn connect(&self, url: &Url) -> Result<Box<dyn Stream>, ChartsError> {
        let proxy = self
            .proxy
            .as_ref()
            .filter(|_| !self.skips_proxy(url.host()));
        let stream = match proxy {
            Some(proxy) => tunnel(proxy, url).await?,
            None => tcp(url, url.host(), url.port()).await?,
        };
        if !url.is_secure() {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(url.host().to_owned())
            .map_err(|error| unreachable(url, "tls", &error.to_string()))?;
        let connector = tokio_rustls::TlsConnector::from(self.tls.clone());
        let secure = connector
            .connect(name, stream)
            .await
            .map_err(|error| unreachable(url, "tls", &error.to_string()))?;
        Ok(Box::new(secure))
    }

    fn skips_proxy(&self, host: &str) -> bool {
        self.no_proxy.iter().any(|skipped| {
            let suffix = skipped.trim_start_matches('*').trim_start_matches('.');
            skipped == "*" || host == suffix || host.ends_with(&format!(".{suffix}"))
        })
    }
}

async fn tcp(url: &Url, host: &str, port: u16) -> Result<TcpStream, ChartsError> {
    let addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(|error| unreachable(url, "dns", &error.to_string()))?;
    let mut last = "the name has no address".to_owned();
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error.to_string(),
        }
    }
    Err(unreachable(url, "tcp", &last))
}

// A connection through a proxy, which sees nothing but the name of the host.
async fn tunnel(proxy: &Url, url: &Url) -> Result<TcpStream, ChartsError> {
    let mut stream = tcp(proxy, proxy.host(), proxy.port()).await?;
    let fault = |why: &str| unreachable(url, "proxy", why);
    let target = format!("{}:{}", url.host(), url.port());
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .map_err(|error| fault(&error.to_string()))?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > PROXY_HEAD_MAX {
            return Err(fault("its answer is too long"));
        }
        let byte = stream
            .read_u8()
            .await
            .map_err(|error| fault(&error.to_string()))?;
        head.push(byte);
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    if line.split(' ').nth(1) == Some("200") {
        Ok(stream)
    } else {
        Err(fault(line))
    }
}

async fn read(body: Incoming, max: u64, url: &Url) -> Result<Vec<u8>, ChartsError> {
    let mut body = body;
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unreachable(url, "http", &error.to_string()))?;
        if let Some(data) = frame.data_ref() {
            if (bytes.len() + data.len()) as u64 > max {
                return Err(ChartsError::TooLarge {
                    url: url.to_string(),
                    max,
                });
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(bytes)
}

/// The header that shows who we are, when we are somebody.
pub(crate) fn basic(repository: &Repository) -> Option<String> {
    if !repository.bearer.0.is_empty() {
        return Some(format!("Bearer {}", repository.bearer.0));
    }
    if repository.username.is_empty() && repository.password.0.is_empty() {
        return None;
    }
    let pair = format!("{}:{}", repository.username, repository.password.0);
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair);
    Some(format!("Basic {encoded}"))
}

pub(crate) fn expect_ok(url: &Url, answer: &Answer) -> Result<(), ChartsError> {
    let url = url.to_string();
    match answer.status {
        200 => Ok(()),
        status @ (401 | 403) => Err(ChartsError::Refused { url, status }),
        status => Err(ChartsError::Status { url, status }),
    }
}

fn unreachable(url: &Url, stage: &'static str, why: &str) -> ChartsError {
    ChartsError::Unreachable {
        url: url.to_string(),
        stage,
        why: why.to_owned(),
    }
}

pub(crate) fn malformed(url: &Url, why: &str) -> ChartsError {
    ChartsError::Malformed {
        url: url.to_string(),
        why: why.to_owned(),
    }
}
