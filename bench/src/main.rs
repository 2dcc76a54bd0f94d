//! Benchmarks, both sides in one run.

fn main() {}
