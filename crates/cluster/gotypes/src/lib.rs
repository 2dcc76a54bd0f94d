//! How Go's typed API reads and writes an object.
