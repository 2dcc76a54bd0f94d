//! OCI registries: tokens, tags, manifests and the layer that is the chart.

use crate::http::{self, Answer, Client};
use crate::url::Url;
use crate::{
    ARCHIVE_MAX, ChartsError, Repository, Resolved, check_digest, digest, pick, version_order,
};
use serde_json::Value;

const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json";
const CHART_LAYERS: [&str; 2] = [
    "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
    "application/tar+gzip",
];
/// How large a manifest or a page of tags may be.
const DOCUMENT_MAX: u64 = 4 * 1024 * 1024;
/// How many pages of tags we read.
const PAGES_MAX: usize = 200;

// A chart's repository inside a registry.
struct Target {
    base: String,
    path: String,
}

fn target(repository: &Repository, chart: &str) -> Result<Target, ChartsError> {
    let rest = repository
        .url
        .trim_start_matches("oci://")
        .trim_end_matches('/');
    let whole = if chart.is_empty() {
        rest.to_owned()
    } else {
        format!("{rest}/{chart}")
    };
    let (host, path) = whole.split_once('/').ok_or_else(|| ChartsError::Address {
        url: repository.url.clone(),
        why: "it names no repository behind the host".into(),
    })?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let local = matches!(name, "localhost" | "127.0.0.1" | "[::1]");
    let plain = repository.plain_http || (local && repository.tls == crate::Tls::default());
    let scheme = if plain { "http" } else { "https" };
    Ok(Target {
        base: format!("{scheme}://{host}"),
        path: path.to_owned(),
    })
}

/// The versions a chart is tagged with.
pub(crate) async fn tags(
    client: &Client,
    repository: &Repository,
    chart: &str,
) -> Result<Vec<String>, ChartsError> {
    let target = target(repository, chart)?;
    let mut session = Session::new(client, repository, &target);
    let mut next = format!("/v2/{}/tags/list?n=1000", target.path);
    let mut tags = Vec::new();
    for _ in 0..PAGES_MAX {
        let (url, answer) = session.get(&next, "application/json", DOCUMENT_MAX).await?;
        if answer.status == 404 {
            return Err(ChartsError::NoChart {
                chart: chart.to_owned(),
                repository: repository.url.clone(),
                nearest: Vec::new(),
            });
        }
        http::expect_ok(&url, &answer)?;
        let page = json(&url, &answer)?;
        let names = page.get("tags").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        // A `+` cannot stand in a tag.
        tags.extend(names.map(|tag| tag.replace('_', "+")));
        match next_page(&answer, &target.base) {
            Some(link) => next = link,
            None => break,
        }
    }
    Ok(tags)
}

// `</v2/…?last=x>; rel="next"`.
fn next_page(answer: &Answer, base: &str) -> Option<String> {
    let link = answer.header(::http::header::LINK);
    let target = link.strip_prefix('<')?.split_once('>')?.0;
    let target = target.strip_prefix(base).unwrap_or(target);
    (link.contains("rel=\"next\"") || link.contains("rel=next")).then(|| target.to_owned())
}

/// Pins a version, range or digest.
pub(crate) async fn resolve(
    client: &Client,
    repository: &Repository,
    chart: &str,
    range: &str,
) -> Result<Resolved, ChartsError> {
    let target = target(repository, chart)?;
    let version = if range.starts_with("sha256:")
        || version::Version::parse_strict(range, version::Edition::default()).is_ok()
    {
        range.to_owned()
    } else {
        let known = tags(client, repository, chart).await?;
        let picked = pick(known.iter().map(String::as_str), range).ok().flatten();
        picked.ok_or_else(|| ChartsError::NoVersion {
            chart: chart.to_owned(),
            range: range.to_owned(),
            repository: repository.url.clone(),
            known: version_order(known).into_iter().take(5).collect(),
        })?
    };
    let mut session = Session::new(client, repository, &target);
    let layer = session
        .chart_layer(&version.replace('+', "_"), chart, range)
        .await?;
    let name = target
        .path
        .rsplit('/')
        .next()
        .unwrap_or(&target.path)
        .to_owned();
    Ok(Resolved {
        name,
        version,
        digest: layer.clone(),
        url: format!(
            "oci://{}/{}@{layer}",
            target.base.split("://").nth(1).unwrap_or_default(),
            target.path
        ),
    })
}

/// The archive of a pinned chart.
pub(crate) async fn fetch(
    client: &Client,
    repository: &Repository,
    resolved: &Resolved,
) -> Result<Vec<u8>, ChartsError> {
    let chart = Repository {
        url: resolved
            .url
            .split('@')
            .next()
            .unwrap_or_default()
            .to_owned(),
        ..repository.clone()
    };
    let target = target(&chart, "")?;
    let mut session = Session::new(client, repository, &target);
    let path = format!("/v2/{}/blobs/{}", target.path, resolved.digest);
    let (url, answer) = session.get(&path, "*/*", ARCHIVE_MAX).await?;
    http::expect_ok(&url, &answer)?;
    Ok(answer.body)
}

