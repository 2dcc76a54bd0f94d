//! Keys, certificates and tokens.
