//! Files that are kept outside of Git: the pointers that stand for them, and how to get them.

use crate::credentials::hex;
use crate::url::{RepoUrl, Scheme};
use crate::wire::Operation;
use crate::wire::http::{self, Answer, Client, Request};
use crate::{GitError, Stage};
use model::{Evidence, Finding, Fix, Place, Remedy, Value, json};
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// The first line of every pointer.
const MARK: &[u8] = b"version https://git-lfs.github.com/spec/v1";
/// No pointer is larger.
pub(crate) const POINTER_BYTES_MAX: usize = 1024;
/// How large the answer about objects may be.
const BATCH_BYTES_MAX: u64 = 16 << 20;

/// A small text that stands for a file in Git LFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LfsPointer {
    /// Where it was found.
    pub path: String,
    /// SHA-256 of the content, in hexadecimal digits.
    pub digest: String,
    /// The size of the content in bytes.
    pub size: u64,
}

impl fmt::Display for LfsPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it is kept in Git LFS ({} bytes) and only its pointer is here; set `enableLfs: \"true\"` on the repository, or commit the file itself",
            self.size
        )
    }
}

impl LfsPointer {
    /// Reads a pointer, if it is one.
    pub fn parse(path: &str, bytes: &[u8]) -> Option<Self> {
        if bytes.len() > POINTER_BYTES_MAX || !bytes.starts_with(MARK) {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let digest = value("oid sha256:")?.trim();
        if digest.len() != 64 || !digest.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self {
            path: path.to_owned(),
            digest: digest.to_ascii_lowercase(),
            size: value("size ")?.trim().parse().ok()?,
        })
    }

    /// What the catalogue of failure modes knows about it.
    pub fn finding(&self) -> Finding {
        let path = &self.path;
        Finding {
            culprit: format!("file `{path}`"),
            evidence: vec![Evidence {
                source: "Git LFS".into(),
                says: format!(
                    "the content has {} bytes and the digest sha256:{}",
                    self.size, self.digest
                ),
                place: Some(Place {
                    file: path.clone(),
                    line: 1,
                    column: 1,
                    width: 1,
                    first_line: 1,
                    text: String::from_utf8_lossy(MARK).into_owned(),
                }),
            }],
            fix: vec![
                Fix {
                    title: "fetch files from Git LFS".into(),
                    how: Remedy::Advice(
                        "set `enableLfs: \"true\"` in the secret of the repository".into(),
                    ),
                    destructive: false,
                },
                Fix {
                    title: "keep the file in Git".into(),
                    how: Remedy::Command(format!(
                        "git lfs untrack '{path}' && git add --renormalize '{path}'"
                    )),
                    destructive: false,
                },
            ],
            ..Finding::new("G10", "not-a-manifest", format!("`{path}`: {self}"))
        }
    }
}

