//! Keys and signatures of OpenPGP: which key signed, and whether it might.

use super::Verdict;
use super::packet::{Key, Signature, packets, unarmor};
use super::verify::{Hash, Numbers, PublicKey};
use crate::commit::rfc3339;
use crate::credentials::hex;
use std::time::{SystemTime, UNIX_EPOCH};

const TAG_SIGNATURE: u8 = 2;
const TAG_KEY: u8 = 6;
const TAG_USER: u8 = 13;
const TAG_SUBKEY: u8 = 14;
const DOCUMENT: u8 = 0x00;
const SUBKEY_BINDING: u8 = 0x18;
const PRIMARY_BINDING: u8 = 0x19;
const KEY_DIRECT: u8 = 0x1f;
const KEY_REVOKED: u8 = 0x20;
const SUBKEY_REVOKED: u8 = 0x28;
const MAY_SIGN: u8 = 0x02;

/// A key with all that belongs to it.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    primary: Part,
    users: Vec<String>,
    subkeys: Vec<Part>,
}

/// One key of a certificate and what the primary key says of it.
#[derive(Clone, Debug)]
struct Part {
    key: Key,
    revoked: bool,
    expires: Option<u64>,
    flags: Option<u8>,
    // For a subkey: the primary key says that it belongs to it.
    bound: bool,
}

impl Part {
    fn new(key: Key) -> Self {
        Self {
            key,
            revoked: false,
            expires: None,
            flags: None,
            bound: false,
        }
    }
}

impl Certificate {
    /// Reads all keys of an armored export.
    pub(crate) fn read(armored: &str) -> Result<Vec<Self>, String> {
        let mut all: Vec<Self> = Vec::new();
        let mut user: Option<String> = None;
        for packet in packets(&unarmor(armored)?)? {
            match packet.tag {
                TAG_KEY => {
                    let key = Key::parse(&packet.body).ok_or("only keys of version 4 are known")?;
                    all.push(Self {
                        primary: Part::new(key),
                        users: Vec::new(),
                        subkeys: Vec::new(),
                    });
                    user = None;
                }
                TAG_USER => user = Some(String::from_utf8_lossy(&packet.body).into_owned()),
                TAG_SUBKEY => {
                    user = None;
                    if let (Some(last), Some(key)) = (all.last_mut(), Key::parse(&packet.body)) {
                        last.subkeys.push(Part::new(key));
                    }
                }
                TAG_SIGNATURE => {
                    if let (Some(last), Some(signature)) =
                        (all.last_mut(), Signature::parse(&packet.body))
                    {
                        last.hear(&signature, user.as_deref());
                    }
                }
                _ => {}
            }
        }
        if all.is_empty() {
            Err("it holds no key".into())
        } else {
            Ok(all)
        }
    }

    /// How the key is called.
    pub(crate) fn key_id(&self) -> String {
        hex(self.primary.key.id()).to_uppercase()
    }

    /// Whose it is.
    pub(crate) fn user(&self) -> String {
        self.users.first().cloned().unwrap_or_default()
    }

    // Takes in what the primary key says of itself and its subkeys; what it did not say is ignored.
    fn hear(&mut self, signature: &Signature, user: Option<&str>) {
        let own = prefixed(&self.primary.key);
        match signature.kind {
            0x10..=0x13 => {
                let Some(user) = user else { return };
                let mut content = own;
                content.push(0xb4);
                content.extend_from_slice(&(user.len() as u32).to_be_bytes());
                content.extend_from_slice(user.as_bytes());
                if made_by(&self.primary.key, signature, &content) {
                    self.users.push(user.to_owned());
                    self.primary.say(signature);
                }
            }
            KEY_DIRECT if made_by(&self.primary.key, signature, &own) => {
                self.primary.say(signature);
            }
            KEY_REVOKED if made_by(&self.primary.key, signature, &own) => {
                self.primary.revoked = true;
            }
            SUBKEY_BINDING | SUBKEY_REVOKED => {
                let Some(subkey) = self.subkeys.last_mut() else {
                    return;
                };
                let mut content = own;
                content.extend(prefixed(&subkey.key));
                if !made_by(&self.primary.key, signature, &content) {
                    return;
                }
                if signature.kind == SUBKEY_REVOKED {
                    subkey.revoked = true;
                } else if vouches(signature, &subkey.key, &content) {
                    subkey.bound = true;
                    subkey.say(signature);
                }
            }
            _ => {}
        }
    }

    // The part that a signature names.
    fn part(&self, issuer: &[u8]) -> Option<(&Part, bool)> {
        let named = |part: &&Part| part.key.fingerprint == issuer || part.key.id() == issuer;
        if named(&&self.primary) {
            return Some((&self.primary, true));
        }
        self.subkeys.iter().find(named).map(|part| (part, false))
    }
}

impl Part {
    fn say(&mut self, signature: &Signature) {
        self.expires = signature
            .key_expires_after
            .map(|after| self.key.created + after);
        self.flags = signature.key_flags.or(self.flags);
    }
}

