//! URLs and their parts.

use super::Answer;
use crate::value::{Key, Library, Map, Val};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The parts of a URL, still escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    match args {
        [Val::Text(text)] => match name {
            "isURL" => Some(Ok(Val::Bool(Url::parse(text).is_some()))),
            "url" => Some(match Url::parse(text) {
                Some(url) => Ok(Val::library(Library::Url(url))),
                None => Err(format!(
                    "URL parse error during conversion from string: parse {text:?}: invalid URI \
                     for request",
                    text = &**text
                )),
            }),
            _ => None,
        },
        [Val::Library(library)] => match &**library {
            Library::Url(url) => url.part(name).map(Ok),
            _ => None,
        },
        _ => None,
    }
}

impl Url {
    fn parse(text: &str) -> Option<Self> {
        let is_uri = schema::format_check("uri")?;
        if !is_uri(text) {
            return None;
        }
        let (before, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = match before.split_once(':') {
            Some((scheme, rest)) if !scheme.contains('/') => (scheme.to_lowercase(), rest),
            _ => (String::new(), before),
        };
        let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(after) => after.split_at(after.find('/').unwrap_or(after.len())),
            None => ("", rest),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        Some(Self {
            scheme,
            host: host.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
        })
    }

    fn part<'a>(&self, name: &str) -> Option<Val<'a>> {
        let (hostname, port) = self.host_and_port();
        Some(Val::text(match name {
            "getScheme" => self.scheme.as_str(),
            "getHost" => self.host.as_str(),
            "getHostname" => hostname,
            "getPort" => port,
            "getEscapedPath" => self.path.as_str(),
            "getQuery" => return Some(self.query_map()),
            _ => return None,
        }))
    }

    fn host_and_port(&self) -> (&str, &str) {
        if let Some(rest) = self.host.strip_prefix('[') {
            let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
            return (name, after.trim_start_matches(':'));
        }
        self.host.rsplit_once(':').unwrap_or((&self.host, ""))
    }

    fn query_map<'a>(&self) -> Val<'a> {
        let mut map: BTreeMap<Key, Vec<Val<'a>>> = BTreeMap::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let values = map.entry(Key::Text(unescape(key))).or_default();
            values.push(Val::text(unescape(value)));
        }
        let map = map
            .into_iter()
            .map(|(key, values)| (key, Val::list(values)));
        Val::Map(Map::Made(Rc::new(map.collect())))
    }
}

fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes
            .get(i + 1..i + 3)
            .and_then(|h| std::str::from_utf8(h).ok());
        let code = hex.and_then(|h| u8::from_str_radix(h, 16).ok());
        match (bytes[i], code) {
            (b'%', Some(code)) => {
                out.push(code);
                i += 3;
                continue;
            }
            (b'+', _) => out.push(b' '),
            (b, _) => out.push(b),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}
