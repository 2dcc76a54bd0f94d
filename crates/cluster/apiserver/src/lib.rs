//! Kubernetes' API as a pure function: a request and the cluster's state in, an answer and the
//! changes it makes out.
//!
//! ```text
//! Request ── route ──▶ Target ── authorize ──▶ verb ──▶ Outcome { reply, changes }
//!                                               │
//!                                   decode ▶ default ▶ admit ▶ validate ▶ own
//! ```
//!
//! Nothing here opens a socket or reads a clock: [`handle`] is given `now`, randomness and the
//! answers of webhooks in a [`Context`]. When it needs a webhook it has not heard yet it returns
//! [`Step::Ask`]; the caller performs the calls and runs it again. [`controllers`] are clients like
//! any other: they look at the state and return requests.

mod admit;
pub mod bootstrap;
mod collection;
pub mod controllers;
mod convert;
mod create;
mod custom;
mod decode;
mod delete;
mod discovery;
mod handle;
mod hash;
mod openapi;
mod patch;
mod read;
mod registry;
mod reply;
mod request;
mod review;
mod route;
mod service_ip;
mod state;
mod subresource;
mod update;
mod watch;
mod write;

pub use handle::{Context, Outcome, Step, handle};
pub use registry::{Registry, ResourceType};
pub use reply::{ListReply, LogReply, Reply, Response};
pub use request::{Certificate, Credentials, Method, Request};
pub use state::{ObjectRef, Settings, State, Work};
pub use watch::{WatchEnd, WatchReply};
