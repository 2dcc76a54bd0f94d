//! X.509 certificates as sprig makes them: one name, alternative names, valid for some days.

use super::args::{int, text};
use super::der::{self, OCTET_STRING, OID, Reader, SEQUENCE, SET, element};
use super::digest::sha256_bytes;
use super::keys::{self, Key};
use super::primes::below;
use crate::call::Call;
use crate::date::{Time, layout};
use crate::function::Fault;
use crate::object::Struct;
use crate::value::Value;
use num_bigint::BigUint;
use std::net::IpAddr;
use std::rc::Rc;

type Answer = Result<Value, Fault>;

/// How many bits the keys have that sprig makes by itself.
const RSA_BITS: u64 = 2048;

// Who signs: the subject and key id of its certificate, and its key.
struct Signer {
    subject: Vec<u8>,
    key_id: Option<Vec<u8>>,
    key: Key,
}

struct Wanted {
    name: Vec<u8>,
    addresses: Vec<IpAddr>,
    names: Vec<String>,
    days: i64,
    authority: bool,
}

fn value(certificate: String, key: String) -> Value {
    let fields = vec![
        ("Cert", Value::from(certificate)),
        ("Key", Value::from(key)),
    ];
    Value::Struct(Rc::new(Struct::new("sprig.certificate", fields)))
}

fn own_key(call: &mut Call<'_>) -> Result<Key, Fault> {
    Ok(keys::rsa(call, RSA_BITS)?)
}

fn given_key(args: &[Value], at: usize) -> Result<Key, Fault> {
    Ok(keys::parse(&text(args, at).lossy()).map_err(|e| format!("parsing private key: {e}"))?)
}

/// `genCA name days` and `genCAWithKey name days key`.
pub(super) fn authority(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let key = if args.len() > 2 {
        given_key(args, 2)?
    } else {
        own_key(call)?
    };
    let wanted = Wanted {
        name: text(args, 0).to_vec(),
        addresses: Vec::new(),
        names: Vec::new(),
        days: int(args, 1),
        authority: true,
    };
    issue(call, &wanted, key, None)
}

/// `genSelfSignedCert name ips names days`, and with a key.
pub(super) fn self_signed(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let key = if args.len() > 4 {
        given_key(args, 4)?
    } else {
        own_key(call)?
    };
    let wanted = wanted(args)?;
    issue(call, &wanted, key, None)
}

/// `genSignedCert name ips names days ca`, and with a key.
pub(super) fn signed(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let key = if args.len() > 5 {
        given_key(args, 5)?
    } else {
        own_key(call)?
    };
    let field = |name: &str| match &args[4] {
        Value::Struct(body) => body
            .field(name)
            .map(crate::fmt::text_of)
            .unwrap_or_default(),
        _ => String::new(),
    };
    let block = der::decode(&field("Cert")).ok_or("unable to decode certificate")?;
    let (subject, key_id) = subject(&block.bytes)
        .ok_or("error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate")?;
    let signer =
        keys::parse(&field("Key")).map_err(|e| format!("error parsing private key: {e}"))?;
    let wanted = wanted(args)?;
    issue(
        call,
        &wanted,
        key,
        Some(Signer {
            subject,
            key_id,
            key: signer,
        }),
    )
}

/// `buildCustomCert certificate key`, both in base 64.
pub(super) fn custom(_: &mut Call<'_>, args: &[Value]) -> Answer {
    let decode = |at: usize, what: &str| {
        super::encode::decode64(&text(args, at))
            .map_err(|_| format!("unable to decode base64 {what}"))
    };
    let certificate = String::from_utf8_lossy(&decode(0, "certificate")?).into_owned();
    let key = String::from_utf8_lossy(&decode(1, "private key")?).into_owned();
    let block = der::decode(&certificate).ok_or("unable to decode certificate")?;
    if subject(&block.bytes).is_none() {
        return Err(
            "error parsing certificate: decodedCert.Bytes: x509: malformed certificate".into(),
        );
    }
    keys::parse(&key).map_err(|e| format!("error parsing private key: {e}"))?;
    Ok(value(certificate, key))
}

fn wanted(args: &[Value]) -> Result<Wanted, Fault> {
    let items = |at: usize| match &args[at] {
        Value::List(list) => list.items().to_vec(),
        _ => Vec::new(),
    };
    let mut addresses = Vec::new();
    for item in items(1) {
        let Value::String(address) = &item else {
            let shown = crate::fmt::text_of(&item);
            return Err(format!("error parsing ip: {shown} is not a string").into());
        };
        let address = address.lossy();
        addresses.push(
            address
                .parse()
                .map_err(|_| format!("error parsing ip: {address}"))?,
        );
    }
    let mut names = Vec::new();
    for item in items(2) {
        let Value::String(name) = &item else {
            let shown = crate::fmt::text_of(&item);
            return Err(
                format!("error processing alternate dns name: {shown} is not a string").into(),
            );
        };
        names.push(name.lossy().into_owned());
    }
    Ok(Wanted {
        name: text(args, 0).to_vec(),
        addresses,
        names,
        days: int(args, 3),
        authority: false,
    })
}

