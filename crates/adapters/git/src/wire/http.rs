//! Just enough HTTP/1.1 for Git: requests with a length, answers of any framing, one connection
//! that is used again, proxies, and a bound on every wait.

use super::Operation;
use super::connect::{self, Timed, kept};
use super::tls::{self, Secure};
use crate::url::{RepoUrl, Scheme};
use crate::{GitError, Stage};
use base64::Engine as _;
use std::cell::RefCell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

/// How large the head of an answer may be.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How much of an answer we show to people.
const SHOWN_BYTES_MAX: u64 = 400;

/// A client for one operation.
pub(crate) struct Client {
    operation: Arc<Operation>,
    idle: Rc<RefCell<Option<Connection>>>,
}

/// A request that fits into memory.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    /// Scheme, host and port come from here.
    pub(crate) origin: &'a RepoUrl,
    /// Path and query.
    pub(crate) target: &'a str,
    pub(crate) headers: &'a [String],
    pub(crate) body: &'a [u8],
}

/// The answer; its body is read from it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
}

struct Connection {
    reader: BufReader<Wire>,
    // Scheme, host and port, so that it is used again only for the same.
    key: String,
}

enum Wire {
    Plain(Timed),
    Secure(Box<Secure>),
}

/// The bytes of an answer; gives the connection back when they are read to the end.
pub(crate) struct Body {
    connection: Option<Connection>,
    framing: Framing,
    back: Option<Rc<RefCell<Option<Connection>>>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Length(u64),
    // What is left of the chunk, and whether one was begun.
    Chunk { left: u64, begun: bool },
    UntilClose,
    Done,
}

impl Client {
    pub(crate) fn new(operation: Arc<Operation>) -> Self {
        Self {
            operation,
            idle: Rc::default(),
        }
    }

    /// Sends a request and reads the head of its answer.
    pub(crate) fn send(&mut self, request: &Request<'_>) -> Result<Answer, GitError> {
        self.operation.count_request();
        let key = format!(
            "{} {}",
            request.origin.scheme.word(),
            request.origin.authority_text()
        );
        let used = self.idle.borrow_mut().take().filter(|c| c.key == key);
        if let Some(connection) = used {
            // The server may have hung up meanwhile: then a fresh connection is used.
            if let Ok(answer) = self.exchange(connection, request) {
                return Ok(answer);
            }
            if let Some(failure) = self.operation.failure() {
                return Err(failure);
            }
        }
        let connection = self.open(request.origin, key)?;
        self.exchange(connection, request).map_err(|error| {
            self.operation.failure().unwrap_or_else(|| {
                self.operation
                    .unreachable(&request.origin.authority_text(), Stage::Stream, error)
            })
        })
    }

    fn open(&self, origin: &RepoUrl, key: String) -> Result<Connection, GitError> {
        let operation = &self.operation;
        let secure = origin.scheme == Scheme::Https;
        let socket = match proxy(operation, &origin.host) {
            Some(proxy) => {
                let proxy = proxy?;
                let socket = connect::tcp(operation, &proxy.host, proxy.port_or_default())?;
                if secure {
                    self.tunnel(&proxy, origin, socket)?
                } else {
                    socket
                }
            }
            None => connect::tcp(operation, &origin.host, origin.port_or_default())?,
        };
        let wire = if secure {
            Wire::Secure(Box::new(tls::secure(operation, &origin.host, socket)?))
        } else {
            Wire::Plain(socket)
        };
        Ok(Connection {
            reader: BufReader::with_capacity(64 * 1024, wire),
            key,
        })
    }

