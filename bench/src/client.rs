//! A lean HTTP/1.1 client over TLS: one connection, one request at a time, no copies to speak of.
//!
//! The point is to measure the server, so it does as little as it can: bodies come back as bytes and nothing
//! is parsed.

use crate::error::BenchError;
use crate::target::Target;
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest answer head and longest line of a watch.
const HEAD_MAX: usize = 64 << 10;
const LINE_MAX: usize = 8 << 20;
const BODY_MAX: usize = 256 << 20;

/// One request.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    pub(crate) content_type: &'static str,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self {
            method: "GET",
            path,
            content_type: "",
            body: b"",
        }
    }

    pub(crate) fn delete(path: &'a str) -> Self {
        Self {
            method: "DELETE",
            ..Self::get(path)
        }
    }

    pub(crate) fn post(path: &'a str, body: &'a [u8]) -> Self {
        Self {
            method: "POST",
            path,
            content_type: "application/json",
            body,
        }
    }

    pub(crate) fn merge_patch(path: &'a str, body: &'a [u8]) -> Self {
        Self {
            method: "PATCH",
            path,
            content_type: "application/merge-patch+json",
            body,
        }
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// How the body of an answer is delimited.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Length(usize),
    Chunked,
}

/// A connection that is kept for many requests.
pub(crate) struct Connection {
    stream: TlsStream<TcpStream>,
    target: Target,
    /// Bytes that were read and not used yet.
    buffer: Vec<u8>,
    start: usize,
    out: Vec<u8>,
}

impl Connection {
    /// Connects to the server.
    pub(crate) async fn open(target: &Target) -> Result<Self, BenchError> {
        let fault = |source| BenchError::Network {
            what: "connect to",
            server: target.authority.clone(),
            source,
        };
        let tcp = TcpStream::connect(&target.authority).await.map_err(fault)?;
        tcp.set_nodelay(true).map_err(fault)?;
        let connector = TlsConnector::from(target.tls.clone());
        let stream = connector
            .connect(target.name.clone(), tcp)
            .await
            .map_err(fault)?;
        Ok(Self {
            stream,
            target: target.clone(),
            buffer: Vec::new(),
            start: 0,
            out: Vec::new(),
        })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, request: Request<'_>) -> Result<Answer, BenchError> {
        self.exchange(request)
            .await
            .map_err(|source| self.fault(source))
    }

    /// Sends a request that must succeed.
    pub(crate) async fn expect(&mut self, request: Request<'_>) -> Result<Vec<u8>, BenchError> {
        let answer = self.send(request).await?;
        if (200..300).contains(&answer.status) {
            return Ok(answer.body);
        }
        Err(refused(request, &answer))
    }

    /// Starts a watch; its lines come from [`Connection::line`].
    pub(crate) async fn watch(&mut self, path: &str) -> Result<(), BenchError> {
        let request = Request::get(path);
        let begin = async {
            self.write(request).await?;
            self.head().await
        };
        let (status, framing) = begin.await.map_err(|source| self.fault(source))?;
        if status == 200 && framing == Framing::Chunked {
            return Ok(());
        }
        let mut body = Vec::new();
        self.body(framing, &mut body)
            .await
            .map_err(|source| self.fault(source))?;
        Err(refused(request, &Answer { status, body }))
    }

    /// Appends the next part of a watch's answer; `false` at its end.
    pub(crate) async fn part(&mut self, out: &mut Vec<u8>) -> Result<bool, BenchError> {
        self.chunk(out, LINE_MAX)
            .await
            .map_err(|source| self.fault(source))
    }

    fn fault(&self, source: io::Error) -> BenchError {
        BenchError::Network {
            what: "talk to",
            server: self.target.authority.clone(),
            source,
        }
    }

    async fn exchange(&mut self, request: Request<'_>) -> io::Result<Answer> {
        self.write(request).await?;
        let (status, framing) = self.head().await?;
        let mut body = Vec::new();
        self.body(framing, &mut body).await?;
        Ok(Answer { status, body })
    }

