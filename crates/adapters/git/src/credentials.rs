//! What we show to the hosts of repositories, and whom we trust.
//!
//! [`Credentials`] is the book: repositories with their own settings, templates for all addresses
//! with a prefix, and the keys and certificates of hosts. [`Credentials::access`] looks one address
//! up and gives the [`Access`] to use there.

use crate::url::{RepoUrl, normalize};
use std::collections::BTreeMap;
use std::fmt;

/// A text that never shows itself.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secret(String);

impl Secret {
    /// The text, for the one who must send it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { "…" })
    }
}

/// What is shown to a host. Fields that are empty are not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credential {
    /// What people call it: the name of the secret it comes from.
    pub name: String,
    /// The user for HTTP.
    pub username: String,
    /// The password or token for HTTP.
    pub password: Secret,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Secret,
    /// A private key for ssh, as OpenSSH writes it.
    pub ssh_key: Secret,
    /// A client certificate for TLS, in PEM.
    pub client_certificate: String,
    /// Its private key, in PEM.
    pub client_key: Secret,
}

impl Credential {
    /// Whether there is anything to show.
    pub fn is_empty(&self) -> bool {
        self.username.is_empty()
            && self.password.is_empty()
            && self.bearer.is_empty()
            && self.ssh_key.is_empty()
            && self.client_certificate.is_empty()
    }
}

/// One repository with settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositorySettings {
    /// Its address.
    pub url: String,
    /// The project it belongs to; empty for all.
    pub project: String,
    /// What is shown to its host.
    pub credential: Credential,
    /// Do not check who the host is: TLS certificate and ssh key.
    pub insecure: bool,
    /// A proxy for this repository, as `http://user:password@host:port`.
    pub proxy: String,
    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: String,
    /// Whether files in Git LFS are fetched.
    pub lfs: bool,
}

/// A credential for all addresses with a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The beginning of the addresses it is for.
    pub url: String,
    /// What is shown to their hosts.
    pub credential: Credential,
    /// A proxy for these repositories.
    pub proxy: String,
    /// Hosts that are reached without the proxy.
    pub no_proxy: String,
}

/// Whom ssh trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KnownHosts {
    /// The files of the user who runs us.
    #[default]
    OfTheUser,
    /// These lines and no others, as in a `known_hosts` file.
    Lines(String),
}

/// All credentials, and whom we trust.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Repositories with settings of their own.
    pub repositories: Vec<RepositorySettings>,
    /// Credentials by prefix.
    pub templates: Vec<Template>,
    /// Whom ssh trusts.
    pub known_hosts: KnownHosts,
    /// Certificate authorities by host, in PEM; they replace those of the system.
    pub certificates: BTreeMap<String, String>,
    /// The project whose repositories are preferred.
    pub project: String,
    /// The proxy where a repository has none of its own.
    pub proxy: String,
    /// Hosts that are reached without that proxy.
    pub no_proxy: String,
}

/// How one repository is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// What is shown.
    pub credential: Credential,
    /// Whether the credential comes from a template.
    pub inherited: bool,
    /// Whether the host is not checked.
    pub insecure: bool,
    /// Certificate authorities in PEM instead of the system's.
    pub certificates: Option<String>,
    /// Whom ssh trusts.
    pub known_hosts: KnownHosts,
    /// The proxy; empty for none.
    pub proxy: String,
    /// Hosts that are reached without it.
    pub no_proxy: String,
    /// Whether files in Git LFS are fetched.
    pub lfs: bool,
}

impl Credentials {
    /// A book with one repository in it.
    pub fn of(settings: RepositorySettings) -> Self {
        Self {
            repositories: vec![settings],
            ..Self::default()
        }
    }

