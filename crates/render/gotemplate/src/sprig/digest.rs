//! Sums: SHA-1, SHA-256, SHA-512, Adler-32.

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn sum(algorithm: &'static Algorithm, bytes: &[u8]) -> String {
    hex(digest(algorithm, bytes).as_ref())
}

pub(super) fn sha1(bytes: &[u8]) -> String {
    sum(&SHA1_FOR_LEGACY_USE_ONLY, bytes)
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    sum(&SHA256, bytes)
}

pub(super) fn sha512(bytes: &[u8]) -> String {
    sum(&SHA512, bytes)
}

pub(super) fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    b << 16 | a
}

/// The 32 bytes of SHA-256.
pub(super) fn sha256_bytes(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}
