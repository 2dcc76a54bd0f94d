//! Every version of every object, and watches over them.
//!
//! [`Memory`] is the store itself: a plain value without IO, clock or threads. It takes [`Change`]s,
//! gives each its own [`Version`], and answers reads of now ([`Memory::list`]), reads of a moment
//! ago ([`Memory::list_at`]) and watches ([`Memory::events_after`]). [`Disk`] puts what was committed into one
//! crash-safe file and reads it back at the next start.
//!
//! ```text
//! [Change] ── Memory::commit ──▶ Committed ──┬──▶ events_after ──▶ watchers
//!                                            └──▶ Disk::append ──▶ durable: Version
//! ```
//!
//! The order of use behind one lock is: decide, `commit`, `append`, unlock, wait until durable,
//! answer. `append` only queues, and must be called in the order of the commits.

mod body;
mod change;
mod disk;
mod index;
mod log;
mod memory;

pub use body::Stored;
pub use change::{Change, Committed, Event, EventKind, Key, Version};
pub use disk::{Disk, Progress, StoreError};
pub use log::{Compacted, Limits};
pub use memory::{Listed, Memory, Page};
