//! Byte fields: base64 text in, canonical base64 text out.

use std::borrow::Cow;

/// Reads base64 as Go does and gives its canonical form; the error is Go's message.
pub(crate) fn canonical(text: &str) -> Result<Cow<'_, str>, String> {
    if is_canonical(text.as_bytes()) {
        return Ok(Cow::Borrowed(text));
    }
    decode(text.as_bytes())
        .map(|bytes| Cow::Owned(encode(&bytes)))
        .map_err(|at| format!("illegal base64 data at input byte {at}"))
}

fn value_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn is_canonical(text: &[u8]) -> bool {
    if !text.len().is_multiple_of(4) {
        return false;
    }
    let padding = text.iter().rev().take_while(|b| **b == b'=').count();
    if padding > 2 {
        return false;
    }
    let body = &text[..text.len() - padding];
    let unused = match padding {
        1 => 0b11,
        2 => 0b1111,
        _ => 0,
    };
    body.iter().all(|b| value_of(*b).is_some())
        && body
            .last()
            .and_then(|b| value_of(*b))
            .is_none_or(|last| last & unused == 0)
}

// The error is the offset that Go reports.
fn decode(text: &[u8]) -> Result<Vec<u8>, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    let skip_breaks = |at: &mut usize| {
        while let Some(b'\r' | b'\n') = text.get(*at) {
            *at += 1;
        }
    };
    loop {
        let mut group = [0_u8; 4];
        let mut filled = 0;
        while filled < 4 {
            let Some(&byte) = text.get(at) else {
                return if filled == 0 {
                    Ok(out)
                } else {
                    Err(at - filled)
                };
            };
            at += 1;
            if matches!(byte, b'\r' | b'\n') {
                continue;
            }
            if let Some(value) = value_of(byte) {
                group[filled] = value;
                filled += 1;
                continue;
            }
            if byte != b'=' || filled < 2 {
                return Err(at - 1);
            }
            skip_breaks(&mut at);
            if filled == 2 {
                match text.get(at) {
                    None => return Err(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(at - 1),
                }
                skip_breaks(&mut at);
            }
            if at < text.len() {
                return Err(at);
            }
            out.push(group[0] << 2 | group[1] >> 4);
            if filled == 3 {
                out.push(group[1] << 4 | group[2] >> 2);
            }
            return Ok(out);
        }
        out.push(group[0] << 2 | group[1] >> 4);
        out.push(group[1] << 4 | group[2] >> 2);
        out.push(group[2] << 6 | group[3]);
    }
}

/// Bytes as base64 text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let (a, b, c) = (
            chunk[0],
            chunk.get(1).copied().unwrap_or(0),
            chunk.get(2).copied().unwrap_or(0),
        );
        let digits = [
            a >> 2,
            (a & 3) << 4 | b >> 4,
            (b & 15) << 2 | c >> 6,
            c & 63,
        ];
        for (i, digit) in digits.iter().enumerate() {
            if i > chunk.len() {
                out.push('=');
            } else {
                out.push(char::from(LETTERS[usize::from(*digit)]));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"abcd", b"\xff\xfe"] {
            let text = encode(bytes);
            assert!(is_canonical(text.as_bytes()), "{text}");
            assert_eq!(decode(text.as_bytes()).unwrap(), bytes);
        }
    }

    #[test]
    fn text_is_normalised_or_refused_as_go_does() {
        assert_eq!(canonical("aGk=\n").unwrap(), "aGk=");
        assert_eq!(canonical("aGl=").unwrap(), "aGk=");
        for (text, at) in [
            ("a", 0),
            ("aG!=", 2),
            ("aGk", 0),
            ("aGk=x", 4),
            ("=", 0),
            ("aG=", 3),
        ] {
            assert_eq!(
                canonical(text).unwrap_err(),
                format!("illegal base64 data at input byte {at}"),
                "{text}"
            );
        }
    }
}
