//! Ranges of versions: `>=1.2, <2 || ~3.1`.

use crate::scan::{self, WILD};
use crate::{
    CONSTRAINT_GROUPS_MAX, CONSTRAINT_LENGTH_MAX, Edition, Version, VersionError, compare_pre,
};
use std::cmp::Ordering;
use std::fmt;

/// A range of versions: alternatives, each a list of conditions that all must hold.
#[derive(Clone, Debug)]
pub struct Constraint {
    edition: Edition,
    groups: Vec<Vec<Condition>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Same,
    Not,
    Above,
    Below,
    AtLeast,
    AtMost,
    Tilde,
    Caret,
}

// Longer ones first, so that the first that fits is the right one.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::Not),
    (">=", Operator::AtLeast),
    ("=>", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("=<", Operator::AtMost),
    ("~>", Operator::Tilde),
    ("=", Operator::Same),
    (">", Operator::Above),
    ("<", Operator::Below),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

#[derive(Clone, Debug)]
struct Condition {
    operator: Operator,
    operator_text: &'static str,
    // The version as it was written, wildcards and all.
    text: String,
    version: Version,
    // Some number is left open; which one.
    open: bool,
    open_minor: bool,
    open_patch: bool,
}

impl Constraint {
    /// Reads a range by the newest rules.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        Self::parse_as(text, Edition::default())
    }

    /// Reads a range as one release of the library does.
    pub fn parse_as(text: &str, edition: Edition) -> Result<Self, VersionError> {
        if text.len() > edition.length(CONSTRAINT_LENGTH_MAX) {
            return Err(VersionError::new(format!(
                "constraint string is too long (max {CONSTRAINT_LENGTH_MAX} bytes)"
            )));
        }
        let text = rewrite_hyphens(text);
        let alternatives: Vec<&str> = text.split("||").collect();
        if alternatives.len() > edition.length(CONSTRAINT_GROUPS_MAX) {
            return Err(VersionError::new(format!(
                "too many constraint groups (max {CONSTRAINT_GROUPS_MAX})"
            )));
        }
        let groups = alternatives.into_iter().map(|group| {
            let tokens = tokens(group).ok_or_else(|| improper(group, edition))?;
            tokens
                .into_iter()
                .map(|token| Condition::new(token, edition))
                .collect()
        });
        Ok(Self {
            edition,
            groups: groups.collect::<Result<_, _>>()?,
        })
    }

    /// Says whether the version lies in the range.
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let pre = self.wants_pre(group);
            group
                .iter()
                .all(|c| c.check(version, pre, self.edition).is_ok())
        })
    }

    /// As [`Self::check`], with the reasons why it does not.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<VersionError>> {
        let mut reasons = Vec::new();
        let mut said_pre = false;
        for group in &self.groups {
            let (wants_pre, mut fits) = (self.wants_pre(group), true);
            for condition in group {
                let looks = match wants_pre {
                    Some(group) => group,
                    None => !condition.version.pre.is_empty(),
                };
                let answer = if !looks && !version.pre.is_empty() {
                    Err(None)
                } else {
                    condition
                        .check(version, wants_pre, self.edition)
                        .map_err(Some)
                };
                let Err(why) = answer else { continue };
                fits = false;
                match why {
                    Some(why) => reasons.push(why),
                    None if said_pre => {}
                    None => {
                        said_pre = true;
                        reasons.push(only_releases(version, self.edition));
                    }
                }
            }
            if fits {
                return Ok(());
            }
        }
        Err(reasons)
    }

    /// Whether some part of the range names a release candidate.
    pub fn names_prerelease(&self) -> bool {
        self.groups
            .iter()
            .flatten()
            .any(|c| !c.version.pre.is_empty())
    }

    // Whether release candidates count in this group; none when each condition decides for itself.
    fn wants_pre(&self, group: &[Condition]) -> Option<bool> {
        (self.edition != Edition::V33).then(|| group.iter().any(|c| !c.version.pre.is_empty()))
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, group) in self.groups.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " || " })?;
            for (j, condition) in group.iter().enumerate() {
                f.write_str(if j == 0 { "" } else { " " })?;
                write!(f, "{}{}", condition.operator_text, condition.text)?;
            }
        }
        Ok(())
    }
}

