//! Jsonnet files in, objects out.
