//! Base 64, base 32, and sums of text.

use super::args::text;
use super::digest;
use crate::function::Function;
use crate::function::Type::String as Str;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("b64enc", &[Str], |_, a| {
        Ok(crate::base64(&text(a, 0)).into())
    }),
    Function::new("b64dec", &[Str], |_, a| {
        Ok(decode64(&text(a, 0)).map_or_else(Value::from, Value::from))
    }),
    Function::new("b32enc", &[Str], |_, a| Ok(encode32(&text(a, 0)).into())),
    Function::new("b32dec", &[Str], |_, a| {
        Ok(decode32(&text(a, 0)).map_or_else(Value::from, Value::from))
    }),
    Function::new("sha1sum", &[Str], |_, a| {
        Ok(digest::sha1(&text(a, 0)).into())
    }),
    Function::new("sha256sum", &[Str], |_, a| {
        Ok(digest::sha256(&text(a, 0)).into())
    }),
    Function::new("sha512sum", &[Str], |_, a| {
        Ok(digest::sha512(&text(a, 0)).into())
    }),
    Function::new("adler32sum", &[Str], |_, a| {
        Ok(digest::adler32(&text(a, 0)).to_string().into())
    }),
];

fn value_of(byte: u8, bits: u32) -> Option<u32> {
    Some(u32::from(match (byte, bits) {
        (b'A'..=b'Z', _) => byte - b'A',
        (b'a'..=b'z', 6) => byte - b'a' + 26,
        (b'0'..=b'9', 6) => byte - b'0' + 52,
        (b'+', 6) => 62,
        (b'/', 6) => 63,
        (b'2'..=b'7', 5) => byte - b'2' + 26,
        _ => return None,
    }))
}

/// As Go's `base64.StdEncoding.DecodeString`: line breaks do not count, padding must be there.
pub(super) fn decode64(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base64 data at input byte {at}"));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    let next = |at: &mut usize| loop {
        let byte = *text.get(*at)?;
        *at += 1;
        if byte != b'\n' && byte != b'\r' {
            return Some(byte);
        }
    };
    'groups: loop {
        let mut group = 0u32;
        for i in 0..4 {
            let Some(byte) = next(&mut at) else {
                if i == 0 {
                    break 'groups;
                }
                return corrupt(at - i);
            };
            if let Some(value) = value_of(byte, 6) {
                group = group << 6 | value;
                continue;
            }
            if byte != b'=' || i < 2 {
                return corrupt(at - 1);
            }
            if i == 2 {
                // Two marks stand at the end of one byte.
                match next(&mut at) {
                    None => return corrupt(text.len()),
                    Some(b'=') => {}
                    Some(_) => return corrupt(at - 1),
                }
            }
            let rest = next(&mut at);
            if rest.is_some() {
                return corrupt(at - 1);
            }
            let group = group << (6 * (4 - i));
            out.extend_from_slice(&group.to_be_bytes()[1..i]);
            break 'groups;
        }
        out.extend_from_slice(&group.to_be_bytes()[1..]);
    }
    Ok(out)
}

fn encode32(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::new();
    for chunk in bytes.chunks(5) {
        let mut group = [0u8; 8];
        group[3..3 + chunk.len()].copy_from_slice(chunk);
        let group = u64::from_be_bytes(group);
        let used = (chunk.len() * 8).div_ceil(5);
        for i in 0..8 {
            let letter = LETTERS[(group >> (35 - 5 * i) & 31) as usize];
            out.push(if i < used { char::from(letter) } else { '=' });
        }
    }
    out
}

fn decode32(text: &[u8]) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| Err(format!("illegal base32 data at input byte {at}"));
    let clean: Vec<u8> = text
        .iter()
        .copied()
        .filter(|b| *b != b'\n' && *b != b'\r')
        .collect();
    let mut out = Vec::with_capacity(clean.len() / 8 * 5);
    for (i, chunk) in clean.chunks(8).enumerate() {
        let base = i * 8;
        let mut group = 0u64;
        let mut used = 8;
        for j in 0..8 {
            let Some(byte) = chunk.get(j) else {
                return corrupt(base);
            };
            if let Some(value) = value_of(*byte, 5) {
                group = group << 5 | u64::from(value);
                continue;
            }
            let last = clean.len() - base <= 8;
            if *byte != b'=' || j < 2 || !last {
                return corrupt(base + j);
            }
            if chunk.len() < 8 {
                return corrupt(clean.len());
            }
            if let Some(wrong) = chunk[j..].iter().position(|b| *b != b'=') {
                return corrupt(base + j + wrong);
            }
            if matches!(j, 3 | 6) {
                return corrupt(base + j);
            }
            group <<= 5 * (8 - j);
            used = j;
            break;
        }
        out.extend_from_slice(&group.to_be_bytes()[3..3 + used * 5 / 8]);
    }
    Ok(out)
}
