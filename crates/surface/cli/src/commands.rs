//! One file per command.

pub(crate) mod helm;
pub(crate) mod kustomize;
pub(crate) mod render;
pub(crate) mod sandbox;
