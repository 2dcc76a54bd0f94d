//! A web server for Git that can also misbehave, by the first part of the path.
//!
//! | path | what it does |
//! |---|---|
//! | `/git/…` | `git http-backend` |
//! | `/moved/…` | redirects to `/git/…` |
//! | `/login/…` | redirects to a page where people sign in |
//! | `/status/<code>/…` | answers with that status |
//! | `/html/…` | answers with a page |
//! | `/hang/…` | never answers |
//! | `/drip/…` | one byte now and then, for ever |
//! | `/garbage/…` | bytes that are not HTTP |
//! | `/cut/…` | `git http-backend`, but packs break off half way |
//! | `/lfs/…` | `git http-backend`, and the files of Git LFS in `lfs/` |

use crate::Outcome;
use crate::cgi::{self, Asked};
use crate::tls::{self, Identity};
use base64::Engine as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a server wants to be shown.
#[derive(Clone, Debug, Default)]
pub enum Auth {
    /// Nothing.
    #[default]
    Open,
    /// A user and a password.
    Basic(String, String),
    /// A token.
    Bearer(String),
}

/// How a server behaves.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// What it wants to be shown.
    pub auth: Auth,
    /// Its certificate, for https.
    pub identity: Option<Identity>,
    /// The authority that clients must be known to, in PEM.
    pub clients: Option<String>,
    /// Speak only the first version of Git's protocol.
    pub old: bool,
}

/// A web server for Git.
#[derive(Debug)]
pub struct HttpServer {
    port: u16,
    secure: bool,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    options: ServerOptions,
    requests: Mutex<Vec<String>>,
    open: Mutex<Vec<TcpStream>>,
    stopped: AtomicBool,
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

struct Incoming {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Incoming {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map_or("", |(_, value)| value)
    }
}

impl HttpServer {
    /// Serves the repositories below a directory.
    pub fn start(root: impl Into<PathBuf>, options: ServerOptions) -> Outcome<Self> {
        Self::start_at(0, root, options)
    }

