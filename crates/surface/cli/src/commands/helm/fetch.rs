//! Charts that are not here: from a repository, a registry, or the chart's own dependencies.

use super::host::HostTree;
use charts::{Cache, Charts, ChartsError, Repository, Secret, Tls};
use helm::command::{Source, Template};
use helm::dependency::{self, From};
use helm::{Chart, Flavour, HelmError};
use model::SourceTree;
use std::path::PathBuf;
use std::sync::Arc;

/// How many bytes of archives are kept.
const CACHE_MAX: u64 = 512 * 1024 * 1024;

fn block<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    Ok(runtime.block_on(work))
}

fn fetcher() -> Charts {
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home =
        home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    let cache = home.and_then(|home| Cache::open(home.join("tiphys/charts"), CACHE_MAX).ok());
    Charts::new(cache.map(Arc::new))
}

fn repository(url: &str, source: &Source) -> Result<Repository, HelmError> {
    let file = |path: &str| match path {
        "" => Ok(String::new()),
        path => std::fs::read_to_string(path)
            .map_err(|error| refuse(super::host::say("open", path, &error))),
    };
    let proxy = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| std::env::var(name).ok())
            .unwrap_or_default()
    };
    Ok(Repository {
        url: url.to_owned(),
        username: source.username.clone(),
        password: Secret(source.password.clone()),
        pass_credentials: source.pass_credentials,
        tls: Tls {
            ca: file(&source.ca_file)?,
            certificate: file(&source.cert_file)?,
            key: Secret(file(&source.key_file)?),
            insecure: source.insecure,
        },
        proxy: proxy(["HTTPS_PROXY", "https_proxy"]),
        no_proxy: proxy(["NO_PROXY", "no_proxy"]),
        plain_http: source.plain_http,
        ..Repository::default()
    })
}

fn refuse(message: String) -> HelmError {
    HelmError::Chart {
        message,
        file: String::new(),
        line: 0,
    }
}

fn bring(
    repository: &Repository,
    chart: &str,
    range: &str,
) -> Result<(String, Arc<[u8]>), HelmError> {
    let fetcher = fetcher();
    let work = async {
        let resolved = fetcher.resolve(repository, chart, range).await?;
        let bytes = fetcher.fetch(repository, &resolved).await?;
        Ok::<_, ChartsError>((format!("{}-{}.tgz", resolved.name, resolved.version), bytes))
    };
    block(work)
        .map_err(refuse)?
        .map_err(|error| refuse(error.to_string()))
}

/// The chart a name means that is no path.
pub(super) fn chart(name: &str, template: &Template, flavour: Flavour) -> Result<Chart, HelmError> {
    let source = &template.source;
    let range = match source.version.trim() {
        "" if source.devel => ">0.0.0-0",
        version => version,
    };
    let (repository, chart) = if let Some(rest) = name.strip_prefix("oci://") {
        let (rest, tag) = rest
            .rsplit_once(':')
            .filter(|(_, tag)| !tag.contains('/'))
            .unwrap_or((rest, ""));
        let range = if range.is_empty() { tag } else { range };
        let repository = repository(&format!("oci://{rest}"), source)?;
        let (file, bytes) = bring(&repository, "", range)?;
        return helm::load_archive(&bytes, &file, flavour);
    } else if name.starts_with("http://") || name.starts_with("https://") {
        let bytes = file(name).map_err(refuse)?;
        return helm::load_archive(&bytes, name, flavour);
    } else if source.repo.is_empty() {
        return Err(HelmError::Refused {
            message: format!(
                "`{name}` is neither a path nor an address; name its repository with --repo, since Helm's list of repositories is not read"
            ),
        });
    } else {
        (repository(&source.repo, source)?, name)
    };
    let (file, bytes) = bring(&repository, chart, range)?;
    helm::load_archive(&bytes, &file, flavour)
}

/// The content behind an address.
pub(super) fn file(url: &str) -> Result<Vec<u8>, String> {
    let repository = Repository {
        url: url.to_owned(),
        ..Repository::default()
    };
    block(fetcher().file(&repository, url))?.map_err(|error| error.to_string())
}

/// A chart with what it lacks, when `--dependency-update` asks for it.
pub(super) fn complete(
    chart: Chart,
    path: &str,
    template: &Template,
    flavour: Flavour,
) -> Result<Chart, HelmError> {
    if !template.dependency_update {
        return Ok(chart);
    }
    let mut fetched = Vec::new();
    for want in dependency::wanted(&chart)? {
        match &want.from {
            From::Directory(_) => {}
            From::Repository(url) | From::Registry(url) => {
                let repository = repository(url, &template.source)?;
                let (_, bytes) = bring(&repository, &want.name, &want.version)?;
                fetched.push((want, bytes));
            }
            From::Alias(name) => {
                let names = format!("@{name}");
                return Err(refuse(ChartsError::NoRepository { names }.to_string()));
            }
        }
    }
    let tree = SourceTree::new(HostTree::new(path));
    dependency::complete(chart, &tree, &fetched, flavour)
}
