//! URLs into their parts and back, as Go's `net/url` does it.

use super::args::{map, text};
use crate::call::Call;
use crate::function::Type::{Map as Dict, String as Str};
use crate::function::{Fault, Function};
use crate::quote::quote;
use crate::value::{Map, Value};

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("urlParse", &[Str], parse_url),
    Function::new("urlJoin", &[Dict], join),
];

#[derive(Default)]
struct Url {
    scheme: String,
    opaque: String,
    // As it is shown again: name and password escaped.
    user: Option<String>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: String,
    force_query: bool,
    fragment: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    User,
    Host,
    Fragment,
}

fn parse_url(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let raw = text(args, 0);
    let url = parse(&raw.lossy())
        .map_err(|why| format!("unable to parse url: parse {}: {why}", quote(&raw)))?;
    let hostname = hostname(&url.host).to_vec();
    Ok(Value::map([
        ("scheme", Value::from(url.scheme)),
        ("host", Value::from(url.host)),
        ("hostname", Value::from(hostname)),
        ("path", Value::from(url.path)),
        ("query", Value::from(url.query)),
        ("opaque", Value::from(url.opaque)),
        ("fragment", Value::from(url.fragment)),
        ("userinfo", Value::from(url.user.unwrap_or_default())),
    ]))
}

// The host without its port and brackets.
fn hostname(host: &[u8]) -> &[u8] {
    let colon = host.iter().rposition(|b| *b == b':');
    let bare = match colon {
        Some(at) if host[at + 1..].iter().all(u8::is_ascii_digit) => &host[..at],
        _ => host,
    };
    bare.strip_prefix(b"[")
        .and_then(|h| h.strip_suffix(b"]"))
        .unwrap_or(bare)
}

fn parse(raw: &str) -> Result<Url, String> {
    if raw.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (main, fragment) = raw.split_once('#').map_or((raw, ""), |(m, f)| (m, f));
    let mut url = Url::default();
    if main == "*" {
        url.path = b"*".to_vec();
    } else {
        parse_main(main, &mut url)?;
    }
    url.fragment = unescape(fragment, Mode::Fragment)?;
    Ok(url)
}

fn parse_main(main: &str, url: &mut Url) -> Result<(), String> {
    let mut rest = main;
    if let Some((scheme, after)) = split_scheme(main)? {
        url.scheme = scheme.to_ascii_lowercase();
        rest = after;
    }
    if rest.ends_with('?') && rest.matches('?').count() == 1 {
        url.force_query = true;
        rest = &rest[..rest.len() - 1];
    } else if let Some((before, query)) = rest.split_once('?') {
        query.clone_into(&mut url.query);
        rest = before;
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(());
        }
        let segment = rest.split('/').next().unwrap_or("");
        if segment.contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    if (!url.scheme.is_empty() || !rest.starts_with("///")) && rest.starts_with("//") {
        let authority = &rest[2..];
        let end = authority.find('/').unwrap_or(authority.len());
        parse_authority(&authority[..end], url)?;
        rest = &authority[end..];
    }
    url.path = unescape(rest, Mode::Path)?;
    Ok(())
}

fn split_scheme(raw: &str) -> Result<Option<(&str, &str)>, String> {
    for (i, c) in raw.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if i > 0 => {}
            ':' if i == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok(Some((&raw[..i], &raw[i + 1..]))),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

fn parse_authority(authority: &str, url: &mut Url) -> Result<(), String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    url.host = parse_host(host)?;
    let Some(user) = user else { return Ok(()) };
    if !user
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b))
    {
        return Err("net/url: invalid userinfo".to_owned());
    }
    url.user = Some(match user.split_once(':') {
        Some((name, password)) => format!(
            "{}:{}",
            escape(&unescape(name, Mode::User)?, Mode::User),
            escape(&unescape(password, Mode::User)?, Mode::User)
        ),
        None => escape(&unescape(user, Mode::User)?, Mode::User),
    });
    Ok(())
}

fn parse_host(host: &str) -> Result<Vec<u8>, String> {
    if host.starts_with('[') {
        let Some(end) = host.rfind(']') else {
            return Err("missing ']' in host".to_owned());
        };
        check_port(&host[end + 1..])?;
    } else if let Some(colon) = host.find(':') {
        check_port(&host[colon..])?;
    }
    unescape(host, Mode::Host)
}