    // Asks a proxy for a way through to the host.
    fn tunnel(
        &self,
        proxy: &RepoUrl,
        origin: &RepoUrl,
        mut socket: Timed,
    ) -> Result<Timed, GitError> {
        let to = format!("{}:{}", origin.host_text(), origin.port_or_default());
        let failed = |says: String| {
            self.operation
                .unreachable(&proxy.authority_text(), Stage::Proxy, says)
        };
        let mut head = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
        head.push_str(&proxy_authorization(proxy));
        head.push_str("\r\n");
        let answer = socket
            .write_all(head.as_bytes())
            .and_then(|()| read_head_unbuffered(&mut socket));
        let (status, _) = answer.and_then(|head| parse_head(&head)).map_err(|e| {
            self.operation
                .failure()
                .unwrap_or_else(|| failed(e.to_string()))
        })?;
        if status != 200 {
            return Err(failed(format!(
                "the proxy answered {status} to CONNECT {to}"
            )));
        }
        Ok(socket)
    }

    fn exchange(&self, mut connection: Connection, request: &Request<'_>) -> io::Result<Answer> {
        let head = self.head(request);
        let wire = connection.reader.get_mut();
        wire.write_all(head.as_bytes())?;
        wire.write_all(request.body)?;
        wire.flush()?;
        loop {
            let head = read_head(&mut connection.reader)?;
            let (status, headers) = parse_head(&head)?;
            if (100..200).contains(&status) {
                continue;
            }
            let (framing, keep) = framing(status, &headers);
            let mut body = Body {
                connection: Some(connection),
                framing,
                back: keep.then(|| Rc::clone(&self.idle)),
            };
            body.give_back();
            return Ok(Answer {
                status,
                headers,
                body,
            });
        }
    }

    fn head(&self, request: &Request<'_>) -> String {
        let authority = request.origin.authority_text();
        let plain_proxy = (request.origin.scheme == Scheme::Http)
            .then(|| proxy(&self.operation, &request.origin.host))
            .flatten()
            .and_then(Result::ok);
        let target = match &plain_proxy {
            Some(_) => format!("http://{authority}{}", request.target),
            None => request.target.to_owned(),
        };
        let mut head = format!(
            "{} {target} HTTP/1.1\r\nHost: {authority}\r\n",
            request.method
        );
        for header in request.headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        if let Some(proxy) = &plain_proxy {
            head.push_str(&proxy_authorization(proxy));
        }
        if request.method != "GET" {
            head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
        }
        head.push_str("\r\n");
        head
    }
}

impl Answer {
    /// The first header of a name, written in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The status and the beginning of a plain answer, for people.
    pub(crate) fn words(&mut self) -> String {
        let status = self.status;
        let plain = self
            .header("content-type")
            .is_some_and(|t| t.starts_with("text/plain"));
        if !plain {
            return format!("http {status}");
        }
        let mut text = String::new();
        let mut shown = (&mut self.body).take(SHOWN_BYTES_MAX);
        if shown.read_to_string(&mut text).is_err() {
            text.clear();
        }
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        line.map_or_else(
            || format!("http {status}"),
            |line| format!("http {status}: {line}"),
        )
    }
}

/// What `Authorization` says for a credential, when it says anything over HTTP.
pub(crate) fn authorization(operation: &Operation) -> Option<String> {
    let credential = &operation.access.credential;
    if !credential.bearer.is_empty() {
        return Some(format!(
            "Authorization: Bearer {}",
            credential.bearer.reveal()
        ));
    }
    if credential.password.is_empty() && credential.username.is_empty() {
        return None;
    }
    Some(basic(
        "Authorization",
        &credential.username,
        credential.password.reveal(),
    ))
}

fn basic(header: &str, user: &str, password: &str) -> String {
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
    format!("{header}: Basic {pair}")
}

fn proxy_authorization(proxy: &RepoUrl) -> String {
    let Some(user) = &proxy.user else {
        return String::new();
    };
    let password = proxy.password.as_deref().unwrap_or_default();
    format!("{}\r\n", basic("Proxy-Authorization", user, password))
}

