//! Secrets from the system's randomness.

use crate::Fault;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

/// `N` bytes nobody can guess.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Fault::new("the system gives no random bytes"))?;
    Ok(bytes)
}

/// A bearer token of 256 bits that means nothing but itself.
pub fn opaque_token() -> Result<String, Fault> {
    Ok(URL_SAFE_NO_PAD.encode(random_bytes::<32>()?))
}

/// A random (version 4) UUID.
pub fn uuid() -> Result<String, Fault> {
    let mut bytes = random_bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_have_their_form() {
        assert_ne!(opaque_token().unwrap(), opaque_token().unwrap());
        assert_eq!(opaque_token().unwrap().len(), 43);
        let id = uuid().unwrap();
        let parts: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
        assert_eq!(&id[14..15], "4", "{id}");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
    }
}
