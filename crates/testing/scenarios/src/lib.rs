//! One suite, two clusters: how workloads live and fail, told in Markdown and checked on the
//! embedded cluster in virtual time and on real Kubernetes in real time.
//!
//! A scenario (`cases/*.md`) says what is given, what happens and what must then be seen; [`case`]
//! reads it and [`run`] plays it on a [`Target`]. Everything that is seen of its namespace becomes
//! a [`recording`], in the same words as the scenario's own expectations. What real Kubernetes
//! showed is kept in `recordings/`; the embedded cluster must show the same, but for what
//! `differences.txt` lists with a reason.
//!
//! ```text
//! cases/x.md ── case ──▶ Case ── run ──▶ Timeline ── recording ──▶ text ── compare ──▶ Report
//!                                 ▲                                          ▲
//!                      Target: in process | HTTPS                    recordings/x.txt
//! ```

pub mod case;
pub mod differences;
mod facts;
pub mod in_process;
mod kinds;
mod line;
mod names;
pub mod over_https;
pub mod recording;
pub mod run;
pub mod suite;
mod target;
mod timeline;

pub use case::Case;
pub use recording::Recording;
pub use run::{Failure, Played, run};
pub use target::{Ask, Reply, Target, TargetError};
pub use timeline::{Change, Seen, Timeline};

use std::path::{Path, PathBuf};

/// Where scenarios, recordings and the list of differences are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}
