//! Repositories: which commit a name means, and the files of a commit.
