//! Versions as <https://semver.org> orders them.

use super::Answer;
use crate::value::{Library, Val};
use std::cmp::Ordering;

/// A version; its build part does not count in the order.
#[derive(Clone, Debug)]
pub(crate) struct Semver {
    numbers: [u64; 3],
    pre: Vec<String>,
}

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    let text = match args {
        [Val::Text(text)] => Some((text, false)),
        [Val::Text(text), Val::Bool(lenient)] => Some((text, *lenient)),
        _ => None,
    };
    if let Some((text, lenient)) = text {
        let parsed = Semver::parse(text, lenient);
        return Some(match name {
            "isSemver" => Ok(Val::Bool(parsed.is_some())),
            "semver" => match parsed {
                Some(version) => Ok(Val::library(Library::Semver(version))),
                None => Err("No Major.Minor.Patch elements found".into()),
            },
            _ => return None,
        });
    }
    let own = as_semver(args.first()?)?;
    let other = args.get(1).and_then(as_semver);
    Some(Ok(match (name, other) {
        ("major", None) => Val::Int(own.numbers[0] as i64),
        ("minor", None) => Val::Int(own.numbers[1] as i64),
        ("patch", None) => Val::Int(own.numbers[2] as i64),
        ("isGreaterThan", Some(other)) => Val::Bool(own.order(other) == Ordering::Greater),
        ("isLessThan", Some(other)) => Val::Bool(own.order(other) == Ordering::Less),
        ("compareTo", Some(other)) => Val::Int(own.order(other) as i64),
        _ => return None,
    }))
}

fn as_semver<'v>(value: &'v Val<'_>) -> Option<&'v Semver> {
    match value {
        Val::Library(library) => match &**library {
            Library::Semver(version) => Some(version),
            _ => None,
        },
        _ => None,
    }
}

impl Semver {
    // A lenient reading takes a leading `v`, missing parts and leading zeros.
    fn parse(text: &str, lenient: bool) -> Option<Self> {
        let text = if lenient {
            text.trim().trim_start_matches('v')
        } else {
            text
        };
        let (text, build) = text
            .split_once('+')
            .map_or((text, None), |(t, b)| (t, Some(b)));
        let (core, pre) = text
            .split_once('-')
            .map_or((text, None), |(c, p)| (c, Some(p)));
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let number = |part: &str| {
            let plain = !part.is_empty() && digits(part);
            let short = part == "0" || !part.starts_with('0');
            (plain && (short || lenient)).then(|| part.parse::<u64>().ok())?
        };
        let mut parts: Vec<u64> = core.split('.').map(number).collect::<Option<_>>()?;
        if lenient {
            parts.resize(parts.len().max(3), 0);
        }
        let pre: Vec<String> =
            pre.map_or_else(Vec::new, |p| p.split('.').map(String::from).collect());
        let pre_fits = |p: &String| word(p) && (!digits(p) || number(p).is_some());
        let build_fits = build.is_none_or(|b| b.split('.').all(word));
        let numbers = parts.try_into().ok()?;
        (pre.iter().all(pre_fits) && build_fits).then_some(Self { numbers, pre })
    }

    /// The order of two versions.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let by_pre = match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => pre_order(&self.pre, &other.pre),
        };
        self.numbers.cmp(&other.numbers).then(by_pre)
    }
}

fn pre_order(a: &[String], b: &[String]) -> Ordering {
    for (a, b) in a.iter().zip(b) {
        let by_part = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        if by_part != Ordering::Equal {
            return by_part;
        }
    }
    a.len().cmp(&b.len())
}
