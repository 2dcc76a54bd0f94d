//! The string formats that the API server enforces.
//!
//! A format of another name, or on another type, is not checked.

mod time;

pub use time::parse_duration;

use crate::pattern::compile_pattern;
use regex::Regex;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::OnceLock;
use time::{is_date, is_date_time, is_duration};

/// A test of a text.
pub type FormatCheck = fn(&str) -> bool;

/// The test of a named format; dashes in the name do not matter.
pub fn format_check(name: &str) -> Option<FormatCheck> {
    Some(match name.replace('-', "").as_str() {
        "bsonobjectid" => |s| s.len() == 24 && s.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => is_uri,
        "email" => is_email,
        "hostname" => is_hostname,
        "ipv4" => is_ipv4,
        "ipv6" => is_ipv6,
        "cidr" => is_cidr,
        "mac" => is_mac,
        "uuid" => |s| is_uuid(s, None, false),
        "uuid3" => |s| is_uuid(s, Some(b'3'), false),
        "uuid4" => |s| is_uuid(s, Some(b'4'), true),
        "uuid5" => |s| is_uuid(s, Some(b'5'), true),
        "isbn" => |s| is_isbn10(s) || is_isbn13(s),
        "isbn10" => is_isbn10,
        "isbn13" => is_isbn13,
        "creditcard" => is_credit_card,
        "ssn" => |s| matches(&SSN, r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", s),
        "hexcolor" => |s| matches(&HEX, r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", s),
        "rgbcolor" => is_rgb,
        "byte" => is_base64,
        "password" => |_| true,
        "date" => is_date,
        "duration" => is_duration,
        "datetime" => is_date_time,
        "k8sshortname" => |s| s.len() <= 63 && is_label(s),
        "k8slongname" => |s| s.len() <= 253 && s.split('.').all(is_label),
        _ => return None,
    })
}

static SSN: OnceLock<Option<Regex>> = OnceLock::new();
static HEX: OnceLock<Option<Regex>> = OnceLock::new();

fn matches(cell: &OnceLock<Option<Regex>>, pattern: &str, text: &str) -> bool {
    cell.get_or_init(|| compile_pattern(pattern).ok())
        .as_ref()
        .is_some_and(|regex| regex.is_match(text))
}

fn is_label(text: &str) -> bool {
    let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| alnum(*b))
        && bytes.last().is_some_and(|b| alnum(*b))
        && bytes.iter().all(|b| alnum(*b) || *b == b'-')
}

// One label, or labels and a top-level domain of letters; symbols of other scripts are allowed.
fn is_hostname(text: &str) -> bool {
    let free = |c: char| {
        c.is_ascii_alphanumeric()
            || "$+<=>^`|~".contains(c)
            || !c.is_ascii() && !c.is_whitespace() && !c.is_control()
    };
    let label = |part: &str| {
        part.starts_with(free) && part.ends_with(free) && part.chars().all(|c| free(c) || c == '-')
    };
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    if let Some((labels, top)) = text.rsplit_once('.') {
        let letters = |c: char| c.is_ascii_alphabetic() || !c.is_ascii() && c.is_alphabetic();
        return labels.split('.').all(label)
            && top.chars().count() >= 2
            && top.chars().all(letters);
    }
    // A single label has room for one dash, right after its first character.
    let mut chars = text.chars();
    let first = chars.next().is_some_and(free);
    let rest = chars.as_str();
    first && rest.strip_prefix('-').unwrap_or(rest).chars().all(free)
}

// Leading zeros of a number are tolerated, as they were in older Go.
fn sloppy_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|p| {
            !p.is_empty()
                && p.bytes().all(|b| b.is_ascii_digit())
                && p.trim_start_matches('0').len() <= 3
                && p.parse::<u64>().is_ok_and(|n| n <= 255)
        })
}

fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (sloppy_ipv4(text) || text.parse::<Ipv6Addr>().is_ok())
}

fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<IpAddr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let digits = !bits.is_empty() && bits.len() <= 3 && bits.bytes().all(|b| b.is_ascii_digit());
    let max = if sloppy_ipv4(address) {
        32
    } else if address.parse::<Ipv6Addr>().is_ok() {
        128
    } else {
        return false;
    };
    digits && bits.parse::<u32>().is_ok_and(|n| n <= max)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    for separator in [':', '-'] {
        let parts: Vec<&str> = text.split(separator).collect();
        if parts.len() > 1 {
            return matches!(parts.len(), 6 | 8 | 20) && parts.iter().all(|p| hex(p, 2));
        }
    }
    let parts: Vec<&str> = text.split('.').collect();
    matches!(parts.len(), 3 | 4 | 10) && parts.iter().all(|p| hex(p, 4))
}

// 8-4-4-4-12 hex digits; each dash may be left out.
fn is_uuid(text: &str, version: Option<u8>, variant: bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    for b in text.bytes() {
        if b == b'-' {
            if !matches!(digits.len(), 8 | 12 | 16 | 20) {
                return false;
            }
        } else if b.is_ascii_hexdigit() {
            digits.push(b.to_ascii_lowercase());
        } else {
            return false;
        }
    }
    digits.len() == 32
        && !text.contains("--")
        && version.is_none_or(|v| digits[12] == v)
        && (!variant || matches!(digits[16], b'8' | b'9' | b'a' | b'b'))
}

fn digits_only(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'-')
        .collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = digits_only(text);
    let shape = digits.len() == 10
        && digits[..9].iter().all(u8::is_ascii_digit)
        && (digits[9].is_ascii_digit() || digits[9] == b'X');
    shape && {
        let value = |b: u8| if b == b'X' { 10 } else { u32::from(b - b'0') };
        let sum: u32 = (1..).zip(&digits).map(|(i, b)| i * value(*b)).sum();
        sum.is_multiple_of(11)
    }
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits_only(text);
    digits.len() == 13 && digits.iter().all(u8::is_ascii_digit) && {
        let weigh = |(i, b): (usize, &u8)| u32::from(b - b'0') * if i % 2 == 0 { 1 } else { 3 };
        let sum: u32 = digits.iter().enumerate().map(weigh).sum();
        sum.is_multiple_of(10)
    }
}

fn is_credit_card(text: &str) -> bool {
    let digits = digits_only(text);
    if !(13..=16).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weigh = |(i, b): (usize, &u8)| {
        let n = u32::from(b - b'0') * if i % 2 == 1 { 2 } else { 1 };
        if n > 9 { n - 9 } else { n }
    };
    let sum: u32 = digits.iter().rev().enumerate().map(weigh).sum();
    let known = matches!(digits[0], b'4' | b'5' | b'6' | b'3')
        || digits.starts_with(b"2131")
        || digits.starts_with(b"1800");
    known && sum.is_multiple_of(10)
}

fn is_rgb(text: &str) -> bool {
    let inner = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|inner| {
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        parts.len() == 3
            && parts
                .iter()
                .all(|p| p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u8>().is_ok())
    })
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && padding <= 2
        && body
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

// What Go's url.ParseRequestURI accepts: an absolute URI or an absolute path.
fn is_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Ok((scheme, rest)) = split_scheme(text) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        return scheme;
    }
    let path = match rest.strip_prefix("//").filter(|_| scheme) {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            if !is_authority(authority) {
                return false;
            }
            path
        }
        None => rest,
    };
    escapes_are_hex(path)
}

fn split_scheme(text: &str) -> Result<(bool, &str), ()> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i > 0 => return Ok((true, &text[i + 1..])),
            b':' => return Err(()),
            _ => return Ok((false, text)),
        }
    }
    Ok((false, text))
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text
        .rsplit_once('@')
        .map_or((None, text), |(user, host)| (Some(user), host));
    let user_ok = user.is_none_or(|user| {
        user.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b))
    });
    let (name, port) = if let Some(inner) = host.strip_prefix('[') {
        let Some((name, after)) = inner.split_once(']') else {
            return false;
        };
        (name, after)
    } else {
        host.rfind(':').map_or((host, ""), |at| host.split_at(at))
    };
    let port_ok = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    let name_ok = !name.bytes().any(|b| b == b' ' || b"\\^`{}|#".contains(&b));
    user_ok && port_ok && name_ok && escapes_are_hex(name)
}

fn escapes_are_hex(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(i, b)| {
        *b != b'%'
            || bytes
                .get(i + 1..i + 3)
                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    })
}

