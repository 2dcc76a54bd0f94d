//! What the catalogue of failure modes knows about each failure: evidence, and ways out.

use super::{GitError, PathChange, Stage, Step};
use model::{Evidence, Finding, Fix, Remedy, json};

/// How many names of a list are shown as evidence.
const SHOWN_MAX: usize = 5;

impl GitError {
    /// The failure as an entry of the catalogue.
    pub fn finding(&self) -> Finding {
        let (code, slug) = self.code();
        Finding {
            culprit: self.culprit(),
            evidence: self.evidence(),
            fix: self.fixes(),
            prevent: self.prevent().to_owned(),
            ..Finding::new(code, slug, self.to_string())
        }
    }

    fn code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Auth { .. } => ("G01", "git-auth"),
            Self::Unreachable { .. }
            | Self::HostKey { .. }
            | Self::Protocol { .. }
            | Self::Corrupted { .. }
            | Self::Cache { .. } => ("G02", "git-unreachable"),
            Self::Timeout { step, .. } => match step {
                Step::Resolve | Step::Connect | Step::Answer => ("G02", "git-unreachable"),
                Step::Whole => ("G11", "generation-timeout"),
            },
            Self::BadUrl { .. }
            | Self::Gone { .. }
            | Self::NotARepository { .. }
            | Self::Empty { .. }
            | Self::Unsupported { .. } => ("G03", "repo-gone"),
            Self::NoSuchRevision { .. } => ("G04", "revision-not-found"),
            Self::NoSuchPath { .. } => ("G05", "path-not-found"),
            Self::TooLarge { .. } => ("G11", "generation-timeout"),
        }
    }

    fn culprit(&self) -> String {
        match self {
            Self::Auth { credential, .. } if !credential.is_empty() => {
                format!("credential `{credential}`")
            }
            Self::Auth { url, .. }
            | Self::BadUrl { url, .. }
            | Self::Gone { url, .. }
            | Self::NotARepository { url, .. }
            | Self::Empty { url }
            | Self::Timeout { url, .. }
            | Self::TooLarge { url, .. }
            | Self::Protocol { url, .. }
            | Self::Corrupted { url, .. }
            | Self::Unsupported { url, .. } => format!("repository `{url}`"),
            Self::Unreachable { host, .. } | Self::HostKey { host, .. } => format!("host `{host}`"),
            Self::NoSuchRevision { wanted, .. } => format!("targetRevision `{wanted}`"),
            Self::NoSuchPath { path, change, .. } => match change {
                Some(change) => format!("commit {}", change.commit),
                None => format!("path `{path}`"),
            },
            Self::Cache { path, .. } => format!("directory `{path}`"),
        }
    }

    fn evidence(&self) -> Vec<Evidence> {
        let mut seen = Vec::new();
        let mut see = |source: &str, says: String| {
            seen.push(Evidence {
                source: source.to_owned(),
                says,
                place: None,
            });
        };
        match self {
            Self::Auth {
                url,
                credential,
                says,
                last_worked,
            } => {
                see(url, says.clone());
                if credential.is_empty() {
                    see(
                        "repository settings",
                        "no credential is set for this address".into(),
                    );
                } else {
                    see(
                        "repository settings",
                        format!("the credential `{credential}` was shown"),
                    );
                }
                if let Some(when) = last_worked {
                    see("history", format!("it last worked at {when}"));
                }
            }
            Self::Unreachable {
                host, stage, says, ..
            } => {
                see(host, format!("{stage}: {says}"));
                see("connection", passed(*stage).into());
            }
            Self::Gone {
                url,
                moved_to,
                says,
                credential,
            } => {
                see(url, says.clone());
                if let Some(to) = moved_to {
                    see(url, format!("the host redirects to {to}"));
                }
                if credential.is_empty() {
                    see(
                        "repository settings",
                        "no credential is set: a private repository looks absent".into(),
                    );
                }
            }
            Self::NotARepository { url, says }
            | Self::Protocol { url, says }
            | Self::Corrupted { url, says } => see(url, says.clone()),
            Self::NoSuchRevision { url, nearest, .. } => {
                for name in nearest.iter().take(SHOWN_MAX) {
                    see(url, format!("it has `{name}`"));
                }
            }
            Self::NoSuchPath {
                url,
                nearest,
                change,
                ..
            } => {
                if let Some(change) = change {
                    see("history", history(change));
                }
                for path in nearest.iter().take(SHOWN_MAX) {
                    see(url, format!("it has `{path}`"));
                }
            }
            Self::Timeout { url, step, limit } => {
                see(
                    url,
                    format!("{step}: nothing after {} s", limit.as_secs_f32()),
                );
            }
            Self::HostKey { host, offers, .. } => {
                for line in offers.iter().take(SHOWN_MAX) {
                    see(host, line.clone());
                }
            }
            Self::TooLarge { url, what, max } => {
                see(url, format!("{what}: the limit is {max} bytes"));
            }
            Self::Cache { path, says } => see(path, says.clone()),
            Self::BadUrl { .. } | Self::Empty { .. } | Self::Unsupported { .. } => {}
        }
        seen
    }

    fn fixes(&self) -> Vec<Fix> {
        match self {
            Self::Auth { credential, .. } => vec![rotate(credential)],
            Self::Unreachable { stage, .. } => vec![advice("open the way", stage_advice(*stage))],
            Self::Gone {
                moved_to: Some(to), ..
            } => vec![application(
                "follow the repository",
                json!({"spec": {"source": {"repoURL": to}}}),
            )],
            Self::Gone { .. } | Self::NotARepository { .. } | Self::BadUrl { .. } => vec![advice(
                "correct the address",
                "check spec.source.repoURL; a private repository that our credential may not see looks absent too",
            )],
            Self::Empty { .. } => vec![advice(
                "push a commit",
                "push the first commit to the repository",
            )],
            Self::NoSuchRevision { nearest, .. } => first(nearest, |name| {
                application(
                    "use a name that exists",
                    json!({"spec": {"source": {"targetRevision": name}}}),
                )
            }),
            Self::NoSuchPath {
                nearest, change, ..
            } => {
                let moved = change.as_ref().and_then(|c| c.moved_to.clone());
                let to = moved.or_else(|| nearest.first().cloned());
                first(to.as_slice(), |path| {
                    application(
                        "use the path that exists",
                        json!({"spec": {"source": {"path": path}}}),
                    )
                })
            }
            Self::Timeout {
                step: Step::Whole, ..
            }
            | Self::TooLarge { .. } => vec![advice(
                "raise the limit or split the repository",
                "raise the Git time and size limits of the server, or move large files out of this repository",
            )],
            Self::Timeout { .. } => vec![advice(
                "look at the way to the host",
                "check network policies, firewalls and the proxy between us and the host, and the load of the host",
            )],
            Self::HostKey {
                changed,
                offers,
                host,
                ..
            } => host_key(*changed, host, offers),
            Self::Protocol { .. } => vec![advice(
                "try again",
                "look at the host and at proxies on the way when it repeats",
            )],
            Self::Corrupted { .. } => vec![advice(
                "nothing",
                "the next refresh fetches the repository anew",
            )],
            Self::Cache { .. } => vec![advice(
                "look at the disk",
                "free space, and check the rights of the cache directory",
            )],
            Self::Unsupported { .. } => Vec::new(),
        }
    }

    fn prevent(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "rotate the credential before it expires",
            Self::NoSuchPath { .. } => {
                "rehearse a commit before it is merged: it names the applications whose path it removes"
            }
            Self::NoSuchRevision { .. } => "protect branches and tags that applications follow",
            Self::Gone { .. } => "change repoURL together with the name of the repository",
            _ => "",
        }
    }
}

