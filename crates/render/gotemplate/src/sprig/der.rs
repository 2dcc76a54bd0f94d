//! DER and PEM: the little of them that keys and certificates need.

use num_bigint::BigUint;

pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// One element: tag, length, content.
pub(super) fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes: Vec<u8> = length
            .to_be_bytes()
            .into_iter()
            .skip_while(|b| *b == 0)
            .collect();
        out.push(0x80 | bytes.len() as u8);
        out.extend_from_slice(&bytes);
    }
    out.extend_from_slice(content);
    out
}

pub(super) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    element(SEQUENCE, &parts.concat())
}

/// A whole number that is not negative.
pub(super) fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes[0] & 0x80 != 0 {
        bytes.insert(0, 0);
    }
    element(INTEGER, &bytes)
}

pub(super) fn small(number: u32) -> Vec<u8> {
    integer(&BigUint::from(number))
}

pub(super) fn bits(content: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], content].concat())
}

/// Walks the elements of some bytes.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

/// An element that was read: its tag, its content, and all of it.
pub(super) struct Found<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    pub(super) raw: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn next(&mut self) -> Option<Found<'a>> {
        let (tag, first) = (*self.0.first()?, usize::from(*self.0.get(1)?));
        let (length, head) = if first < 0x80 {
            (first, 2)
        } else {
            let count = first & 0x7f;
            if count == 0 || count > 4 {
                return None;
            }
            let bytes = self.0.get(2..2 + count)?;
            (
                bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b)),
                2 + count,
            )
        };
        let raw = self.0.get(..head.checked_add(length)?)?;
        self.0 = &self.0[raw.len()..];
        Some(Found {
            tag,
            content: &raw[head..],
            raw,
        })
    }

    /// The next element's content when it has the tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        let found = self.next()?;
        (found.tag == tag).then_some(found.content)
    }

    pub(super) fn integer(&mut self) -> Option<BigUint> {
        self.expect(INTEGER).map(BigUint::from_bytes_be)
    }
}

/// A block of PEM: what it says it is, and its bytes.
pub(super) struct Pem {
    pub(super) kind: String,
    pub(super) bytes: Vec<u8>,
}

/// The first block of a text.
pub(super) fn decode(text: &str) -> Option<Pem> {
    let start = text.find("-----BEGIN ")? + 11;
    let rest = &text[start..];
    let kind_end = rest.find("-----")?;
    let kind = rest[..kind_end].to_owned();
    let body = &rest[kind_end + 5..];
    let body = &body[..body.find(&format!("-----END {kind}-----"))?];
    // Lines with a colon are headers.
    let data: String = body.lines().filter(|l| !l.contains(':')).collect();
    let bytes = super::encode::decode64(data.trim().as_bytes()).ok()?;
    Some(Pem { kind, bytes })
}

/// Writes a block.
pub(super) fn encode(kind: &str, bytes: &[u8]) -> String {
    let body = crate::base64(bytes);
    let mut out = format!("-----BEGIN {kind}-----\n");
    for line in body.as_bytes().chunks(64) {
        out.push_str(&String::from_utf8_lossy(line));
        out.push('\n');
    }
    out.push_str(&format!("-----END {kind}-----\n"));
    out
}
