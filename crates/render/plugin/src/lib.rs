//! Manifests from user-supplied commands: the only renderer that starts a process.
