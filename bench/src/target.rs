//! Reads a kubeconfig: which server, whom to trust, who we are.
//!
//! Understands what generated kubeconfigs look like: one cluster, one user, one value per line
//! (or the same as JSON). Paths are relative to the file.

use crate::error::BenchError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// A server, ready to be talked to.
#[derive(Clone)]
pub(crate) struct Target {
    /// Host and port, as in the `Host` header.
    pub(crate) authority: String,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
    /// The whole `Authorization` header line, or nothing.
    pub(crate) authorization: String,
}

impl Target {
    /// The one server and user of a kubeconfig.
    pub(crate) fn from_kubeconfig(path: &Path) -> Result<Self, BenchError> {
        let text = read(path)?;
        let text = String::from_utf8(text)
            .map_err(|_| BenchError::config(format!("`{}` is not text", path.display())))?;
        let values = scalars(&text)?;
        let near = path.parent().unwrap_or(Path::new("."));
        let pem = |name: &str| pem(&values, name, near);
        let identity = match (pem("client-certificate")?, pem("client-key")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => None,
        };
        let server = values.get("server");
        let server = server.ok_or_else(|| BenchError::config("the kubeconfig names no server"))?;
        let token = values.get("token").map(String::as_str);
        Self::new(server, token, pem("certificate-authority")?, identity)
    }

    /// A server by its address.
    pub(crate) fn from_parts(
        server: &str,
        token: Option<&str>,
        ca: Option<&Path>,
    ) -> Result<Self, BenchError> {
        Self::new(server, token, ca.map(read).transpose()?, None)
    }

    fn new(
        server: &str,
        token: Option<&str>,
        ca: Option<Vec<u8>>,
        identity: Option<(Vec<u8>, Vec<u8>)>,
    ) -> Result<Self, BenchError> {
        let (authority, host) = loopback(server)?;
        let fault = |what: &str| BenchError::config(format!("{what} for `{server}` is not usable"));
        let mut roots = RootCertStore::empty();
        let ca = ca.ok_or_else(|| BenchError::config("there is no certificate authority"))?;
        for certificate in certificates(&ca).map_err(|()| fault("the certificate authority"))? {
            roots
                .add(certificate)
                .map_err(|_| fault("the certificate authority"))?;
        }
        let builder =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(|_| fault("TLS"))?
                .with_root_certificates(roots);
        let mut tls = match identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(&certificate).map_err(|()| fault("the certificate"))?;
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| fault("the key"))?;
                builder
                    .with_client_auth_cert(chain, key)
                    .map_err(|_| fault("the certificate"))?
            }
        };
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            authority,
            tls: Arc::new(tls),
            name: ServerName::try_from(host).map_err(|_| fault("the name"))?,
            authorization: token.map_or_else(String::new, |token| {
                format!("Authorization: Bearer {token}\r\n")
            }),
        })
    }
}

/// Host with port and host alone of an address on this machine; others are refused.
fn loopback(server: &str) -> Result<(String, String), BenchError> {
    let authority = server
        .strip_prefix("https://")
        .map(|rest| rest.trim_end_matches('/'));
    let parts = authority.and_then(|authority| authority.rsplit_once(':'));
    let (host, port) = parts.ok_or_else(|| {
        BenchError::config(format!("`{server}` is not of the form https://host:port"))
    })?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let local = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    if !local || port.parse::<u16>().is_err() {
        return Err(BenchError::config(format!(
            "`{server}` is not on this machine; load is put on local servers only"
        )));
    }
    Ok((authority.unwrap_or_default().to_owned(), host.to_owned()))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ()> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(())
}

/// What stands under `name-data`, or in the file that `name` names.
fn pem(
    values: &BTreeMap<String, String>,
    name: &str,
    near: &Path,
) -> Result<Option<Vec<u8>>, BenchError> {
    if let Some(data) = values.get(&format!("{name}-data")) {
        let bytes = STANDARD.decode(data);
        let fault = |_| BenchError::config(format!("`{name}-data` is not base64"));
        return bytes.map(Some).map_err(fault);
    }
    values
        .get(name)
        .map(|path| read(&near.join(path)))
        .transpose()
}

fn read(path: &Path) -> Result<Vec<u8>, BenchError> {
    std::fs::read(path).map_err(|source| BenchError::File {
        path: path.to_owned(),
        source,
    })
}

/// All `key: value` pairs of a kubeconfig, wherever they stand.
fn scalars(text: &str) -> Result<BTreeMap<String, String>, BenchError> {
    const WANTED: [&str; 8] = [
        "server",
        "token",
        "certificate-authority",
        "certificate-authority-data",
        "client-certificate",
        "client-certificate-data",
        "client-key",
        "client-key-data",
    ];
    let mut found = BTreeMap::new();
    // JSON becomes lines of the same form.
    let lines = if text.trim_start().starts_with('{') {
        text.replace([',', '{', '}', '[', ']'], "\n")
    } else {
        text.to_owned()
    };
    for line in lines.lines() {
        let line = line.trim().trim_start_matches("- ");
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        let (key, value) = (plain(key), plain(value));
        if !WANTED.contains(&key.as_str()) || value.is_empty() {
            continue;
        }
        if found
            .insert(key.clone(), value.clone())
            .is_some_and(|old| old != value)
        {
            return Err(BenchError::config(format!(
                "the kubeconfig has several values for `{key}`; use one with one cluster and one user"
            )));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str) {
        let found = match scalars(text) {
            Ok(found) => {
                let pairs = found.iter().map(|(key, value)| format!("{key}={value}"));
                pairs.collect::<Vec<_>>().join(" ")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn values_are_found_in_yaml_and_json() {
        check(
            "clusters:\n- cluster:\n    certificate-authority-data: QUJD\n    server: https://127.0.0.1:6443\n  name: a\nusers:\n- name: a\n  user:\n    token: \"t0k\"\n",
            "certificate-authority-data=QUJD server=https://127.0.0.1:6443 token=t0k",
        );
        check(
            r#"{"clusters":[{"cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"user":{"token":"a"}}]}"#,
            "server=https://127.0.0.1:1 token=a",
        );
    }

    #[test]
    fn two_clusters_are_one_too_many() {
        check(
            "- cluster:\n    server: https://127.0.0.1:1\n- cluster:\n    server: https://127.0.0.1:2\n",
            "the kubeconfig has several values for `server`; use one with one cluster and one user",
        );
    }

    #[test]
    fn only_this_machine_is_loaded() {
        let host = |server| {
            loopback(server)
                .map(|(_, host)| host)
                .map_err(|e| e.to_string())
        };
        assert_eq!(host("https://127.0.0.1:6443"), Ok("127.0.0.1".to_owned()));
        assert_eq!(host("https://[::1]:6443/"), Ok("::1".to_owned()));
        assert_eq!(host("https://localhost:6443"), Ok("localhost".to_owned()));
        for other in [
            "https://example.com:443",
            "https://10.0.0.1:6443",
            "https://127.0.0.1",
        ] {
            assert!(host(other).is_err(), "{other}");
        }
    }
}
