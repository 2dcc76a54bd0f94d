//! The face of this crate: all repositories, in one directory.
//!
//! ```text
//! Source ── names (shared) ──▶ Refs ── pick ──▶ commit ── fetch (shared) ──▶ Store ──▶ GitTree
//! ```

use crate::credentials::{Access, Credentials, hex};
use crate::flight::{Flight, Freshness};
use crate::refs::{Picked, Refs};
use crate::store::{self, Store, failed};
use crate::tree::GitTree;
use crate::url::{RepoUrl, Scheme};
use crate::wire::Operation;
use crate::wire::session::{Destination, Session, Wanted};
use crate::{GitError, Limits, Oid, Timeouts, local};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names that are asked for when nothing special is wanted.
const USUAL: [&str; 3] = ["HEAD", "refs/heads/", "refs/tags/"];
/// For how long a failure is the answer for those who would take an older success.
const FAILURE_LASTS: Duration = Duration::from_secs(5);

/// What is wanted: a repository and a revision of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The address of the repository.
    pub url: String,
    /// Branch, tag, range of versions, commit or full name; empty for the default branch.
    pub target_revision: String,
    /// What stands in front of the version in tags; only for ranges of versions.
    pub tag_prefix: String,
}

impl Source {
    /// A revision of a repository.
    pub fn new(url: impl Into<String>, target_revision: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            target_revision: target_revision.into(),
            tag_prefix: String::new(),
        }
    }
}

/// A source pinned to a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The repository.
    pub url: RepoUrl,
    /// The commit.
    pub commit: Oid,
    /// What was asked for.
    pub asked: String,
    /// The full name under which it was found, as `refs/tags/v1.2.0`; none for a bare commit.
    pub name: Option<String>,
    /// Where the host says the repository is now, when it moved.
    pub moved_to: Option<String>,
}

/// Settings of [`Repositories`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How large things may be.
    pub limits: Limits,
}

/// How often servers were bothered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Conversations about names.
    pub listings: u64,
    /// Packs that were fetched.
    pub fetches: u64,
}

/// All repositories, in one directory.
#[derive(Debug)]
pub struct Repositories {
    root: PathBuf,
    options: Options,
    known: Mutex<BTreeMap<String, Arc<Repository>>>,
    listings: AtomicU64,
    fetches: AtomicU64,
}

/// Names of a repository at one moment, as one credential sees them.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) refs: Refs,
    moved_to: Option<String>,
}

// Address as written, credential, and the names asked for.
type FlightKey = (String, String, String);
type Listed = Result<Arc<Listing>, GitError>;

