//! The file of the store: how it is made, opened, checked and read.

use crate::body::{Stored, dictionary};
use crate::change::{Key, Version};
use crate::disk::error::StoreError;
use crate::disk::seal::{SEAL, seal, sealed, unsealed};
use crate::memory::Memory;
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Resource, namespace and name to the packed body.
pub(super) const OBJECTS: TableDefinition<(&str, &str, &str), &[u8]> =
    TableDefinition::new("objects");
/// Named values of the caller.
pub(super) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// What the file says about itself.
pub(super) const ABOUT: TableDefinition<&str, &[u8]> = TableDefinition::new("about");
/// In `ABOUT`: the newest version, little endian.
pub(super) const VERSION: &str = "version";
/// In `ABOUT`: how the file is to be read, little endian.
const FORMAT: &str = "format";
/// In `ABOUT`: the dictionary that the bodies are packed with.
const PACKED_WITH: &str = "dictionary";

const FORMAT_MAX: u64 = 1;
const FILE: &str = "store.redb";
const LOCK: &str = "lock";
/// Pages the database keeps in memory; all reads are served from elsewhere.
const CACHE_BYTES: usize = 4 << 20;

/// A store that was opened and read.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) database: Database,
    pub(super) memory: Memory,
    pub(super) lock: Option<File>,
}

/// Opens the store in a directory, or makes one.
pub(super) fn open(directory: &Path) -> Result<Opened, StoreError> {
    make_directory(directory)?;
    let lock = lock(directory)?;
    let path = directory.join(FILE);
    let mut database = if path.exists() {
        database(&path, || Ok(settings().open(&path)?))?
    } else {
        create(directory, &path)?
    };
    let read = guarded(&path, || {
        let memory = load(&path, &database)?;
        check(&path, &mut database, memory)
    });
    match read {
        Ok(memory) => Ok(Opened {
            path,
            database,
            memory,
            lock: Some(lock),
        }),
        Err(error) => {
            // Closing a broken file may stumble over the same fault again.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
            Err(error)
        }
    }
}

/// Makes sure that writing cannot do harm: the database takes its list of free pages on trust, and a
/// wrong one would have it write over objects. It puts that list right if need be.
fn check(path: &Path, database: &mut Database, memory: Memory) -> Result<Memory, StoreError> {
    let sound = database
        .check_integrity()
        .map_err(|source| StoreError::read(path, source.into()))?;
    if sound {
        return Ok(memory);
    }
    let again = load(path, database)?;
    if again.version() == memory.version() {
        return Ok(again);
    }
    Err(StoreError::corrupt(path, "its newest changes are lost"))
}

/// How the database is used.
pub(super) fn settings() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Writes what every store holds from its first moment.
pub(super) fn initialise(database: &Database) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    transaction.open_table(OBJECTS)?;
    transaction.open_table(META)?;
    {
        let mut about = transaction.open_table(ABOUT)?;
        let first = Memory::new().version();
        about.insert(FORMAT, &*sealed(FORMAT, &FORMAT_MAX.to_le_bytes()))?;
        about.insert(VERSION, &*sealed(VERSION, &first.to_le_bytes()))?;
        about.insert(PACKED_WITH, &*sealed(PACKED_WITH, dictionary()))?;
    }
    transaction.commit()?;
    Ok(())
}

/// Reads everything, checking every body.
pub(super) fn load(path: &Path, database: &Database) -> Result<Memory, StoreError> {
    let read = |source: redb::Error| StoreError::read(path, source);
    let transaction = database.begin_read().map_err(|e| read(e.into()))?;
    let about = transaction.open_table(ABOUT).map_err(|e| read(e.into()))?;
    let found = number(path, &about, FORMAT)?;
    if found > FORMAT_MAX {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT_MAX,
        });
    }
    let version = number(path, &about, VERSION)?;
    let packed_with = value(path, &about, PACKED_WITH)?.unwrap_or_default();
    let objects = transaction
        .open_table(OBJECTS)
        .map_err(|e| read(e.into()))?;
    let objects = bodies(path, &objects, &packed_with, version)?;
    if packed_with != dictionary() {
        repack(database, &objects).map_err(|source| StoreError::write(path, source))?;
    }
    Ok(Memory::restore(version, objects))
}