// Makes and signs a certificate; without a signer it signs itself.
fn issue(call: &mut Call<'_>, wanted: &Wanted, key: Key, signer: Option<Signer>) -> Answer {
    call.mark();
    let signing = signer.as_ref().map_or(&key, |s| &s.key);
    let unsupported =
        "error creating certificate: x509: only RSA, ECDSA and Ed25519 keys supported";
    let (public, bits) = key.public().ok_or(unsupported)?;
    let algorithm = signing.signature_algorithm().ok_or(unsupported)?;
    let subject = name(&wanted.name);
    let issuer = signer
        .as_ref()
        .map_or_else(|| subject.clone(), |s| s.subject.clone());
    let (now, _) = call.context().now;
    let until = now.saturating_add(wanted.days.saturating_mul(86400));
    let mut bound = BigUint::from(1u8);
    bound <<= 128u32;
    let serial = below(call, &bound);
    let key_id = if issuer == subject {
        None
    } else {
        signer.as_ref().and_then(|s| s.key_id.clone())
    };
    let body = der::sequence(&[
        element(0xa0, &der::small(2)),
        der::integer(&serial),
        algorithm.clone(),
        issuer,
        der::sequence(&[time(now), time(until)]),
        subject,
        public,
        element(0xa3, &extensions(wanted, &bits, key_id)),
    ]);
    let signature = signing.sign(call, &body).ok_or(unsupported)?;
    let whole = der::sequence(&[body, algorithm, der::bits(&signature)]);
    Ok(value(der::encode("CERTIFICATE", &whole), key.pem()))
}

fn name(common: &[u8]) -> Vec<u8> {
    if common.is_empty() {
        return der::sequence(&[]);
    }
    let printable = common
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(b));
    let text = element(if printable { 0x13 } else { 0x0c }, common);
    // 2.5.4.3: the common name.
    let part = der::sequence(&[element(OID, &[0x55, 4, 3]), text]);
    der::sequence(&[element(SET, &part)])
}

fn time(seconds: i64) -> Vec<u8> {
    let time = Time::utc(seconds, 0);
    if (1950..2050).contains(&time.civil().year) {
        element(0x17, layout::format(&time, "060102150405Z").as_bytes())
    } else {
        element(0x18, layout::format(&time, "20060102150405Z").as_bytes())
    }
}

fn extension(id: u8, critical: bool, content: &[u8]) -> Vec<u8> {
    let mut parts = vec![element(OID, &[0x55, 0x1d, id])];
    if critical {
        parts.push(vec![1, 1, 0xff]);
    }
    parts.push(element(OCTET_STRING, content));
    der::sequence(&parts)
}

fn extensions(wanted: &Wanted, public: &[u8], issuer_key: Option<Vec<u8>>) -> Vec<u8> {
    // Digital signature and key encipherment; an authority also signs certificates.
    let usage = if wanted.authority {
        [3, 2, 2, 0xa4]
    } else {
        [3, 2, 5, 0xa0]
    };
    let purpose = |last: u8| element(OID, &[0x2b, 6, 1, 5, 5, 7, 3, last]);
    let constraints = if wanted.authority {
        vec![1, 1, 0xff]
    } else {
        Vec::new()
    };
    let mut all = vec![
        extension(15, true, &usage),
        extension(37, false, &der::sequence(&[purpose(1), purpose(2)])),
        extension(19, true, &element(SEQUENCE, &constraints)),
    ];
    if wanted.authority {
        all.push(extension(
            14,
            false,
            &element(OCTET_STRING, &sha256_bytes(public)[..20]),
        ));
    }
    if let Some(id) = issuer_key {
        all.push(extension(35, false, &der::sequence(&[element(0x80, &id)])));
    }
    let mut names: Vec<Vec<u8>> = wanted
        .names
        .iter()
        .map(|name| element(0x82, name.as_bytes()))
        .collect();
    names.extend(wanted.addresses.iter().map(|address| match address {
        IpAddr::V4(four) => element(0x87, &four.octets()),
        IpAddr::V6(six) => element(0x87, &six.octets()),
    }));
    if !names.is_empty() {
        all.push(extension(
            17,
            wanted.name.is_empty(),
            &der::sequence(&names),
        ));
    }
    der::sequence(&all)
}

// The subject of a certificate and the id of its key; none when it is malformed.
fn subject(bytes: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let mut body = Reader(Reader(Reader(bytes).expect(SEQUENCE)?).expect(SEQUENCE)?);
    if body.0.first() == Some(&0xa0) {
        body.next()?;
    }
    body.integer()?;
    // Algorithm, issuer, validity.
    for _ in 0..3 {
        body.expect(SEQUENCE)?;
    }
    let subject = body
        .next()
        .filter(|found| found.tag == SEQUENCE)?
        .raw
        .to_vec();
    body.expect(SEQUENCE)?;
    let mut key_id = None;
    while let Some(found) = body.next() {
        if found.tag != 0xa3 {
            continue;
        }
        let mut list = Reader(Reader(found.content).expect(SEQUENCE)?);
        while let Some(entry) = list.expect(SEQUENCE) {
            let mut entry = Reader(entry);
            if entry.expect(OID)? == [0x55, 0x1d, 14] {
                let content = entry.next()?;
                key_id = Reader(content.content)
                    .expect(OCTET_STRING)
                    .map(<[u8]>::to_vec);
            }
        }
    }
    Some((subject, key_id))
}
