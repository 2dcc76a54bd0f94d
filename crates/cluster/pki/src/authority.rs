//! The cluster's certificate authority, and what it signs for servers and clients.

use crate::Fault;
use model::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use std::fmt;
use std::time::Duration;

const DAY: i64 = 86_400;
const YEAR: i64 = 365 * DAY;
/// Certificates are valid from this long before they are made, for clocks that run behind.
const LENIENCE: i64 = 3_600;

/// The names under which workloads and clients reach the API server.
const SERVER_NAMES: [&str; 8] = [
    "127.0.0.1",
    "::1",
    "10.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// A key and the certificate for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate, PEM.
    pub certificate_pem: String,
    /// The private key, PKCS#8 PEM.
    pub key_pem: String,
    /// The certificate, DER.
    pub certificate_der: Vec<u8>,
    /// The private key, PKCS#8 DER.
    pub key_der: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key stays out of logs.
        f.debug_struct("Pair")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

/// Signs the certificates of one cluster.
pub struct Authority {
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority, valid for ten years.
    pub fn new(now: Timestamp) -> Result<Self, Fault> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = authority_params(now);
        let certificate_pem = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        Ok(Self {
            certificate_pem,
            issuer,
        })
    }

    /// The authority that [`certificate_pem`](Self::certificate_pem) and [`key_pem`](Self::key_pem) were
    /// taken of.
    pub fn from_pem(certificate_pem: &str, key_pem: &str) -> Result<Self, Fault> {
        let key = KeyPair::from_pem(key_pem)?;
        if !key.is_compatible(&PKCS_ECDSA_P256_SHA256) {
            return Err(Fault::new("the authority's key is not an ECDSA P-256 key"));
        }
        let body = der_of(certificate_pem)?;
        let point = key.public_key_raw();
        if !body.windows(point.len()).any(|window| window == point) {
            return Err(Fault::new(
                "the authority's key is not that of its certificate",
            ));
        }
        Ok(Self {
            certificate_pem: certificate_pem.into(),
            // What is signed names its issuer alone, so the dates do not matter here.
            issuer: Issuer::new(authority_params(Timestamp::default()), key),
        })
    }

    /// The authority's certificate: what clients trust.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The authority's certificate, DER.
    pub fn certificate_der(&self) -> Result<Vec<u8>, Fault> {
        der_of(&self.certificate_pem)
    }

    /// The authority's private key, PKCS#8 PEM.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for the API server under its usual names, and `names` (hosts or addresses) besides;
    /// valid for a year.
    pub fn serving(&self, names: &[String], now: Timestamp) -> Result<Pair, Fault> {
        let mut all: Vec<String> = SERVER_NAMES.iter().map(|name| (*name).into()).collect();
        for name in names {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        let mut params = CertificateParams::new(all)?;
        params.distinguished_name = named("kube-apiserver", &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, now)
    }

    /// A certificate for a client: `user` as common name, `groups` as organizations (two at most); valid
    /// for a year.
    pub fn client(&self, user: &str, groups: &[&str], now: Timestamp) -> Result<Pair, Fault> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, now)
    }

    fn sign(&self, mut params: CertificateParams, now: Timestamp) -> Result<Pair, Fault> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.use_authority_key_identifier_extension = true;
        set_validity(&mut params, now, YEAR);
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Pair {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            certificate_der: certificate.der().to_vec(),
            key_der: key.serialize_der(),
        })
    }
}

fn authority_params(now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "kubernetes");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
        KeyUsagePurpose::KeyCertSign,
    ];
    set_validity(&mut params, now, 10 * YEAR);
    params
}

fn named(user: &str, groups: &[&str]) -> Result<DistinguishedName, Fault> {
    // A name holds each attribute once; the same one under its number makes room for a second.
    let slots = [
        DnType::OrganizationName,
        DnType::CustomDnType(vec![2, 5, 4, 10]),
    ];
    if groups.len() > slots.len() {
        return Err(Fault::new("a client certificate names two groups at most"));
    }
    let mut name = DistinguishedName::new();
    for (slot, group) in slots.into_iter().zip(groups) {
        name.push(slot, *group);
    }
    name.push(DnType::CommonName, user);
    Ok(name)
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, length: i64) {
    // Dates beyond what a certificate can say are cut off.
    let at = |seconds: i64| {
        let seconds = seconds.clamp(0, 250_000_000_000).unsigned_abs();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = at(now.seconds().saturating_sub(LENIENCE));
    params.not_after = at(now.seconds().saturating_add(length));
}

/// The bytes within a PEM block.
fn der_of(pem: &str) -> Result<Vec<u8>, Fault> {
    use base64::Engine;
    let body: String = pem
        .lines()
        .skip_while(|line| !line.starts_with("-----BEGIN "))
        .skip(1)
        .take_while(|line| !line.starts_with("-----END "))
        .map(str::trim)
        .collect();
    let decoded = base64::engine::general_purpose::STANDARD.decode(body);
    match decoded {
        Ok(bytes) if !bytes.is_empty() => Ok(bytes),
        _ => Err(Fault::new("not a PEM certificate")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject;

    fn now() -> Timestamp {
        Timestamp::parse("2026-11-15T19:57:10Z").unwrap()
    }

    #[test]
    fn an_authority_survives_its_pem() {
        let authority = Authority::new(now()).unwrap();
        let (certificate, key) = (authority.certificate_pem(), authority.key_pem());
        let again = Authority::from_pem(certificate, &key).unwrap();
        assert_eq!(again.certificate_pem(), certificate);
        assert_eq!(again.key_pem(), key);
        assert!(again.certificate_der().unwrap().len() > 200);
    }

    #[test]
    fn strangers_do_not_make_an_authority() {
        let one = Authority::new(now()).unwrap();
        let two = Authority::new(now()).unwrap();
        let fault = Authority::from_pem(one.certificate_pem(), &two.key_pem()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "the authority's key is not that of its certificate"
        );
        assert!(Authority::from_pem("", &one.key_pem()).is_err());
        assert!(Authority::from_pem(one.certificate_pem(), "nonsense").is_err());
    }

    #[test]
    fn clients_carry_their_groups() {
        let authority = Authority::new(now()).unwrap();
        let admin = authority
            .client("kubernetes-admin", &["system:masters", "second"], now())
            .unwrap();
        let subject = subject(&admin.certificate_der).unwrap();
        assert_eq!(subject.common_name, "kubernetes-admin");
        assert_eq!(subject.organizations, ["system:masters", "second"]);
        assert!(authority.client("a", &["1", "2", "3"], now()).is_err());
        assert!(!format!("{admin:?}").contains("PRIVATE"));
    }

    #[test]
    fn the_server_answers_to_its_names() {
        let authority = Authority::new(now()).unwrap();
        let server = authority
            .serving(&["sandbox.example".into()], now())
            .unwrap();
        let holds = |name: &[u8]| {
            server
                .certificate_der
                .windows(name.len())
                .any(|w| w == name)
        };
        assert!(holds(b"kubernetes.default.svc.cluster.local"));
        assert!(holds(b"sandbox.example"));
        assert!(holds(&[0x87, 4, 127, 0, 0, 1]));
        assert!(authority.serving(&["no name ü".into()], now()).is_err());
    }
}
