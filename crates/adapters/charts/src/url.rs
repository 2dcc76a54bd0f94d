//! Addresses: their parts, and what an address inside an index means.

use crate::ChartsError;

/// An address taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    /// Host and port, as written.
    pub(crate) authority: String,
    /// Path and query, beginning with `/`.
    pub(crate) target: String,
}

/// Whether an address is of an OCI registry.
pub fn is_oci(url: &str) -> bool {
    url.starts_with("oci://")
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Self, ChartsError> {
        let fault = |why: &str| ChartsError::Address {
            url: text.to_owned(),
            why: why.to_owned(),
        };
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| fault("it has no scheme"))?;
        if !matches!(scheme, "http" | "https") {
            return Err(fault("only http, https and oci are known"));
        }
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(at);
        // Who we are is told by settings, never by addresses.
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        if authority.is_empty() || authority.contains(char::is_whitespace) {
            return Err(fault("it has no host"));
        }
        let target = target.split('#').next().unwrap_or_default();
        let target = match target {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            path => path.replace(' ', "%20"),
        };
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            target,
        })
    }

    pub(crate) fn host(&self) -> &str {
        if let Some(inner) = self.authority.strip_prefix('[') {
            return inner.split(']').next().unwrap_or(inner);
        }
        self.authority.split(':').next().unwrap_or(&self.authority)
    }

    pub(crate) fn port(&self) -> u16 {
        let after = self.authority.rsplit(']').next().unwrap_or(&self.authority);
        let port = after
            .rsplit_once(':')
            .and_then(|(_, port)| port.parse().ok());
        port.unwrap_or(if self.scheme == "https" { 443 } else { 80 })
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.scheme == "https"
    }

    /// Whether both are the same service.
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.authority == other.authority
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.target)
    }
}

/// An address of an index: as it is, or relative to the repository.
pub(crate) fn join(base: &str, reference: &str) -> String {
    if reference.contains("://") {
        return reference.to_owned();
    }
    let (base, query) = base.split_once('?').map_or((base, ""), |(b, q)| (b, q));
    let joined = if let Some(absolute) = reference.strip_prefix('/') {
        let scheme_end = base.find("://").map_or(0, |at| at + 3);
        let host_end = base[scheme_end..]
            .find('/')
            .map_or(base.len(), |at| scheme_end + at);
        format!("{}/{absolute}", &base[..host_end])
    } else {
        format!("{}/{reference}", base.trim_end_matches('/'))
    };
    if query.is_empty() {
        joined
    } else {
        format!("{joined}?{query}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let url = Url::parse("https://user:secret@host.example:8443/a/b?c=d#e").expect("it parses");
        assert_eq!((url.host(), url.port()), ("host.example", 8443));
        assert_eq!(url.to_string(), "https://host.example:8443/a/b?c=d");
        let six = Url::parse("http://[::1]:80").expect("it parses");
        assert_eq!(
            (six.host(), six.port(), six.target.as_str()),
            ("::1", 80, "/")
        );
        assert!(Url::parse("ftp://x").is_err() && Url::parse("x").is_err());
    }

    #[test]
    fn relative_addresses_belong_to_their_repository() {
        for (base, reference, expected) in [
            (
                "https://h/charts",
                "web-1.tgz",
                "https://h/charts/web-1.tgz",
            ),
            (
                "https://h/charts/",
                "a/web-1.tgz",
                "https://h/charts/a/web-1.tgz",
            ),
            ("https://h/charts", "/web-1.tgz", "https://h/web-1.tgz"),
            (
                "https://h/charts?t=1",
                "web-1.tgz",
                "https://h/charts/web-1.tgz?t=1",
            ),
            (
                "https://h/charts",
                "http://o/web-1.tgz",
                "http://o/web-1.tgz",
            ),
        ] {
            assert_eq!(join(base, reference), expected);
        }
    }
}
