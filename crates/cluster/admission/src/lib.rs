//! What the cluster's own rules say to a write.
