//! Who signed a commit: signatures of OpenSSH and of OpenPGP, checked against given keys.
//!
//! Only keys that are given count. Nothing is asked of a key server, no agent is spoken to.

mod openpgp;
mod packet;
mod sshsig;
mod verify;

use std::fmt;

/// What a signature is worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// There is none.
    #[default]
    Unsigned,
    /// It is good and made with a key that is known.
    Good {
        /// The key: sixteen hexadecimal digits for OpenPGP, `SHA256:…` for ssh.
        key: String,
        /// Whose key it is, as it is written with the key.
        signer: String,
    },
    /// It may be good, but its key is not among those that are given.
    UnknownKey {
        /// The key.
        key: String,
    },
    /// It does not fit the commit, or its key may not be used any more.
    Bad {
        /// The key, where it is known.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// It is made in a way that we do not check.
    Unsupported {
        /// What it is.
        what: String,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("not signed"),
            Self::Good { key, signer } => write!(f, "signed by {signer} with {key}"),
            Self::UnknownKey { key } => write!(f, "signed with {key}, which is not a known key"),
            Self::Bad { key, why } => write!(f, "the signature with {key} is bad: {why}"),
            Self::Unsupported { what } => write!(f, "the signature cannot be checked: {what}"),
        }
    }
}

/// Keys that are trusted.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    openpgp: Vec<openpgp::Certificate>,
    ssh: Vec<sshsig::AllowedKey>,
}

/// A key could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key cannot be read: {why}")]
pub struct KeyError {
    /// What is wrong with it.
    pub why: String,
}

impl Keys {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds OpenPGP keys, as `gpg --armor --export` writes them.
    pub fn add_openpgp(&mut self, armored: &str) -> Result<(), KeyError> {
        self.openpgp
            .extend(openpgp::Certificate::read(armored).map_err(|why| KeyError { why })?);
        Ok(())
    }

    /// Adds ssh keys: lines of an `allowed_signers` file, or public keys.
    pub fn add_ssh(&mut self, lines: &str) -> Result<(), KeyError> {
        self.ssh
            .extend(sshsig::AllowedKey::read(lines).map_err(|why| KeyError { why })?);
        Ok(())
    }

    /// The OpenPGP keys, as sixteen digits, with whom they belong to.
    pub fn openpgp_keys(&self) -> Vec<(String, String)> {
        self.openpgp
            .iter()
            .map(|c| (c.key_id(), c.user()))
            .collect()
    }

    /// What the signature of a commit, given as Git stores it, is worth.
    pub fn verify_commit(&self, raw: &[u8]) -> Verdict {
        match gix_object::CommitRefIter::signature(raw, gix_hash::Kind::Sha1) {
            Ok(Some((signature, signed))) => {
                self.verify(&signature.to_string(), &signed.to_bstring())
            }
            Ok(None) => Verdict::Unsigned,
            Err(_) => Verdict::Unsupported {
                what: "the commit cannot be taken apart".into(),
            },
        }
    }

    /// What a detached signature over some bytes is worth.
    pub fn verify(&self, signature: &str, signed: &[u8]) -> Verdict {
        let signature = signature.trim();
        if signature.starts_with("-----BEGIN SSH SIGNATURE-----") {
            return sshsig::verify(signature, signed, &self.ssh);
        }
        if signature.starts_with("-----BEGIN PGP ") {
            return openpgp::verify(signature, signed, &self.openpgp);
        }
        Verdict::Unsupported {
            what: "it is neither of OpenSSH nor of OpenPGP (X.509 is not checked)".into(),
        }
    }
}
