//! Private keys: making them from the context's entropy, reading and writing them, signing.

use super::der::{self, OCTET_STRING, OID, Reader, SEQUENCE, element, integer, small};
use super::digest::sha256_bytes;
use super::primes::{below, probable_prime};
use crate::call::Call;
use crate::error::Limit;
use num_bigint::BigUint;
use ring::signature::{Ed25519KeyPair, KeyPair as _};

// 1.2.840.113549.1.1.1, .11; 1.2.840.10045.2.1, 1.2.840.10045.3.1.7, 1.2.840.10045.4.3.2; 1.3.101.112
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
const NULL: &[u8] = &[5, 0];

/// A private key.
pub(super) enum Key {
    Rsa {
        n: BigUint,
        e: BigUint,
        d: BigUint,
        p: BigUint,
        q: BigUint,
    },
    // The secret number on P-256 and the public point.
    Ec {
        d: BigUint,
        point: Vec<u8>,
    },
    Ed25519 {
        seed: [u8; 32],
    },
    Dsa {
        p: BigUint,
        q: BigUint,
        g: BigUint,
        y: BigUint,
        x: BigUint,
    },
}

/// A new RSA key.
pub(super) fn rsa(call: &mut Call<'_>, size: u64) -> Result<Key, Limit> {
    let e = BigUint::from(65537u32);
    loop {
        let p = probable_prime(call, size / 2)?;
        let q = probable_prime(call, size / 2)?;
        if p == q {
            continue;
        }
        let phi = (&p - 1u8) * (&q - 1u8);
        if let Some(d) = e.modinv(&phi) {
            return Ok(Key::Rsa {
                n: &p * &q,
                e,
                d,
                p,
                q,
            });
        }
    }
}

/// A new key on P-256.
pub(super) fn ecdsa(call: &mut Call<'_>) -> Key {
    let d = below(call, &super::curve::order());
    Key::Ec {
        point: super::curve::public(&d),
        d,
    }
}

/// A new Ed25519 key.
pub(super) fn ed25519(call: &mut Call<'_>) -> Key {
    let mut seed = [0; 32];
    call.random(&mut seed);
    Key::Ed25519 { seed }
}

/// A new DSA key with parameters of its own.
pub(super) fn dsa(call: &mut Call<'_>) -> Result<Key, Limit> {
    let q = probable_prime(call, 256)?;
    let twice = &q * 2u8;
    let p = loop {
        call.context().step(10_000)?;
        let mut x = super::primes::random_bits(call, 2048);
        x -= &x % &twice;
        x += 1u8;
        if x.bits() == 2048 && super::primes::is_prime(call, &x, 8) {
            break x;
        }
    };
    let exponent = (&p - 1u8) / &q;
    let one = BigUint::from(1u8);
    let g = (2u32..1000)
        .map(|h| BigUint::from(h).modpow(&exponent, &p))
        .find(|g| *g != one)
        .unwrap_or_else(|| one.clone());
    let x = below(call, &q);
    Ok(Key::Dsa {
        y: g.modpow(&x, &p),
        p,
        q,
        g,
        x,
    })
}

fn algorithm(oid: &[u8], parameters: &[u8]) -> Vec<u8> {
    element(SEQUENCE, &[&element(OID, oid)[..], parameters].concat())
}

fn pair(seed: &[u8; 32]) -> Option<Ed25519KeyPair> {
    Ed25519KeyPair::from_seed_unchecked(seed).ok()
}

impl Key {
    /// The key as PEM, in the form sprig gives each kind.
    pub(super) fn pem(&self) -> String {
        match self {
            Self::Rsa { n, e, d, p, q } => {
                let zero = BigUint::default();
                let parts = [
                    &zero,
                    n,
                    e,
                    d,
                    p,
                    q,
                    &(d % (p - 1u8)),
                    &(d % (q - 1u8)),
                    &q.modinv(p).unwrap_or_default(),
                ];
                der::encode("RSA PRIVATE KEY", &der::sequence(&parts.map(integer)))
            }
            Self::Ec { d, point } => der::encode("EC PRIVATE KEY", &sec1(d, point)),
            Self::Ed25519 { seed } => {
                let inner = element(OCTET_STRING, &element(OCTET_STRING, seed));
                let body = der::sequence(&[small(0), algorithm(ED25519, &[]), inner]);
                der::encode("PRIVATE KEY", &body)
            }
            Self::Dsa { p, q, g, y, x } => {
                let zero = BigUint::default();
                let parts = [&zero, p, q, g, y, x].map(integer);
                der::encode("DSA PRIVATE KEY", &der::sequence(&parts))
            }
        }
    }

    /// The public key as certificates hold it, and the bits that name it; none for DSA.
    pub(super) fn public(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (algorithm, bits) = match self {
            Self::Rsa { n, e, .. } => (
                algorithm(RSA, NULL),
                der::sequence(&[integer(n), integer(e)]),
            ),
            Self::Ec { point, .. } => (algorithm(EC, &element(OID, P256)), point.clone()),
            Self::Ed25519 { seed } => (
                algorithm(ED25519, &[]),
                pair(seed)?.public_key().as_ref().to_vec(),
            ),
            Self::Dsa { .. } => return None,
        };
        Some((der::sequence(&[algorithm, der::bits(&bits)]), bits))
    }