struct Token<'a> {
    operator: Operator,
    operator_text: &'static str,
    version: &'a str,
}

// Conditions are divided by white space, a comma, or both; none when the text is anything else.
fn tokens(group: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut at = scan::spaces(group);
    while at < group.len() || found.is_empty() {
        let rest = &group[at..];
        let (operator_text, operator) = OPERATORS
            .iter()
            .find(|(text, _)| rest.starts_with(text))
            .map_or(("", Operator::Same), |(text, operator)| (text, *operator));
        at += operator_text.len();
        at += scan::spaces(&group[at..]);
        let end = scan::version(&group[at..], WILD)?.end;
        found.push(Token {
            operator,
            operator_text,
            version: &group[at..at + end],
        });
        at += end;
        let gap = scan::spaces(&group[at..]);
        at += gap;
        if group[at..].starts_with(',') {
            at += 1;
            at += scan::spaces(&group[at..]);
            if at == group.len() {
                return None;
            }
        } else if gap == 0 && at < group.len() {
            return None;
        }
    }
    Some(found)
}

// `1.2 - 1.4` is `>= 1.2, <= 1.4`.
fn rewrite_hyphens(text: &str) -> String {
    let mut out = text.to_owned();
    let mut at = 0;
    while at < text.len() {
        match hyphen_at(text, at) {
            Some((end, from, to)) => {
                out = out.replacen(&text[at..end], &format!(">= {from}, <= {to} "), 1);
                at = end;
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    out
}

fn hyphen_at(text: &str, start: usize) -> Option<(usize, &str, &str)> {
    let mut at = start + scan::spaces(&text[start..]);
    let from_end = at + scan::version(&text[at..], WILD)?.end;
    let from = &text[at..from_end];
    at = from_end;
    for expected in [true, false] {
        let gap = scan::spaces(&text[at..]);
        if gap == 0 {
            return None;
        }
        at += gap;
        if expected {
            at += usize::from(text[at..].starts_with('-'));
            if !text[..at].ends_with('-') {
                return None;
            }
        }
    }
    let to_end = at + scan::version(&text[at..], WILD)?.end;
    let to = &text[at..to_end];
    Some((to_end + scan::spaces(&text[to_end..]), from, to))
}

fn improper(text: &str, edition: Edition) -> VersionError {
    VersionError::new(match edition {
        Edition::V35 => format!("improper constraint: {text:?}"),
        Edition::V33 | Edition::V34 => format!("improper constraint: {text}"),
    })
}

fn only_releases(version: &Version, edition: Edition) -> VersionError {
    let text = quoted(&version.to_string(), edition);
    VersionError::new(format!(
        "{text} is a prerelease version and the constraint is only looking for release versions"
    ))
}

fn quoted(text: &str, edition: Edition) -> String {
    match edition {
        Edition::V35 => format!("\"{text}\""),
        Edition::V33 | Edition::V34 => text.to_owned(),
    }
}

impl Condition {
    fn new(token: Token<'_>, edition: Edition) -> Result<Self, VersionError> {
        let wrong = || {
            VersionError::worded(
                edition,
                "constraint Parser Error",
                "constraint parser error",
            )
        };
        let found = scan::version(token.version, WILD).ok_or_else(wrong)?;
        let is_open = |part: Option<&str>| matches!(part, None | Some("x" | "X" | "*"));
        let open_major = is_open(Some(found.major));
        let open_minor = !open_major && is_open(found.minor);
        let open_patch = !open_major && !open_minor && is_open(found.patch);
        let pre = if found.pre.is_empty() {
            String::new()
        } else {
            format!("-{}", found.pre)
        };
        let (major, minor) = (found.major, found.minor.unwrap_or_default());
        let text = if open_major {
            format!("0.0.0{pre}")
        } else if open_minor {
            format!("{major}.0.0{pre}")
        } else if open_patch {
            format!("{major}.{minor}.0{pre}")
        } else {
            token.version.to_owned()
        };
        Ok(Self {
            operator: token.operator,
            operator_text: token.operator_text,
            text: token.version.to_owned(),
            version: Version::parse_as(&text, edition).map_err(|_| wrong())?,
            open: open_major || open_minor || open_patch,
            open_minor,
            open_patch,
        })
    }

    // `wants_pre` is none where each condition decides by itself whether release candidates count.
    fn check(
        &self,
        v: &Version,
        wants_pre: Option<bool>,
        edition: Edition,
    ) -> Result<(), VersionError> {
        let mut wants = wants_pre.unwrap_or(!self.version.pre.is_empty());
        // The older library compares `!=` with a full version before it thinks of candidates.
        if wants_pre.is_none() && self.operator == Operator::Not && !self.open {
            wants = true;
        }
        if !v.pre.is_empty() && !wants {
            return Err(only_releases(v, edition));
        }
        let why = match self.operator {
            Operator::Same if self.open => self.tilde(v),
            Operator::Same => says(v == &self.version, "is not equal to"),
            Operator::Not => says(self.differs(v), "is equal to"),
            Operator::Above => says(self.is_below(v), "is less than or equal to"),
            Operator::Below => says(v < &self.version, "is greater than or equal to"),
            Operator::AtLeast => says(v >= &self.version, "is less than"),
            Operator::AtMost => says(self.reaches(v), "is greater than"),
            Operator::Tilde => self.tilde(v),
            Operator::Caret => self.caret(v),
        };
        why.map_err(|why| {
            let (what, rest) = why
                .split_once('.')
                .map_or((why, ""), |(a, _)| (a, &why[a.len()..]));
            let (v, c) = (quoted(&v.to_string(), edition), quoted(&self.text, edition));
            VersionError::new(format!("{v} {what} {c}{rest}"))
        })
    }

    fn differs(&self, v: &Version) -> bool {
        let c = &self.version;
        if !self.open {
            return v != c;
        }
        if c.major != v.major || (c.minor != v.minor && !self.open_minor) {
            return true;
        }
        if self.open_minor {
            return false;
        }
        if self.open_patch {
            return compare_pre(&v.pre, &c.pre) != Ordering::Equal;
        }
        c.patch != v.patch || v != c
    }

    fn is_below(&self, v: &Version) -> bool {
        let c = &self.version;
        if self.open && v.major != c.major {
            v.major > c.major
        } else if self.open_minor {
            false
        } else if self.open_patch {
            v.minor > c.minor
        } else {
            v > c
        }
    }

    fn reaches(&self, v: &Version) -> bool {
        let c = &self.version;
        if !self.open {
            return v <= c;
        }
        v.major <= c.major && !(v.major == c.major && v.minor > c.minor && !self.open_minor)
    }

    fn tilde(&self, v: &Version) -> Result<(), &'static str> {
        let c = &self.version;
        says(v >= c, "is less than")?;
        if (c.major, c.minor, c.patch) == (0, 0, 0) && !self.open_minor && !self.open_patch {
            return Ok(());
        }
        says(v.major == c.major, "does not have same major version as")?;
        says(
            v.minor == c.minor || self.open_minor,
            "does not have same major and minor version as",
        )
    }

    fn caret(&self, v: &Version) -> Result<(), &'static str> {
        let c = &self.version;
        let major = "does not have same major version as";
        says(v >= c, "is less than")?;
        if c.major > 0 || self.open_minor {
            return says(v.major == c.major, major);
        }
        says(v.major == 0, major)?;
        if c.minor > 0 || self.open_patch {
            return says(
                v.minor == c.minor,
                "does not have same minor version as. Expected minor versions to match when constraint major version is 0",
            );
        }
        says(v.minor == 0, "does not have same minor version as")?;
        says(
            c.patch == v.patch,
            "does not equal. Expect version and constraint to equal when major and minor versions are 0",
        )
    }
}

fn says(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(otherwise) }
}
