//! The real binary, end to end.
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bad_input;
mod connections;
mod crash;
mod data;
mod objects;
mod start;
mod watch;
mod watch_storm;