// The proxy for a host, when there is one and the host is not exempt.
fn proxy(operation: &Operation, host: &str) -> Option<Result<RepoUrl, GitError>> {
    let access = &operation.access;
    if access.proxy.is_empty() || is_exempt(&access.no_proxy, host) {
        return None;
    }
    let failed = |says: &str| operation.unreachable("proxy", Stage::Proxy, says);
    // A proxy has no path; our addresses want one.
    let text = if access.proxy.contains("://") {
        format!("{}/-", access.proxy.trim_end_matches('/'))
    } else {
        format!("http://{}/-", access.proxy.trim_end_matches('/'))
    };
    Some(match RepoUrl::parse(&text) {
        Ok(url) if url.scheme == Scheme::Http => Ok(url),
        Ok(url) => Err(failed(&format!(
            "a proxy at {}:// is not supported, only http://",
            url.scheme.word()
        ))),
        Err(_) => Err(failed("the address of the proxy is none")),
    })
}

fn is_exempt(no_proxy: &str, host: &str) -> bool {
    no_proxy
        .split([',', ' '])
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .any(|pattern| {
            let pattern = pattern
                .split_once(':')
                .map_or(pattern, |(name, _)| name)
                .to_ascii_lowercase();
            let tail = pattern.trim_start_matches('*').trim_start_matches('.');
            pattern == "*"
                || host == tail
                || host
                    .strip_suffix(tail)
                    .is_some_and(|rest| rest.ends_with('.'))
        })
}

fn read_head(reader: &mut impl BufRead) -> io::Result<String> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        let room = (HEAD_BYTES_MAX - before) as u64;
        reader.by_ref().take(room).read_until(b'\n', &mut head)?;
        let line = &head[before..];
        if line == b"\r\n" || line == b"\n" {
            return text(head);
        }
        if !line.ends_with(b"\n") {
            let why = if before == 0 && line.is_empty() {
                "the server hung up without an answer"
            } else {
                "the head of the answer is broken off or too long"
            };
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
    }
}

// Before a tunnel stands, not a byte behind the head may be taken from the socket.
fn read_head_unbuffered(socket: &mut Timed) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX || socket.read(&mut byte)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the proxy hung up",
            ));
        }
        head.push(byte[0]);
    }
    text(head)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).or_else(|e| Ok(String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn parse_head(head: &str) -> io::Result<(u16, Vec<(String, String)>)> {
    let broken = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "what came is not an answer of HTTP",
        )
    };
    let mut lines = head.lines();
    let first = lines.next().ok_or_else(broken)?;
    let mut words = first.split_ascii_whitespace();
    let version = words.next().ok_or_else(broken)?;
    if !version.starts_with("HTTP/1.") {
        return Err(broken());
    }
    let status = words
        .next()
        .and_then(|w| w.parse().ok())
        .ok_or_else(broken)?;
    let mut headers = vec![(":version".to_owned(), version.to_owned())];
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(broken)?;
        headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok((status, headers))
}

fn framing(status: u16, headers: &[(String, String)]) -> (Framing, bool) {
    let of = |name: &str| {
        headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.to_ascii_lowercase())
    };
    let modern = of(":version").is_some_and(|v| v == "http/1.1");
    let keep = match of("connection") {
        Some(word) => !word.contains("close") && (modern || word.contains("keep-alive")),
        None => modern,
    };
    if status == 204 || status == 304 {
        return (Framing::Done, keep);
    }
    if of("transfer-encoding").is_some_and(|v| v.contains("chunked")) {
        return (
            Framing::Chunk {
                left: 0,
                begun: false,
            },
            keep,
        );
    }
    match of("content-length").and_then(|v| v.parse().ok()) {
        Some(0) => (Framing::Done, keep),
        Some(length) => (Framing::Length(length), keep),
        None => (Framing::UntilClose, false),
    }
}

impl Body {
    fn give_back(&mut self) {
        if self.framing == Framing::Done
            && let Some(connection) = self.connection.take()
            && let Some(back) = self.back.take()
        {
            *back.borrow_mut() = Some(connection);
        }
    }

    // Moves to the next bytes that belong to the body.
    fn settle(&mut self) -> io::Result<()> {
        if let Framing::Chunk { left: 0, begun } = self.framing {
            let connection = self
                .connection
                .as_mut()
                .ok_or(io::ErrorKind::UnexpectedEof)?;
            self.framing = next_chunk(&mut connection.reader, begun)?;
        }
        self.give_back();
        Ok(())
    }
}