/// Whether a file of this name is read as text by all who render.
pub(crate) fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["yaml", "yml", "json", "jsonnet", "libsonnet", "tpl"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

/// Fetches the content of one pointer over HTTP and checks its digest.
pub(crate) fn fetch(
    operation: &Arc<Operation>,
    pointer: &LfsPointer,
) -> Result<Arc<[u8]>, GitError> {
    let max = operation.limits.file_bytes_max;
    if pointer.size > max {
        return Err(GitError::TooLarge {
            url: operation.url.to_string(),
            what: format!("`{}` in Git LFS", pointer.path),
            max,
        });
    }
    let server = server(operation)?;
    let mut client = Client::new(Arc::clone(operation));
    let (address, headers) = ask(operation, &mut client, &server, pointer)?;
    let (origin, target) = split(&address)?;
    let mut headers = headers;
    if origin.same_origin(&server)
        && !headers
            .iter()
            .any(|h| h.to_ascii_lowercase().starts_with("authorization:"))
    {
        headers.extend(http::authorization(operation));
    }
    let mut answer = client.send(&Request {
        method: "GET",
        origin: &origin,
        target: &target,
        headers: &headers,
        body: &[],
    })?;
    if answer.status != 200 {
        return Err(refusal(operation, &mut answer));
    }
    let content = read(operation, &mut answer, max + 1)?;
    let digest = hex(ring::digest::digest(&ring::digest::SHA256, &content).as_ref());
    if digest != pointer.digest {
        return Err(GitError::Protocol {
            url: operation.url.to_string(),
            says: format!(
                "the content of `{}` in Git LFS has the digest sha256:{digest}",
                pointer.path
            ),
        });
    }
    Ok(content.into())
}

// The server of large files stands beside the repository.
fn server(operation: &Operation) -> Result<RepoUrl, GitError> {
    let url = &operation.url;
    match url.scheme {
        Scheme::Http | Scheme::Https => {
            let path = url.path.strip_suffix(".git").unwrap_or(&url.path);
            let address = format!(
                "{}://{}{path}.git/info/lfs",
                url.scheme.word(),
                url.authority_text()
            );
            RepoUrl::parse(&address)
        }
        Scheme::Ssh | Scheme::Git | Scheme::File => Err(GitError::Unsupported {
            url: url.to_string(),
            what: "files in Git LFS are fetched over http and https only".into(),
        }),
    }
}

fn ask(
    operation: &Operation,
    client: &mut Client,
    server: &RepoUrl,
    pointer: &LfsPointer,
) -> Result<(String, Vec<String>), GitError> {
    let body = json!({
        "operation": "download",
        "transfers": ["basic"],
        "objects": [{"oid": pointer.digest, "size": pointer.size}],
    });
    let mut headers = vec![
        "Accept: application/vnd.git-lfs+json".to_owned(),
        "Content-Type: application/vnd.git-lfs+json".to_owned(),
    ];
    headers.extend(http::authorization(operation));
    let mut answer = client.send(&Request {
        method: "POST",
        origin: server,
        target: &format!("{}/objects/batch", server.path),
        headers: &headers,
        body: body.to_string().as_bytes(),
    })?;
    if answer.status != 200 {
        return Err(refusal(operation, &mut answer));
    }
    let bytes = read(operation, &mut answer, BATCH_BYTES_MAX)?;
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let object = &value["objects"][0];
    if let Some(says) = object["error"]["message"].as_str() {
        return Err(operation.gone(format!("Git LFS has no `{}`: {says}", pointer.path)));
    }
    let download = &object["actions"]["download"];
    let Some(address) = download["href"].as_str() else {
        return Err(GitError::Protocol {
            url: operation.url.to_string(),
            says: "the Git LFS server does not say where the content is".into(),
        });
    };
    let extra = download["header"].as_object();
    let extra = extra.into_iter().flatten();
    let plain = |text: &str| !text.contains(['\r', '\n']);
    let extra = extra.filter_map(|(name, value)| {
        let value = value.as_str()?;
        (plain(name) && plain(value)).then(|| format!("{name}: {value}"))
    });
    Ok((address.to_owned(), extra.collect()))
}

fn read(operation: &Operation, answer: &mut Answer, max: u64) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::new();
    (&mut answer.body)
        .take(max)
        .read_to_end(&mut bytes)
        .map_err(|error| http::failure(operation, &error))?;
    Ok(bytes)
}

fn refusal(operation: &Operation, answer: &mut Answer) -> GitError {
    let words = format!("Git LFS: {}", answer.words());
    match answer.status {
        401 | 403 => operation.refused(words),
        404 => operation.gone(words),
        status => operation.unreachable(
            &operation.url.authority_text(),
            Stage::Http { status },
            words,
        ),
    }
}

fn split(address: &str) -> Result<(RepoUrl, String), GitError> {
    let rest = address.find("://").map_or(0, |at| at + 3);
    let end = address[rest..]
        .find('/')
        .map_or(address.len(), |at| rest + at);
    let origin = RepoUrl::parse(&format!("{}/-", &address[..end]))?;
    Ok((
        origin,
        address
            .get(end..)
            .filter(|t| !t.is_empty())
            .unwrap_or("/")
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_told_from_other_files() {
        let digest = "ab".repeat(32);
        let text =
            format!("version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 12\n");
        let pointer = LfsPointer::parse("a.yaml", text.as_bytes()).unwrap();
        assert_eq!(
            (pointer.digest.as_str(), pointer.size),
            (digest.as_str(), 12)
        );
        assert_eq!(pointer.finding().code, "G10");
        assert!(
            LfsPointer::parse("a", b"version https://git-lfs.github.com/spec/v1\nsize x\n")
                .is_none()
        );
        assert!(LfsPointer::parse("a", b"kind: Service\n").is_none());
        assert!(is_manifest("x/values.YAML") && !is_manifest("logo.png") && !is_manifest("yaml"));
    }
}
