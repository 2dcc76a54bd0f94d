//! One conversation with a server: its names, and packs of objects.

use super::connect;
use super::smart::Smart;
use super::{Operation, ssh};
use crate::refs::Refs;
use crate::url::Scheme;
use crate::{GitError, Oid};
use gix_protocol::fetch::{self, Arguments, Negotiate, Shallow, Tags, negotiate};
use gix_protocol::handshake::Ref;
use gix_protocol::ls_refs::RefPrefixes;
use gix_transport::client::blocking_io::{Transport, http};
use gix_transport::client::git::ConnectMode;
use gix_transport::client::git::blocking_io::Connection;
use gix_transport::{Protocol, Service};
use gix_utils::progress::Discard;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const AGENT: &str = concat!("git/tiphys-", env!("CARGO_PKG_VERSION"));

/// A conversation that was opened: the server said what it can do.
pub(crate) struct Session {
    operation: Arc<Operation>,
    transport: Box<dyn Transport>,
    handshake: gix_protocol::Handshake,
}

/// What to fetch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Commits to get.
    pub(crate) wants: Vec<Oid>,
    /// Commits whose objects we have.
    pub(crate) haves: Vec<Oid>,
    /// How much history: `None` for all of it.
    pub(crate) depth: Option<u32>,
    /// Leave the content of files out, where the server can.
    pub(crate) without_files: bool,
}

/// Where what is fetched goes.
pub(crate) struct Destination<'a> {
    /// The directory of objects.
    pub(crate) objects: &'a Path,
    /// The file that says where history ends.
    pub(crate) shallow: PathBuf,
    /// What is there already.
    pub(crate) odb: gix_odb::Handle,
}

impl Session {
    /// Connects and lets the server introduce itself.
    pub(crate) fn open(operation: Arc<Operation>) -> Result<Self, GitError> {
        let mut transport = transport(&operation)?;
        let handshake = gix_protocol::handshake(
            &mut transport,
            Service::UploadPack,
            |_| Ok(None),
            Vec::new(),
            &mut Discard,
        )
        .map_err(|error| explain(&operation, &error))?;
        Ok(Self {
            operation,
            transport,
            handshake,
        })
    }

    /// Where the host says the repository is now.
    pub(crate) fn moved_to(&self) -> Option<String> {
        self.operation.moved_to()
    }

    /// The names of the repository: `HEAD`, branches and tags, or all that begin with a prefix.
    pub(crate) fn refs(&mut self, prefixes: &[&str]) -> Result<Refs, GitError> {
        if let Some(refs) = &self.handshake.refs {
            return Ok(names(refs));
        }
        let format = self.handshake.capabilities.capability("object-format");
        if let Some(format) = format.and_then(|c| c.value().map(ToString::to_string))
            && format != "sha1"
        {
            return Err(GitError::Unsupported {
                url: self.operation.url.to_string(),
                what: format!("its objects are named with {format}, of which we know only sha1"),
            });
        }
        let mut wanted = RefPrefixes::new();
        wanted.extend(prefixes.iter().map(|p| (*p).into()));
        let agent = ("agent", Some(AGENT.to_owned()));
        let command =
            gix_protocol::LsRefsCommand::new(Some(wanted), &self.handshake.capabilities, agent);
        let refs = command
            .invoke_blocking(&mut self.transport, &mut Discard, false)
            .map_err(|error| explain(&self.operation, &error))?;
        Ok(names(&refs))
    }

    /// Fetches commits with their files into a store.
    pub(crate) fn fetch(&mut self, wanted: &Wanted, into: Destination<'_>) -> Result<(), GitError> {
        let shallow = match wanted.depth.and_then(std::num::NonZeroU32::new) {
            Some(depth) if self.can_be_shallow() => Shallow::DepthAtRemote(depth),
            None if into.shallow.exists() => Shallow::undo(),
            Some(_) | None => Shallow::NoChange,
        };
        let mut plan = Plan { wanted };
        let pack_directory = into.objects.join("pack");
        let mut written = None;
        let limit = usize::try_from(self.operation.limits.object_bytes_max).unwrap_or(usize::MAX);
        let outcome = gix_protocol::fetch(
            &mut plan,
            |reader, progress, interrupt| {
                let options = gix_pack::bundle::write::Options {
                    alloc_limit_bytes: Some(limit),
                    ..Default::default()
                };
                written = Some(gix_pack::Bundle::write_to_directory(
                    reader,
                    Some(&pack_directory),
                    progress,
                    interrupt,
                    Some(into.odb.clone()),
                    gix_hash::Kind::Sha1,
                    options,
                )?);
                Ok(true)
            },
            Discard,
            &AtomicBool::new(false),
            fetch::Context {
                handshake: &mut self.handshake,
                transport: &mut self.transport,
                user_agent: ("agent", Some(AGENT.to_owned())),
                trace_packetlines: false,
            },
            fetch::Options {
                shallow_file: into.shallow.clone(),
                shallow: &shallow,
                tags: Tags::None,
                reject_shallow_remote: false,
            },
        );
        outcome.map_err(|error| explain(&self.operation, &error))?;
        settle(written).map_err(|(path, error)| GitError::Cache {
            path: path.display().to_string(),
            says: error.to_string(),
        })
    }

    /// Whether the server may refuse commits that no name leads to.
    pub(crate) fn is_old(&self) -> bool {
        self.handshake.server_protocol_version != Protocol::V2
    }

