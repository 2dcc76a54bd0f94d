//! Puts the embedded cluster together.
