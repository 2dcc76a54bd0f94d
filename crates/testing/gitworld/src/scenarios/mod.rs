//! The scenarios, by what they are about.

mod access;
mod failures;
mod history;
mod names;
mod sharing;
mod signatures;
mod ssh;
mod whole;

use git::{
    Credentials, Freshness, GitError, GitTree, Options, Repositories, RepositorySettings, Revision,
    Source, Timeouts,
};
use gitworld::{Folder, HttpServer, Outcome, Repo, ServerOptions};
use model::SourceTree;
use std::path::PathBuf;
use std::time::Duration;

type Scenario = fn() -> Outcome;

pub(crate) fn all() -> Vec<(&'static str, Scenario)> {
    [
        access::ALL,
        failures::ALL,
        names::ALL,
        history::ALL,
        sharing::ALL,
        ssh::ALL,
        signatures::ALL,
        whole::ALL,
    ]
    .concat()
}

/// A repository behind a web server, and a cache of ours.
pub(crate) struct World {
    pub(crate) repo: Repo,
    pub(crate) server: HttpServer,
    pub(crate) git: Repositories,
    pub(crate) folder: Folder,
}

/// What the first commit holds.
pub(crate) const FILES: [(&str, &str); 4] = [
    ("apps/web/deploy.yaml", "kind: Deployment\n"),
    ("apps/web/service.yaml", "kind: Service\n"),
    ("apps/db/deploy.yaml", "kind: StatefulSet\n"),
    ("README.md", "hello\n"),
];

pub(crate) fn short() -> Options {
    Options {
        timeouts: Timeouts {
            connect: Duration::from_secs(2),
            idle: Duration::from_millis(700),
            total: Duration::from_secs(20),
        },
        ..Options::default()
    }
}

impl World {
    pub(crate) fn new() -> Outcome<Self> {
        Self::with(ServerOptions::default(), Options::default())
    }

    pub(crate) fn with(server: ServerOptions, options: Options) -> Outcome<Self> {
        let folder = Folder::new()?;
        let repo = Repo::new(folder.path(), "app")?;
        for (path, content) in FILES {
            repo.write(path, content)?;
        }
        repo.commit("first")?;
        repo.push()?;
        let server = HttpServer::start(folder.path(), server)?;
        let git = Repositories::open(folder.path().join("cache"), options).map_err(words)?;
        Ok(Self {
            repo,
            server,
            git,
            folder,
        })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url("git/app.git")
    }

    pub(crate) fn resolve(&self, revision: &str) -> Result<Revision, GitError> {
        self.resolve_at(&self.url(), revision, &Credentials::default())
    }

    pub(crate) fn resolve_at(
        &self,
        url: &str,
        revision: &str,
        credentials: &Credentials,
    ) -> Result<Revision, GitError> {
        self.git
            .resolve(&Source::new(url, revision), credentials, Freshness::Now)
    }

    pub(crate) fn tree(&self, revision: &Revision) -> Outcome<GitTree> {
        self.git
            .tree(revision, &Credentials::default())
            .map_err(words)
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Resolves and reads one file, with what is shown to the host.
    pub(crate) fn read(&self, url: &str, credentials: &Credentials) -> Result<String, GitError> {
        let revision = self.resolve_at(url, "", credentials)?;
        let tree = self.git.tree(&revision, credentials)?;
        Ok(content(tree, "apps/web/deploy.yaml"))
    }
}

pub(crate) fn content(tree: GitTree, path: &str) -> String {
    match SourceTree::new(tree).read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn words(error: GitError) -> String {
    error.to_string()
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> Outcome {
    if got == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}\ngot      {got:?}"))
}

/// A failure with its code and a part of its words.
pub(crate) fn fails<T: std::fmt::Debug>(
    got: Result<T, GitError>,
    code: &str,
    part: &str,
) -> Outcome {
    match got {
        Ok(value) => Err(format!("it should fail with {code}, and gives {value:?}")),
        Err(error) => {
            let finding = error.finding();
            let all = format!("{} {}: {error}", finding.code, finding.slug);
            if finding.code == code && error.to_string().contains(part) {
                return Ok(());
            }
            Err(format!("expected {code} …{part}…\ngot      {all}"))
        }
    }
}

pub(crate) fn settings(url: &str) -> RepositorySettings {
    RepositorySettings {
        url: url.to_owned(),
        ..RepositorySettings::default()
    }
}

/// What the process that is killed does: it fetches.
pub(crate) fn fetch(url: &str, cache: String) -> std::process::ExitCode {
    let fetched = Repositories::open(cache, Options::default()).and_then(|git| {
        git.resolve(
            &Source::new(url, "main"),
            &Credentials::default(),
            Freshness::Now,
        )
    });
    if fetched.is_ok() {
        std::process::ExitCode::SUCCESS
    } else {
        std::process::ExitCode::FAILURE
    }
}
