//! Reads image references far enough to know whether they mean the latest image.

/// The pull policy of a container that names none: `Always` for the tag `latest`, spelled out or
/// implied, `IfNotPresent` for the rest and for text that is no reference.
pub(crate) fn pull_policy(image: &str) -> &'static str {
    if tag(image).is_some_and(|tag| tag == "latest") {
        "Always"
    } else {
        "IfNotPresent"
    }
}

// The tag of a reference, `latest` when it has neither tag nor digest; `None` for text that is no
// reference. A digest without a tag has the empty tag.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    if !digest.is_none_or(fits_digest) {
        return None;
    }
    let slash = name.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match name[slash..].find(':') {
        Some(colon) => (&name[..slash + colon], Some(&name[slash + colon + 1..])),
        None => (name, None),
    };
    if !fits_path(path) || is_bare_hash(path) {
        return None;
    }
    match (tag, digest) {
        (Some(tag), _) => fits_tag(tag).then_some(tag),
        (None, Some(_)) => Some(""),
        (None, None) => Some("latest"),
    }
}

fn fits_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let wanted = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == wanted
        && hex
            .bytes()
            .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
}

fn fits_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut bytes = tag.bytes();
    tag.len() <= 128
        && bytes.next().is_some_and(word)
        && bytes.all(|b| word(b) || matches!(b, b'.' | b'-'))
}

// 64 hexadecimal digits without a host name an image id, which is refused as a reference.
fn is_bare_hash(path: &str) -> bool {
    path.len() == 64
        && path
            .bytes()
            .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
}

fn fits_path(path: &str) -> bool {
    if path.is_empty() || path.len() > 255 {
        return false;
    }
    let rest = match path.split_once('/') {
        Some((host, rest)) if is_host(host) => {
            if !fits_host(host) {
                return false;
            }
            rest
        }
        _ => path,
    };
    rest.split('/').all(fits_component)
}

// The first part is a host when it has a dot or a port, is `localhost`, or has capital letters.
fn is_host(part: &str) -> bool {
    part.contains(['.', ':']) || part == "localhost" || part.bytes().any(|b| b.is_ascii_uppercase())
}

fn fits_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((v6, "")) => return !v6.is_empty(),
            Some((v6, port)) => return !v6.is_empty() && port.starts_with(':'),
            None => return false,
        },
        None => host.split_once(':').unwrap_or((host, "0")),
    };
    let label = |l: &str| {
        let ok = |b: u8| b.is_ascii_alphanumeric();
        let bytes = l.as_bytes();
        bytes.first().is_some_and(|b| ok(*b))
            && bytes.last().is_some_and(|b| ok(*b))
            && bytes.iter().all(|b| ok(*b) || *b == b'-')
    };
    !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) && name.split('.').all(label)
}

// Lower case words joined by one dot, one or two underscores, or any number of dashes.
fn fits_component(part: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if !word(bytes[i]) {
            return false;
        }
        while i < bytes.len() && word(bytes[i]) {
            i += 1;
        }
        if i == bytes.len() {
            return true;
        }
        let start = i;
        while i < bytes.len() && !word(bytes[i]) {
            i += 1;
        }
        let joint = &bytes[start..i];
        let fits = matches!(joint, b"." | b"_" | b"__") || joint.iter().all(|b| *b == b'-');
        if !fits || i == bytes.len() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_image_is_always_pulled() {
        let digest = format!("nginx@sha256:{}", "a".repeat(64));
        let tagged = format!("nginx:latest@sha256:{}", "a".repeat(64));
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("localhost:5000/a/b", "Always"),
            ("localhost:5000/a/b:v1", "IfNotPresent"),
            ("registry.example.com/team/app:latest", "Always"),
            (digest.as_str(), "IfNotPresent"),
            (tagged.as_str(), "Always"),
            ("", "IfNotPresent"),
            ("Nginx", "IfNotPresent"),
            ("a b", "IfNotPresent"),
            ("a--b__c.d", "Always"),
            ("a___b", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
