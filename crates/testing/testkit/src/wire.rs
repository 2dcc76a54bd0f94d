//! HTTP/1.1 on the wire, both sides: requests out and answers in for the client, the reverse for
//! the webhook server.

use crate::http::{Request, Response, Stream};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longest head (status line and headers) we read.
const HEAD_MAX: usize = 64 * 1024;
/// Longest body we read.
const BODY_MAX: usize = 256 * 1024 * 1024;

/// Makes reads of the socket end at the deadline.
pub(crate) fn limit(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let left = left.max(Duration::from_millis(1));
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

pub(crate) fn write_request(
    stream: &mut impl Write,
    authority: &str,
    token: Option<&str>,
    request: &Request,
) -> io::Result<()> {
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    head.push_str(&format!("Host: {authority}\r\n"));
    if let Some(token) = token {
        head.push_str(&format!("Authorization: Bearer {token}\r\n"));
    }
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let bodied = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if bodied || !request.body.is_empty() {
        head.push_str(&format!("Content-Length: {}\r\n", request.body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&request.body);
    stream.write_all(&bytes)?;
    stream.flush()
}

/// Reads one answer; also says whether the connection can be used again.
pub(crate) fn read_response(
    stream: &mut Stream,
    method: &str,
    until: Instant,
) -> io::Result<(Response, bool)> {
    let mut input = Input {
        stream,
        until,
        buffer: Vec::new(),
        at: 0,
    };
    let mut answer = read_head(&mut input)?;
    let bodiless = method == "HEAD" || matches!(answer.status, 100..=199 | 204 | 304);
    let closes = answer
        .header("Connection")
        .is_some_and(|v| v.eq_ignore_ascii_case("close"));
    let length = answer.header("Content-Length").map(str::to_owned);
    let chunked = answer
        .header("Transfer-Encoding")
        .is_some_and(|v| v.eq_ignore_ascii_case("chunked"));
    let ended = if bodiless {
        Ok(())
    } else if chunked {
        read_chunks(&mut input, &mut answer.body)
    } else if let Some(length) = length {
        let length = length.trim().parse().map_err(|_| invalid("length"))?;
        read_exactly(&mut input, length, &mut answer.body)
    } else {
        read_to_end(&mut input, &mut answer.body)
    };
    match ended {
        Ok(()) => answer.complete = true,
        Err(error) if is_timeout(&error) => {}
        Err(error) => return Err(error),
    }
    let reusable = answer.complete && !closes && (chunked || bodiless || has_length(&answer));
    Ok((answer, reusable))
}

/// Reads an answer whose body is chunked lines, handing over each line as it comes; gives the
/// status, and no line of an answer that is not 200. Ends when the body ends, the time is over or the reader has had enough.
pub(crate) fn read_lines(
    stream: &mut Stream,
    until: Instant,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<u16> {
    let mut input = Input {
        stream,
        until,
        buffer: Vec::new(),
        at: 0,
    };
    let head = read_head(&mut input)?;
    if head.status != 200 {
        return Ok(head.status);
    }
    match chunked_lines(&mut input, each) {
        Err(error) if !is_timeout(&error) => Err(error),
        _ => Ok(head.status),
    }
}

fn chunked_lines<S: Read + Timed>(
    input: &mut Input<'_, S>,
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    let mut pending = Vec::new();
    loop {
        let line = input.line()?;
        let size = line.split(';').next().unwrap_or("").trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| invalid("chunk size"))?;
        if size == 0 {
            return Ok(());
        }
        read_exactly(input, size, &mut pending)?;
        input.line()?;
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let rest = pending.split_off(end + 1);
            if !each(&pending[..end]) {
                return Ok(());
            }
            pending = rest;
        }
    }
}

fn has_length(answer: &Response) -> bool {
    answer.header("Content-Length").is_some()
}

fn read_head<S: Read + Timed>(input: &mut Input<'_, S>) -> io::Result<Response> {
    let status_line = input.line()?;
    let status = status_line
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| invalid("status line"))?;
    Ok(Response {
        status,
        headers: read_headers(input)?,
        ..Response::default()
    })
}

fn read_headers<S: Read + Timed>(input: &mut Input<'_, S>) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    let mut size = 0;
    loop {
        let line = input.line()?;
        if line.is_empty() {
            return Ok(headers);
        }
        size += line.len();
        if size > HEAD_MAX {
            return Err(invalid("head"));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("header"))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// Reads one request, as the webhook server gets it: path and body.
pub(crate) fn read_request<S: Read + Timed>(
    stream: &mut S,
    until: Instant,
) -> io::Result<(String, Vec<u8>)> {
    let mut input = Input {
        stream,
        until,
        buffer: Vec::new(),
        at: 0,
    };
    let line = input.line()?;
    let path = line
        .split(' ')
        .nth(1)
        .ok_or_else(|| invalid("request line"))?;
    let path = path.to_owned();
    let headers = read_headers(&mut input)?;
    let find = |wanted: &str| {
        headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.as_str())
    };
    let mut body = Vec::new();
    if let Some(length) = find("Content-Length") {
        let length = length.parse().map_err(|_| invalid("length"))?;
        read_exactly(&mut input, length, &mut body)?;
    } else if find("Transfer-Encoding").is_some() {
        read_chunks(&mut input, &mut body)?;
    }
    Ok((path, body))
}

fn read_chunks<S: Read + Timed>(input: &mut Input<'_, S>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let line = input.line()?;
        let size = line.split(';').next().unwrap_or("").trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| invalid("chunk size"))?;
        if size == 0 {
            while !input.line()?.is_empty() {}
            return Ok(());
        }
        read_exactly(input, size, body)?;
        if !input.line()?.is_empty() {
            return Err(invalid("chunk end"));
        }
    }
}

