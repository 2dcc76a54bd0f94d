//! The certificates and keys one control plane needs, made fresh for each.

use crate::{RealError, io_error};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::path::Path;

/// Writes `ca.crt`, `server.{crt,key}` and `sa.{pub,key}` into a folder; gives the authority's
/// certificate.
pub(crate) fn write(folder: &Path) -> Result<String, RealError> {
    let ca_key = KeyPair::generate().map_err(bad)?;
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    authority
        .distinguished_name
        .push(DnType::CommonName, "realkube");
    let ca_pem = authority.self_signed(&ca_key).map_err(bad)?.pem();
    let issuer = Issuer::new(authority, ca_key);

    let names = [
        "127.0.0.1",
        "localhost",
        "10.0.0.1",
        "kubernetes.default.svc",
    ];
    let names: Vec<String> = names.map(str::to_owned).into();
    let mut server = CertificateParams::new(names).map_err(bad)?;
    server
        .distinguished_name
        .push(DnType::CommonName, "kube-apiserver");
    let server_key = KeyPair::generate().map_err(bad)?;
    let server = server.signed_by(&server_key, &issuer).map_err(bad)?;

    let account_key = KeyPair::generate().map_err(bad)?;
    let files = [
        ("ca.crt", ca_pem.clone()),
        ("server.crt", server.pem()),
        ("server.key", server_key.serialize_pem()),
        ("sa.key", account_key.serialize_pem()),
        ("sa.pub", account_key.public_key_pem()),
    ];
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(io_error(format!("write `{}`", path.display())))?;
    }
    Ok(ca_pem)
}

fn bad(error: rcgen::Error) -> RealError {
    RealError::Certificate(error.to_string())
}