fn bodies(
    path: &Path,
    table: &impl ReadableTable<(&'static str, &'static str, &'static str), &'static [u8]>,
    packed_with: &[u8],
    version: Version,
) -> Result<Vec<(Key, Stored)>, StoreError> {
    let read = |source: redb::StorageError| StoreError::read(path, source.into());
    let mut objects = Vec::new();
    for item in table.iter().map_err(read)? {
        let (key, record) = item.map_err(read)?;
        let (resource, namespace, name) = key.value();
        let key = Key::new(resource, namespace, name);
        let stored = body(&key, record.value()).and_then(|body| {
            if packed_with == dictionary() {
                Stored::from_bytes(body)
            } else {
                Stored::from_foreign(body, packed_with)
            }
        });
        match stored {
            Some(stored) if stored.version() <= version => objects.push((key, stored)),
            Some(_) => {
                return Err(StoreError::corrupt(
                    path,
                    format!("{key} is from the future"),
                ));
            }
            None => {
                return Err(StoreError::corrupt(
                    path,
                    format!("{key} does not fit its seal"),
                ));
            }
        }
    }
    if objects.len() as u64 != table.len().map_err(read)? {
        return Err(StoreError::corrupt(path, "objects are missing"));
    }
    Ok(objects)
}

/// An object as it is kept: its body, and the seal of its key.
pub(super) fn record(key: &Key, body: &Stored) -> Vec<u8> {
    [body.as_bytes(), &seal_of(key)].concat()
}

/// The body in what [`record`] gave; `None` when it belongs to another key.
fn body<'a>(key: &Key, record: &'a [u8]) -> Option<&'a [u8]> {
    let (body, found) = record.split_last_chunk::<SEAL>()?;
    (*found == seal_of(key)).then_some(body)
}

fn seal_of(key: &Key) -> [u8; SEAL] {
    seal(&[&key.resource, &key.namespace, &key.name].map(|part| part.as_bytes()))
}

/// Writes all bodies anew, with the dictionary of this program.
fn repack(database: &Database, objects: &[(Key, Stored)]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(OBJECTS)?;
        for (key, stored) in objects {
            let parts = (&*key.resource, &*key.namespace, &*key.name);
            table.insert(parts, &*record(key, stored))?;
        }
        let mut about = transaction.open_table(ABOUT)?;
        about.insert(PACKED_WITH, &*sealed(PACKED_WITH, dictionary()))?;
    }
    transaction.commit()?;
    Ok(())
}

/// Keeps one named value.
pub(super) fn put_meta(database: &Database, name: &str, value: &[u8]) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(Durability::Immediate)?;
    transaction
        .open_table(META)?
        .insert(name, &*sealed(name, value))?;
    transaction.commit()?;
    Ok(())
}

/// One named value.
pub(super) fn get_meta(
    path: &Path,
    database: &Database,
    name: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let read = |source: redb::Error| StoreError::read(path, source);
    let transaction = database.begin_read().map_err(|e| read(e.into()))?;
    let table = transaction.open_table(META).map_err(|e| read(e.into()))?;
    value(path, &table, name)
}

fn value(
    path: &Path,
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = table
        .get(name)
        .map_err(|e| StoreError::read(path, e.into()))?;
    let Some(bytes) = found else {
        return Ok(None);
    };
    let value = unsealed(name, bytes.value());
    let damaged = || StoreError::corrupt(path, format!("`{name}` does not fit its seal"));
    value.ok_or_else(damaged).map(Some)
}

fn number(
    path: &Path,
    table: &impl ReadableTable<&'static str, &'static [u8]>,
    name: &str,
) -> Result<u64, StoreError> {
    let bytes = value(path, table, name)?;
    let number = bytes.and_then(|bytes| bytes.try_into().ok().map(u64::from_le_bytes));
    number.ok_or_else(|| StoreError::corrupt(path, format!("it does not say its {name}")))
}

/// Makes a new file under another name first, so that a death half way leaves no half store.
fn create(directory: &Path, path: &Path) -> Result<Database, StoreError> {
    let fresh = directory.join(format!("{FILE}.new"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    private(&mut options);
    let file = options
        .open(&fresh)
        .map_err(|source| StoreError::io("create", &fresh, source))?;
    let database = database(&fresh, || {
        let database = settings().create_file(file)?;
        initialise(&database)?;
        Ok(database)
    })?;
    fs::rename(&fresh, path).map_err(|source| StoreError::io("create", path, source))?;
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|source| StoreError::io("create", path, source))?;
    Ok(database)
}

/// Opens a database and sorts what can go wrong.
fn database(
    path: &Path,
    open: impl FnOnce() -> Result<Database, redb::Error>,
) -> Result<Database, StoreError> {
    guarded(path, || {
        open().map_err(|source| StoreError::read(path, source))
    })
}

/// The database asserts what it believes about its file; a broken file must not end the program.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::corrupt(path, "its inner structure is broken")))
}

fn make_directory(directory: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(directory)
        .map_err(|source| StoreError::io("create", directory, source))
}

/// Takes the lock that says whose directory it is; the system frees it when we die.
fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join(LOCK);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    let file = options
        .open(&path)
        .map_err(|source| StoreError::io("create", &path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked {
            directory: directory.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(StoreError::io("lock", &path, source)),
    }
}

/// The store holds secrets: nobody else may read it.
fn private(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}
