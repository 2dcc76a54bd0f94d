//! Repositories on this machine: read where they are, nothing is copied.

use crate::objects::Objects;
use crate::refs::Refs;
use crate::{GitError, Oid};
use std::fs;
use std::path::{Path, PathBuf};

/// How deep directories of names may be nested.
const NAMES_DEPTH_MAX: usize = 32;
/// How large a file of packed names may be.
const PACKED_BYTES_MAX: u64 = 256 << 20;

/// Where the parts of a repository are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Where `HEAD` is.
    pub(crate) own: PathBuf,
    /// Where names and objects are; another than `own` for a linked work tree.
    pub(crate) common: PathBuf,
}

/// Finds a repository: bare, with a work tree, or linked to another.
pub(crate) fn find(url: &str, path: &Path) -> Result<Place, GitError> {
    if !path.exists() {
        return Err(GitError::Gone {
            url: url.to_owned(),
            moved_to: None,
            credential: String::new(),
            says: "there is no such directory".into(),
        });
    }
    let inside = path.join(".git");
    let linked = fs::read_to_string(&inside).ok();
    let linked =
        linked.and_then(|text| text.strip_prefix("gitdir:").map(|to| path.join(to.trim())));
    let own = match linked {
        Some(to) => to,
        None if inside.is_dir() => inside,
        None => path.to_owned(),
    };
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(to) => own.join(to.trim()),
        Err(_) => own.clone(),
    };
    if !own.join("HEAD").is_file() || !common.join("objects").is_dir() {
        return Err(GitError::NotARepository {
            url: url.to_owned(),
            says: "the directory holds no Git repository".into(),
        });
    }
    Ok(Place { own, common })
}

/// The names of a repository on disk.
pub(crate) fn refs(url: &str, place: &Place, objects: &Objects) -> Result<Refs, GitError> {
    let mut refs = Refs::default();
    let failed = |path: &Path, error: std::io::Error| GitError::NotARepository {
        url: url.to_owned(),
        says: format!("`{}` cannot be read: {error}", path.display()),
    };
    packed(&place.common.join("packed-refs"), &mut refs, failed)?;
    loose(
        &place.common.join("refs"),
        "refs",
        &mut refs,
        NAMES_DEPTH_MAX,
    );
    // Annotated tags lead to their commits.
    for oid in refs.names.values_mut() {
        if let Ok((commit, _)) = objects.commit(*oid) {
            *oid = commit;
        }
    }
    let head_file = place.own.join("HEAD");
    let head = fs::read_to_string(&head_file).map_err(|e| failed(&head_file, e))?;
    match head.trim().strip_prefix("ref:") {
        Some(branch) => {
            let branch = branch.trim();
            refs.head = refs.names.get(branch).copied();
            refs.head_branch = Some(branch.to_owned());
        }
        None => refs.head = head.trim().parse().ok(),
    }
    Ok(refs)
}

fn packed(
    path: &Path,
    refs: &mut Refs,
    failed: impl Fn(&Path, std::io::Error) -> GitError,
) -> Result<(), GitError> {
    let Ok(meta) = fs::metadata(path) else {
        return Ok(());
    };
    if meta.len() > PACKED_BYTES_MAX {
        return Err(failed(path, std::io::Error::other("it is too large")));
    }
    let text = fs::read(path).map_err(|e| failed(path, e))?;
    let text = String::from_utf8_lossy(&text);
    let pairs = text.lines().filter(|line| !line.starts_with(['#', '^']));
    for (oid, name) in pairs.filter_map(|line| line.split_once(' ')) {
        if let Ok(oid) = oid.parse() {
            refs.names.insert(name.trim().to_owned(), oid);
        }
    }
    Ok(())
}

// Names that vanish while we look are names that are gone.
fn loose(directory: &Path, name: &str, refs: &mut Refs, depth: usize) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let full = format!("{name}/{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            if depth > 0 {
                loose(&path, &full, refs, depth - 1);
            }
        } else if let Some(oid) = follow(&path, directory, 5) {
            refs.names.insert(full, oid);
        }
    }
}

// A name may stand for another, as `refs/remotes/origin/HEAD` does.
fn follow(path: &Path, near: &Path, steps: usize) -> Option<Oid> {
    let text = fs::read_to_string(path).ok()?;
    match text.trim().strip_prefix("ref:") {
        None => text.trim().parse().ok(),
        Some(to) if steps > 0 => {
            let root = near.ancestors().find(|dir| dir.join("HEAD").is_file())?;
            follow(&root.join(to.trim()), near, steps - 1)
        }
        Some(_) => None,
    }
}