    /// The name of the signatures it makes; none for DSA.
    pub(super) fn signature_algorithm(&self) -> Option<Vec<u8>> {
        match self {
            Self::Rsa { .. } => Some(algorithm(RSA_SHA256, NULL)),
            Self::Ec { .. } => Some(algorithm(ECDSA_SHA256, &[])),
            Self::Ed25519 { .. } => Some(algorithm(ED25519, &[])),
            Self::Dsa { .. } => None,
        }
    }

    /// Signs some bytes.
    pub(super) fn sign(&self, call: &mut Call<'_>, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Rsa { n, d, .. } => {
                const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
                let sum = element(OCTET_STRING, &sha256_bytes(message));
                let info = der::sequence(&[algorithm(SHA256, NULL), sum]);
                let size = n.bits().div_ceil(8) as usize;
                let padding = size.checked_sub(info.len() + 3)?;
                let block = [&[0, 1][..], &vec![0xff; padding], &[0], &info].concat();
                let signed = BigUint::from_bytes_be(&block).modpow(d, n).to_bytes_be();
                Some([vec![0; size.checked_sub(signed.len())?], signed].concat())
            }
            Self::Ec { d, .. } => {
                let hash = BigUint::from_bytes_be(&sha256_bytes(message));
                let (r, s) = super::curve::sign(call, d, &hash);
                Some(der::sequence(&[integer(&r), integer(&s)]))
            }
            Self::Ed25519 { seed } => Some(pair(seed)?.sign(message).as_ref().to_vec()),
            Self::Dsa { .. } => None,
        }
    }
}

fn sec1(d: &BigUint, point: &[u8]) -> Vec<u8> {
    let bytes = d.to_bytes_be();
    let secret = [vec![0; 32usize.saturating_sub(bytes.len())], bytes].concat();
    der::sequence(&[
        small(1),
        element(OCTET_STRING, &secret),
        element(0xa0, &element(OID, P256)),
        element(0xa1, &der::bits(point)),
    ])
}

/// Reads a key in PEM; the error is sprig's.
pub(super) fn parse(text: &str) -> Result<Key, String> {
    let block = der::decode(text).ok_or("no PEM data in input")?;
    let malformed = "asn1: structure error: malformed key";
    if block.kind == "PRIVATE KEY" {
        return pkcs8(&block.bytes).ok_or_else(|| format!("decoding PEM as PKCS#8: {malformed}"));
    }
    let Some(kind) = block.kind.strip_suffix(" PRIVATE KEY") else {
        return Err(format!(
            "no private key data in PEM block of type {}",
            block.kind
        ));
    };
    match kind {
        "RSA" => pkcs1(&block.bytes)
            .ok_or_else(|| format!("parsing RSA private key from PEM: {malformed}")),
        "EC" => {
            ec(&block.bytes).ok_or_else(|| format!("parsing EC private key from PEM: {malformed}"))
        }
        "DSA" => dsa_key(&block.bytes)
            .ok_or_else(|| format!("parsing DSA private key from PEM: {malformed}")),
        _ => Err(format!("invalid private key type {}", block.kind)),
    }
}

fn pkcs8(bytes: &[u8]) -> Option<Key> {
    let mut body = Reader(Reader(bytes).expect(SEQUENCE)?);
    body.integer()?;
    let oid = Reader(body.expect(SEQUENCE)?).expect(OID)?;
    let key = body.expect(OCTET_STRING)?;
    match oid {
        RSA => pkcs1(key),
        EC => ec(key),
        ED25519 => {
            let seed = Reader(key).expect(OCTET_STRING)?;
            Some(Key::Ed25519 {
                seed: seed.try_into().ok()?,
            })
        }
        _ => None,
    }
}

fn pkcs1(bytes: &[u8]) -> Option<Key> {
    let mut body = Reader(Reader(bytes).expect(SEQUENCE)?);
    body.integer()?;
    let mut next = || body.integer();
    let (n, e, d, p, q) = (next()?, next()?, next()?, next()?, next()?);
    // A modulus of zero cannot be computed with, and a huge one not in time.
    let sound = (1..=16_384).contains(&n.bits()) && n == &p * &q;
    sound.then_some(Key::Rsa { n, e, d, p, q })
}

fn ec(bytes: &[u8]) -> Option<Key> {
    let mut body = Reader(Reader(bytes).expect(SEQUENCE)?);
    body.integer()?;
    let d = BigUint::from_bytes_be(body.expect(OCTET_STRING)?);
    let valid = d.bits() > 0 && d < super::curve::order();
    valid.then(|| Key::Ec {
        point: super::curve::public(&d),
        d,
    })
}

fn dsa_key(bytes: &[u8]) -> Option<Key> {
    let mut body = Reader(Reader(bytes).expect(SEQUENCE)?);
    body.integer()?;
    let mut next = || body.integer();
    Some(Key::Dsa {
        p: next()?,
        q: next()?,
        g: next()?,
        y: next()?,
        x: next()?,
    })
}
