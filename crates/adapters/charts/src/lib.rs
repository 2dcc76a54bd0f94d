//! Charts from chart repositories and OCI registries, kept by content on disk.
//!
//! ```text
//! Repository + name + range ── resolve ──▶ Resolved (version, digest) ── fetch ──▶ .tgz bytes
//!                                index.yaml | tags                      Cache ◀──┘
//! ```
//!
//! What a range resolves to is asked each time; what a digest stands for never changes and is
//! fetched once.

mod cache;
mod error;
mod finding;
mod http;
mod index;
mod lock;
mod oci;
mod tls;
mod url;

pub use cache::Cache;
pub use error::ChartsError;
pub use lock::lock_digest;
pub use url::is_oci;

use crate::http::Client;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How large an archive may be that we fetch.
pub const ARCHIVE_MAX: u64 = 64 * 1024 * 1024;
/// How large an `index.yaml` may be.
pub const INDEX_MAX: u64 = 64 * 1024 * 1024;
/// How long one request may take.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A place charts come from, and how we show who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repository {
    /// `https://host/path` of a chart repository, or `oci://host/path` of a registry.
    pub url: String,
    /// A user, when one is needed.
    pub username: String,
    /// Their password.
    pub password: Secret,
    /// A token that is sent as it is, instead of user and password.
    pub bearer: Secret,
    /// Whether user and password also go to other hosts that an index names.
    pub pass_credentials: bool,
    /// How servers are trusted.
    pub tls: Tls,
    /// An `http://` proxy; empty means none.
    pub proxy: String,
    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: String,
    /// Whether a registry is spoken to without TLS; loopback always may be.
    pub plain_http: bool,
}

/// How servers are trusted, and how we prove who we are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// PEM certificates that replace the system's.
    pub ca: String,
    /// Our PEM certificate.
    pub certificate: String,
    /// Its PEM key.
    pub key: Secret,
    /// Whether any certificate is taken.
    pub insecure: bool,
}

/// A text that is never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "***" })
    }
}

/// A chart pinned to what cannot move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The chart's name.
    pub name: String,
    /// The exact version.
    pub version: String,
    /// `sha256:` and the digest of the archive; empty when the repository names none.
    pub digest: String,
    /// Where the archive is.
    pub url: String,
}

/// Fetches charts, and keeps what it fetched.
#[derive(Clone, Debug)]
pub struct Charts {
    cache: Option<Arc<Cache>>,
}

impl Charts {
    /// Fetches through a cache; without one everything is fetched each time.
    pub fn new(cache: Option<Arc<Cache>>) -> Self {
        Self { cache }
    }

    /// The versions of a chart, the highest first.
    pub async fn versions(
        &self,
        repository: &Repository,
        chart: &str,
    ) -> Result<Vec<String>, ChartsError> {
        let client = Client::new(repository)?;
        if is_oci(&repository.url) {
            let tags = oci::tags(&client, repository, chart).await?;
            return Ok(version_order(tags));
        }
        let index = index::fetch(&client, repository).await?;
        Ok(index
            .versions(chart, repository)?
            .into_iter()
            .map(|entry| entry.version)
            .collect())
    }

    /// Pins a version or range of a chart; an empty range is the newest that is no prerelease.
    pub async fn resolve(
        &self,
        repository: &Repository,
        chart: &str,
        range: &str,
    ) -> Result<Resolved, ChartsError> {
        let client = Client::new(repository)?;
        if is_oci(&repository.url) {
            return oci::resolve(&client, repository, chart, range).await;
        }
        let index = index::fetch(&client, repository).await?;
        index.resolve(repository, chart, range)
    }

    /// The archive of a pinned chart, checked against its digest.
    pub async fn fetch(
        &self,
        repository: &Repository,
        resolved: &Resolved,
    ) -> Result<Arc<[u8]>, ChartsError> {
        if let Some(kept) = self.kept(&resolved.digest) {
            return Ok(kept);
        }
        let client = Client::new(repository)?;
        let bytes = if is_oci(&resolved.url) {
            oci::fetch(&client, repository, resolved).await?
        } else {
            client.archive(repository, &resolved.url).await?
        };
        check_digest(&resolved.digest, &bytes, &resolved.url)?;
        if let Some(cache) = &self.cache {
            // A cache that cannot be written costs time, not the chart.
            let _ = cache.put(&bytes);
        }
        Ok(bytes.into())
    }

    /// A file behind an address, as remote values files are.
    pub async fn file(&self, repository: &Repository, url: &str) -> Result<Vec<u8>, ChartsError> {
        let client = Client::new(repository)?;
        client.archive(repository, url).await
    }

    /// One request with a JSON body to a server that is trusted as a repository is, such as the API
    /// server of `--validate`: its status and what it says.
    pub async fn call(
        &self,
        server: &Repository,
        method: &str,
        url: &str,
        body: Vec<u8>,
    ) -> Result<(u16, Vec<u8>), ChartsError> {
        let method = ::http::Method::from_bytes(method.as_bytes()).map_err(|error| {
            ChartsError::Address {
                url: url.to_owned(),
                why: error.to_string(),
            }
        })?;
        let answer = Client::new(server)?.call(server, method, url, body).await?;
        Ok((answer.status, answer.body))
    }

    fn kept(&self, digest: &str) -> Option<Arc<[u8]>> {
        self.cache.as_ref()?.get(digest)
    }
}

/// `sha256:` and the digest of some bytes.
pub fn digest(bytes: &[u8]) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
    let hex: String = hash
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

pub(crate) fn check_digest(wanted: &str, bytes: &[u8], url: &str) -> Result<(), ChartsError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let found = digest(bytes);
    let wanted = if wanted.contains(':') {
        wanted.to_owned()
    } else {
        format!("sha256:{wanted}")
    };
    if found == wanted {
        return Ok(());
    }
    Err(ChartsError::Digest {
        url: url.to_owned(),
        wanted,
        found,
    })
}

// Versions from high to low; what is no version is left out.
pub(crate) fn version_order(names: Vec<String>) -> Vec<String> {
    let parsed = names.into_iter().filter_map(|name| {
        let version = version::Version::parse(&name).ok()?;
        Some((version, name))
    });
    let mut parsed: Vec<_> = parsed.collect();
    parsed.sort_by(|a, b| b.0.cmp(&a.0));
    parsed.into_iter().map(|(_, name)| name).collect()
}

// The highest version in a range; an empty range takes no prereleases.
pub(crate) fn pick<'a>(
    versions: impl Iterator<Item = &'a str>,
    range: &str,
) -> Result<Option<String>, String> {
    let names: Vec<String> = versions.map(str::to_owned).collect();
    // A version that stands there as written is meant, whatever ranges say.
    if let Some(exact) = names.iter().find(|name| *name == range) {
        return Ok(Some(exact.clone()));
    }
    let range = if range.is_empty() { "*" } else { range };
    let range = version::Constraint::parse(range).map_err(|error| error.to_string())?;
    let fits =
        |name: &String| version::Version::parse(name).is_ok_and(|version| range.check(&version));
    Ok(version_order(names).into_iter().find(fits))
}
