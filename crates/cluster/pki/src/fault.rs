//! What can go wrong with keys and certificates.

use std::fmt;

/// Why a key or a certificate could not be made or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl From<rcgen::Error> for Fault {
    fn from(error: rcgen::Error) -> Self {
        Self::new(error.to_string())
    }
}
