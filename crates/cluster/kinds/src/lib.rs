//! What is special about built-in kinds.

pub mod catalog;
