//! Plays every scenario on the embedded cluster and compares with what real Kubernetes showed.

fn main() {}