fn next_chunk(reader: &mut BufReader<Wire>, begun: bool) -> io::Result<Framing> {
    if begun {
        short_line(reader)?;
    }
    let line = short_line(reader)?;
    let digits = line.split(';').next().unwrap_or_default().trim();
    let size = u64::from_str_radix(digits, 16).map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "a chunk of the answer has no size",
        )
    })?;
    if size > 0 {
        return Ok(Framing::Chunk {
            left: size,
            begun: true,
        });
    }
    // Trailers, up to an empty line.
    let mut seen = 0;
    loop {
        let line = short_line(reader)?;
        seen += line.len();
        if line.trim().is_empty() || seen > HEAD_BYTES_MAX {
            return Ok(Framing::Done);
        }
    }
}

fn short_line(reader: &mut BufReader<Wire>) -> io::Result<String> {
    const LINE_BYTES_MAX: u64 = 8 * 1024;
    let mut line = Vec::new();
    reader
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut line)?;
    if !line.ends_with(b"\n") {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the answer broke off",
        ));
    }
    text(line)
}

impl BufRead for Body {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.settle()?;
        let Some(connection) = self.connection.as_mut() else {
            return Ok(&[]);
        };
        let limit = match self.framing {
            Framing::Length(left) | Framing::Chunk { left, .. } => left,
            Framing::UntilClose => u64::MAX,
            Framing::Done => 0,
        };
        if limit == 0 {
            return Ok(&[]);
        }
        let bytes = connection.reader.fill_buf()?;
        if bytes.is_empty() && self.framing != Framing::UntilClose {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the answer broke off",
            ));
        }
        let shown = bytes
            .len()
            .min(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(&bytes[..shown])
    }

    fn consume(&mut self, count: usize) {
        if let Some(connection) = self.connection.as_mut() {
            connection.reader.consume(count);
        }
        let count = count as u64;
        self.framing = match self.framing {
            Framing::Length(left) if left <= count => Framing::Done,
            Framing::Length(left) => Framing::Length(left - count),
            Framing::Chunk { left, begun } => Framing::Chunk {
                left: left.saturating_sub(count),
                begun,
            },
            other => other,
        };
        self.give_back();
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Secure(stream) => match stream.read(buffer) {
                // Many servers close without saying goodbye; lengths and packs are checked anyway.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}

/// The failure of an operation, or else what broke.
pub(crate) fn failure(operation: &Operation, error: &io::Error) -> GitError {
    if operation.failure().is_some() {
        return kept(operation);
    }
    operation.unreachable(&operation.url.authority_text(), Stage::Stream, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_exempt_from_a_proxy_by_name_or_by_ending() {
        for (no_proxy, host, expected) in [
            ("", "h", false),
            ("*", "h", true),
            ("git.example", "git.example", true),
            (".example", "git.example", true),
            ("example", "git.example", true),
            ("*.example", "git.example", true),
            ("ample", "git.example", false),
            ("a, git.example:443", "git.example", true),
        ] {
            assert_eq!(is_exempt(no_proxy, host), expected, "{no_proxy} {host}");
        }
    }

    #[test]
    fn answers_are_framed_by_length_by_chunks_or_by_the_end() {
        let of = |head: &str| {
            let (status, headers) = parse_head(head).unwrap();
            format!("{:?}", framing(status, &headers))
        };
        assert_eq!(
            of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            "(Length(5), true)"
        );
        assert_eq!(of("HTTP/1.1 204 x\r\n\r\n"), "(Done, true)");
        assert_eq!(of("HTTP/1.0 200 OK\r\n\r\n"), "(UntilClose, false)");
        assert_eq!(
            of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"),
            "(Chunk { left: 0, begun: false }, false)"
        );
        assert!(parse_head("SSH-2.0-OpenSSH\r\n\r\n").is_err());
        assert!(parse_head("HTTP/1.1 nope\r\n\r\n").is_err());
        assert!(parse_head("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").is_err());
    }
}
