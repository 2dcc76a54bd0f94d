//! The real `tiphys` binary, end to end: what its tests stand on.
//!
//! [`Sandbox`] starts the program as a user would, on a free port and in a folder of its own, and
//! ends it when dropped. [`Wire`] is a TLS connection on which a test may write whatever it likes,
//! [`Watch`] one watch stream read event by event, [`hostile`] a collection of bad requests.
//!
//! ```text
//! tiphys sandbox start ── url, kubeconfig, pid ──▶ Sandbox ──▶ testkit::Client, Wire, Watch
//! ```

mod access;
mod folder;
pub mod hostile;
mod sandbox;
mod watch;
mod wire;

pub use access::Access;
pub use folder::Folder;
pub use sandbox::{ADMIN_TOKEN, Options, Sandbox, StartFault, program};
pub use watch::{Event, Watch};
pub use wire::Wire;