// Requests to one registry; a token is asked for once.
struct Session<'a> {
    client: &'a Client,
    repository: &'a Repository,
    target: &'a Target,
    authorization: Option<String>,
}

impl<'a> Session<'a> {
    fn new(client: &'a Client, repository: &'a Repository, target: &'a Target) -> Self {
        Self {
            client,
            repository,
            target,
            authorization: None,
        }
    }

    async fn get(
        &mut self,
        path: &str,
        accept: &str,
        max: u64,
    ) -> Result<(Url, Answer), ChartsError> {
        let url = Url::parse(&format!("{}{path}", self.target.base))?;
        let headers = [(::http::header::ACCEPT, accept)];
        let known = self.authorization.clone();
        let answer = self.client.get(&url, known, &headers, max).await?;
        if answer.status != 401 || self.authorization.is_some() {
            return Ok((url, answer));
        }
        let challenge = answer.header(::http::header::WWW_AUTHENTICATE).to_owned();
        self.authorization = self.authorize(&url, &challenge).await?;
        let known = self.authorization.clone();
        let answer = self.client.get(&url, known, &headers, max).await?;
        Ok((url, answer))
    }

    // Answers a challenge: with what we have, or with a token that we ask for.
    async fn authorize(&self, url: &Url, challenge: &str) -> Result<Option<String>, ChartsError> {
        let Some(parameters) = challenge.strip_prefix("Bearer ") else {
            return Ok(http::basic(self.repository));
        };
        if !self.repository.bearer.0.is_empty() {
            return Ok(http::basic(self.repository));
        }
        let parameter = |name: &str| {
            parameters
                .split_once(&format!("{name}=\""))
                .and_then(|(_, rest)| rest.split('"').next())
        };
        let realm = parameter("realm")
            .ok_or_else(|| http::malformed(url, "its challenge names no realm"))?;
        let separator = if realm.contains('?') { '&' } else { '?' };
        let service = parameter("service").unwrap_or_default();
        let default_scope = format!("repository:{}:pull", self.target.path);
        let scope = parameter("scope").unwrap_or(&default_scope);
        let token_url = format!(
            "{realm}{separator}service={}&scope={}",
            escape(service),
            escape(scope)
        );
        let token_url = Url::parse(&token_url)?;
        let own = http::basic(self.repository);
        let answer = self.client.get(&token_url, own, &[], DOCUMENT_MAX).await?;
        http::expect_ok(&token_url, &answer)?;
        let value = json(&token_url, &answer)?;
        let token = value
            .get("token")
            .or(value.get("access_token"))
            .and_then(Value::as_str);
        let token = token.ok_or_else(|| http::malformed(&token_url, "it gave no token"))?;
        Ok(Some(format!("Bearer {token}")))
    }

    // The digest of the layer that is the chart.
    async fn chart_layer(
        &mut self,
        reference: &str,
        chart: &str,
        range: &str,
    ) -> Result<String, ChartsError> {
        let path = format!("/v2/{}/manifests/{reference}", self.target.path);
        let (url, answer) = self.get(&path, MANIFESTS, DOCUMENT_MAX).await?;
        if answer.status == 404 {
            return Err(ChartsError::NoVersion {
                chart: chart.to_owned(),
                range: range.to_owned(),
                repository: self.repository.url.clone(),
                known: Vec::new(),
            });
        }
        http::expect_ok(&url, &answer)?;
        if reference.starts_with("sha256:") {
            check_digest(reference, &answer.body, &url.to_string())?;
        }
        let promised = answer.headers.get("docker-content-digest");
        if let Some(promised) = promised.and_then(|value| value.to_str().ok())
            && promised.starts_with("sha256:")
            && promised != digest(&answer.body)
        {
            check_digest(promised, &answer.body, &url.to_string())?;
        }
        let manifest = json(&url, &answer)?;
        let layers = manifest.get("layers").and_then(Value::as_array);
        let is_chart = |layer: &&Value| {
            let kind = layer.get("mediaType").and_then(Value::as_str);
            kind.is_some_and(|kind| CHART_LAYERS.contains(&kind))
        };
        let layer = layers.into_iter().flatten().find(is_chart);
        let layer = layer
            .and_then(|layer| layer.get("digest"))
            .and_then(Value::as_str);
        layer.map(str::to_owned).ok_or_else(|| {
            http::malformed(&url, "manifest does not contain a layer with the chart")
        })
    }
}

fn json(url: &Url, answer: &Answer) -> Result<Value, ChartsError> {
    serde_json::from_slice(&answer.body).map_err(|error| http::malformed(url, &error.to_string()))
}

fn escape(text: &str) -> String {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if safe(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
