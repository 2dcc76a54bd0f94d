//! Field ownership and patches.
