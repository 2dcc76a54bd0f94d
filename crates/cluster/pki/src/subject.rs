//! Reads whom a certificate names. Checking its signature is the TLS library's part.

use ring::digest::{SHA256, digest};

/// The parts of a certificate's subject that name a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Common name: the user.
    pub common_name: String,
    /// Organizations: the user's groups.
    pub organizations: Vec<String>,
    /// SHA-256 of the certificate in hexadecimal.
    pub fingerprint: String,
}

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
const VERSION: u8 = 0xa0;
const COMMON_NAME: &[u8] = &[0x55, 4, 3];
const ORGANIZATION: &[u8] = &[0x55, 4, 10];

/// The subject of a DER certificate; `None` when it is none.
pub fn subject(certificate: &[u8]) -> Option<Subject> {
    let body = Reader(certificate).expect(SEQUENCE)?;
    let mut fields = Reader(Reader(body).expect(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.next()?;
    }
    // Serial number, algorithm, issuer and validity stand before the subject.
    for _ in 0..4 {
        fields.next()?;
    }
    let mut subject = Subject {
        fingerprint: hex(digest(&SHA256, certificate).as_ref()),
        ..Subject::default()
    };
    let mut names = Reader(fields.expect(SEQUENCE)?);
    while !names.0.is_empty() {
        let mut set = Reader(names.expect(SET)?);
        while !set.0.is_empty() {
            let mut attribute = Reader(set.expect(SEQUENCE)?);
            let kind = attribute.expect(OID)?;
            let (_, value) = attribute.next()?;
            let value = std::str::from_utf8(value).ok()?;
            match kind {
                COMMON_NAME => subject.common_name = value.into(),
                ORGANIZATION => subject.organizations.push(value.into()),
                _ => {}
            }
        }
    }
    Some(subject)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Takes one DER element after another.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and its content.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first >= 0x80 {
            let digits = usize::from(first & 0x7f);
            if digits == 0 || digits > 4 {
                return None;
            }
            let (number, after) = rest.split_at_checked(digits)?;
            length = number
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some((tag, content))
    }

    fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        self.next()
            .filter(|(tag, _)| *tag == wanted)
            .map(|(_, content)| content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Authority;
    use model::Timestamp;

    #[test]
    fn broken_certificates_name_nobody() {
        let now = Timestamp::from_seconds(1_794_780_000);
        let pair = Authority::new(now)
            .unwrap()
            .client("u", &["g"], now)
            .unwrap();
        let der = pair.certificate_der;
        let whole = subject(&der).unwrap();
        assert_eq!(
            (whole.common_name.as_str(), whole.fingerprint.len()),
            ("u", 64)
        );
        for end in 0..der.len() {
            assert_eq!(subject(&der[..end]), None, "cut at {end}");
        }
        for at in 0..der.len().min(200) {
            let mut bent = der.clone();
            bent[at] ^= 0xff;
            let _ = subject(&bent);
        }
    }
}
