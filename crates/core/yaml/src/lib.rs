//! YAML as Go's tools read and write it.
