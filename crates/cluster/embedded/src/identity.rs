//! Who the cluster is: its authority, its token key, its administrator.

use crate::error::StartError;
use model::Timestamp;
use pki::{Authority, Pair, TokenKey};
use std::sync::Arc;
use store::Disk;

/// Keys and certificates of one cluster. Kept with its data, so that a kubeconfig written once
/// stays good.
#[derive(Debug)]
pub struct Identity {
    authority: Authority,
    pub(crate) tokens: Arc<TokenKey>,
}

const AUTHORITY_CERTIFICATE: &str = "authority.crt";
const AUTHORITY_KEY: &str = "authority.key";
const TOKEN_KEY: &str = "service-account.key";

fn fault(error: impl std::fmt::Display) -> StartError {
    StartError::Identity(error.to_string())
}

impl Identity {
    /// A new identity.
    pub(crate) fn new(now: Timestamp) -> Result<Self, StartError> {
        let authority = Authority::new(now).map_err(fault)?;
        let tokens = Arc::new(TokenKey::generate().map_err(fault)?);
        Ok(Self { authority, tokens })
    }

    /// The identity that is kept with a cluster's data, made on the first start.
    pub(crate) fn kept(disk: &Disk, now: Timestamp) -> Result<Self, StartError> {
        let text = |name: &str| -> Result<Option<String>, StartError> {
            let bytes = disk.get_meta(name)?;
            Ok(bytes.and_then(|b| String::from_utf8(b).ok()))
        };
        let kept = (
            text(AUTHORITY_CERTIFICATE)?,
            text(AUTHORITY_KEY)?,
            text(TOKEN_KEY)?,
        );
        if let (Some(certificate), Some(key), Some(tokens)) = kept {
            let authority = Authority::from_pem(&certificate, &key).map_err(fault)?;
            let tokens = Arc::new(TokenKey::from_pem(&tokens).map_err(fault)?);
            return Ok(Self { authority, tokens });
        }
        let fresh = Self::new(now)?;
        disk.put_meta(
            AUTHORITY_CERTIFICATE,
            fresh.authority.certificate_pem().as_bytes(),
        )?;
        disk.put_meta(AUTHORITY_KEY, fresh.authority.key_pem().as_bytes())?;
        disk.put_meta(TOKEN_KEY, fresh.tokens.key_pem().as_bytes())?;
        Ok(fresh)
    }

    /// The certificate that clients trust, PEM.
    pub fn ca(&self) -> &str {
        self.authority.certificate_pem()
    }

    pub(crate) fn ca_der(&self) -> Result<Vec<u8>, StartError> {
        self.authority.certificate_der().map_err(fault)
    }

    pub(crate) fn serving(&self, host: &str, now: Timestamp) -> Result<Pair, StartError> {
        self.authority
            .serving(&[host.to_owned()], now)
            .map_err(fault)
    }

    /// A kubeconfig for the administrator.
    pub fn kubeconfig(&self, url: &str, now: Timestamp) -> Result<String, StartError> {
        let admin = self
            .authority
            .client("kubernetes-admin", &["system:masters"], now)
            .map_err(fault)?;
        let credentials = pki::Credentials::Certificate {
            certificate_pem: &admin.certificate_pem,
            key_pem: &admin.key_pem,
        };
        Ok(pki::kubeconfig(
            url,
            self.ca(),
            credentials,
            "tiphys-sandbox",
        ))
    }
}
