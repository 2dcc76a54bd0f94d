//! Rules for texts inside specs: port names, environment names, percentages, addresses.
//!
//! Each function says what is wrong with a text in the API server's own words, and nothing when
//! the text is right. Names, labels and annotations are in `model::names`.

use crate::fault::{Faults, Spot};
use model::names;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The words for a number outside its range.
pub(crate) fn range(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

fn pattern(message: &str, regex: &str, examples: &[&str]) -> String {
    let mut out = message.to_owned();
    out.push_str(" (");
    if !examples.is_empty() {
        out.push_str("e.g. ");
    }
    for (i, example) in examples.iter().enumerate() {
        if i > 0 {
            out.push_str(" or ");
        }
        out.push_str(&format!("'{example}', "));
    }
    out.push_str(&format!("regex used for validation is '{regex}')"));
    out
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// What is wrong with a port number.
pub(crate) fn port_number(port: i64) -> Vec<String> {
    if (1..=65_535).contains(&port) {
        Vec::new()
    } else {
        vec![range(1, 65_535)]
    }
}

/// What is wrong with the name of a port.
pub(crate) fn port_name(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let fits = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    if name.len() > 15 {
        faults.push(too_long(15));
    }
    if name.is_empty() || !name.as_bytes().iter().all(fits) {
        faults
            .push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".into());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".into());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".into());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".into());
    }
    faults
}

/// What is wrong with a percentage.
pub(crate) fn percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    let message = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![pattern(message, "[0-9]+%", &["1%", "93%"])]
}

/// What is wrong with the name of an HTTP header.
pub(crate) fn header_name(text: &str) -> Vec<String> {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    if !text.is_empty() && text.bytes().all(fits) {
        return Vec::new();
    }
    let message = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![pattern(message, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// What is wrong with the name of an environment variable.
pub(crate) fn env_name(text: &str) -> Vec<String> {
    if text.is_empty() {
        return vec!["environment variable name must be non-empty".into()];
    }
    if text
        .bytes()
        .all(|b| (b' '..=b'~').contains(&b) && b != b'=')
    {
        return Vec::new();
    }
    vec![
        "a valid environment variable name must consist only of printable ASCII characters other \
         than '='"
            .into(),
    ]
}

/// What is wrong with a key of a ConfigMap or Secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if text.len() > 253 {
        faults.push(too_long(253));
    }
    if text.is_empty() || !text.bytes().all(fits) {
        let message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        faults.push(pattern(
            message,
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." | ".." => faults.push(format!("must not be '{text}'")),
        _ if text.starts_with("..") => faults.push("must not start with '..'".into()),
        _ => {}
    }
    faults
}

const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";

/// What is wrong with a host name whose first part is a wildcard.
pub(crate) fn wildcard_subdomain(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 253 {
        faults.push(too_long(253));
    }
    let rest = text.strip_prefix("*.");
    if !rest.is_some_and(|rest| rest.len() <= 253 && names::dns1123_subdomain(rest).is_empty()) {
        let message = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid \
             DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' \
             and end with an alphanumeric character";
        let regex = format!("\\*\\.{SUBDOMAIN}");
        faults.push(pattern(message, &regex, &["*.example.com"]));
    }
    faults
}

/// What is wrong with a DNS search path, where underscores are fine.
pub(crate) fn search_path(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > 253 {
        faults.push(too_long(253));
    }
    if !text.split('.').all(fits_search_label) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '_', '-' or '.', and must start and end with an alphanumeric character";
        let label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        let regex = format!("{label}(\\.{label})*");
        faults.push(pattern(message, &regex, &["example.com"]));
    }
    faults
}

fn fits_search_label(label: &str) -> bool {
    let bytes = label.strip_prefix('_').unwrap_or(label).as_bytes();
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|b| plain(b) || matches!(b, b'-' | b'_'))
}

/// What is wrong with a user or group number.
pub(crate) fn user_number(id: i64) -> Vec<String> {
    if (0..=i64::from(i32::MAX)).contains(&id) {
        Vec::new()
    } else {
        vec![range(0, i64::from(i32::MAX))]
    }
}

/// Reads an address as Go's lenient parser does: leading zeros are decimal.
pub(crate) fn sloppy_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0_u8; 4];
    let mut count = 0;
    for part in text.split('.') {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if count == 4 || !digits {
            return None;
        }
        let value: u32 = part.parse().ok()?;
        octets[count] = u8::try_from(value).ok()?;
        count += 1;
    }
    (count == 4).then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

