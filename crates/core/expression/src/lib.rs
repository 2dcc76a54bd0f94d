//! CEL, the expression language of Kubernetes' validation rules and admission policies.
//!
//! [`Rules`] are the `x-kubernetes-validations` of a custom resource's schema; a [`Program`] is one
//! expression of a policy. Both are compiled once, with the types that the schema declares, and then
//! evaluated against JSON in place. Each evaluation has a budget, so none can hold the server up.
//!
//! ```text
//! text ── parser ──▶ tree ── checker ──▶ typed tree ── eval(variables) ──▶ value
//! ```

mod ast;
mod checker;
mod eval;
mod fault;
mod functions;
mod lexer;
mod operators;
mod overloads;
mod parser;
mod program;
mod rules;
mod types;
mod value;

pub use program::{CALL_COST_MAX, Program};
pub use rules::{CompileFault, OBJECT_COST_MAX, Rules, compile_errors};
