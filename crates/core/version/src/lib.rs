//! Versions and ranges of versions as Helm and Argo CD compare them.
//!
//! Both use the Go library Masterminds/semver: `1.2` is a version, `>=1.25-0`, `1.x`, `~1 || ^2`
//! and `1.2 - 1.4` are ranges, and a release candidate only matches a range that names one.
//! [`Version::parse`] and [`Constraint::parse`] read them, [`Constraint::check`] answers. The
//! library changed its rules and words between the programs we must agree with: [`Edition`].
//!
//! ```text
//! "v1.2.3-rc.1" ── Version ──┐
//! ">=1.2-0 <2"  ── Constraint┴─ check ──▶ bool, reasons
//! ```

#![deny(clippy::wildcard_enum_match_arm)]

mod constraint;
mod scan;
#[cfg(test)]
mod tests;

pub use constraint::Constraint;

use std::cmp::Ordering;
use std::fmt;

/// Which release of the Go library to agree with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// 3.3, in Helm 3.17: each part of a range asks for release candidates by itself.
    V33,
    /// 3.4, in Argo CD: one release candidate in a range opens all of its parts.
    V34,
    /// 3.5, in Helm 4: as 3.4, with limits on length and quoted texts in messages.
    #[default]
    V35,
}

impl Edition {
    // Only 3.5 limits what it reads; we hold the others to ten times that.
    fn length(self, limit: usize) -> usize {
        match self {
            Self::V35 => limit,
            Self::V33 | Self::V34 => limit * 10,
        }
    }
}

/// Longest version text that [`Edition::V35`] reads; we hold the others to it tenfold.
pub const VERSION_LENGTH_MAX: usize = 256;
/// Longest range text that [`Edition::V35`] reads.
pub const CONSTRAINT_LENGTH_MAX: usize = 512;
/// Most alternatives (`||`) in a range that [`Edition::V35`] reads.
pub const CONSTRAINT_GROUPS_MAX: usize = 32;

/// Why a text is no version or no range, in the words of the Go library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError {
    message: String,
}

impl VersionError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    // 3.3 begins its messages with a capital letter.
    fn worded(edition: Edition, older: &str, newer: &str) -> Self {
        Self::new(if edition == Edition::V33 {
            older
        } else {
            newer
        })
    }
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for VersionError {}

/// A version: three numbers, and perhaps a release candidate's name and build metadata.
///
/// Equality and order ignore the metadata, as the Go library does.
#[derive(Clone, Debug)]
pub struct Version {
    /// First number.
    pub major: u64,
    /// Second number; 0 when it was left out.
    pub minor: u64,
    /// Third number; 0 when it was left out.
    pub patch: u64,
    /// What stands between `-` and `+`; empty when there is nothing.
    pub pre: String,
    /// What stands after `+`; empty when there is nothing.
    pub metadata: String,
    /// The text that was read.
    pub original: String,
}

