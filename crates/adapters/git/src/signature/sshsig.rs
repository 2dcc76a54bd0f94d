//! Signatures of OpenSSH, as `ssh-keygen -Y sign` makes them.

use super::Verdict;
use super::verify::{Hash, Numbers, PublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// The kinds of keys that are known.
const KINDS: [&str; 5] = [
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "sk-ssh-ed25519@openssh.com",
];
/// What Git signs for.
const NAMESPACE: &[u8] = b"git";

/// A key that is trusted, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedKey {
    who: String,
    blob: Vec<u8>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length as usize)
    }
}

impl AllowedKey {
    /// Reads lines of an `allowed_signers` file, or plain public keys.
    pub(crate) fn read(lines: &str) -> Result<Vec<Self>, String> {
        let useful = lines
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        useful
            .map(Self::line)
            .filter_map(Result::transpose)
            .collect()
    }

    fn line(line: &str) -> Result<Option<Self>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| KINDS.contains(word)) else {
            return Err(format!(
                "`{}` names no kind of key that we know",
                shorten(line)
            ));
        };
        let encoded = words.get(at + 1).ok_or("the key is missing")?;
        let blob = STANDARD
            .decode(encoded)
            .map_err(|_| format!("`{}` is not a key", shorten(line)))?;
        let options = words.get(1..at).unwrap_or_default().join(" ");
        // A key that is only for other purposes, or that vouches for keys, is not for commits.
        let other = options.contains("namespaces=") && !options.contains("git");
        if other || options.contains("cert-authority") {
            return Ok(None);
        }
        let who = match at {
            0 => words.get(2).copied().unwrap_or("an ssh key"),
            _ => words[0],
        };
        Ok(Some(Self {
            who: who.to_owned(),
            blob,
        }))
    }
}

fn shorten(line: &str) -> String {
    line.chars().take(40).collect()
}

fn fingerprint(blob: &[u8]) -> String {
    format!(
        "SHA256:{}",
        STANDARD_NO_PAD.encode(Hash::Sha256.digest(blob))
    )
}

/// Checks a signature over some bytes.
pub(crate) fn verify(armored: &str, signed: &[u8], keys: &[AllowedKey]) -> Verdict {
    let bad = |key: &str, why: &str| Verdict::Bad {
        key: key.to_owned(),
        why: why.to_owned(),
    };
    let encoded: String = armored
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .map(str::trim)
        .collect();
    let Ok(bytes) = STANDARD.decode(encoded) else {
        return bad("", "it cannot be decoded");
    };
    let Some(parts) = parse(&bytes) else {
        return bad("", "it is cut short");
    };
    let name = fingerprint(parts.key);
    if parts.namespace != NAMESPACE {
        return bad(&name, "it was not made for Git");
    }
    let Some(known) = keys.iter().find(|key| key.blob == parts.key) else {
        return Verdict::UnknownKey { key: name };
    };
    match check(&parts, signed) {
        Ok(true) => Verdict::Good {
            key: name,
            signer: known.who.clone(),
        },
        Ok(false) => bad(&name, "it does not fit the commit"),
        Err(what) => Verdict::Unsupported { what },
    }
}

struct Parts<'a> {
    key: &'a [u8],
    namespace: &'a [u8],
    reserved: &'a [u8],
    hash: &'a [u8],
    signature: &'a [u8],
}

fn parse(bytes: &[u8]) -> Option<Parts<'_>> {
    let mut reader = Reader(bytes);
    if reader.take(6)? != b"SSHSIG" || reader.number()? != 1 {
        return None;
    }
    Some(Parts {
        key: reader.string()?,
        namespace: reader.string()?,
        reserved: reader.string()?,
        hash: reader.string()?,
        signature: reader.string()?,
    })
}

fn check(parts: &Parts<'_>, signed: &[u8]) -> Result<bool, String> {
    let hash = match parts.hash {
        b"sha256" => Hash::Sha256,
        b"sha512" => Hash::Sha512,
        other => return Err(format!("the hash `{}`", String::from_utf8_lossy(other))),
    };
    let mut message = b"SSHSIG".to_vec();
    for part in [
        parts.namespace,
        parts.reserved,
        parts.hash,
        &hash.digest(signed),
    ] {
        message.extend_from_slice(&(part.len() as u32).to_be_bytes());
        message.extend_from_slice(part);
    }
    let broken = || "the key or the signature is cut short".to_owned();
    let mut key = Reader(parts.key);
    let mut signature = Reader(parts.signature);
    let kind = key.string().ok_or_else(broken)?;
    let made = signature.string().ok_or_else(broken)?;
    let blob = signature.string().ok_or_else(broken)?;
    match kind {
        b"ssh-ed25519" => {
            let public = PublicKey::Ed25519(key.string().ok_or_else(broken)?.to_vec());
            public.verify(Hash::Sha512, &message, &Numbers::Plain(blob))
        }
        b"sk-ssh-ed25519@openssh.com" => {
            let public = PublicKey::Ed25519(key.string().ok_or_else(broken)?.to_vec());
            let application = key.string().ok_or_else(broken)?;
            // Flags and a counter of the device stand behind the signature.
            let mut touched = Hash::Sha256.digest(application);
            touched.extend_from_slice(signature.take(5).ok_or_else(broken)?);
            touched.extend(Hash::Sha256.digest(&message));
            public.verify(Hash::Sha512, &touched, &Numbers::Plain(blob))
        }
        b"ssh-rsa" => {
            let exponent = key.string().ok_or_else(broken)?.to_vec();
            let modulus = key.string().ok_or_else(broken)?.to_vec();
            let hash = match made {
                b"rsa-sha2-256" => Hash::Sha256,
                b"rsa-sha2-512" => Hash::Sha512,
                other => {
                    return Err(format!(
                        "the way `{}` of signing",
                        String::from_utf8_lossy(other)
                    ));
                }
            };
            PublicKey::Rsa { modulus, exponent }.verify(hash, &message, &Numbers::Rsa(blob))
        }
        b"ecdsa-sha2-nistp256" | b"ecdsa-sha2-nistp384" => {
            key.string().ok_or_else(broken)?;
            let point = key.string().ok_or_else(broken)?.to_vec();
            let mut pair = Reader(blob);
            let (r, s) = pair.string().zip(pair.string()).ok_or_else(broken)?;
            let (public, hash) = match kind {
                b"ecdsa-sha2-nistp256" => (PublicKey::P256(point), Hash::Sha256),
                _ => (PublicKey::P384(point), Hash::Sha384),
            };
            public.verify(hash, &message, &Numbers::Pair(r, s))
        }
        other => Err(format!("keys of kind `{}`", String::from_utf8_lossy(other))),
    }
}