    fn can_be_shallow(&self) -> bool {
        let capabilities = &self.handshake.capabilities;
        match self.handshake.server_protocol_version {
            Protocol::V0 | Protocol::V1 => capabilities.contains("shallow"),
            Protocol::V2 => capabilities
                .capability("fetch")
                .and_then(|fetch| fetch.supports("shallow"))
                .unwrap_or(false),
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A connection that stays open wants to hear that we are done; it may be gone already.
        if self.handshake.server_protocol_version == Protocol::V2
            && self.operation.failure().is_none()
        {
            let _ = gix_protocol::indicate_end_of_interaction(&mut self.transport, false);
        }
    }
}

// Brings the pack to the disk for good, so that no crash can leave half of it behind a marker.
fn settle(
    written: Option<gix_pack::bundle::write::Outcome>,
) -> Result<(), (PathBuf, std::io::Error)> {
    let Some(written) = written else {
        return Ok(());
    };
    for path in [&written.data_path, &written.index_path]
        .into_iter()
        .flatten()
    {
        let synced = std::fs::File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|error| (path.clone(), error))?;
    }
    if let Some(keep) = written.keep_path {
        // It only protects from a collection of garbage that nobody runs here.
        let _ = std::fs::remove_file(keep);
    }
    Ok(())
}

fn transport(operation: &Arc<Operation>) -> Result<Box<dyn Transport>, GitError> {
    let url = &operation.url;
    Ok(match url.scheme {
        Scheme::Http | Scheme::Https => {
            let address = format!(
                "{}://{}{}",
                url.scheme.word(),
                url.authority_text(),
                url.path
            );
            let parsed = address.as_str().try_into();
            let parsed =
                parsed.map_err(|_| operation.not_git("its address cannot be asked over HTTP"))?;
            let smart = Smart::new(Arc::clone(operation));
            Box::new(http::connect_http(smart, parsed, Protocol::V2, false))
        }
        Scheme::Ssh => {
            let (from, to) = ssh::start(operation)?;
            Box::new(Connection::new(
                from,
                to,
                Protocol::V2,
                url.path.as_str(),
                None::<(String, Option<u16>)>,
                ConnectMode::Process,
                false,
            ))
        }
        Scheme::Git => {
            let socket = connect::tcp(operation, &url.host, url.port_or_default())?;
            let second = socket
                .second()
                .map_err(|e| super::http::failure(operation, &e))?;
            Box::new(Connection::new(
                socket,
                second,
                Protocol::V2,
                url.path.as_str(),
                Some((url.host_text(), url.port)),
                ConnectMode::Daemon,
                false,
            ))
        }
        Scheme::File => return Err(operation.not_git("a file has no server")),
    })
}

fn names(refs: &[Ref]) -> Refs {
    let mut all = Refs::default();
    for one in refs {
        match one {
            Ref::Peeled {
                full_ref_name,
                object,
                ..
            }
            | Ref::Direct {
                full_ref_name,
                object,
            } => {
                put(&mut all, &full_ref_name.to_string(), Oid::from(*object));
            }
            Ref::Symbolic {
                full_ref_name,
                target,
                object,
                ..
            } => {
                if full_ref_name == "HEAD" {
                    all.head_branch = Some(target.to_string());
                }
                put(&mut all, &full_ref_name.to_string(), Oid::from(*object));
            }
            Ref::Unborn {
                full_ref_name,
                target,
            } => {
                if full_ref_name == "HEAD" {
                    all.head_branch = Some(target.to_string());
                }
            }
        }
    }
    all
}

fn put(all: &mut Refs, name: &str, oid: Oid) {
    if name == "HEAD" {
        all.head = Some(oid);
    } else {
        all.names.insert(name.to_owned(), oid);
    }
}

// Wants, haves and the end of it in one go: what we have is few, and known in full.
struct Plan<'a> {
    wanted: &'a Wanted,
}

impl Negotiate for Plan<'_> {
    fn mark_complete_and_common_ref(&mut self) -> gix_error::Result<negotiate::Action> {
        Ok(negotiate::Action::MustNegotiate {
            remote_ref_target_known: Vec::new(),
        })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _: &[bool]) -> bool {
        if self.wanted.without_files && arguments.can_use_filter() {
            arguments.filter("blob:none");
        }
        for want in &self.wanted.wants {
            arguments.want(want.id());
        }
        !self.wanted.wants.is_empty()
    }

    fn one_round(
        &mut self,
        _: &mut negotiate::one_round::State,
        arguments: &mut Arguments,
        _: Option<&fetch::Response>,
    ) -> gix_error::Result<(negotiate::Round, bool)> {
        for have in &self.wanted.haves {
            arguments.have(have.id());
        }
        let count = self.wanted.haves.len();
        let round = negotiate::Round {
            haves_sent: count,
            in_vain: 0,
            haves_to_send: count,
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}

// The failure below the protocol when there was one, what the server said, or what made no sense.
fn explain(operation: &Operation, error: &gix_error::Error) -> GitError {
    if let Some(failure) = operation.failure() {
        return failure;
    }
    let said = error.downcast_any_ref::<gix_transport::packetline::read::Error>();
    if let Some(said) = said {
        return operation.gone(said.message.to_string().trim().to_owned());
    }
    let io = error.downcast_any_ref::<std::io::Error>();
    if let Some(io) = io
        && io.kind() == std::io::ErrorKind::UnexpectedEof
    {
        return operation.unreachable(
            &operation.url.authority_text(),
            crate::Stage::Stream,
            "the server hung up in the middle of its answer",
        );
    }
    let mut words: Vec<String> = Vec::new();
    for cause in error.iter_errors() {
        let text = cause.to_string();
        // A refusal where a section of the answer should begin reaches us only as its text.
        if let Some((_, said)) = text.split_once("\"ERR ") {
            return operation.gone(said.trim_end_matches('"').trim().to_owned());
        }
        if !words.iter().any(|w| w.contains(&text)) {
            words.push(text);
        }
    }
    GitError::Protocol {
        url: operation.url.to_string(),
        says: words.join(": "),
    }
}
