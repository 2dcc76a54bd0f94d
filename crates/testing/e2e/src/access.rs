//! What a kubeconfig says: where the server is, whom to trust, who we are.

use base64::Engine as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use std::sync::Arc;

/// The contents of a kubeconfig with a client certificate.
#[derive(Clone, Debug)]
pub struct Access {
    /// `https://host:port`.
    pub url: String,
    /// The authority to trust, PEM.
    pub ca_pem: String,
    /// The client's certificate, PEM.
    pub certificate_pem: String,
    /// The client's key, PEM.
    pub key_pem: String,
}

impl Access {
    /// Reads the text of a kubeconfig.
    pub fn read(kubeconfig: &str) -> Result<Self, String> {
        let config = yaml::parse(kubeconfig).map_err(|e| e.to_string())?;
        let text = |pointer: &str| {
            let found = config.pointer(pointer).and_then(Value::as_str);
            found.ok_or_else(|| format!("the kubeconfig has no {pointer}"))
        };
        let pem = |pointer: &str| -> Result<String, String> {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text(pointer)?)
                .map_err(|e| format!("{pointer}: {e}"))?;
            String::from_utf8(bytes).map_err(|e| format!("{pointer}: {e}"))
        };
        Ok(Self {
            url: text("/clusters/0/cluster/server")?.to_owned(),
            ca_pem: pem("/clusters/0/cluster/certificate-authority-data")?,
            certificate_pem: pem("/users/0/user/client-certificate-data")?,
            key_pem: pem("/users/0/user/client-key-data")?,
        })
    }

    /// `host:port`.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("https://")
    }

    /// TLS as this client; without its certificate when `anonymous`.
    pub(crate) fn tls(&self, identity: Identity) -> Result<ClientConfig, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.ca_pem.as_bytes()) {
            let certificate = certificate.map_err(|e| e.to_string())?;
            roots.add(certificate).map_err(|e| e.to_string())?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?
            .with_root_certificates(roots);
        if identity == Identity::Anonymous {
            return Ok(builder.with_no_client_auth());
        }
        let chain: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(self.certificate_pem.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes());
        builder
            .with_client_auth_cert(
                chain.map_err(|e| e.to_string())?,
                key.map_err(|e| e.to_string())?,
            )
            .map_err(|e| e.to_string())
    }
}

/// Who a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The owner of the kubeconfig's certificate.
    Certificate,
    /// Nobody, as far as TLS can tell.
    Anonymous,
}
