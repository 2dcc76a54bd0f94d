//! Addresses of remote bases: `https://host/org/repo//path?ref=v1` and all its spellings.

/// A repository, a directory in it, and a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The address as it was written.
    pub raw: String,
    /// What to clone.
    pub repository: String,
    /// The directory in it; empty is the root.
    pub path: String,
    /// Branch, tag or commit; empty is the default branch.
    pub revision: String,
    /// Whether submodules are fetched too.
    pub submodules: bool,
    /// How many seconds the fetch may take.
    pub timeout_s: u64,
}

const TIMEOUT_S: u64 = 27;

impl Remote {
    /// Reads an address; `None` when it is none of a repository.
    pub fn parse(address: &str) -> Option<Self> {
        if address.starts_with('/') {
            return None;
        }
        let (rest, query) = address.split_once('?').unwrap_or((address, ""));
        let mut remote = Self {
            raw: address.to_owned(),
            submodules: true,
            timeout_s: TIMEOUT_S,
            ..Self::default()
        };
        remote.read_query(query);
        let (host, rest) = split_host(rest)?;
        let (repository, path) = split_path(&rest, host.starts_with("file://"))?;
        if repository.is_empty() || leads_out(path) {
            return None;
        }
        remote.repository = format!("{host}{repository}");
        remote.path = path.strip_prefix('/').unwrap_or(path).to_owned();
        Some(remote)
    }

    fn read_query(&mut self, query: &str) {
        let mut version = String::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescape(value);
            match key {
                "ref" if self.revision.is_empty() => self.revision = value,
                "version" if version.is_empty() => version = value,
                "timeout" => {
                    let seconds = value.strip_suffix('s').unwrap_or(&value).parse();
                    self.timeout_s = seconds.ok().filter(|s| *s > 0).unwrap_or(TIMEOUT_S);
                }
                "submodules" => match value.as_str() {
                    "0" | "f" | "F" | "false" | "FALSE" | "False" => self.submodules = false,
                    _ => {}
                },
                _ => {}
            }
        }
        if self.revision.is_empty() {
            self.revision = version;
        }
    }
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        match (first, after) {
            (b'%', [a, b, tail @ ..]) if hex(*a).is_some() && hex(*b).is_some() => {
                let value = hex(*a).unwrap_or(0) * 16 + hex(*b).unwrap_or(0);
                bytes.push(value as u8);
                rest = tail;
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cut<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

// The part up to the path, normalised, and the path.
fn split_host(address: &str) -> Option<(String, String)> {
    let address = cut(address, "git::").unwrap_or(address);
    let schemes = ["ssh://", "https://", "http://", "file://"];
    let found = schemes
        .iter()
        .find_map(|s| cut(address, s).map(|rest| (*s, rest)));
    let (scheme, rest) = found.unwrap_or(("", address));
    let (user, rest) = split_user(rest);
    let lower = rest.to_ascii_lowercase();
    let github = lower.starts_with("github.com/") || lower.starts_with("github.com:");
    let scp = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !scp {
        return None;
    }
    if scheme == "file://" {
        return Some((scheme.into(), format!("{user}{rest}")));
    }
    let slash = rest.find('/');
    let colon = rest.find(':').filter(|at| scp && *at > 0);
    let end = match (slash, colon) {
        (Some(slash), Some(colon)) => Some(slash.min(colon)),
        (slash, colon) => slash.or(colon),
    };
    let (host, path) = end.map_or((rest, ""), |end| rest.split_at(end + 1));
    if github {
        let host = if scheme == "ssh://" || !user.is_empty() {
            format!("{user}github.com:")
        } else {
            "https://github.com/".to_owned()
        };
        return Some((host, path.to_owned()));
    }
    (!host.is_empty()).then(|| (format!("{scheme}{user}{host}"), path.to_owned()))
}

fn split_user(text: &str) -> (&str, &str) {
    let end = text.find('@').filter(|end| {
        let user = &text[..*end];
        user.starts_with(|c: char| c.is_ascii_alphabetic())
            && user.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    end.map_or(("", text), |end| text.split_at(end + 1))
}

fn split_path(path: &str, is_file: bool) -> Option<(String, &str)> {
    const MARKER: &str = "_git/";
    if let Some(at) = path.find(MARKER) {
        let (root, rest) = path.split_at(at + MARKER.len());
        let (repository, inner) = rest.split_once('/').unwrap_or((rest, ""));
        return Some((format!("{root}{repository}"), inner));
    }
    if let Some((repository, inner)) = path.split_once("//") {
        return Some((repository.into(), inner));
    }
    if let Some(at) = path.find(".git") {
        let (repository, inner) = path.split_at(at + 4);
        return Some((repository.into(), inner));
    }
    if is_file {
        return Some((path.into(), ""));
    }
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    slashes.next()?;
    match slashes.next() {
        Some(end) => Some((path[..end].into(), &path[end + 1..])),
        None => Some((path.into(), "")),
    }
}

fn leads_out(path: &str) -> bool {
    let mut depth = 0_i64;
    for part in path.trim_start_matches('/').split('/') {
        match part {
            "" | "." => {}
            ".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: &str, expected: &str) {
        let found = Remote::parse(address).map_or("none".to_owned(), |remote| {
            format!("{} {} {}", remote.repository, remote.path, remote.revision)
        });
        assert_eq!(found, expected, "{address}");
    }

    #[test]
    fn addresses_of_all_spellings() {
        check(
            "https://example.com/org/repo//a/b?ref=v1",
            "https://example.com/org/repo a/b v1",
        );
        check(
            "github.com/org/repo/a?ref=main",
            "https://github.com/org/repo a main",
        );
        check(
            "git@github.com:org/repo.git//a",
            "git@github.com:org/repo.git a ",
        );
        check(
            "ssh://git@example.com/org/repo.git/a?version=2",
            "ssh://git@example.com/org/repo.git a 2",
        );
        check(
            "https://dev.azure.com/o/p/_git/repo/a/b",
            "https://dev.azure.com/o/p/_git/repo a/b ",
        );
        check("file:///srv/repo.git//x", "file:///srv/repo.git x ");
        check("https://example.com/org", "none");
        check("../base", "none");
        check("base", "none");
        check("https://example.com/o/r//../x", "none");
    }
}