// `local@domain`, or `Name <local@domain>`.
fn is_email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let address = match text.strip_suffix('>') {
        Some(inner) => match inner.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom.chars().all(|c| {
                c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c)
            })
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || local.split('.').all(is_atom)) && (literal || domain.split('.').all(is_atom))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str, good: &[&str], bad: &[&str]) {
        let fits = format_check(format).unwrap();
        for text in good {
            assert!(fits(text), "{format} should take {text:?}");
        }
        for text in bad {
            assert!(!fits(text), "{format} should refuse {text:?}");
        }
    }

    #[test]
    fn times() {
        check("date", &["2024-02-29"], &["2023-02-29", "2024-1-01", "x"]);
        check(
            "date-time",
            &[
                "2024-01-01T00:00:00Z",
                "2024-01-01t00:00:00.123+02:00",
                "2024-01-01T23:59:59-10:00",
            ],
            &[
                "2024-01-01",
                "2024-01-01T24:00:00Z",
                "2024-01-01T00:00:00",
                "foo",
            ],
        );
        check(
            "duration",
            &["5s", "1h30m", "5 days", "0", "-1.5h"],
            &["5x", "", "s"],
        );
    }

    #[test]
    fn addresses() {
        check(
            "ipv4",
            &["1.2.3.4", "010.0.0.1", "::ffff:1.2.3.4"],
            &["1.2.3", "::1", "1.2.3.256"],
        );
        check("ipv6", &["::1", "fe80::1"], &["1.2.3.4", "::1%eth0"]);
        check(
            "cidr",
            &["10.0.0.0/8", "fd00::/64"],
            &["10.0.0.0", "10.0.0.0/33", "x/8"],
        );
        check(
            "mac",
            &["00:00:5e:00:53:01", "0000.5e00.5301"],
            &["00:00", "zz:00:5e:00:53:01"],
        );
        check(
            "hostname",
            &["a", "example.com", "a-b.example.org"],
            &["-a", "a_b", "a.b-"],
        );
        check(
            "uri",
            &["http://a.b/c?d", "/path", "mailto:x", "https://[::1]:80/x"],
            &["", "a/b", "http://a b/", "http://a:x/", "/a%zz"],
        );
        check(
            "email",
            &["a@b.c", "A <a@b.c>"],
            &["a", "a@", "@b", "a b@c"],
        );
    }

    #[test]
    fn ids_and_codes() {
        check(
            "uuid",
            &[
                "01234567-89ab-cdef-0123-456789ABCDEF",
                "0123456789abcdef0123456789abcdef",
            ],
            &["01234567", "0123456-789ab-cdef-0123-456789ABCDEF"],
        );
        check(
            "uuid4",
            &["01234567-89ab-4def-8123-456789abcdef"],
            &["01234567-89ab-cdef-0123-456789abcdef"],
        );
        check("byte", &["YQ==", "YWJj"], &["", "YQ=", "a b="]);
        check(
            "isbn",
            &["0321751043", "978-0321751041"],
            &["0321751044", "x"],
        );
        check(
            "creditcard",
            &["4111 1111 1111 1111"],
            &["4111 1111 1111 1112"],
        );
        check("hexcolor", &["#fff", "00ff00"], &["#ff"]);
        check("rgbcolor", &["rgb(1,2,255)"], &["rgb(1,2,256)", "rgb(1,2)"]);
        check("ssn", &["123-45-6789"], &["123"]);
        check("bsonobjectid", &["0123456789abcdef01234567"], &["0123"]);
        check("k8s-short-name", &["a-b"], &["a.b", "-a"]);
        check("k8s-long-name", &["a.b-c"], &["a..b"]);
        check("password", &[""], &[]);
        assert!(format_check("made-up").is_none());
    }

    #[test]
    fn durations_are_nanoseconds() {
        assert_eq!(parse_duration("1h30m"), Some(5_400_000_000_000));
        assert_eq!(parse_duration("-1.5s"), Some(-1_500_000_000));
        assert_eq!(parse_duration(".5ms"), Some(500_000));
        assert_eq!(parse_duration("99999999h"), None);
        assert_eq!(parse_duration("1"), None);
    }
}