    async fn write(&mut self, request: Request<'_>) -> io::Result<()> {
        let Request {
            method,
            path,
            content_type,
            body,
        } = request;
        self.out.clear();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{}Accept: application/json\r\nUser-Agent: tiphys-bench\r\n",
            self.target.authority, self.target.authorization
        );
        self.out.extend_from_slice(head.as_bytes());
        if !content_type.is_empty() {
            let body_head = format!(
                "Content-Type: {content_type}\r\nContent-Length: {}\r\n",
                body.len()
            );
            self.out.extend_from_slice(body_head.as_bytes());
        }
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(body);
        self.stream.write_all(&self.out).await?;
        self.stream.flush().await
    }

    async fn head(&mut self) -> io::Result<(u16, Framing)> {
        let end = loop {
            let held = &self.buffer[self.start..];
            if let Some(end) = find(held, b"\r\n\r\n") {
                break end;
            }
            if held.len() > HEAD_MAX {
                return Err(invalid("the head of the answer does not end"));
            }
            self.fill().await?;
        };
        let parsed = parse_head(&self.buffer[self.start..self.start + end]);
        self.start += end + 4;
        parsed.ok_or_else(|| invalid("the head of the answer is not HTTP"))
    }

    async fn body(&mut self, framing: Framing, out: &mut Vec<u8>) -> io::Result<()> {
        match framing {
            Framing::Length(length) if length > BODY_MAX => Err(invalid("the answer is too long")),
            Framing::Length(length) => self.take(length, out).await,
            Framing::Chunked => {
                while self.chunk(out, BODY_MAX).await? {}
                Ok(())
            }
        }
    }

    /// Appends one chunk; `false` when it was the last.
    async fn chunk(&mut self, out: &mut Vec<u8>, max: usize) -> io::Result<bool> {
        let end = loop {
            if let Some(end) = find(&self.buffer[self.start..], b"\r\n") {
                break end;
            }
            self.fill().await?;
        };
        let line = &self.buffer[self.start..self.start + end];
        let length = std::str::from_utf8(line).ok();
        let length = length.and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        let length = length.ok_or_else(|| invalid("a chunk has no length"))?;
        if out.len() + length > max {
            return Err(invalid("the answer is too long"));
        }
        self.start += end + 2;
        self.take(length, out).await?;
        let mut mark = Vec::new();
        self.take(2, &mut mark).await?;
        Ok(length > 0)
    }

    /// Moves exactly `length` bytes to `out`.
    async fn take(&mut self, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        while self.buffer.len() - self.start < length {
            self.fill().await?;
        }
        out.extend_from_slice(&self.buffer[self.start..self.start + length]);
        self.start += length;
        Ok(())
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.reserve(16 << 10);
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn refused(request: Request<'_>, answer: &Answer) -> BenchError {
    let body = String::from_utf8_lossy(&answer.body);
    BenchError::Refused {
        request: format!("{} {}", request.method, request.path),
        status: answer.status,
        body: body.chars().take(300).collect(),
    }
}

/// Status and framing of an answer's head, without its final empty line.
fn parse_head(head: &[u8]) -> Option<(u16, Framing)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()?
        .strip_prefix("HTTP/1.1 ")?
        .get(..3)?
        .parse()
        .ok()?;
    let mut framing = Framing::Length(0);
    for line in lines {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.trim().parse().ok()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
        }
    }
    Some((status, framing))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_status_and_framing() {
        let check = |head: &str, wanted| assert_eq!(parse_head(head.as_bytes()), wanted);
        check(
            "HTTP/1.1 201 Created\r\ncontent-length: 12",
            Some((201, Framing::Length(12))),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked",
            Some((200, Framing::Chunked)),
        );
        check("HTTP/1.1 204 No Content", Some((204, Framing::Length(0))));
        check("HTTP/2 200", None);
        check("HTTP/1.1 200 OK\r\nContent-Length: many", None);
    }
}
