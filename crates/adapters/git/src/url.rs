//! Addresses of repositories: what they say, when two mean the same, how to show them.
//!
//! Text in, [`RepoUrl`] out. Two addresses that differ in letter case, a final `.git` or the way
//! ssh is written name one repository: [`normalize`] gives both the same text, as Argo CD does.

use crate::GitError;
use std::fmt;

/// How a repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// Over HTTP and TLS.
    Https,
    /// Over HTTP in clear text.
    Http,
    /// Through an ssh server.
    Ssh,
    /// From a Git daemon.
    Git,
    /// On this machine.
    File,
}

/// Where a repository is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RepoUrl {
    /// How it is reached.
    pub scheme: Scheme,
    /// The user in the address, percent signs decoded.
    pub user: Option<String>,
    /// The password in the address, percent signs decoded; never shown.
    pub(crate) password: Option<String>,
    /// The host; empty for files.
    pub host: String,
    /// The port, when it is written.
    pub port: Option<u16>,
    /// The path, as the server wants it.
    pub path: String,
    // The address as written, without any password.
    shown: String,
}

/// How long an address may be.
const URL_BYTES_MAX: usize = 4096;

impl RepoUrl {
    /// Reads an address in any of the ways Git knows.
    pub fn parse(text: &str) -> Result<Self, GitError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(bad(text, "it is empty"));
        }
        if trimmed.len() > URL_BYTES_MAX || trimmed.chars().any(char::is_control) {
            return Err(bad(text, "it holds control characters or is too long"));
        }
        match trimmed.split_once("://") {
            Some((scheme, rest)) => Self::with_scheme(trimmed, scheme, rest),
            None => Self::without_scheme(trimmed),
        }
    }

    fn with_scheme(text: &str, scheme: &str, rest: &str) -> Result<Self, GitError> {
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            "ssh" | "git+ssh" | "ssh+git" => Scheme::Ssh,
            "git" => Scheme::Git,
            "file" => Scheme::File,
            other => return Err(bad(text, &format!("`{other}` is no way to reach Git"))),
        };
        if scheme == Scheme::File {
            return Self::file(rest);
        }
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let mut url = Self::authority(scheme, text, authority)?;
        let path = path.split(['?', '#']).next().unwrap_or_default();
        url.shown = format!("{}://{}", scheme.word(), url.authority_text());
        if path.trim_matches('/').is_empty() {
            return Err(bad(&url.shown, "it names a host but no repository"));
        }
        // Ssh hands `/~user/x` to the server as `~user/x`.
        url.path = match scheme {
            Scheme::Ssh if path.starts_with("/~") => path[1..].to_owned(),
            Scheme::Ssh | Scheme::Git => decode(path),
            Scheme::Https | Scheme::Http | Scheme::File => path.trim_end_matches('/').to_owned(),
        };
        if scheme == Scheme::Git && url.path.contains('\n') {
            return Err(bad(&url.shown, "its path holds a line break"));
        }
        url.show();
        Ok(url)
    }

    // `user@host:path` is ssh; everything else is a path on this machine.
    fn without_scheme(text: &str) -> Result<Self, GitError> {
        let colon = text.find(':');
        let slash = text.find('/').unwrap_or(text.len());
        let Some(colon) = colon.filter(|at| *at < slash && *at > 0) else {
            return Self::file(text);
        };
        let mut url = Self::authority(Scheme::Ssh, text, &text[..colon])?;
        text[colon + 1..].clone_into(&mut url.path);
        if url.path.is_empty() {
            return Err(bad(text, "it names a host but no repository"));
        }
        text.clone_into(&mut url.shown);
        Ok(url)
    }

    fn file(path: &str) -> Result<Self, GitError> {
        if path.is_empty() {
            return Err(bad(path, "it names no directory"));
        }
        Ok(Self {
            scheme: Scheme::File,
            user: None,
            password: None,
            host: String::new(),
            port: None,
            path: path.to_owned(),
            shown: format!("file://{path}"),
        })
    }

    fn authority(scheme: Scheme, text: &str, authority: &str) -> Result<Self, GitError> {
        let (account, host_port) = match authority.rsplit_once('@') {
            Some((account, rest)) => (Some(account), rest),
            None => (None, authority),
        };
        let redacted = account.map_or_else(|| text.to_owned(), |a| text.replacen(a, "…", 1));
        let (host, port) =
            split_port(host_port).ok_or_else(|| bad(&redacted, "its port is no number"))?;
        let (user, password) = match account.map(|a| a.split_once(':').unwrap_or((a, ""))) {
            Some((user, password)) => (
                Some(decode(user)).filter(|u| !u.is_empty()),
                Some(decode(password)).filter(|p| !p.is_empty()),
            ),
            None => (None, None),
        };
        // A host or user that begins with a dash would be read as an option by ssh.
        let option = |word: &str| word.starts_with('-');
        let odd = |word: &str| {
            word.chars()
                .any(|c| c.is_whitespace() || "'\"`$;|&<>\\".contains(c))
        };
        if host.is_empty()
            || option(&host)
            || odd(&host)
            || user.as_deref().is_some_and(|u| option(u) || odd(u))
        {
            return Err(bad(&redacted, "its host or user is not one"));
        }
        Ok(Self {
            scheme,
            user,
            password,
            host: host.to_ascii_lowercase(),
            port,
            path: String::new(),
            shown: String::new(),
        })
    }

    fn show(&mut self) {
        let word = self.scheme.word();
        let user = match (&self.user, self.scheme) {
            (Some(user), Scheme::Ssh) => format!("{user}@"),
            (Some(_) | None, _) => String::new(),
        };
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        self.shown = format!(
            "{word}://{user}{}{slash}{}",
            self.authority_text(),
            self.path
        );
    }

    /// Host and port as they stand in an address.
    pub(crate) fn authority_text(&self) -> String {
        let host = self.host_text();
        self.port
            .map_or(host.clone(), |port| format!("{host}:{port}"))
    }

    /// The host as it stands in an address: IPv6 in brackets.
    pub(crate) fn host_text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        }
    }

    /// The port that is used.
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(match self.scheme {
            Scheme::Https => 443,
            Scheme::Http => 80,
            Scheme::Ssh => 22,
            Scheme::Git => 9418,
            Scheme::File => 0,
        })
    }

    /// The address without password, for people.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// The text that is equal for all addresses of this repository.
    pub fn normalized(&self) -> String {
        match (&self.user, self.scheme) {
            (Some(user), Scheme::Https | Scheme::Http) => {
                normalize(&self.shown.replacen("://", &format!("://{user}@"), 1))
            }
            (Some(_) | None, _) => normalize(&self.shown),
        }
    }

    /// Whether two addresses lead to the same host over the same kind of connection.
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port_or_default())
            == (other.scheme, &other.host, other.port_or_default())
    }

    /// The address of a submodule: absolute as it stands, `./` and `../` from this repository.
    pub fn join(&self, relative: &str) -> Result<Self, GitError> {
        if !relative.starts_with("./") && !relative.starts_with("../") {
            return Self::parse(relative);
        }
        let mut parts: Vec<&str> = self.path.trim_end_matches('/').split('/').collect();
        for part in relative.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.len() > 1 || parts.first().is_some_and(|p| !p.is_empty()) => {
                    parts.pop();
                }
                ".." => return Err(bad(relative, "it leads out of the host")),
                name => parts.push(name),
            }
        }
        let mut joined = self.clone();
        joined.path = parts.join("/");
        if self.scheme == Scheme::File {
            joined.shown = format!("file://{}", joined.path);
        } else if self.shown.contains("://") {
            joined.show();
        } else {
            let user = self
                .user
                .as_ref()
                .map_or(String::new(), |u| format!("{u}@"));
            joined.shown = format!("{user}{}:{}", self.host_text(), joined.path);
        }
        Ok(joined)
    }
}

impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RepoUrl({})", self.shown)
    }
}

impl Scheme {
    /// The word in front of `://`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Git => "git",
            Self::File => "file",
        }
    }
}

/// One text for all ways to write the address of a repository, as Argo CD compares them: lower
/// case, no final `.git`, `user@host:path` as `user@host/path`, no `ssh://` in front.
pub fn normalize(url: &str) -> String {
    let mut text = url.trim().to_lowercase();
    let scp = !text.contains("://")
        && text.split_once('@').is_some_and(|(user, rest)| {
            !user.contains(['/', ':']) && !rest.is_empty() && !rest.contains('@')
        });
    if scp {
        text = text.replacen(':', "/", 1);
    }
    let text = text.strip_suffix(".git").unwrap_or(&text);
    text.strip_prefix("ssh://").unwrap_or(text).to_owned()
}

fn bad(url: &str, why: &str) -> GitError {
    GitError::BadUrl {
        url: url.to_owned(),
        why: why.to_owned(),
    }
}

fn split_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or(rest)),
        None => text.rsplit_once(':').unwrap_or((text, "")),
    };
    let port = match port {
        "" => None,
        digits => Some(digits.parse().ok()?),
    };
    Some((host.to_owned(), port))
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        if let Some(byte) = hex {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn check(urls: &[&str], expected: expect_test::Expect) {
        let lines: Vec<String> = urls
            .iter()
            .map(|url| match RepoUrl::parse(url) {
                Ok(u) => format!(
                    "{} | {:?} {} {} {}",
                    u,
                    u.user,
                    u.host,
                    u.port_or_default(),
                    u.path
                ),
                Err(error) => error.to_string(),
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn every_way_to_write_an_address() {
        check(
            &[
                "https://bot:s%40crt@Host.example:8443/Org/app.git/",
                "http://host/x",
                "git@github.com:org/app.git",
                "ssh://git@host:2222/srv/app",
                "ssh://git@host/~me/app",
                "git://[::1]:9000/app",
                "file:///srv/app.git",
                "/srv/app.git",
                "ftp://host/x",
                "https://host",
                "https://u:secret@host:x/app",
                "ssh://-oProxyCommand=x/app",
                "",
            ],
            expect![[r#"
                https://host.example:8443/Org/app.git | Some("bot") host.example 8443 /Org/app.git
                http://host/x | None host 80 /x
                git@github.com:org/app.git | Some("git") github.com 22 org/app.git
                ssh://git@host:2222/srv/app | Some("git") host 2222 /srv/app
                ssh://git@host/~me/app | Some("git") host 22 ~me/app
                git://[::1]:9000/app | None ::1 9000 /app
                file:///srv/app.git | None  0 /srv/app.git
                file:///srv/app.git | None  0 /srv/app.git
                `ftp://host/x` is not the address of a repository: `ftp` is no way to reach Git
                `https://host` is not the address of a repository: it names a host but no repository
                `https://…@host:x/app` is not the address of a repository: its port is no number
                `ssh://-oProxyCommand=x/app` is not the address of a repository: its host or user is not one
                `` is not the address of a repository: it is empty"#]],
        );
    }

    #[test]
    fn equal_repositories_have_one_text() {
        for (url, expected) in [
            (
                "https://GitHub.com/Org/App.git",
                "https://github.com/org/app",
            ),
            (" https://github.com/org/app ", "https://github.com/org/app"),
            ("git@github.com:Org/App.git", "git@github.com/org/app"),
            ("ssh://git@github.com/org/app", "git@github.com/org/app"),
            ("ssh://git@host:22/org/app.git", "git@host:22/org/app"),
            ("https://user@host/org/app", "https://user@host/org/app"),
        ] {
            assert_eq!(normalize(url), expected, "{url}");
        }
    }

    #[test]
    fn submodules_are_found_from_their_parent() {
        let join = |base: &str, relative: &str| {
            RepoUrl::parse(base)
                .and_then(|url| url.join(relative))
                .map_or_else(|e| e.to_string(), |u| u.to_string())
        };
        assert_eq!(
            join("https://h/org/app.git", "../lib.git"),
            "https://h/org/lib.git"
        );
        assert_eq!(join("git@h:org/app", "../../lib"), "git@h:lib");
        assert_eq!(join("ssh://h/srv/app", "./sub"), "ssh://h/srv/app/sub");
        assert_eq!(join("file:///srv/app", "../lib"), "file:///srv/lib");
        assert_eq!(join("https://h/app", "https://other/x"), "https://other/x");
        assert_eq!(
            join("https://h/app", "../../../x"),
            "`../../../x` is not the address of a repository: it leads out of the host"
        );
    }
}
