//! Whom we trust, and how we show who we are.

use crate::{ChartsError, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, ring::default_provider, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// The settings of connections to a repository.
pub(crate) fn config(tls: &Tls, url: &str) -> Result<Arc<ClientConfig>, ChartsError> {
    let fault = |why: String| ChartsError::Address {
        url: url.to_owned(),
        why,
    };
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(error.to_string()))?;
    let builder = if tls.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
    } else {
        builder.with_root_certificates(roots(tls).map_err(fault)?)
    };
    let config = if tls.certificate.is_empty() {
        builder.with_no_client_auth()
    } else {
        let chain = certificates(&tls.certificate).map_err(fault)?;
        let key = PrivateKeyDer::from_pem_slice(tls.key.0.as_bytes())
            .map_err(|error| fault(format!("the client's key: {error}")))?;
        builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| fault(format!("the client's certificate: {error}")))?
    };
    Ok(Arc::new(config))
}

fn roots(tls: &Tls) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    if tls.ca.is_empty() {
        let native = rustls_native_certs::load_native_certs();
        store.add_parsable_certificates(native.certs);
    } else {
        for certificate in certificates(&tls.ca)? {
            store
                .add(certificate)
                .map_err(|error| format!("the authority: {error}"))?;
        }
    }
    Ok(store)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("a certificate: {error}"))
}

// Trusts every server; only with `insecure`.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