// A subkey that signs must say itself that it belongs to the primary key.
fn vouches(binding: &Signature, subkey: &Key, content: &[u8]) -> bool {
    if binding.key_flags.is_none_or(|flags| flags & MAY_SIGN == 0) {
        return true;
    }
    let back = binding.embedded.as_deref().and_then(Signature::parse);
    back.is_some_and(|back| back.kind == PRIMARY_BINDING && made_by(subkey, &back, content))
}

fn prefixed(key: &Key) -> Vec<u8> {
    let mut bytes = vec![0x99];
    bytes.extend_from_slice(&(key.body.len() as u16).to_be_bytes());
    bytes.extend_from_slice(&key.body);
    bytes
}

fn made_by(key: &Key, signature: &Signature, content: &[u8]) -> bool {
    let hash = match signature.hash {
        2 => Some(Hash::Sha1),
        other => strong(other),
    };
    hash.is_some_and(|hash| check(key, signature, hash, content) == Ok(true))
}

fn strong(hash: u8) -> Option<Hash> {
    match hash {
        8 => Some(Hash::Sha256),
        9 => Some(Hash::Sha384),
        10 => Some(Hash::Sha512),
        _ => None,
    }
}

fn check(key: &Key, signature: &Signature, hash: Hash, content: &[u8]) -> Result<bool, String> {
    let Some(public) = &key.public else {
        return Err("its kind of key".into());
    };
    let message = signature.message(content);
    match (public, signature.numbers.as_slice()) {
        (PublicKey::Rsa { .. }, [one]) => public.verify(hash, &message, &Numbers::Rsa(one)),
        // Here the digest is what is signed.
        (PublicKey::Ed25519(_), [one]) => {
            public.verify(hash, &hash.digest(&message), &Numbers::Plain(one))
        }
        (PublicKey::Ed25519(_), [r, s]) => {
            public.verify(hash, &hash.digest(&message), &Numbers::Pair(r, s))
        }
        (_, [r, s]) => public.verify(hash, &message, &Numbers::Pair(r, s)),
        _ => Ok(false),
    }
}

/// Checks a signature over some bytes.
pub(crate) fn verify(armored: &str, signed: &[u8], keys: &[Certificate]) -> Verdict {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let parsed = unarmor(armored).and_then(|bytes| packets(&bytes));
    let signatures: Vec<Signature> = match &parsed {
        Ok(packets) => packets
            .iter()
            .filter(|p| p.tag == TAG_SIGNATURE)
            .filter_map(|p| Signature::parse(&p.body))
            .collect(),
        Err(why) => {
            return Verdict::Bad {
                key: String::new(),
                why: why.clone(),
            };
        }
    };
    // One good signature is enough; else the first tells what is wrong.
    let mut verdicts = signatures
        .iter()
        .map(|signature| judge(signature, signed, keys, now));
    let first = verdicts.next().unwrap_or_else(|| Verdict::Unsupported {
        what: "it holds no signature of version 4".into(),
    });
    if matches!(first, Verdict::Good { .. }) {
        return first;
    }
    verdicts
        .find(|v| matches!(v, Verdict::Good { .. }))
        .unwrap_or(first)
}

fn judge(signature: &Signature, signed: &[u8], keys: &[Certificate], now: u64) -> Verdict {
    let id = signature
        .issuer
        .get(signature.issuer.len().saturating_sub(8)..)
        .unwrap_or_default();
    let key = hex(id).to_uppercase();
    let found = keys.iter().find_map(|c| {
        c.part(&signature.issuer)
            .map(|(part, primary)| (c, part, primary))
    });
    let Some((certificate, part, primary)) = found else {
        return Verdict::UnknownKey { key };
    };
    let bad = |why: String| Verdict::Bad {
        key: key.clone(),
        why,
    };
    if signature.kind != DOCUMENT {
        return bad("it is not a signature of a document".into());
    }
    let Some(hash) = strong(signature.hash) else {
        return bad("its hash is too weak".into());
    };
    match check(&part.key, signature, hash, signed) {
        Ok(true) => {}
        Ok(false) => return bad("it does not fit the commit".into()),
        Err(what) => return Verdict::Unsupported { what },
    }
    if let Some(why) = objection(signature, certificate, part, primary, now) {
        return bad(why);
    }
    Verdict::Good {
        key: certificate.key_id(),
        signer: certificate.user(),
    }
}

// Why a key that made a signature might not.
fn objection(
    signature: &Signature,
    certificate: &Certificate,
    part: &Part,
    primary: bool,
    now: u64,
) -> Option<String> {
    let at = |seconds: u64| rfc3339(i64::try_from(seconds).unwrap_or(i64::MAX));
    if certificate.primary.revoked || part.revoked {
        return Some("the key was revoked".into());
    }
    if !primary && !part.bound {
        return Some("the key does not belong to a primary key".into());
    }
    if part.flags.is_some_and(|flags| flags & MAY_SIGN == 0) {
        return Some("the key is not for signing".into());
    }
    if signature.created < part.key.created {
        return Some("it is older than its key".into());
    }
    let expired = |expires: Option<u64>| expires.filter(|when| *when <= now);
    if let Some(when) = expired(part.expires).or(expired(certificate.primary.expires)) {
        return Some(format!("the key expired at {}", at(when)));
    }
    let ends = signature
        .expires_after
        .map(|after| signature.created + after);
    expired(ends).map(|when| format!("it expired at {}", at(when)))
}