fn check_port(port: &str) -> Result<(), String> {
    let sound = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    if sound {
        return Ok(());
    }
    Err(format!(
        "invalid port {} after host",
        quote(port.as_bytes())
    ))
}

fn unescape(text: &str, mode: Mode) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == b'%' {
            let digits = bytes
                .get(at + 1..at + 3)
                .filter(|d| d.iter().all(u8::is_ascii_hexdigit));
            let Some(digits) = digits else {
                let shown = &bytes[at..(at + 3).min(bytes.len())];
                return Err(format!("invalid URL escape {}", quote(shown)));
            };
            let value = u8::from_str_radix(&String::from_utf8_lossy(digits), 16).unwrap_or(0);
            if mode == Mode::Host && value < 0x80 && value != b'%' {
                return Err(format!("invalid URL escape {}", quote(&bytes[at..at + 3])));
            }
            out.push(value);
            at += 3;
            continue;
        }
        if mode == Mode::Host && byte < 0x80 && !host_byte(byte) {
            return Err(format!("invalid character {} in host name", quote(&[byte])));
        }
        out.push(byte);
        at += 1;
    }
    Ok(out)
}

fn host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

fn escape(bytes: &[u8], mode: Mode) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        let plain = byte.is_ascii_alphanumeric()
            || b"-_.~".contains(byte)
            || match mode {
                Mode::Path => b"$&+,/:;=@".contains(byte),
                Mode::User => b"$&+,;=".contains(byte),
                Mode::Host => host_byte(*byte),
                Mode::Fragment => b"$&+,/:;=?@!()*".contains(byte),
            };
        if plain {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn part(map: &Map, key: &str) -> Result<Vec<u8>, String> {
    match map.get(key) {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(text.to_vec()),
        Some(Value::Nil | Value::Invalid) => Err(super::args::NIL_POINTER.to_owned()),
        Some(other) => Err(format!(
            "unable to parse {key} key, must be of type string, but {} found",
            other.kind()
        )),
    }
}

fn join(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let map = map(args, 0);
    let text = |key| part(&map, key).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut url = Url {
        scheme: text("scheme")?,
        host: part(&map, "host")?,
        path: part(&map, "path")?,
        query: text("query")?,
        opaque: text("opaque")?,
        fragment: part(&map, "fragment")?,
        ..Url::default()
    };
    let user = text("userinfo")?;
    if !user.is_empty() {
        let whole = format!("proto://{user}@host");
        let read = parse(&whole).map_err(|why| {
            format!(
                "unable to parse userinfo in dict: parse {}: {why}",
                quote(whole.as_bytes())
            )
        })?;
        url.user = read.user;
    }
    Ok(show(&url).into())
}

fn show(url: &Url) -> String {
    let mut out = String::new();
    if !url.scheme.is_empty() {
        out.push_str(&url.scheme);
        out.push(':');
    }
    if url.opaque.is_empty() {
        if !url.scheme.is_empty() || !url.host.is_empty() || url.user.is_some() {
            if !url.host.is_empty() || !url.path.is_empty() || url.user.is_some() {
                out.push_str("//");
            }
            if let Some(user) = &url.user {
                out.push_str(user);
                out.push('@');
            }
            out.push_str(&escape(&url.host, Mode::Host));
        }
        let path = match &url.path[..] {
            b"*" => "*".to_owned(),
            path => escape(path, Mode::Path),
        };
        if !path.is_empty() && !path.starts_with('/') && !url.host.is_empty() {
            out.push('/');
        }
        if out.is_empty() && path.split('/').next().is_some_and(|s| s.contains(':')) {
            out.push_str("./");
        }
        out.push_str(&path);
    } else {
        out.push_str(&url.opaque);
    }
    if url.force_query || !url.query.is_empty() {
        out.push('?');
        out.push_str(&url.query);
    }
    if !url.fragment.is_empty() {
        out.push('#');
        out.push_str(&escape(&url.fragment, Mode::Fragment));
    }
    out
}
