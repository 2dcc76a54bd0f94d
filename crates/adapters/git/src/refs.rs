//! The names a repository has for its commits, and which commit a wanted revision means.
//!
//! ```text
//! Refs + targetRevision + tagPrefix ── pick ──▶ Picked
//! ```
//! The order is Argo CD's: nothing means `HEAD`; forty digits are a commit; a range of versions is
//! its highest tag; then branches, tags and full names; then at least seven digits of a commit.

use crate::Oid;
use crate::nearest::nearest;
use std::collections::BTreeMap;
use version::{Constraint, Version};

/// All names of a repository at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// What `HEAD` means, when it means anything.
    pub head: Option<Oid>,
    /// The branch `HEAD` stands for, as `refs/heads/main`, even when it has no commit yet.
    pub head_branch: Option<String>,
    /// Full names and the commits they lead to, annotated tags followed.
    pub names: BTreeMap<String, Oid>,
}

/// What a wanted revision means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// A commit, and the full name it was found under.
    Commit(Oid, Option<String>),
    /// The beginning of a commit that no name leads to.
    Short(String),
    /// Nothing: names that are near, and more about it.
    Nothing(Vec<String>, String),
}

/// How many digits of a commit are enough.
const SHORT_DIGITS_MIN: usize = 7;
/// How many digits a commit has.
const FULL_DIGITS: usize = 40;

impl Refs {
    /// Whether there is no commit at all.
    pub fn is_empty(&self) -> bool {
        self.head.is_none() && self.names.is_empty()
    }

    /// Short names of branches, sorted.
    pub fn branches(&self) -> impl Iterator<Item = &str> {
        self.names
            .keys()
            .filter_map(|n| n.strip_prefix("refs/heads/"))
    }

    /// Short names of tags, sorted.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.names
            .keys()
            .filter_map(|n| n.strip_prefix("refs/tags/"))
    }

    /// Tags that lead to a commit.
    pub fn tags_of(&self, commit: Oid) -> Vec<String> {
        let tags = self.names.iter().filter(|(_, oid)| **oid == commit);
        tags.filter_map(|(name, _)| name.strip_prefix("refs/tags/"))
            .map(str::to_owned)
            .collect()
    }

    /// Which commit a wanted revision means.
    pub(crate) fn pick(&self, wanted: &str, tag_prefix: &str) -> Picked {
        if wanted.is_empty() || wanted == "HEAD" {
            return self.picked_head();
        }
        if let Some(oid) = full_commit(wanted) {
            return Picked::Commit(oid, None);
        }
        let name = match self.highest(wanted, tag_prefix) {
            Ok(tag) => tag,
            Err(why) => return Picked::Nothing(self.near(wanted), why),
        };
        if let Some((full, oid)) = self.named(name.as_deref().unwrap_or(wanted)) {
            return Picked::Commit(oid, Some(full));
        }
        if is_short_commit(wanted) {
            return self.starting_with(wanted);
        }
        Picked::Nothing(self.near(wanted), self.why_not(wanted, tag_prefix))
    }

    fn picked_head(&self) -> Picked {
        if let Some(oid) = self.head {
            Picked::Commit(oid, self.head_branch.clone().or(Some("HEAD".into())))
        } else {
            let branch = self.head_branch.as_deref().unwrap_or("HEAD");
            let branches = self.branches().map(str::to_owned).collect();
            Picked::Nothing(
                branches,
                format!(": the default branch `{branch}` has no commit"),
            )
        }
    }

    // The tag with the highest version in a range; `None` when it is no range.
    fn highest(&self, wanted: &str, prefix: &str) -> Result<Option<String>, String> {
        if Version::parse(wanted).is_ok() {
            return match prefix {
                "" => Ok(None),
                _ => Err(format!(
                    ": with tagPrefix `{prefix}` it must be a range of versions"
                )),
            };
        }
        let Ok(range) = Constraint::parse(wanted) else {
            return match prefix {
                "" => Ok(None),
                _ => Err(format!(
                    ": with tagPrefix `{prefix}` it must be a range of versions"
                )),
            };
        };
        let versions = self.tags().filter_map(|tag| {
            let version = Version::parse(tag.strip_prefix(prefix)?).ok()?;
            range.check(&version).then_some((version, tag))
        });
        Ok(versions
            .max_by(|(a, _), (b, _)| a.cmp(b))
            .map(|(_, tag)| format!("refs/tags/{tag}")))
    }

    fn why_not(&self, wanted: &str, prefix: &str) -> String {
        if Constraint::parse(wanted).is_ok() && Version::parse(wanted).is_err() {
            let tags = self.tags().filter(|tag| tag.starts_with(prefix)).count();
            return format!(": none of its {tags} tags is a version in that range");
        }
        String::new()
    }

    fn named(&self, name: &str) -> Option<(String, Oid)> {
        let places = ["", "refs/heads/", "refs/tags/", "refs/"];
        places.iter().find_map(|place| {
            let full = format!("{place}{name}");
            let oid = self.names.get(&full)?;
            Some((full, *oid))
        })
    }

    fn starting_with(&self, digits: &str) -> Picked {
        let digits = digits.to_ascii_lowercase();
        let mut found: Vec<(Oid, &String)> = self
            .names
            .iter()
            .filter(|(_, oid)| oid.to_string().starts_with(&digits))
            .map(|(name, oid)| (*oid, name))
            .collect();
        found.sort();
        found.dedup_by_key(|(oid, _)| *oid);
        match found.as_slice() {
            [(oid, name)] => Picked::Commit(*oid, Some((*name).clone())),
            _ => Picked::Short(digits),
        }
    }

    fn near(&self, wanted: &str) -> Vec<String> {
        let short = |name: &'_ str| -> String {
            let plain = name
                .strip_prefix("refs/heads/")
                .or(name.strip_prefix("refs/tags/"));
            plain.unwrap_or(name).to_owned()
        };
        let names: Vec<String> = self.names.keys().map(|name| short(name)).collect();
        let plain = wanted
            .strip_prefix("refs/heads/")
            .or(wanted.strip_prefix("refs/tags/"));
        nearest(plain.unwrap_or(wanted), names.iter().map(String::as_str))
    }
}