/// The address a lenient text means, with IPv4 inside IPv6 taken out.
pub(crate) fn plain_ip(text: &str) -> Option<IpAddr> {
    sloppy_ip(text).map(|ip| ip.to_canonical())
}

/// Whether a text is an IPv6 address.
pub(crate) fn is_ipv6(text: &str) -> bool {
    matches!(plain_ip(text), Some(IpAddr::V6(_)))
}

/// Adds the faults of an address; texts in `known` were accepted before.
pub(crate) fn check_ip(text: &str, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    if known.contains(&text) {
        return;
    }
    let Some(ip) = sloppy_ip(text) else {
        let message = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return faults.invalid(spot, text, message);
    };
    if text.parse::<IpAddr>().is_err() {
        faults.invalid(spot, text, "must not have leading 0s");
    } else if matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
        faults.invalid(spot, text, "must not be an IPv4-mapped IPv6 address");
    }
}

/// Adds the faults of an address that must be written in its canonical form.
pub(crate) fn check_canonical_ip(text: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let before = faults.len();
    check_ip(text, &[], spot, faults);
    if faults.len() > before {
        return;
    }
    if let Some(ip) = sloppy_ip(text).filter(|ip| ip.to_string() != text) {
        let message = format!("must be in canonical form (\"{ip}\")");
        faults.invalid(spot, text, &message);
    }
}

/// A network: its address with the host bits cleared, and its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    /// The address with the host bits cleared.
    pub(crate) base: IpAddr,
    /// The prefix length.
    pub(crate) bits: u8,
}

impl Network {
    /// Reads a CIDR leniently.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
        let ip = sloppy_ip(address)?;
        let bits: u8 = if digits {
            bits.parse().ok()?
        } else {
            return None;
        };
        let width = if ip.is_ipv4() { 32 } else { 128 };
        (bits <= width).then(|| Self {
            base: mask(ip, bits),
            bits,
        })
    }

    /// Whether an address lies in this network.
    pub(crate) fn contains(self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.base.is_ipv4() && mask(ip, self.bits) == self.base
    }
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

fn mask(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & keep))
        }
        IpAddr::V6(v6) => {
            let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & keep))
        }
    }
}

/// Adds the faults of a network; texts in `known` were accepted before.
pub(crate) fn check_cidr(text: &str, known: &[&str], spot: &Spot<'_>, faults: &mut Faults) {
    if known.contains(&text) {
        return;
    }
    let Some(network) = Network::parse(text) else {
        let message = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        return faults.invalid(spot, text, message);
    };
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let padded = bits.len() > 1 && bits.starts_with('0');
    match address.parse::<IpAddr>() {
        _ if padded => {
            faults.invalid(
                spot,
                text,
                "must not have leading 0s in IP or prefix length",
            );
        }
        Err(_) => faults.invalid(
            spot,
            text,
            "must not have leading 0s in IP or prefix length",
        ),
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            faults.invalid(spot, text, "must not have an IPv4-mapped IPv6 address");
        }
        Ok(ip) if ip != network.base => {
            faults.invalid(
                spot,
                text,
                "must not have bits set beyond the prefix length",
            );
        }
        Ok(_) => {}
    }
}

