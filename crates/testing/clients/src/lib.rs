//! Tests of the embedded cluster through kube-rs; everything is under `tests/`.