/// A commit written in full.
pub(crate) fn full_commit(text: &str) -> Option<Oid> {
    (text.len() == FULL_DIGITS)
        .then(|| text.parse().ok())
        .flatten()
}

fn is_short_commit(text: &str) -> bool {
    (SHORT_DIGITS_MIN..FULL_DIGITS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn refs() -> Refs {
        let names = [
            ("refs/heads/main", 'a'),
            ("refs/heads/v1.0.0", 'b'),
            ("refs/tags/v1.0.0", 'c'),
            ("refs/tags/v1.2.0", 'd'),
            ("refs/tags/v2.0.0-rc.1", 'e'),
            ("refs/tags/web-1.4.0", 'f'),
            ("refs/tags/web-1.10.0", '1'),
            ("refs/pull/7/head", '2'),
        ];
        Refs {
            head: Some(oid('a')),
            head_branch: Some("refs/heads/main".into()),
            names: names.map(|(name, digit)| (name.into(), oid(digit))).into(),
        }
    }

    fn check(wanted: &str, prefix: &str, expected: &str) {
        let picked = match refs().pick(wanted, prefix) {
            Picked::Commit(oid, name) => {
                format!("{} {}", &oid.to_string()[..1], name.unwrap_or_default())
            }
            Picked::Short(digits) => format!("short {digits}"),
            Picked::Nothing(near, why) => format!("nothing{why} [{}]", near.join(" ")),
        };
        assert_eq!(picked, expected, "{wanted} {prefix}");
    }

    #[test]
    fn names_commits_and_ranges() {
        check("", "", "a refs/heads/main");
        check("HEAD", "", "a refs/heads/main");
        check("main", "", "a refs/heads/main");
        check("refs/heads/main", "", "a refs/heads/main");
        check("pull/7/head", "", "2 refs/pull/7/head");
        check(&"9".repeat(40), "", "9 ");
        // A branch and a tag of one name: the branch, as names are sorted.
        check("v1.0.0", "", "b refs/heads/v1.0.0");
        check("1.*", "", "d refs/tags/v1.2.0");
        check(">=1.0.0 <1.1.0", "", "c refs/tags/v1.0.0");
        check(">=2.0.0-0", "", "e refs/tags/v2.0.0-rc.1");
        check("1.*", "web-", "1 refs/tags/web-1.10.0");
        check("ddddddd", "", "d refs/tags/v1.2.0");
        check("0123456", "", "short 0123456");
    }

    #[test]
    fn what_does_not_exist_says_what_is_near() {
        check("mian", "", "nothing [main]");
        check("refs/heads/mian", "", "nothing [main]");
        check("v1.2.1", "", "nothing [v1.2.0 v1.0.0]");
        check(
            "^7",
            "",
            "nothing: none of its 5 tags is a version in that range []",
        );
        check(
            "main",
            "web-",
            "nothing: with tagPrefix `web-` it must be a range of versions [main]",
        );
    }
}
