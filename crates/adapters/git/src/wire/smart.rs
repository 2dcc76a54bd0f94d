//! Git's smart protocol over HTTP: what each status, redirect and content type means.

use super::Operation;
use super::http::{self, Answer, Body, Client, Request};
use crate::url::{RepoUrl, Scheme, normalize};
use crate::{GitError, Stage};
use gix_transport::client::blocking_io::http::{GetResponse, Http, PostBodyDataKind, PostResponse};
use std::cell::RefCell;
use std::io::{self, BufRead, Cursor, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

/// How many redirects are followed.
const REDIRECTS_MAX: usize = 5;
/// What stands behind the address of a repository when its names are asked for.
const NAMES_SUFFIX: &str = "/info/refs?service=git-upload-pack";

/// Speaks HTTP for the protocol layer.
pub(crate) struct Smart {
    shared: Rc<RefCell<Shared>>,
}

struct Shared {
    operation: Arc<Operation>,
    client: Client,
    // Where the host sent us.
    base: Option<String>,
}

/// A request whose body is still being written; it is sent when its answer is looked at.
pub(crate) struct Pending {
    shared: Rc<RefCell<Shared>>,
    url: String,
    headers: Vec<String>,
    body: Vec<u8>,
    sent: bool,
    answer: Option<(Vec<u8>, Body)>,
}

/// What is written becomes the body of the request.
pub(crate) struct PostBody(Rc<RefCell<Pending>>);

/// The head of an answer, line by line.
pub(crate) enum Head {
    Ready(Cursor<Vec<u8>>),
    Waiting(Rc<RefCell<Pending>>),
}

/// The body of an answer.
pub(crate) enum Bytes {
    Ready(Body),
    Waiting(Rc<RefCell<Pending>>),
}

impl Smart {
    pub(crate) fn new(operation: Arc<Operation>) -> Self {
        let client = Client::new(Arc::clone(&operation));
        Self {
            shared: Rc::new(RefCell::new(Shared {
                operation,
                client,
                base: None,
            })),
        }
    }
}

fn raise(operation: &Operation, error: GitError) -> gix_error::Error {
    use gix_error::ErrorExt;
    operation.fail(error).raise()
}

impl Http for Smart {
    type Headers = Head;
    type ResponseBody = Bytes;
    type PostBody = PostBody;

    fn get(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> gix_error::Result<GetResponse<Head, Bytes>> {
        let headers = plain(headers);
        let mut shared = self.shared.borrow_mut();
        let answer = shared.names(url, &headers);
        let (head, body) = answer.map_err(|error| raise(&shared.operation, error))?;
        Ok(GetResponse {
            headers: Head::Ready(Cursor::new(head)),
            body: Bytes::Ready(body),
        })
    }

    fn post(
        &mut self,
        url: &str,
        _base_url: &str,
        headers: impl IntoIterator<Item = impl AsRef<str>>,
        _: PostBodyDataKind,
    ) -> gix_error::Result<PostResponse<Head, Bytes, PostBody>> {
        let pending = Rc::new(RefCell::new(Pending {
            shared: Rc::clone(&self.shared),
            url: url.to_owned(),
            headers: plain(headers),
            body: Vec::new(),
            sent: false,
            answer: None,
        }));
        Ok(PostResponse {
            post_body: PostBody(Rc::clone(&pending)),
            headers: Head::Waiting(Rc::clone(&pending)),
            body: Bytes::Waiting(pending),
        })
    }

    fn configure(&mut self, _: &dyn std::any::Any) -> gix_error::Result {
        Ok(())
    }

    fn redirected_base_url(&self) -> Option<String> {
        self.shared.borrow().base.clone()
    }
}

fn plain(headers: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    headers.into_iter().map(|h| h.as_ref().to_owned()).collect()
}

impl Shared {
    // Asks for the names of a repository and follows it to where it is now.
    fn names(&mut self, url: &str, headers: &[String]) -> Result<(Vec<u8>, Body), GitError> {
        let mut url = url.to_owned();
        for _ in 0..=REDIRECTS_MAX {
            let mut answer = self.request("GET", &url, headers, &[])?;
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return self.checked(answer, "application/x-git-upload-pack-advertisement");
            }
            let to = answer.header("location").unwrap_or_default().to_owned();
            url = self.redirect(&url, &to)?;
            // The connection is used again when the rest of this answer is read.
            let _ = io::copy(&mut (&mut answer.body).take(64 * 1024), &mut io::sink());
        }
        Err(self.operation.not_git("the host redirects in circles"))
    }

    fn redirect(&mut self, from: &str, to: &str) -> Result<String, GitError> {
        let operation = &self.operation;
        let to = absolute(from, to);
        let Some(base) = to.strip_suffix(NAMES_SUFFIX) else {
            // A page for people: most often the one where they sign in.
            let says = format!("it redirects to {}, which is not a repository", shown(&to));
            return Err(if operation.access.credential.is_empty() {
                operation.refused(says)
            } else {
                operation.not_git(says)
            });
        };
        let target = RepoUrl::parse(base)?;
        if !matches!(target.scheme, Scheme::Http | Scheme::Https)
            || (operation.url.scheme == Scheme::Https && target.scheme == Scheme::Http)
        {
            return Err(operation.not_git(format!(
                "it redirects to {target}, which is not safe to follow"
            )));
        }
        if place(&target) != place(&operation.url) {
            operation.moved(target.as_str());
        }
        self.base = Some(base.to_owned());
        Ok(to)
    }

    fn request(
        &mut self,
        method: &str,
        url: &str,
        headers: &[String],
        body: &[u8],
    ) -> Result<Answer, GitError> {
        let (address, target) = split(url);
        let origin = RepoUrl::parse(&address)?;
        let mut headers = headers.to_vec();
        // What is meant for one host is not shown to another.
        let upgraded = origin.scheme == Scheme::Https
            && self.operation.url.scheme == Scheme::Http
            && origin.host == self.operation.url.host;
        if (upgraded || origin.same_origin(&self.operation.url))
            && let Some(line) = http::authorization(&self.operation)
        {
            headers.push(line);
        }
        self.client.send(&Request {
            method,
            origin: &origin,
            target,
            headers: &headers,
            body,
        })
    }

    fn checked(&self, mut answer: Answer, wanted_type: &str) -> Result<(Vec<u8>, Body), GitError> {
        if answer.status != 200 {
            return Err(refusal(&self.operation, &mut answer));
        }
        let content_type = answer.header("content-type").unwrap_or("none").to_owned();
        if content_type.split(';').next().map(str::trim) != Some(wanted_type) {
            let says =
                format!("the host answers with `{content_type}` instead of Git's smart protocol");
            return Err(self.operation.not_git(says));
        }
        let head = answer
            .headers
            .iter()
            .filter(|(name, _)| !name.starts_with(':'));
        let lines: String = head
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        Ok((lines.into_bytes(), answer.body))
    }
}

// What a status that is not a success means for us.
fn refusal(operation: &Operation, answer: &mut Answer) -> GitError {
    let status = answer.status;
    let mut words = answer.words();
    match status {
        401 | 403 => {
            if let Some(challenge) = answer.header("www-authenticate") {
                words.push_str(&format!(" (it asks for {challenge})"));
            }
            operation.refused(words)
        }
        404 | 410 => GitError::Gone {
            url: operation.url.to_string(),
            moved_to: operation.moved_to(),
            credential: operation.access.credential.name.clone(),
            says: words,
        },
        407 => operation.unreachable("proxy", Stage::Proxy, words),
        _ => operation.unreachable(
            &operation.url.authority_text(),
            Stage::Http { status },
            words,
        ),
    }
}

// Host and path: what must be equal for a redirect to mean the same repository.
fn place(url: &RepoUrl) -> String {
    normalize(&format!("{}{}", url.host, url.path))
}

fn shown(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

fn absolute(from: &str, to: &str) -> String {
    if to.contains("://") {
        return to.to_owned();
    }
    let rest = from.find("://").map_or(0, |at| at + 3);
    let end = from[rest..].find('/').map_or(from.len(), |at| rest + at);
    let slash = if to.starts_with('/') { "" } else { "/" };
    format!("{}{slash}{to}", &from[..end])
}

// Scheme, host and port with a path that is not looked at, and the path with its query.
fn split(url: &str) -> (String, &str) {
    let rest = url.find("://").map_or(0, |at| at + 3);
    let end = url[rest..].find('/').map_or(url.len(), |at| rest + at);
    let target = if end == url.len() { "/" } else { &url[end..] };
    (format!("{}/-", &url[..end]), target)
}

impl Pending {
    fn perform(&mut self) -> io::Result<()> {
        if self.sent {
            return Ok(());
        }
        let mut shared = self.shared.borrow_mut();
        let sent = shared.request("POST", &self.url, &self.headers, &self.body);
        let checked =
            sent.and_then(|answer| shared.checked(answer, "application/x-git-upload-pack-result"));
        let answer = checked.map_err(|error| shared.operation.fail(error))?;
        self.sent = true;
        self.answer = Some(answer);
        Ok(())
    }
}

impl Write for PostBody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().body.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Head {
    fn ready(&mut self) -> io::Result<&mut Cursor<Vec<u8>>> {
        if let Self::Waiting(pending) = self {
            let mut pending = pending.borrow_mut();
            pending.perform()?;
            let head = match &mut pending.answer {
                Some((head, _)) => std::mem::take(head),
                None => Vec::new(),
            };
            drop(pending);
            *self = Self::Ready(Cursor::new(head));
        }
        match self {
            Self::Ready(cursor) => Ok(cursor),
            Self::Waiting(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Bytes {
    fn ready(&mut self) -> io::Result<&mut Body> {
        if let Self::Waiting(pending) = self {
            let mut pending = pending.borrow_mut();
            pending.perform()?;
            let answer = pending.answer.take();
            drop(pending);
            let (_, body) = answer.ok_or(io::ErrorKind::UnexpectedEof)?;
            *self = Self::Ready(body);
        }
        match self {
            Self::Ready(body) => Ok(body),
            Self::Waiting(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Read for Head {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready()?.read(buffer)
    }
}

impl BufRead for Head {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.ready()?.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Self::Ready(cursor) = self {
            cursor.consume(count);
        }
    }
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.ready()?.read(buffer)
    }
}

impl BufRead for Bytes {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.ready()?.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Self::Ready(body) = self {
            body.consume(count);
        }
    }
}