/// Adds the faults of an address that traffic is to be sent to.
pub(crate) fn check_endpoint_ip(text: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let Some(ip) = plain_ip(text) else {
        return faults.invalid(spot, text, "must be a valid IP address");
    };
    if ip.is_unspecified() {
        faults.invalid(spot, text, &format!("may not be unspecified ({text})"));
    }
    if ip.is_loopback() {
        let message = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
        faults.invalid(spot, text, message);
    }
    let (link_local, multicast) = match ip {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(v6) => (
            v6.is_unicast_link_local(),
            v6.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    if link_local {
        let message = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
        faults.invalid(spot, text, message);
    }
    if multicast {
        let message = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        faults.invalid(spot, text, message);
    }
}

/// Adds the faults of a controller name such as `example.com/ingress`.
pub(crate) fn check_domain_path(text: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if text.is_empty() {
        return faults.required(spot, "");
    }
    let Some((host, path)) = text
        .split_once('/')
        .filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        let message = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return faults.invalid(spot, text, message);
    };
    faults.invalid_each(spot, host, names::dns1123_subdomain(host));
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !path.bytes().all(fits) {
        let regex = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
        faults.invalid(spot, path, &pattern("Invalid path", regex, &[]));
    }
}

/// Adds the faults of a relative path that must stay below its root.
pub(crate) fn check_descending_path(path: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if path.starts_with('/') {
        faults.invalid(spot, path, "must be a relative path");
    }
    check_no_backsteps(path, spot, faults);
}

/// Adds a fault when a path climbs.
pub(crate) fn check_no_backsteps(path: &str, spot: &Spot<'_>, faults: &mut Faults) {
    if path.split('/').any(|part| part == "..") {
        faults.invalid(spot, path, "must not contain '..'");
    }
}

/// Adds the faults of a relative path whose first part must not look like a climb.
pub(crate) fn check_local_path(path: &str, spot: &Spot<'_>, faults: &mut Faults) {
    check_descending_path(path, spot, faults);
    if path.starts_with("..") && !path.starts_with("../") {
        faults.invalid(spot, path, "must not start with '..'");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(run: impl Fn(&Spot<'_>, &mut Faults)) -> Vec<String> {
        let mut faults = Faults::default();
        run(&Spot::of("f"), &mut faults);
        faults.into_list().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn port_names_say_all_that_is_wrong() {
        assert!(port_name("http-2").is_empty());
        assert_eq!(
            port_name("-8--0-"),
            [
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen"
            ]
        );
    }

    #[test]
    fn addresses_are_read_leniently_and_refused_strictly() {
        assert_eq!(sloppy_ip("010.001.0.1"), sloppy_ip("10.1.0.1"));
        assert_eq!(
            shown(|s, f| check_ip("010.0.0.1", &[], s, f)),
            [r#"f: Invalid value: "010.0.0.1": must not have leading 0s"#]
        );
        assert!(shown(|s, f| check_ip("010.0.0.1", &["010.0.0.1"], s, f)).is_empty());
        assert_eq!(
            shown(|s, f| check_ip("::ffff:1.2.3.4", &[], s, f)),
            [r#"f: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address"#]
        );
        assert_eq!(shown(|s, f| check_ip("x", &[], s, f)).len(), 1);
    }

    #[test]
    fn networks_must_have_no_host_bits() {
        assert!(shown(|s, f| check_cidr("10.0.0.0/8", &[], s, f)).is_empty());
        assert_eq!(
            shown(|s, f| check_cidr("10.0.0.1/8", &[], s, f)),
            [r#"f: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length"#]
        );
        let all = Network::parse("0.0.0.0/0").unwrap();
        assert!(all.contains("1.2.3.4".parse().unwrap()));
    }

    #[test]
    fn endpoint_addresses_must_be_reachable() {
        assert_eq!(
            shown(|s, f| check_endpoint_ip("127.0.0.1", s, f)),
            [
                "f: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ]
        );
        assert!(shown(|s, f| check_endpoint_ip("10.0.0.1", s, f)).is_empty());
    }
}
