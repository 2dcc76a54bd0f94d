//! A running cluster: state behind a lock, a file behind the state, controllers beside it.

use crate::answer::Answer;
use crate::clock::{self, Clock, Randomness, Ticker};
use crate::error::StartError;
use crate::identity::Identity;
use crate::kubelet::Kubelet;
use crate::webhook;
use admission::webhook::Answers;
use apiserver::{Context, Method, Reply, Request, Response, Settings, State, Step};
use model::{ApiError, Timestamp, User};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use store::{Change, Compacted, Disk, Event, Limits, Memory};
use tokio::sync::{Notify, watch};
use workloads::{Desk, NodeSize};

/// How a cluster is started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where its data is kept; in memory alone when absent.
    pub data: Option<PathBuf>,
    /// `host:port` under which it will be reached.
    pub address: String,
    /// Further bearer tokens and whom they stand for.
    pub tokens: Vec<(String, User)>,
    /// Whose time it lives in.
    pub clock: Clock,
    /// Whether Pods are made, placed and run.
    pub workloads: Workloads,
    /// The nodes of a cluster with workloads that has none yet; one called `sandbox` when empty.
    pub nodes: Vec<NodeSize>,
    /// Where random names and uids start from. A cluster in virtual time that is given the same
    /// seed and the same requests does the same; without one, real randomness is used.
    pub seed: Option<u64>,
}

/// Whether a cluster has controllers of workloads, a scheduler and a kubelet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workloads {
    /// An API server with its own controllers alone: namespaces, garbage, quotas, definitions.
    Off,
    /// All of it.
    #[default]
    On,
}

/// A running cluster. Cheap to clone: all clones are the same cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    state: RwLock<State>,
    /// Writes take turns here before they take the lock: a task that waits costs nothing, a thread
    /// that waits is one that answers nobody.
    turn: tokio::sync::Mutex<()>,
    disk: Option<Disk>,
    identity: Identity,
    randomness: Randomness,
    /// Everything up to this version may be shown.
    durable: watch::Sender<u64>,
    /// Wakes the watchers of one resource.
    watchers: Mutex<BTreeMap<String, watch::Sender<u64>>>,
    pub(crate) work: Notify,
    pub(crate) ticker: Ticker,
    /// The controllers of workloads.
    pub(crate) desk: Mutex<Option<Desk>>,
    pub(crate) kubelet: Mutex<Kubelet>,
    /// Turns true once: open watches then end.
    stopping: watch::Sender<bool>,
}

/// How many rounds of webhooks one request may cause before it is refused.
const ROUNDS_MAX: usize = 64;
/// History is trimmed after this many changes.
const COMPACT_EVERY: u64 = 1_000;
/// Large changes do not wait that long: at this size history is trimmed at once. A little above
/// what a trim leaves, so that not every change trims.
const HISTORY_BYTES_MAX: usize = 40 << 20;
/// Where nodes say that they live.
const LEASES: &str = "coordination.k8s.io/leases";
const ISSUER: &str = "https://kubernetes.default.svc";