    /// How an address is reached: its own settings first, then the template with the longest
    /// prefix, then what stands in the address itself.
    pub fn access(&self, url: &RepoUrl) -> Access {
        let wanted = url.normalized();
        let own = self.own(&wanted);
        let mut access = Access {
            certificates: self.certificates.get(&url.host).cloned(),
            known_hosts: self.known_hosts.clone(),
            proxy: self.proxy.clone(),
            no_proxy: self.no_proxy.clone(),
            ..Access::default()
        };
        if let Some(own) = own {
            access.credential = own.credential.clone();
            access.insecure = own.insecure;
            access.lfs = own.lfs;
            access.use_proxy(&own.proxy, &own.no_proxy);
        }
        if access.credential.is_empty()
            && let Some(template) = self.template(&wanted)
        {
            access.credential = template.credential.clone();
            access.inherited = true;
            if own.is_none_or(|own| own.proxy.is_empty()) {
                access.use_proxy(&template.proxy, &template.no_proxy);
            }
        }
        if access.credential.is_empty() {
            access.credential = in_the_address(url);
        }
        access
    }

    fn own(&self, wanted: &str) -> Option<&RepositorySettings> {
        let matching = || {
            self.repositories
                .iter()
                .filter(|settings| normalize(&settings.url) == wanted)
        };
        matching()
            .find(|settings| settings.project == self.project)
            .or_else(|| matching().find(|settings| settings.project.is_empty()))
    }

    fn template(&self, wanted: &str) -> Option<&Template> {
        self.templates
            .iter()
            .filter(|template| {
                let prefix = normalize(&template.url);
                !prefix.is_empty() && wanted.starts_with(&prefix)
            })
            .max_by_key(|template| normalize(&template.url).len())
    }
}

impl Access {
    fn use_proxy(&mut self, proxy: &str, no_proxy: &str) {
        if !proxy.is_empty() {
            proxy.clone_into(&mut self.proxy);
            no_proxy.clone_into(&mut self.no_proxy);
        }
    }

    /// What identifies the credential among others, without being one.
    pub(crate) fn fingerprint(&self) -> String {
        let credential = &self.credential;
        let mut text = Vec::new();
        for part in [
            credential.username.as_str(),
            credential.password.reveal(),
            credential.bearer.reveal(),
            credential.ssh_key.reveal(),
            &credential.client_certificate,
        ] {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        hex(ring::digest::digest(&ring::digest::SHA256, &text).as_ref())
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn in_the_address(url: &RepoUrl) -> Credential {
    let Some(password) = &url.password else {
        return Credential::default();
    };
    Credential {
        name: "in the address".into(),
        username: url.user.clone().unwrap_or_default(),
        password: password.as_str().into(),
        ..Credential::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(name: &str) -> Credential {
        Credential {
            name: name.into(),
            username: "bot".into(),
            password: "secret".into(),
            ..Credential::default()
        }
    }

    fn template(url: &str, name: &str) -> Template {
        Template {
            url: url.into(),
            credential: credential(name),
            ..Template::default()
        }
    }

    fn check(book: &Credentials, url: &str, expected: &str) {
        let access = book.access(&RepoUrl::parse(url).unwrap());
        assert_eq!(access.credential.name, expected, "{url}");
    }

    #[test]
    fn own_settings_win_then_the_longest_prefix() {
        let own = RepositorySettings {
            url: "https://h/org/own.git".into(),
            credential: credential("own"),
            ..RepositorySettings::default()
        };
        let bare = RepositorySettings {
            url: "https://h/org/bare".into(),
            ..RepositorySettings::default()
        };
        let scoped = RepositorySettings {
            project: "team".into(),
            credential: credential("scoped"),
            ..own.clone()
        };
        let mut book = Credentials {
            repositories: vec![scoped, own, bare],
            templates: vec![
                template("https://h/", "host"),
                template("https://H/org", "org"),
            ],
            ..Credentials::default()
        };
        check(&book, "https://h/org/own", "own");
        check(&book, "https://h/Org/bare.git", "org");
        check(&book, "https://h/other/x", "host");
        check(&book, "https://elsewhere/x", "");
        check(&book, "https://me:pw@elsewhere/x", "in the address");
        book.project = "team".into();
        check(&book, "https://h/org/own", "scoped");
    }

    #[test]
    fn secrets_do_not_show() {
        let text = format!("{:?}", credential("x"));
        assert!(!text.contains("\"secret\"") && text.contains('…'), "{text}");
    }
}