fn read_exactly<S: Read + Timed>(
    input: &mut Input<'_, S>,
    mut left: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    if body.len().saturating_add(left) > BODY_MAX {
        return Err(invalid("body size"));
    }
    while left > 0 {
        let part = input.some(left)?;
        if part.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= part.len();
        body.extend_from_slice(part);
    }
    Ok(())
}

fn read_to_end<S: Read + Timed>(input: &mut Input<'_, S>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let part = input.some(BODY_MAX)?;
        if part.is_empty() {
            return Ok(());
        }
        body.extend_from_slice(part);
        if body.len() > BODY_MAX {
            return Err(invalid("body size"));
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("bad HTTP {what}"))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
    )
}

/// A stream whose reads can be bounded.
pub(crate) trait Timed {
    /// Makes the next read end at the deadline.
    fn bound(&self, until: Instant) -> io::Result<()>;
}

impl Timed for Stream {
    fn bound(&self, until: Instant) -> io::Result<()> {
        limit(&self.sock, until)
    }
}

impl Timed for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn bound(&self, until: Instant) -> io::Result<()> {
        limit(&self.sock, until)
    }
}

struct Input<'a, S> {
    stream: &'a mut S,
    until: Instant,
    buffer: Vec<u8>,
    at: usize,
}

impl<S: Read + Timed> Input<'_, S> {
    // Up to `most` bytes that are there or come next; empty at the end of the stream.
    fn some(&mut self, most: usize) -> io::Result<&[u8]> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let end = self.buffer.len().min(self.at.saturating_add(most));
        let part = &self.buffer[self.at..end];
        self.at = end;
        Ok(part)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.stream.bound(self.until)?;
        self.buffer.resize(32 * 1024, 0);
        self.at = 0;
        let read = match self.stream.read(&mut self.buffer) {
            Ok(read) => read,
            // A server that hangs up without a TLS farewell.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => {
                self.buffer.clear();
                return Err(error);
            }
        };
        self.buffer.truncate(read);
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            let byte = self.some(1)?.first().copied();
            match byte {
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(b'\n') => break,
                Some(byte) => line.push(byte),
            }
            if line.len() > HEAD_MAX {
                return Err(invalid("line"));
            }
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map_err(|_| invalid("line"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Timed for &[u8] {
        fn bound(&self, _until: Instant) -> io::Result<()> {
            Ok(())
        }
    }

    fn check_request(wire: &str, path: &str, body: &str) {
        let got = read_request(&mut wire.as_bytes(), Instant::now()).unwrap();
        assert_eq!(got, (path.to_owned(), body.as_bytes().to_vec()));
    }

    #[test]
    fn a_body_has_a_length_or_chunks() {
        check_request(
            "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi",
            "/a",
            "hi",
        );
        let chunks =
            "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n";
        check_request(chunks, "/b", "abcd");
    }

    #[test]
    fn lines_are_handed_over_whole_however_they_are_cut() {
        let chunks = "3\r\na\nb\r\n3\r\nc\nd\r\n2\r\n\nx\r\n0\r\n\r\n";
        let mut wire = chunks.as_bytes();
        let mut input = Input {
            stream: &mut wire,
            until: Instant::now(),
            buffer: Vec::new(),
            at: 0,
        };
        let mut got = Vec::new();
        chunked_lines(&mut input, &mut |line| {
            got.push(String::from_utf8_lossy(line).into_owned());
            true
        })
        .unwrap();
        assert_eq!(got, ["a", "bc", "d"]);
    }

    #[test]
    fn a_cut_body_is_an_error() {
        let wire = "POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhi";
        let error = read_request(&mut wire.as_bytes(), Instant::now()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
