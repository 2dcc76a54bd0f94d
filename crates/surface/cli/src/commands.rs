//! One file per command.

pub(crate) mod render;
pub(crate) mod sandbox;
