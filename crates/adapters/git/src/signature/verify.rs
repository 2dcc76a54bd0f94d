//! Public keys of all kinds, and whether they made a signature.

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

/// A public key that can be checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PublicKey {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    Ed25519(Vec<u8>),
    P256(Vec<u8>),
    P384(Vec<u8>),
}

/// How what is signed was hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    /// Only where old keys vouch for their own parts.
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// A signature, as far as it is a matter of numbers.
pub(crate) enum Numbers<'a> {
    /// One number, as long as the modulus.
    Rsa(&'a [u8]),
    /// Two numbers without leading zeros.
    Pair(&'a [u8], &'a [u8]),
    /// As many bytes as the kind has.
    Plain(&'a [u8]),
}

impl Hash {
    /// The digest of some bytes.
    pub(crate) fn digest(self, bytes: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha1 => &ring::digest::SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => &ring::digest::SHA256,
            Self::Sha384 => &ring::digest::SHA384,
            Self::Sha512 => &ring::digest::SHA512,
        };
        ring::digest::digest(algorithm, bytes).as_ref().to_vec()
    }
}

impl PublicKey {
    /// Whether the key made the signature; an error says why that cannot be told.
    pub(crate) fn verify(
        &self,
        hash: Hash,
        message: &[u8],
        numbers: &Numbers<'_>,
    ) -> Result<bool, String> {
        match (self, numbers) {
            (Self::Rsa { modulus, exponent }, Numbers::Rsa(signature)) => {
                rsa(modulus, exponent, hash, message, signature)
            }
            (Self::Ed25519(key), Numbers::Plain(signature)) => {
                Ok(check(&signature::ED25519, key, message, signature))
            }
            (Self::Ed25519(key), Numbers::Pair(r, s)) => {
                let mut plain = padded(r, 32)?;
                plain.extend(padded(s, 32)?);
                Ok(check(&signature::ED25519, key, message, &plain))
            }
            (Self::P256(key), Numbers::Pair(r, s)) => {
                let algorithm: &dyn VerificationAlgorithm = match hash {
                    Hash::Sha256 => &signature::ECDSA_P256_SHA256_ASN1,
                    Hash::Sha384 => &signature::ECDSA_P256_SHA384_ASN1,
                    Hash::Sha1 | Hash::Sha512 => {
                        return Err("P-256 with this hash is not checked".into());
                    }
                };
                Ok(check(algorithm, key, message, &der(r, s)))
            }
            (Self::P384(key), Numbers::Pair(r, s)) => {
                let algorithm: &dyn VerificationAlgorithm = match hash {
                    Hash::Sha256 => &signature::ECDSA_P384_SHA256_ASN1,
                    Hash::Sha384 => &signature::ECDSA_P384_SHA384_ASN1,
                    Hash::Sha1 | Hash::Sha512 => {
                        return Err("P-384 with this hash is not checked".into());
                    }
                };
                Ok(check(algorithm, key, message, &der(r, s)))
            }
            _ => Ok(false),
        }
    }
}

fn check(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, key)
        .verify(message, signature)
        .is_ok()
}

fn rsa(
    modulus: &[u8],
    exponent: &[u8],
    hash: Hash,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, String> {
    const MODULUS_BYTES_MIN: usize = 256;
    let modulus = stripped(modulus);
    if modulus.len() < MODULUS_BYTES_MIN {
        return Err(format!(
            "an RSA key of {} bits is too short",
            modulus.len() * 8
        ));
    }
    let algorithm = match hash {
        Hash::Sha1 => &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Hash::Sha384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Hash::Sha512 => &signature::RSA_PKCS1_2048_8192_SHA512,
    };
    let key = RsaPublicKeyComponents {
        n: modulus,
        e: stripped(exponent),
    };
    Ok(key
        .verify(algorithm, message, &padded(signature, modulus.len())?)
        .is_ok())
}

fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

// A number with as many leading zeros as its place has room for.
fn padded(number: &[u8], length: usize) -> Result<Vec<u8>, String> {
    let number = stripped(number);
    if number.len() > length {
        return Err("a number of the signature is too long".into());
    }
    let mut bytes = vec![0; length - number.len()];
    bytes.extend_from_slice(number);
    Ok(bytes)
}

// Two numbers as ASN.1 writes them.
fn der(r: &[u8], s: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let number = stripped(number);
        let sign = number.first().is_none_or(|byte| byte & 0x80 != 0);
        let mut bytes = vec![2, (number.len() + usize::from(sign)) as u8];
        if sign {
            bytes.push(0);
        }
        bytes.extend_from_slice(number);
        bytes
    };
    let mut body = integer(r);
    body.extend(integer(s));
    let mut bytes = vec![0x30];
    if body.len() >= 0x80 {
        bytes.push(0x81);
    }
    bytes.push(body.len() as u8);
    bytes.extend(body);
    bytes
}
