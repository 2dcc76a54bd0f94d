//! What is special about built-in kinds.
