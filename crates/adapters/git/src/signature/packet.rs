//! OpenPGP as bytes: armor, packets, keys and signatures taken apart. Version 4 of both.

use super::verify::{Hash, PublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// No packet of a key or signature is larger.
const PACKET_BYTES_MAX: usize = 1 << 20;
/// No export of keys has more packets.
const PACKETS_MAX: usize = 10_000;

/// One packet: what it is, and its content.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) tag: u8,
    pub(crate) body: Vec<u8>,
}

/// A key, primary or not.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) fingerprint: Vec<u8>,
    pub(crate) created: u64,
    /// `None` for keys that only encrypt, and for kinds that we do not check.
    pub(crate) public: Option<PublicKey>,
    pub(crate) body: Vec<u8>,
}

/// A signature.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    pub(crate) kind: u8,
    pub(crate) algorithm: u8,
    pub(crate) hash: u8,
    /// What of the signature is signed itself.
    pub(crate) hashed: Vec<u8>,
    pub(crate) created: u64,
    pub(crate) expires_after: Option<u64>,
    pub(crate) key_expires_after: Option<u64>,
    pub(crate) key_flags: Option<u8>,
    pub(crate) issuer: Vec<u8>,
    pub(crate) embedded: Option<Vec<u8>>,
    pub(crate) numbers: Vec<Vec<u8>>,
}

/// The bytes of all armored blocks in a text, and of whatever stands between nothing else.
pub(crate) fn unarmor(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut lines = text.lines().map(str::trim);
    let mut found = false;
    while let Some(line) = lines.next() {
        if !line.starts_with("-----BEGIN PGP ") {
            continue;
        }
        found = true;
        // Headers end at an empty line.
        for line in lines.by_ref() {
            if line.is_empty() {
                break;
            }
        }
        let mut encoded = String::new();
        for line in lines.by_ref() {
            if line.starts_with("-----END") {
                break;
            }
            if !line.starts_with('=') {
                encoded.push_str(line);
            }
        }
        bytes.extend(
            STANDARD
                .decode(encoded)
                .map_err(|_| "its armor cannot be decoded")?,
        );
    }
    if found {
        Ok(bytes)
    } else {
        Err("it has no armor".into())
    }
}

/// The packets in some bytes.
pub(crate) fn packets(mut bytes: &[u8]) -> Result<Vec<Packet>, String> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (packet, rest) = next(bytes).ok_or("a packet is cut short or of indefinite length")?;
        all.push(packet);
        bytes = rest;
        if all.len() > PACKETS_MAX {
            return Err("it has too many packets".into());
        }
    }
    Ok(all)
}

fn next(bytes: &[u8]) -> Option<(Packet, &[u8])> {
    let (head, rest) = bytes.split_first()?;
    if head & 0x80 == 0 {
        return None;
    }
    let (tag, length, rest) = if head & 0x40 != 0 {
        let (length, rest) = new_length(rest)?;
        (head & 0x3f, length, rest)
    } else {
        let size = match head & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return None,
        };
        let (length, rest) = rest.split_at_checked(size)?;
        ((head >> 2) & 0xf, big(length) as usize, rest)
    };
    if length > PACKET_BYTES_MAX {
        return None;
    }
    let (body, rest) = rest.split_at_checked(length)?;
    let body = body.to_vec();
    Some((Packet { tag, body }, rest))
}

fn new_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    match *first {
        n @ 0..=191 => Some((n.into(), rest)),
        n @ 192..=223 => {
            let (second, rest) = rest.split_first()?;
            Some((
                (usize::from(n) - 192) * 256 + usize::from(*second) + 192,
                rest,
            ))
        }
        255 => {
            let (length, rest) = rest.split_at_checked(4)?;
            Some((big(length) as usize, rest))
        }
        _ => None,
    }
}

fn big(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        self.take(size).map(big)
    }

    fn multi(&mut self) -> Option<Vec<u8>> {
        let bits = self.number(2)? as usize;
        self.take(bits.div_ceil(8)).map(<[u8]>::to_vec)
    }
}