impl Cluster {
    /// Opens a cluster: loads its data, and makes what every cluster has.
    pub fn open(options: &Options) -> Result<Self, StartError> {
        let ticker = Ticker::start(options.clock);
        // Certificates live in the machine's time: clients check them by theirs.
        let now = clock::now();
        let (disk, memory, identity) = match &options.data {
            Some(directory) => {
                let (disk, memory) = Disk::open(directory)?;
                let identity = Identity::kept(&disk, now)?;
                (Some(disk), memory, identity)
            }
            None => (None, Memory::new(), Identity::new(now)?),
        };
        let mut tokens = access::Tokens::default();
        for (token, user) in &options.tokens {
            tokens.insert(token.clone(), user.clone());
        }
        let settings = Settings {
            tokens,
            signer: Some(identity.tokens.clone()),
            issuer: ISSUER.into(),
            root_ca: identity.ca().to_owned(),
            address: options.address.clone(),
        };
        let secret = match options.seed {
            Some(seed) => seed,
            None => u64::from_le_bytes(
                pki::random_bytes::<8>().map_err(|e| StartError::Identity(e.to_string()))?,
            ),
        };
        let cluster = Self {
            shared: Arc::new(Shared {
                randomness: Randomness::new(secret ^ memory.version()),
                durable: watch::Sender::new(memory.version()),
                state: RwLock::new(State::new(memory, settings)),
                turn: tokio::sync::Mutex::new(()),
                disk,
                identity,
                watchers: Mutex::new(BTreeMap::new()),
                work: Notify::new(),
                ticker,
                desk: Mutex::new(None),
                kubelet: Mutex::new(Kubelet::default()),
                stopping: watch::Sender::new(false),
            }),
        };
        cluster.listen_to_disk();
        cluster.shared.catch_up();
        cluster.bootstrap(cluster.now());
        if options.workloads == Workloads::On {
            cluster.start_workloads(&options.nodes);
        }
        Ok(cluster)
    }

    fn listen_to_disk(&self) {
        let Some(disk) = &self.shared.disk else {
            return;
        };
        let shared = Arc::downgrade(&self.shared);
        disk.on_progress(move |progress| {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            shared.durable.send_replace(progress.durable);
            for sender in shared.watcher_map().values() {
                sender.send_replace(progress.durable);
            }
        });
    }

    fn bootstrap(&self, now: Timestamp) {
        let mut entropy = clock::stream(self.shared.randomness.seed());
        let mut state = self.shared.write();
        let missing = apiserver::bootstrap::missing(&state, now, &mut entropy);
        if !missing.is_empty() {
            self.shared.commit(&mut state, missing);
        }
        // As after a start of a real server, history begins now.
        let version = state.memory.version();
        state.memory.compact_to(version);
    }

    /// Ends all watches, so that connections can be closed.
    pub fn stop(&self) {
        self.shared.stopping.send_replace(true);
    }

    /// Who the cluster is.
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    /// The cluster's time.
    pub fn now(&self) -> Timestamp {
        self.shared.ticker.now()
    }

    /// What happened to a resource (`apps/deployments`, `/pods`) after a version, oldest first: a
    /// watch without a connection, for callers that drive the cluster by hand.
    pub fn events_after(&self, resource: &str, version: u64) -> Result<Vec<Event>, Compacted> {
        let state = self.shared.read();
        state.memory.events_after(resource, version, usize::MAX)
    }

    /// Answers one request, webhooks and durability included.
    pub async fn call(&self, request: Request) -> Answer {
        let now = self.now();
        let seed = self.shared.randomness.seed();
        let mut answers = Answers::new();
        for _ in 0..ROUNDS_MAX {
            let attempt = {
                let _turn = if is_read(&request) {
                    None
                } else {
                    Some(self.shared.turn.lock().await)
                };
                self.attempt(&request, now, seed, &answers)
            };
            match attempt {
                Attempt::Done(reply, version) => {
                    if let Err(error) = self.shared.kept(version).await {
                        return Answer::new(self.clone(), Reply::Full(Response::error(&error)));
                    }
                    return match reply {
                        Reply::Log(ask) => self.log_answer(*ask),
                        reply => Answer::new(self.clone(), reply),
                    };
                }
                Attempt::Ask(calls) => answers.extend(webhook::perform(self, calls).await),
            }
        }
        let why =
            format!("this request asked webhooks {ROUNDS_MAX} times without coming to an end");
        Answer::new(
            self.clone(),
            Reply::Full(Response::error(&ApiError::internal(why))),
        )
    }

