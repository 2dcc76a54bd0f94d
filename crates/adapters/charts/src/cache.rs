//! Archives by the digest of their content, on disk, up to a size.

use crate::digest;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A directory of archives; a file is named by the digest of what is in it.
///
/// A crash leaves at most a temporary file behind, which the next opening removes. A file whose
/// content does not match its name is never given out.
#[derive(Debug)]
pub struct Cache {
    directory: PathBuf,
    bytes_max: u64,
    counter: AtomicU64,
}

impl Cache {
    /// Opens a directory, which is made when it is not there.
    pub fn open(directory: impl Into<PathBuf>, bytes_max: u64) -> io::Result<Self> {
        let directory = directory.into();
        fs::create_dir_all(&directory)?;
        for entry in fs::read_dir(&directory)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(".new-") {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Self {
            directory,
            bytes_max,
            counter: AtomicU64::new(0),
        })
    }

    /// The bytes of a digest, when they are here and sound.
    pub fn get(&self, wanted: &str) -> Option<Arc<[u8]>> {
        let path = self.path(wanted)?;
        let bytes = fs::read(&path).ok()?;
        if digest(&bytes) != wanted {
            let _ = fs::remove_file(&path);
            return None;
        }
        // What was used last goes last.
        if let Ok(file) = File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(bytes.into())
    }

    /// Keeps bytes; gives their digest.
    pub fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let name = digest(bytes);
        let path = self.path(&name).ok_or(io::ErrorKind::InvalidInput)?;
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let temporary = self
            .directory
            .join(format!(".new-{}-{number}", std::process::id()));
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        self.shrink(&path)?;
        Ok(name)
    }

    fn path(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest.strip_prefix("sha256:")?;
        let sound = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        sound.then(|| self.directory.join(hex))
    }

    // Removes what was not used for longest until the rest fits.
    fn shrink(&self, keep: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        let mut total = 0;
        for entry in fs::read_dir(&self.directory)?.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            total += metadata.len();
            files.push((metadata.modified()?, metadata.len(), entry.path()));
        }
        files.sort();
        for (_, size, path) in files {
            if total <= self.bytes_max {
                break;
            }
            if path != keep && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory =
            std::env::temp_dir().join(format!("tiphys-charts-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        directory
    }

    #[test]
    fn what_was_put_is_found_by_its_digest() {
        let cache = Cache::open(directory("put"), 1000).expect("it opens");
        let name = cache.put(b"chart").expect("it is written");
        assert_eq!(cache.get(&name).as_deref(), Some(&b"chart"[..]));
        assert_eq!(cache.get("sha256:../../etc/passwd"), None);
    }

    #[test]
    fn what_was_damaged_is_not_given_out() {
        let at = directory("damaged");
        let cache = Cache::open(&at, 1000).expect("it opens");
        let name = cache.put(b"chart").expect("it is written");
        fs::write(at.join(&name["sha256:".len()..]), b"other").expect("it is written");
        assert_eq!(cache.get(&name), None);
    }

    #[test]
    fn the_oldest_goes_when_there_is_no_room() {
        let at = directory("room");
        let cache = Cache::open(&at, 10).expect("it opens");
        let first = cache.put(b"123456").expect("it is written");
        let second = cache.put(b"abcdef").expect("it is written");
        assert_eq!(cache.get(&first), None);
        assert!(cache.get(&second).is_some());
    }

    #[test]
    fn a_crash_leaves_nothing_behind() {
        let at = directory("crash");
        fs::create_dir_all(&at).expect("it is made");
        fs::write(at.join(".new-1-1"), b"half").expect("it is written");
        let _cache = Cache::open(&at, 10).expect("it opens");
        assert_eq!(fs::read_dir(&at).expect("it is there").count(), 0);
    }
}