fn history(change: &PathChange) -> String {
    let what = match &change.moved_to {
        Some(to) => format!("moved it to `{to}`"),
        None => "removed it".to_owned(),
    };
    format!(
        "commit {} of {} on {} {what}: {}",
        change.commit, change.author, change.when, change.title
    )
}

fn passed(stage: Stage) -> &'static str {
    match stage {
        Stage::Dns => "nothing worked yet: the name of the host has no address",
        Stage::Tcp => "dns worked",
        Stage::Proxy => "the proxy was reached",
        Stage::Tls | Stage::Ssh => "dns and tcp worked",
        Stage::Http { .. } => "dns, tcp and tls worked",
        Stage::Stream => "the connection stood and broke off",
    }
}

fn stage_advice(stage: Stage) -> &'static str {
    match stage {
        Stage::Dns => "check the spelling of the host and the DNS of the place we run in",
        Stage::Tcp => {
            "check network policies, firewalls, the port, and whether a proxy has to be set for this repository"
        }
        Stage::Proxy => {
            "check the proxy of this repository: its address, its user and password, and what it lets through"
        }
        Stage::Tls => {
            "add the certificate authority of the host to the TLS certificates, or renew the certificate of the host"
        }
        Stage::Ssh => {
            "check that the host speaks ssh on this port and offers algorithms that OpenSSH still accepts"
        }
        Stage::Http { status: 429 } => {
            "the host limits how often we ask: use a webhook instead of a short refresh interval"
        }
        Stage::Http { .. } => {
            "the host has a problem of its own: look at its status page or its logs"
        }
        Stage::Stream => {
            "a proxy or a timeout between us and the host cuts connections: try again, then look there"
        }
    }
}

fn rotate(credential: &str) -> Fix {
    if credential.is_empty() {
        return advice(
            "add a credential",
            "add a repository or credential template whose URL is a prefix of this address",
        );
    }
    Fix {
        title: "write a fresh password or token".into(),
        how: Remedy::Command(format!(
            "kubectl -n argocd patch secret {credential} --type merge -p '{{\"stringData\":{{\"password\":\"<new token>\"}}}}'"
        )),
        destructive: false,
    }
}

fn host_key(changed: bool, host: &str, offers: &[String]) -> Vec<Fix> {
    if changed {
        return vec![advice(
            "ask who changed it",
            "compare the key with the one its owner publishes; only then replace the old line in argocd-ssh-known-hosts-cm",
        )];
    }
    let how = match offers.first() {
        Some(line) => format!(
            "compare with what the owner of `{host}` publishes, then add to argocd-ssh-known-hosts-cm: {line}"
        ),
        None => format!("add the key of `{host}` to argocd-ssh-known-hosts-cm"),
    };
    vec![advice("add the key of the host", &how)]
}

fn first(names: &[String], fix: impl Fn(&str) -> Fix) -> Vec<Fix> {
    names.first().map(|name| fix(name)).into_iter().collect()
}

fn advice(title: &str, how: &str) -> Fix {
    Fix {
        title: title.to_owned(),
        how: Remedy::Advice(how.to_owned()),
        destructive: false,
    }
}

fn application(title: &str, patch: model::Value) -> Fix {
    Fix {
        title: title.to_owned(),
        how: Remedy::Application(patch),
        destructive: false,
    }
}
