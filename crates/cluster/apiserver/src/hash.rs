//! Digests for ETags and document hashes, and their text forms.

use base64::Engine as _;

/// SHA-512 in upper-case hex, as the API server prints document hashes.
pub(crate) fn sha512_hex(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA512, bytes);
    digest.as_ref().iter().map(|b| format!("{b:02X}")).collect()
}

/// The first eight bytes of a SHA-256, in base64.
pub(crate) fn short(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    base64::engine::general_purpose::STANDARD.encode(&digest.as_ref()[..8])
}

/// Four random-looking words that follow from a text.
pub(crate) fn words(bytes: &[u8]) -> [u64; 4] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(digest.as_ref().chunks_exact(8)) {
        *word = chunk
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    }
    words
}
