//! Who asks, and whether they may.
//!
//! Pure: the caller brings headers, tokens already verified, and the RBAC objects; it gets a
//! [`model::User`], a [`Decision`] or the exact refusal a real API server would answer.
//!
//! ```text
//! headers ── authn ──▶ User ── impersonate ──▶ User ─┐
//! Role, ClusterRole, …Binding ── Rbac::upsert ──▶ Rbac ── authorize ──▶ Decision ──▶ forbidden
//! ```

pub mod aggregate;
pub mod authn;
pub mod escalation;
pub mod forbidden;
pub mod impersonate;
pub mod rbac;
pub mod review;
pub mod rule;
pub mod serviceaccount;
pub mod tokenrequest;

pub use aggregate::{RoleChange, aggregate};
pub use authn::{Tokens, bearer, certificate_user, unauthorized};
pub use forbidden::forbidden;
pub use rbac::{Attributes, Decision, Rbac};
pub use rule::Rule;

/// The group of those who may do anything, whatever the policy says.
pub const MASTERS: &str = "system:masters";
/// The group of everybody with credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody without credentials.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The API group of roles and bindings.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