impl Key {
    /// Reads the body of a key; `None` for versions that we do not know.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        if reader.number(1)? != 4 {
            return None;
        }
        let created = reader.number(4)?;
        let algorithm = reader.number(1)?;
        let mut hashed = vec![0x99];
        hashed.extend_from_slice(&u16::try_from(body.len()).ok()?.to_be_bytes());
        hashed.extend_from_slice(body);
        Some(Self {
            fingerprint: Hash::Sha1.digest(&hashed),
            created,
            public: material(algorithm, &mut reader),
            body: body.to_vec(),
        })
    }

    /// The last eight bytes of the fingerprint, which is how keys are called.
    pub(crate) fn id(&self) -> &[u8] {
        &self.fingerprint[self.fingerprint.len() - 8..]
    }
}

fn material(algorithm: u64, reader: &mut Reader<'_>) -> Option<PublicKey> {
    const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    const P384: &[u8] = &[0x2b, 0x81, 0x04, 0x00, 0x22];
    const ED25519: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];
    match algorithm {
        1 | 3 => {
            let (modulus, exponent) = (reader.multi()?, reader.multi()?);
            Some(PublicKey::Rsa { modulus, exponent })
        }
        19 | 22 => {
            let length = reader.number(1)? as usize;
            let curve = reader.take(length)?.to_vec();
            let point = reader.multi()?;
            match (algorithm, curve.as_slice()) {
                (19, P256) => Some(PublicKey::P256(point)),
                (19, P384) => Some(PublicKey::P384(point)),
                (22, ED25519) => Some(PublicKey::Ed25519(point.strip_prefix(&[0x40])?.to_vec())),
                _ => None,
            }
        }
        27 => Some(PublicKey::Ed25519(reader.take(32)?.to_vec())),
        _ => None,
    }
}

impl Signature {
    /// Reads the body of a signature; `None` for versions that we do not know, or when cut short.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        if reader.number(1)? != 4 {
            return None;
        }
        let mut signature = Self {
            kind: reader.number(1)? as u8,
            algorithm: reader.number(1)? as u8,
            hash: reader.number(1)? as u8,
            ..Self::default()
        };
        let length = reader.number(2)? as usize;
        let hashed = reader.take(length)?;
        signature.hashed = body.get(..6 + length)?.to_vec();
        signature.subpackets(hashed, true)?;
        let length = reader.number(2)? as usize;
        let unhashed = reader.take(length)?;
        signature.subpackets(unhashed, false)?;
        reader.take(2)?;
        if signature.algorithm == 27 {
            signature.numbers.push(reader.take(64)?.to_vec());
        } else {
            while !reader.0.is_empty() {
                signature.numbers.push(reader.multi()?);
            }
        }
        Some(signature)
    }

    // Only what is signed counts, but for hints that are proved by the signature itself.
    fn subpackets(&mut self, mut bytes: &[u8], signed: bool) -> Option<()> {
        while !bytes.is_empty() {
            let (length, rest) = new_length(bytes)?;
            let (content, rest) = rest.split_at_checked(length)?;
            bytes = rest;
            let (kind, value) = content.split_first()?;
            match (kind & 0x7f, signed) {
                (2, true) => self.created = big(value.get(..4)?),
                (3, true) => self.expires_after = Some(big(value.get(..4)?)).filter(|s| *s > 0),
                (9, true) => self.key_expires_after = Some(big(value.get(..4)?)).filter(|s| *s > 0),
                (27, true) => self.key_flags = Some(value.first().copied().unwrap_or(0)),
                (16, _) if self.issuer.is_empty() => self.issuer = value.to_vec(),
                (33, _) => self.issuer = value.get(1..)?.to_vec(),
                (32, _) => self.embedded = Some(value.to_vec()),
                // What is critical and unknown makes the signature worthless.
                (other, true) if kind & 0x80 != 0 && !matches!(other, 4..=31 | 33..=35) => {
                    return None;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// What is hashed for this signature over some content.
    pub(crate) fn message(&self, content: &[u8]) -> Vec<u8> {
        let mut message = content.to_vec();
        message.extend_from_slice(&self.hashed);
        message.extend_from_slice(&[4, 0xff]);
        message.extend_from_slice(&(self.hashed.len() as u32).to_be_bytes());
        message
    }
}
