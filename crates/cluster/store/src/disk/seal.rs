//! Ties a stored value to its key, so that damage to either is noticed when the file is read.
//!
//! The database checks its pages only after a crash, and a body carries a checksum of itself
//! alone; without a seal a flipped bit in a key would quietly move an object elsewhere.

/// The length of a seal.
pub(super) const SEAL: usize = 8;

/// The seal of some byte strings in this order (FNV-1a, with a mark after each string).
pub(super) fn seal(parts: &[&[u8]]) -> [u8; SEAL] {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u16| {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    };
    for part in parts {
        part.iter().for_each(|byte| take(u16::from(*byte)));
        take(0x100);
    }
    hash.to_le_bytes()
}

/// A small value with its seal, as it is kept under `name`.
pub(super) fn sealed(name: &str, value: &[u8]) -> Vec<u8> {
    [value, &seal(&[name.as_bytes(), value])].concat()
}

/// The value that [`sealed`] was given; `None` when it is damaged.
pub(super) fn unsealed(name: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let (value, found) = bytes.split_last_chunk()?;
    (*found == seal(&[name.as_bytes(), value])).then(|| value.to_vec())
}