    pub(crate) fn attempt(
        &self,
        request: &Request,
        now: Timestamp,
        seed: u64,
        answers: &Answers,
    ) -> Attempt {
        let mut entropy = clock::stream(seed);
        let mut context = Context {
            now,
            entropy: &mut entropy,
            answers,
        };
        if is_read(request) {
            let state = self.shared.read();
            let version = state.memory.version();
            return match apiserver::handle(&state, request, &mut context) {
                Step::Done(outcome) => Attempt::Done(outcome.reply, version),
                Step::Ask(calls) => Attempt::Ask(calls),
            };
        }
        let mut state = self.shared.write();
        match apiserver::handle(&state, request, &mut context) {
            Step::Done(outcome) => {
                let version = if outcome.changes.is_empty() {
                    state.memory.version()
                } else {
                    self.shared.commit(&mut state, outcome.changes)
                };
                Attempt::Done(outcome.reply, version)
            }
            Step::Ask(calls) => Attempt::Ask(calls),
        }
    }
}

fn is_read(request: &Request) -> bool {
    matches!(request.method, Method::Get | Method::Head)
}

pub(crate) enum Attempt {
    Done(Reply, u64),
    Ask(Vec<admission::webhook::Call>),
}

impl Shared {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn desk(&self) -> MutexGuard<'_, Option<Desk>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // A clock that ran fast before must not run backwards now: nothing stored is from the future.
    fn catch_up(&self) {
        let state = self.read();
        let leases = state.memory.list(LEASES, None);
        let beats = leases.filter_map(|(_, _, lease)| {
            let renewed = lease.value();
            Timestamp::parse(model::meta::text_at(&renewed, "/spec/renewTime"))
        });
        if let Some(last) = beats.max() {
            self.ticker.not_before(last);
        }
    }

    fn watcher_map(&self) -> MutexGuard<'_, BTreeMap<String, watch::Sender<u64>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Makes changes true, hands them to the disk, wakes watchers and controllers.
    fn commit(&self, state: &mut State, changes: Vec<Change>) -> u64 {
        let mut busy = false;
        if let Some(desk) = self.desk().as_mut() {
            for change in &changes {
                desk.observe(change);
            }
            busy = desk.is_busy();
        }
        let committed = state.commit(changes);
        let version = committed.last();
        if let Some(disk) = &self.disk {
            disk.append(&committed);
        } else {
            self.durable.send_replace(version);
            let watchers = self.watcher_map();
            for event in &committed.events {
                if let Some(sender) = watchers.get(&*event.key.resource) {
                    sender.send_replace(version);
                }
            }
        }
        let before = version - committed.events.len() as u64;
        let due = version / COMPACT_EVERY != before / COMPACT_EVERY;
        if due || state.memory.history_bytes() > HISTORY_BYTES_MAX {
            state.memory.compact(Limits::default());
        }
        if busy || !state.work.is_empty() {
            self.work.notify_one();
        }
        version
    }

    // Waits until everything up to a version is kept for good.
    async fn kept(&self, version: u64) -> Result<(), ApiError> {
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        let mut durable = self.durable.subscribe();
        loop {
            let progress = disk.progress();
            if progress.durable >= version {
                return Ok(());
            }
            if let Some(error) = progress.failed {
                return Err(ApiError::internal(format!(
                    "the change could not be kept: {error}"
                )));
            }
            if durable.changed().await.is_err() {
                return Err(ApiError::internal("the cluster is shutting down"));
            }
        }
    }

    /// Where the random numbers of one request start from.
    pub(crate) fn seed(&self) -> u64 {
        self.randomness.seed()
    }

    pub(crate) fn durable(&self) -> u64 {
        match &self.disk {
            Some(disk) => disk.durable(),
            None => self.read().memory.version(),
        }
    }

    /// Resolves when the cluster is told to stop.
    pub(crate) async fn stopped(&self) {
        let mut stopping = self.stopping.subscribe();
        // The sender lives as long as this, so waiting cannot fail.
        let _ = stopping.wait_for(|stop| *stop).await;
    }

    /// Wakes whenever something of a resource may have changed.
    pub(crate) fn subscribe(&self, storage: &str) -> watch::Receiver<u64> {
        let mut watchers = self.watcher_map();
        let sender = watchers
            .entry(storage.to_owned())
            .or_insert_with(|| watch::Sender::new(0));
        sender.subscribe()
    }
}