/// One repository and what is going on with it.
#[derive(Debug)]
pub(crate) struct Repository {
    directory: PathBuf,
    store: Mutex<Option<Arc<Store>>>,
    flights: Mutex<BTreeMap<FlightKey, Arc<Flight<Listed>>>>,
    wanted: Mutex<BTreeSet<Oid>>,
    // Held by the one who fetches.
    writing: Mutex<()>,
    worked: Mutex<BTreeMap<String, String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Repositories {
    /// Opens the cache in a directory, or makes it.
    pub fn open(root: impl Into<PathBuf>, options: Options) -> Result<Self, GitError> {
        let root = root.into();
        fs::create_dir_all(root.join("tmp")).map_err(failed(&root))?;
        clear_scratch(&root);
        Ok(Self {
            root,
            options,
            known: Mutex::default(),
            listings: AtomicU64::new(0),
            fetches: AtomicU64::new(0),
        })
    }

    /// How often servers were bothered so far.
    pub fn counts(&self) -> Counts {
        Counts {
            listings: self.listings.load(Ordering::Relaxed),
            fetches: self.fetches.load(Ordering::Relaxed),
        }
    }

    /// The limits that are kept.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The names of a repository: `HEAD`, branches and tags.
    pub fn ls_remote(
        &self,
        url: &str,
        credentials: &Credentials,
        freshness: Freshness,
    ) -> Result<Refs, GitError> {
        let url = RepoUrl::parse(url)?;
        let access = credentials.access(&url);
        Ok(self
            .listing(&url, &access, &USUAL, freshness, None)?
            .refs
            .clone())
    }

    /// Which commit a source means now, or meant a moment ago that is near enough.
    pub fn resolve(
        &self,
        source: &Source,
        credentials: &Credentials,
        freshness: Freshness,
    ) -> Result<Revision, GitError> {
        let url = RepoUrl::parse(&source.url)?;
        let access = credentials.access(&url);
        let wanted = source.target_revision.trim();
        let listing = self.listing(&url, &access, &USUAL, freshness, Some(source))?;
        let revision = |commit, name, listing: &Listing| Revision {
            url: url.clone(),
            commit,
            asked: source.target_revision.clone(),
            name,
            moved_to: listing.moved_to.clone(),
        };
        match listing.refs.pick(wanted, &source.tag_prefix) {
            Picked::Commit(commit, name) => Ok(revision(commit, name, &listing)),
            Picked::Short(digits) => {
                let commit = self.find_short(&url, &access, &listing.refs, &digits)?;
                Ok(revision(commit, None, &listing))
            }
            Picked::Nothing(..) if listing.refs.is_empty() => Err(GitError::Empty {
                url: url.to_string(),
            }),
            Picked::Nothing(nearest, why) => {
                // Names outside of branches and tags are asked for one by one: there can be many.
                if let Some((listing, commit, name)) =
                    self.unusual(&url, &access, wanted, freshness)?
                {
                    return Ok(revision(commit, Some(name), &listing));
                }
                Err(GitError::NoSuchRevision {
                    url: url.to_string(),
                    wanted: wanted.to_owned(),
                    why,
                    nearest,
                })
            }
        }
    }

    fn unusual(
        &self,
        url: &RepoUrl,
        access: &Access,
        wanted: &str,
        freshness: Freshness,
    ) -> Result<Option<(Arc<Listing>, Oid, String)>, GitError> {
        let plausible = wanted.contains('/') && !wanted.contains(char::is_whitespace);
        if !plausible || url.scheme == Scheme::File {
            return Ok(None);
        }
        let full = if wanted.starts_with("refs/") {
            wanted.to_owned()
        } else {
            format!("refs/{wanted}")
        };
        let listing = self.listing(url, access, &[&full], freshness, None)?;
        let found = listing.refs.names.get(&full).copied();
        Ok(found.map(|commit| (listing, commit, full)))
    }

    /// The files of a revision; fetched when they are not there.
    pub fn tree(
        &self,
        revision: &Revision,
        credentials: &Credentials,
    ) -> Result<GitTree, GitError> {
        let access = credentials.access(&revision.url);
        let open = || {
            let store = self.ensure(&revision.url, &access, revision.commit)?;
            GitTree::open(&revision.url, revision.commit, store, self.options.limits)
        };
        match open() {
            // Made anew, once; what belongs to others is left alone.
            Err(GitError::Corrupted { .. }) if revision.url.scheme != Scheme::File => {
                self.forget(&revision.url);
                open()
            }
            answer => answer,
        }
    }

    /// The store of a repository with a commit in it.
    pub(crate) fn ensure(
        &self,
        url: &RepoUrl,
        access: &Access,
        commit: Oid,
    ) -> Result<Arc<Store>, GitError> {
        let repository = self.repository(url);
        let store = Self::store(url, &repository)?;
        if store.keeps(commit) {
            // Somebody else fetched it: whoever asks must be known to the host too.
            self.must_be_known(&repository, url, access)?;
            store.touch();
            return Ok(store);
        }
        if store.foreign {
            return Err(absent(url, commit));
        }
        lock(&repository.wanted).insert(commit);
        let writing = lock(&repository.writing);
        // Whoever held the lock before us may have fetched ours along with his.
        if !store.keeps(commit) {
            let mut batch = std::mem::take(&mut *lock(&repository.wanted));
            batch.insert(commit);
            let batch: Vec<Oid> = batch.into_iter().filter(|oid| !store.keeps(*oid)).collect();
            let fetched = self.fetch(url, access, &store, &batch);
            if fetched.is_err() && batch.len() > 1 {
                self.fetch(url, access, &store, &[commit])?;
            } else {
                fetched?;
            }
        }
        drop(writing);
        store.touch();
        store::evict(
            &self.root,
            self.options.limits.cache_bytes_max,
            &store.directory,
        );
        Ok(store)
    }

    // A credential that never reached the host gets nothing from the cache.
    fn must_be_known(
        &self,
        repository: &Repository,
        url: &RepoUrl,
        access: &Access,
    ) -> Result<(), GitError> {
        if url.scheme == Scheme::File
            || lock(&repository.worked).contains_key(&access.fingerprint())
        {
            return Ok(());
        }
        self.listing(url, access, &USUAL, Freshness::Within(Duration::MAX), None)?;
        Ok(())
    }

    // Fetches commits; the right to write in this process is held by the caller.
    fn fetch(
        &self,
        url: &RepoUrl,
        access: &Access,
        store: &Store,
        commits: &[Oid],
    ) -> Result<(), GitError> {
        let mut session = Session::open(self.operation(url, access))?;
        let fetched = self.fetch_with(&mut session, url, store, commits, Some(1));
        let (Err(GitError::NoSuchRevision { .. }), true) = (&fetched, session.is_old()) else {
            return fetched;
        };
        // An old server gives only what its names lead to: then all of that, and look again.
        let mut session = Session::open(self.operation(url, access))?;
        let tips = tips(&session.refs(&USUAL)?);
        self.fetch_with(&mut session, url, store, &tips, None)?;
        for oid in commits {
            if !store.objects.has(*oid) {
                return Err(absent(url, *oid));
            }
            Self::settle(url, store, *oid)?;
        }
        Ok(())
    }

    fn fetch_with(
        &self,
        session: &mut Session,
        url: &RepoUrl,
        store: &Store,
        commits: &[Oid],
        depth: Option<u32>,
    ) -> Result<(), GitError> {
        let _lock = store.lock()?;
        // Another process may have been faster.
        let missing: Vec<Oid> = commits
            .iter()
            .copied()
            .filter(|oid| depth.is_none() || !store.keeps(*oid))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let wanted = Wanted {
            wants: missing.clone(),
            haves: store.haves(),
            depth,
            without_files: false,
        };
        let into = Destination {
            objects: &store.directory.join("objects"),
            shallow: store.directory.join("shallow"),
            odb: store.objects.handle(),
        };
        session
            .fetch(&wanted, into)
            .map_err(|error| refused_commit(error, url, &missing))?;
        for oid in missing {
            Self::settle(url, store, oid)?;
        }
        store.touch();
        store::evict(
            &self.root,
            self.options.limits.cache_bytes_max,
            &store.directory,
        );
        Ok(())
    }

    fn settle(url: &RepoUrl, store: &Store, oid: Oid) -> Result<(), GitError> {
        let (commit, _) = store
            .objects
            .commit(oid)
            .map_err(|error| GitError::NoSuchRevision {
                url: url.to_string(),
                wanted: oid.to_string(),
                why: format!(": {error}"),
                nearest: Vec::new(),
            })?;
        if commit != oid {
            store.keep(commit)?;
        }
        store.keep(oid)
    }

    /// The names of a repository, shared by all who ask at the same time.
    pub(crate) fn listing(
        &self,
        url: &RepoUrl,
        access: &Access,
        prefixes: &[&str],
        freshness: Freshness,
        then: Option<&Source>,
    ) -> Listed {
        let repository = self.repository(url);
        if url.scheme == Scheme::File {
            return Self::local_listing(url, &repository);
        }
        let fingerprint = access.fingerprint();
        let key = (url.to_string(), fingerprint.clone(), prefixes.join(" "));
        let flight = Arc::clone(lock(&repository.flights).entry(key).or_default());
        let lasts = |answer: &Listed, age: Duration| answer.is_ok() || age <= FAILURE_LASTS;
        flight.share(freshness, lasts, || {
            let answer = self.ask(url, access, prefixes, &repository, then);
            Self::remember(&repository, &fingerprint, answer)
        })
    }

    fn remember(repository: &Repository, fingerprint: &str, answer: Listed) -> Listed {
        let mut worked = lock(&repository.worked);
        match answer {
            Ok(listing) => {
                worked.insert(fingerprint.to_owned(), now());
                Ok(listing)
            }
            Err(GitError::Auth {
                url,
                credential,
                says,
                ..
            }) => Err(GitError::Auth {
                url,
                credential,
                says,
                // What worked once no longer does: it is not let at the cache either.
                last_worked: worked.remove(fingerprint),
            }),
            Err(error) => Err(error),
        }
    }

    // One conversation: names, and the commit that the asker will want next.
    fn ask(
        &self,
        url: &RepoUrl,
        access: &Access,
        prefixes: &[&str],
        repository: &Repository,
        then: Option<&Source>,
    ) -> Listed {
        self.listings.fetch_add(1, Ordering::Relaxed);
        let mut session = Session::open(self.operation(url, access))?;
        let refs = session.refs(prefixes)?;
        let moved_to = session.moved_to();
        if let Some(source) = then
            && let Picked::Commit(commit, Some(_)) =
                refs.pick(source.target_revision.trim(), &source.tag_prefix)
        {
            // A failure here is met again, and told, by the one who wants the files.
            let _ = self.fetch_along(&mut session, url, repository, commit);
        }
        Ok(Arc::new(Listing { refs, moved_to }))
    }

    fn fetch_along(
        &self,
        session: &mut Session,
        url: &RepoUrl,
        repository: &Repository,
        commit: Oid,
    ) -> Result<(), GitError> {
        let store = Self::store(url, repository)?;
        if store.keeps(commit) {
            return Ok(());
        }
        let _writing = lock(&repository.writing);
        self.fetch_with(session, url, &store, &[commit], Some(1))
    }

    fn local_listing(url: &RepoUrl, repository: &Repository) -> Listed {
        let place = local::find(url.as_str(), Path::new(&url.path))?;
        let store = Self::store(url, repository)?;
        let refs = local::refs(url.as_str(), &place, &store.objects)?;
        Ok(Arc::new(Listing {
            refs,
            moved_to: None,
        }))
    }

    // A commit by its first digits: among those we have, then in all of history.
    fn find_short(
        &self,
        url: &RepoUrl,
        access: &Access,
        refs: &Refs,
        digits: &str,
    ) -> Result<Oid, GitError> {
        let store = Self::store(url, &self.repository(url))?;
        let unknown = |why: String| GitError::NoSuchRevision {
            url: url.to_string(),
            wanted: digits.to_owned(),
            why,
            nearest: Vec::new(),
        };
        let history = self.history(url, access, &store, &tips(refs), None)?;
        let found = history
            .commits_starting_with(digits)
            .map_err(|e| unknown(format!(": {e}")))?;
        match found.as_slice() {
            [commit] => Ok(*commit),
            [] => Err(unknown(": no branch or tag leads to such a commit".into())),
            many => Err(GitError::NoSuchRevision {
                url: url.to_string(),
                wanted: digits.to_owned(),
                why: format!(": {} commits begin like this", many.len()),
                nearest: many.iter().take(5).map(ToString::to_string).collect(),
            }),
        }
    }

    /// The commits and directories of the past: without files, in a store of their own, as deep as
    /// wanted.
    pub(crate) fn history(
        &self,
        url: &RepoUrl,
        access: &Access,
        store: &Arc<Store>,
        tips: &[Oid],
        depth: Option<u32>,
    ) -> Result<crate::history::Past, GitError> {
        if store.foreign {
            return Ok(crate::history::Past::Same(Arc::clone(store)));
        }
        let repository = self.repository(url);
        let _writing = lock(&repository.writing);
        let _lock = store.lock()?;
        let directory = store.directory.join("history");
        let objects = directory.join("objects");
        for path in [objects.join("pack"), objects.join("info")] {
            fs::create_dir_all(&path).map_err(failed(&path))?;
        }
        let past = crate::objects::Objects::open(&objects)?;
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let mut session = Session::open(self.operation(url, access))?;
        let wanted = Wanted {
            wants: tips.to_vec(),
            haves: Vec::new(),
            depth,
            without_files: true,
        };
        let into = Destination {
            objects: &objects,
            shallow: directory.join("shallow"),
            odb: past.handle(),
        };
        session.fetch(&wanted, into)?;
        Ok(crate::history::Past::Own(past))
    }

    pub(crate) fn operation(&self, url: &RepoUrl, access: &Access) -> Arc<Operation> {
        Operation::new(
            url.clone(),
            access.clone(),
            self.options.timeouts,
            self.options.limits,
            self.root.join("tmp"),
        )
    }

    pub(crate) fn repository(&self, url: &RepoUrl) -> Arc<Repository> {
        // Files are told apart by case; hosts are not.
        let key = match url.scheme {
            Scheme::File => url.to_string(),
            Scheme::Http | Scheme::Https | Scheme::Ssh | Scheme::Git => url.normalized(),
        };
        let directory = self.root.join(directory_name(&key));
        Arc::clone(lock(&self.known).entry(key).or_insert_with(|| {
            Arc::new(Repository {
                directory,
                store: Mutex::default(),
                flights: Mutex::default(),
                wanted: Mutex::default(),
                writing: Mutex::default(),
                worked: Mutex::default(),
            })
        }))
    }

    pub(crate) fn store(url: &RepoUrl, repository: &Repository) -> Result<Arc<Store>, GitError> {
        let mut open = lock(&repository.store);
        if let Some(store) = &*open {
            let readers = Arc::strong_count(store) > 1 && !store.damaged.load(Ordering::Relaxed);
            let fine = store.directory.is_dir()
                && !store.is_worn()
                && !store.damaged.load(Ordering::Relaxed);
            if store.foreign || readers || fine {
                return Ok(Arc::clone(store));
            }
            // Evicted by another process, worn or damaged: it is made anew.
            let directory = store.directory.clone();
            *open = None;
            store::discard(&directory);
        }
        let store = Arc::new(match url.scheme {
            Scheme::File => {
                let place = local::find(url.as_str(), Path::new(&url.path))?;
                Store::foreign(&place.common)?
            }
            Scheme::Http | Scheme::Https | Scheme::Ssh | Scheme::Git => {
                Store::open(&repository.directory)?
            }
        });
        *open = Some(Arc::clone(&store));
        Ok(store)
    }

    /// Throws the copy of a repository away; the next who needs it fetches it anew.
    pub fn forget(&self, url: &RepoUrl) {
        let repository = self.repository(url);
        let _writing = lock(&repository.writing);
        let taken = lock(&repository.store).take();
        if let Some(store) = taken
            && !store.foreign
        {
            store::discard(&store.directory);
        }
    }
}

fn tips(refs: &Refs) -> Vec<Oid> {
    let mut tips: Vec<Oid> = refs.names.values().copied().chain(refs.head).collect();
    tips.sort();
    tips.dedup();
    tips
}

fn absent(url: &RepoUrl, commit: Oid) -> GitError {
    GitError::NoSuchRevision {
        url: url.to_string(),
        wanted: commit.to_string(),
        why: ": the repository does not have this commit".into(),
        nearest: Vec::new(),
    }
}

// Git's servers refuse a commit they do not have in a sentence; there is no other sign.
fn refused_commit(error: GitError, url: &RepoUrl, commits: &[Oid]) -> GitError {
    match (&error, commits) {
        (GitError::Gone { says, .. }, [commit, ..])
            if says.contains("not our ref") || says.contains("unadvertised") =>
        {
            absent(url, *commit)
        }
        _ => error,
    }
}

// A name people recognise, and one that is unique.
fn directory_name(key: &str) -> String {
    let readable: String = key
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .take(40)
        .collect();
    let digest = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    format!("{readable}-{}", hex(&digest.as_ref()[..10]))
}

// Private files of processes that died.
fn clear_scratch(root: &Path) {
    let Ok(entries) = fs::read_dir(root.join("tmp")) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name
            .strip_prefix("ssh-")
            .and_then(|rest| rest.split('-').next());
        let alive = owner.is_some_and(|pid| Path::new("/proc").join(pid).exists());
        if !alive {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn now() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    crate::commit::rfc3339(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
