//! Repositories made with git itself, with commits whose times are fixed.

use crate::{Outcome, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory that goes when the value does.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A fresh directory.
    pub fn new() -> Outcome<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("gitworld-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is in the directory for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program that sees none of the settings of whoever runs us.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com");
    command
}

/// A work tree, and the bare repository it is pushed to.
#[derive(Debug)]
pub struct Repo {
    /// The work tree.
    pub work: PathBuf,
    /// The bare repository that servers show.
    pub bare: PathBuf,
}

impl Repo {
    /// An empty repository called `<name>.git` below a directory.
    pub fn new(root: &Path, name: &str) -> Outcome<Self> {
        let repo = Self {
            work: root.join(format!("{name}-work")),
            bare: root.join(format!("{name}.git")),
        };
        let bare = repo.bare.display().to_string();
        run("git", &["init", "-q", "--bare", "-b", "main", &bare], root)?;
        let work = repo.work.display().to_string();
        run("git", &["init", "-q", "-b", "main", &work], root)?;
        repo.git(&["remote", "add", "origin", &bare])?;
        // Servers are asked for commits that no name leads to, and for commits without files.
        for setting in ["uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"] {
            run("git", &["config", setting, "true"], &repo.bare)?;
        }
        Ok(repo)
    }

    /// Runs git in the work tree.
    pub fn git(&self, arguments: &[&str]) -> Outcome<String> {
        run("git", arguments, &self.work)
    }

    /// Writes a file.
    pub fn write(&self, path: &str, content: &str) -> Outcome {
        let path = self.work.join(path);
        let parent = path.parent().unwrap_or(&self.work);
        fs::create_dir_all(parent).map_err(|e| e.to_string())?;
        fs::write(&path, content).map_err(|e| e.to_string())
    }

    /// Commits everything and gives the commit.
    pub fn commit(&self, message: &str) -> Outcome<String> {
        self.git(&["add", "-A"])?;
        self.git(&["commit", "-q", "--allow-empty", "-m", message])?;
        Ok(self.git(&["rev-parse", "HEAD"])?.trim().to_owned())
    }

    /// Pushes all branches and tags.
    pub fn push(&self) -> Outcome {
        self.git(&["push", "-q", "--force", "origin", "--all"])?;
        self.git(&["push", "-q", "--force", "origin", "--tags"])?;
        Ok(())
    }

    /// Writes one file, commits and pushes.
    pub fn change(&self, path: &str, content: &str) -> Outcome<String> {
        self.write(path, content)?;
        let commit = self.commit(&format!("change {path}"))?;
        self.push()?;
        Ok(commit)
    }
}