    /// The same on a port that was ours before.
    pub fn start_at(port: u16, root: impl Into<PathBuf>, options: ServerOptions) -> Outcome<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let config = match &options.identity {
            Some(identity) => Some(tls::server(identity, options.clients.as_deref())?),
            None => None,
        };
        let secure = config.is_some();
        let shared = Arc::new(Shared {
            root: root.into(),
            options,
            requests: Mutex::default(),
            open: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stopped.load(Ordering::SeqCst) {
                    return;
                }
                if let Ok(copy) = stream.try_clone() {
                    serving
                        .open
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(copy);
                }
                let (shared, config) = (Arc::clone(&serving), config.clone());
                std::thread::spawn(move || {
                    let _ = shared.connection(stream, config);
                });
            }
        });
        Ok(Self {
            port,
            secure,
            shared,
        })
    }

    /// The address of something on this server.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        format!("{scheme}://localhost:{}/{path}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was asked so far: method, path, and for packs what is asked of Git.
    pub fn requests(&self) -> Vec<String> {
        self.shared
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How many requests were of a kind: `names`, `fetch` or `info`.
    pub fn count(&self, kind: &str) -> usize {
        self.requests()
            .iter()
            .filter(|line| line.ends_with(kind))
            .count()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for stream in self
            .shared
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Wakes the one who waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn connection(
        &self,
        stream: TcpStream,
        config: Option<Arc<rustls::ServerConfig>>,
    ) -> io::Result<()> {
        let ours = stream.try_clone()?;
        let served = match config {
            None => self.serve(BufReader::new(stream)),
            Some(config) => {
                let connection = rustls::ServerConnection::new(config).map_err(io::Error::other)?;
                self.serve(BufReader::new(rustls::StreamOwned::new(connection, stream)))
            }
        };
        // Others hold the socket too: it is closed for all of them.
        let _ = ours.shutdown(Shutdown::Both);
        served
    }

    fn serve(&self, mut stream: BufReader<impl Stream>) -> io::Result<()> {
        while let Some(incoming) = read(&mut stream)? {
            self.note(&incoming);
            self.answer(&incoming, stream.get_mut())?;
            stream.get_mut().flush()?;
        }
        Ok(())
    }

    fn note(&self, incoming: &Incoming) {
        let body = String::from_utf8_lossy(&incoming.body).into_owned();
        let kind = if body.contains("command=ls-refs") {
            "names"
        } else if body.contains("want ") {
            "fetch"
        } else {
            "info"
        };
        let line = format!("{} {} {kind}", incoming.method, incoming.path);
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn answer(&self, incoming: &Incoming, out: &mut impl Write) -> io::Result<()> {
        if !self.is_allowed(incoming) {
            let challenge = match self.options.auth {
                Auth::Bearer(_) => "Bearer",
                Auth::Open | Auth::Basic(..) => "Basic realm=\"git\"",
            };
            let extra = format!("WWW-Authenticate: {challenge}\r\n");
            return plain(out, 401, &extra, "text/plain", b"who are you?\n");
        }
        let path = incoming.path.trim_start_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let query = match incoming.query.as_str() {
            "" => String::new(),
            query => format!("?{query}"),
        };
        match first {
            "lfs" if rest.contains("/info/lfs/") || rest.starts_with("content/") => {
                self.large(incoming, rest, out)
            }
            "git" | "lfs" => self.git(incoming, rest, out, false),
            "cut" => self.git(incoming, rest, out, true),
            "moved" => plain(
                out,
                301,
                &format!("Location: /git/{rest}{query}\r\n"),
                "text/html",
                b"moved",
            ),
            "login" => plain(
                out,
                302,
                "Location: /users/sign_in\r\n",
                "text/html",
                b"sign in",
            ),
            "status" => {
                let code = rest
                    .split('/')
                    .next()
                    .and_then(|c| c.parse().ok())
                    .unwrap_or(500);
                plain(out, code, "", "text/plain", b"as you wish\n")
            }
            "html" => plain(
                out,
                200,
                "",
                "text/html; charset=utf-8",
                b"<html>hello</html>",
            ),
            "garbage" => out.write_all(b"\x16\x03\x01 what is this?\r\n\r\n"),
            "hang" => self.wait(|| Ok(())),
            "drip" => {
                out.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\nf000")?;
                self.wait(|| out.write_all(b"a").and_then(|()| out.flush()))
            }
            _ => plain(out, 404, "", "text/plain", b"repository not found\n"),
        }
    }

    // Until the server is stopped, do something now and then.
    fn wait(&self, mut tick: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        while !self.stopped.load(Ordering::SeqCst) {
            tick()?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn is_allowed(&self, incoming: &Incoming) -> bool {
        let shown = incoming.header("authorization");
        match &self.options.auth {
            Auth::Open => true,
            Auth::Bearer(token) => shown == format!("Bearer {token}"),
            Auth::Basic(user, password) => {
                let pair =
                    base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
                shown == format!("Basic {pair}")
            }
        }
    }

    fn git(
        &self,
        incoming: &Incoming,
        path: &str,
        out: &mut impl Write,
        cut: bool,
    ) -> io::Result<()> {
        let protocol = if self.options.old {
            ""
        } else {
            incoming.header("git-protocol")
        };
        let answer = cgi::serve(
            &self.root,
            &Asked {
                method: &incoming.method,
                path: &format!("/{path}"),
                query: &incoming.query,
                content_type: incoming.header("content-type"),
                protocol,
                body: &incoming.body,
            },
        )?;
        let text = String::from_utf8_lossy(&answer[..answer.len().min(4096)]).into_owned();
        let (head, skip) = match text.split_once("\r\n\r\n") {
            Some((head, _)) => (head.to_owned(), head.len() + 4),
            None => (String::new(), 0),
        };
        let status = head
            .lines()
            .find_map(|l| l.strip_prefix("Status: "))
            .and_then(|s| s.get(..3)?.parse().ok())
            .unwrap_or(200);
        let kind = head
            .lines()
            .find_map(|l| l.strip_prefix("Content-Type: "))
            .unwrap_or("text/plain")
            .to_owned();
        let body = &answer[skip..];
        if cut && String::from_utf8_lossy(&incoming.body).contains("want ") {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            out.write_all(head.as_bytes())?;
            out.write_all(&body[..body.len() / 2])?;
            out.flush()?;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        chunked(out, status, &kind, body)
    }

    // The two requests of Git LFS: where is it, and the content.
    fn large(&self, incoming: &Incoming, path: &str, out: &mut impl Write) -> io::Result<()> {
        if let Some(digest) = path.strip_prefix("content/") {
            return match std::fs::read(self.root.join("lfs").join(digest)) {
                Ok(content) => plain(out, 200, "", "application/octet-stream", &content),
                Err(_) => plain(out, 404, "", "text/plain", b"no such content\n"),
            };
        }
        let body = String::from_utf8_lossy(&incoming.body).into_owned();
        let digest = body
            .split("\"oid\":\"")
            .nth(1)
            .and_then(|rest| rest.get(..64))
            .unwrap_or_default();
        let host = incoming.header("host");
        let scheme = if self.options.identity.is_some() {
            "https"
        } else {
            "http"
        };
        let answer = format!(
            "{{\"transfer\":\"basic\",\"objects\":[{{\"oid\":\"{digest}\",\"size\":1,\"actions\":{{\"download\":{{\"href\":\"{scheme}://{host}/lfs/content/{digest}\"}}}}}}]}}"
        );
        plain(
            out,
            200,
            "",
            "application/vnd.git-lfs+json",
            answer.as_bytes(),
        )
    }
}

fn plain(
    out: &mut impl Write,
    status: u16,
    extra: &str,
    kind: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{extra}Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    out.write_all(head.as_bytes())?;
    out.write_all(body)
}

fn chunked(out: &mut impl Write, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    out.write_all(head.as_bytes())?;
    for chunk in body.chunks(8000) {
        out.write_all(format!("{:x}\r\n", chunk.len()).as_bytes())?;
        out.write_all(chunk)?;
        out.write_all(b"\r\n")?;
    }
    out.write_all(b"0\r\n\r\n")
}

fn read(stream: &mut BufReader<impl Stream>) -> io::Result<Option<Incoming>> {
    let mut first = String::new();
    if stream.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default().to_owned(),
        words.next().unwrap_or_default(),
    );
    // A proxy is asked with the whole address.
    let target = match target.strip_prefix("http://") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let mut incoming = Incoming {
        method,
        path,
        query,
        headers,
        body: Vec::new(),
    };
    let length: u64 = incoming.header("content-length").parse().unwrap_or(0);
    stream.take(length).read_to_end(&mut incoming.body)?;
    Ok(Some(incoming))
}
