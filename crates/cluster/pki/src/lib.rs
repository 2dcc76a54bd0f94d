//! Keys, certificates and tokens of an embedded cluster.
//!
//! Takes names and the time of day, gives PEM text, signed tokens and kubeconfigs. Keys come from the
//! system's randomness; nothing here reads a clock or a file. All keys are ECDSA P-256.

mod authority;
mod fault;
mod kubeconfig;
mod random;
mod subject;
mod token;

pub use authority::{Authority, Pair};
pub use fault::Fault;
pub use kubeconfig::{Credentials, kubeconfig};
pub use random::{opaque_token, random_bytes, uuid};
pub use subject::{Subject, subject};
pub use token::{TokenKey, openid_configuration, sign_token, verify_token};
