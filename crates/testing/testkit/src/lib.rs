//! What tests of several crates share: a small blocking HTTPS client and an HTTPS webhook server.
//!
//! [`Client`] speaks HTTP/1.1 to an API server: whole answers, chunked answers, and watch streams
//! that end when the server says so or a deadline passes. [`webhook::Webhook`] is the other side
//! of an admission webhook.

pub mod http;
mod wire;

pub mod webhook;

pub use http::{Client, HttpError, Request, Response};