impl Version {
    /// Reads a version, lenient as charts are: a leading `v` and missing numbers are fine.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        Self::parse_as(text, Edition::default())
    }

    /// Reads a version as one release of the library does.
    pub fn parse_as(text: &str, edition: Edition) -> Result<Self, VersionError> {
        if text.len() > edition.length(VERSION_LENGTH_MAX) {
            return Err(too_long());
        }
        let invalid = || {
            VersionError::worded(
                edition,
                "Invalid Semantic Version",
                "invalid semantic version",
            )
        };
        let found = scan::version(text, scan::DIGITS).ok_or_else(invalid)?;
        if found.end != text.len() {
            return Err(invalid());
        }
        let number = |digits: &str| parse_segment(digits, edition);
        let version = Self {
            major: number(found.major)?,
            minor: number(found.minor.unwrap_or("0"))?,
            patch: number(found.patch.unwrap_or("0"))?,
            pre: found.pre.to_owned(),
            metadata: found.metadata.to_owned(),
            original: text.to_owned(),
        };
        check_pre(&version.pre, edition)?;
        Ok(version)
    }

    /// Reads a version that has all three numbers and no leading `v`, as the specification asks.
    pub fn parse_strict(text: &str, edition: Edition) -> Result<Self, VersionError> {
        let say = |older, newer| Err(VersionError::worded(edition, older, newer));
        if text.is_empty() {
            return say("Version string empty", "version string empty");
        }
        if text.len() > edition.length(VERSION_LENGTH_MAX) {
            return Err(too_long());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return say("Invalid Semantic Version", "invalid semantic version");
        };
        let (rest, metadata) = rest
            .split_once('+')
            .map_or((rest, None), |(a, b)| (a, Some(b)));
        if metadata.is_some_and(|m| !m.split('.').all(|p| is_word(p, edition))) {
            return say("Invalid Metadata string", "invalid metadata string");
        }
        let (patch, pre) = rest
            .split_once('-')
            .map_or((rest, None), |(a, b)| (a, Some(b)));
        if let Some(pre) = pre {
            check_pre(pre, edition)?;
        }
        for part in [major, minor, patch] {
            if !part.bytes().all(|b| b.is_ascii_digit()) {
                return say(
                    "Invalid characters in version",
                    "invalid characters in version",
                );
            }
            if part.len() > 1 && part.starts_with('0') {
                return Err(starts_zero(edition));
            }
        }
        Ok(Self {
            major: parse_uint(major)?,
            minor: parse_uint(minor)?,
            patch: parse_uint(patch)?,
            pre: pre.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// The next patch version; a release candidate becomes its release.
    #[must_use]
    pub fn increment_patch(&self) -> Self {
        let patch = if self.pre.is_empty() {
            self.patch.wrapping_add(1)
        } else {
            self.patch
        };
        self.plain(self.major, self.minor, patch)
    }

    /// The next minor version.
    #[must_use]
    pub fn increment_minor(&self) -> Self {
        self.plain(self.major, self.minor.wrapping_add(1), 0)
    }

    /// The next major version.
    #[must_use]
    pub fn increment_major(&self) -> Self {
        self.plain(self.major.wrapping_add(1), 0, 0)
    }

    // Keeps the leading `v` of the text it was read from.
    fn plain(&self, major: u64, minor: u64, patch: u64) -> Self {
        let v = if self.original.starts_with('v') {
            "v"
        } else {
            ""
        };
        Self {
            major,
            minor,
            patch,
            pre: String::new(),
            metadata: String::new(),
            original: format!("{v}{major}.{minor}.{patch}"),
        }
    }
}

impl fmt::Display for Version {
    /// Prints the version in full and without a leading `v`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_pre(&self.pre, &other.pre),
            }
        })
    }
}

// Word by word: numbers by value and before names, a shorter list before a longer one.
fn compare_pre(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let (a, b) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => (a.unwrap_or_default(), b.unwrap_or_default()),
        };
        let order = match (a.is_empty(), b.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => match (parse_uint(a), parse_uint(b)) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn too_long() -> VersionError {
    VersionError::new(format!(
        "version string is too long (max {VERSION_LENGTH_MAX} bytes)"
    ))
}

fn starts_zero(edition: Edition) -> VersionError {
    VersionError::worded(
        edition,
        "Version segment starts with 0",
        "version segment starts with 0",
    )
}

fn is_word(part: &str, edition: Edition) -> bool {
    (edition == Edition::V33 || !part.is_empty())
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn check_pre(pre: &str, edition: Edition) -> Result<(), VersionError> {
    if pre.is_empty() && edition == Edition::V33 {
        return Ok(());
    }
    for part in pre.split('.').filter(|_| !pre.is_empty()) {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            if part.len() > 1 && part.starts_with('0') {
                return Err(starts_zero(edition));
            }
        } else if !is_word(part, edition) {
            return Err(VersionError::worded(
                edition,
                "Invalid Prerelease string",
                "invalid prerelease string",
            ));
        }
    }
    Ok(())
}

fn parse_segment(digits: &str, edition: Edition) -> Result<u64, VersionError> {
    parse_uint(digits).map_err(|e| {
        let lead = if edition == Edition::V33 {
            "Error"
        } else {
            "error"
        };
        VersionError::new(format!("{lead} parsing version segment: {e}"))
    })
}

// As Go's strconv.ParseUint, which knows no sign.
fn parse_uint(digits: &str) -> Result<u64, VersionError> {
    let say = |why| VersionError::new(format!("strconv.ParseUint: parsing \"{digits}\": {why}"));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(say("invalid syntax"));
    }
    digits.parse().map_err(|_| say("value out of range"))
}
