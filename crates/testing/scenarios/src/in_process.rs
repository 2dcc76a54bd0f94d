//! The embedded cluster in this process, in virtual time.
