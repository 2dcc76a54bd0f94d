//! What a commit says of itself: who, when, why, and who signed it.

use crate::credentials::Credentials;
use crate::flight::Freshness;
use crate::repositories::{Repositories, Revision};
use crate::signature::{Keys, Verdict};
use crate::tree::damaged;
use crate::{GitError, Oid};
use model::Timestamp;
use std::time::Duration;

/// What a commit says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit, in full.
    pub commit: String,
    /// Who wrote it, as `Name <address>`.
    pub author: String,
    /// When it was written, as RFC 3339.
    pub date: String,
    /// Who put it there, as `Name <address>`.
    pub committer: String,
    /// Its message.
    pub message: String,
    /// Tags that lead to it.
    pub tags: Vec<String>,
    /// Who signed it, as far as the given keys tell.
    pub signature: Verdict,
}

impl CommitInfo {
    pub(crate) fn parse(oid: Oid, raw: &[u8]) -> Self {
        let text = String::from_utf8_lossy(raw);
        let (head, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let header = |name: &str| {
            head.lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap_or_default()
        };
        let (author, date) = person(header("author "));
        let (committer, _) = person(header("committer "));
        Self {
            commit: oid.to_string(),
            author,
            date,
            committer,
            message: message.to_owned(),
            ..Self::default()
        }
    }
}

impl Repositories {
    /// What a commit says of itself, its signature checked against keys.
    pub fn commit_info(
        &self,
        revision: &Revision,
        credentials: &Credentials,
        keys: &Keys,
    ) -> Result<CommitInfo, GitError> {
        let access = credentials.access(&revision.url);
        let store = self.ensure(&revision.url, &access, revision.commit)?;
        let (oid, commit) = store
            .objects
            .commit(revision.commit)
            .map_err(|e| damaged(&revision.url, &e))?;
        let mut said = CommitInfo::parse(oid, &commit.raw);
        said.signature = keys.verify_commit(&commit.raw);
        let names = self.ls_remote(
            revision.url.as_str(),
            credentials,
            Freshness::Within(Duration::MAX),
        );
        // Tags are a courtesy: a host that does not answer now takes nothing else away.
        said.tags = names.map(|refs| refs.tags_of(oid)).unwrap_or_default();
        Ok(said)
    }

    /// Who signed a commit, as far as the keys tell.
    pub fn verify_signature(
        &self,
        revision: &Revision,
        credentials: &Credentials,
        keys: &Keys,
    ) -> Result<Verdict, GitError> {
        let access = credentials.access(&revision.url);
        let store = self.ensure(&revision.url, &access, revision.commit)?;
        let (_, commit) = store
            .objects
            .commit(revision.commit)
            .map_err(|e| damaged(&revision.url, &e))?;
        Ok(keys.verify_commit(&commit.raw))
    }
}

// `Name <address> 1700000000 +0100`
fn person(line: &str) -> (String, String) {
    let Some((who, when)) = line.rsplit_once("> ") else {
        return (line.to_owned(), String::new());
    };
    let seconds = when
        .split(' ')
        .next()
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    (format!("{who}>"), rfc3339(seconds))
}

/// Seconds since 1970 as text; what lies outside of years with four digits is moved inside.
pub(crate) fn rfc3339(seconds: i64) -> String {
    Timestamp::from_seconds(seconds.clamp(-62_135_596_800, 253_402_300_799)).rfc3339()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_read_as_text() {
        let raw = b"tree x\nauthor A B <a@b> 1700000000 +0100\ncommitter C <c@d> 1700000001 +0000\n\nfix: it\n\nmore\n";
        let said = CommitInfo::parse("1".repeat(40).parse().unwrap(), raw);
        assert_eq!(said.author, "A B <a@b>");
        assert_eq!(said.date, "2023-11-14T22:13:20Z");
        assert_eq!(said.committer, "C <c@d>");
        assert_eq!(said.message, "fix: it\n\nmore\n");
        assert_eq!(rfc3339(i64::MAX), "9999-12-31T23:59:59Z");
    }
}
