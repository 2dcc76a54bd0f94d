//! Secure connections: whom we trust, and what we show.

use super::Operation;
use super::connect::{Timed, kept};
use crate::{GitError, Stage};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::sync::{Arc, OnceLock};

/// A secure connection over a socket.
pub(crate) type Secure = rustls::StreamOwned<ClientConnection, Timed>;

/// Secures a connection to a host.
pub(crate) fn secure(
    operation: &Arc<Operation>,
    host: &str,
    mut socket: Timed,
) -> Result<Secure, GitError> {
    let broken = |says: String| operation.unreachable(host, Stage::Tls, says);
    let config = config(operation).map_err(broken)?;
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        broken(format!(
            "`{host}` is not a name that a certificate can carry"
        ))
    })?;
    let mut connection = ClientConnection::new(config, name).map_err(|e| broken(e.to_string()))?;
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut socket) {
            if operation.failure().is_some() {
                return Err(kept(operation));
            }
            return Err(broken(words(&error)));
        }
    }
    Ok(Secure::new(connection, socket))
}

// What the TLS layer found, in words that say what to do about it.
fn words(error: &std::io::Error) -> String {
    use rustls::CertificateError as Bad;
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(Bad::UnknownIssuer)) => {
            "the certificate of the host is signed by an authority we do not trust".into()
        }
        Some(rustls::Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. })) => {
            "the certificate of the host has expired".into()
        }
        Some(rustls::Error::InvalidCertificate(
            Bad::NotValidForName | Bad::NotValidForNameContext { .. },
        )) => "the certificate of the host is for another name".into(),
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    static PROVIDER: OnceLock<Arc<rustls::crypto::CryptoProvider>> = OnceLock::new();
    Arc::clone(PROVIDER.get_or_init(|| Arc::new(rustls::crypto::ring::default_provider())))
}

fn config(operation: &Operation) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let builder = if operation.access.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider())))
    } else {
        builder.with_root_certificates(roots(operation)?)
    };
    let credential = &operation.access.credential;
    let config = if credential.client_certificate.is_empty() {
        builder.with_no_client_auth()
    } else {
        let chain = certificates(&credential.client_certificate, "the client certificate")?;
        let key = PrivateKeyDer::from_pem_slice(credential.client_key.reveal().as_bytes())
            .map_err(|e| format!("the key of the client certificate could not be read: {e}"))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|e| format!("the client certificate could not be used: {e}"))?
    };
    Ok(Arc::new(config))
}

// The authorities given for this host replace those of the system.
fn roots(operation: &Operation) -> Result<Arc<RootCertStore>, String> {
    let Some(pem) = &operation.access.certificates else {
        return Ok(system_roots());
    };
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem, "the certificate authority")? {
        store
            .add(certificate)
            .map_err(|e| format!("the certificate authority could not be used: {e}"))?;
    }
    Ok(Arc::new(store))
}

fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    Arc::clone(ROOTS.get_or_init(|| {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Arc::new(store)
    }))
}

fn certificates(pem: &str, what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|e| format!("{what} could not be read: {e}"))?;
    if all.is_empty() {
        return Err(format!("{what} holds no certificate"));
    }
    Ok(all)
}

// Takes any certificate, for repositories marked `insecure`; signatures are still checked.
#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
