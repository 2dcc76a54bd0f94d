//! The file that tells kubectl where a cluster is and who one is to it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// What a client shows to be let in.
#[derive(Clone, Copy)]
pub enum Credentials<'a> {
    /// A client certificate and its key, both PEM.
    Certificate {
        /// The certificate.
        certificate_pem: &'a str,
        /// Its private key.
        key_pem: &'a str,
    },
    /// A bearer token.
    Token(&'a str),
}

/// A kubeconfig of one cluster, one user and one context, all called `name`. It holds secrets: write it
/// readable by its owner only.
pub fn kubeconfig(server_url: &str, ca_pem: &str, credentials: Credentials, name: &str) -> String {
    let name = scalar(name);
    let server = scalar(server_url);
    let ca = BASE64.encode(ca_pem);
    let user = match credentials {
        Credentials::Certificate {
            certificate_pem,
            key_pem,
        } => format!(
            "    client-certificate-data: {}\n    client-key-data: {}\n",
            BASE64.encode(certificate_pem),
            BASE64.encode(key_pem),
        ),
        Credentials::Token(token) => format!("    token: {}\n", scalar(token)),
    };
    format!(
        "apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {ca}
    server: {server}
  name: {name}
contexts:
- context:
    cluster: {name}
    user: {name}
  name: {name}
current-context: {name}
kind: Config
users:
- name: {name}
  user:
{user}"
    )
}

/// A YAML scalar: bare where nothing in it could be misread, quoted as JSON otherwise.
fn scalar(text: &str) -> String {
    let bare =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '@');
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(bare)
        && !text.ends_with(':')
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if plain {
        text.into()
    } else {
        model::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_and_tokens_are_written_as_kubectl_does() {
        let certificate = Credentials::Certificate {
            certificate_pem: "crt",
            key_pem: "key",
        };
        assert_eq!(
            kubeconfig("https://127.0.0.1:6443", "ca", certificate, "tiphys"),
            "apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://127.0.0.1:6443
  name: tiphys
contexts:
- context:
    cluster: tiphys
    user: tiphys
  name: tiphys
current-context: tiphys
kind: Config
users:
- name: tiphys
  user:
    client-certificate-data: Y3J0
    client-key-data: a2V5
"
        );
        let token = kubeconfig("https://[::1]:1", "ca", Credentials::Token("0abc"), "no");
        assert!(
            token.contains("    server: \"https://[::1]:1\"\n"),
            "{token}"
        );
        assert!(token.contains("current-context: \"no\"\n"), "{token}");
        assert!(token.ends_with("    token: \"0abc\"\n"), "{token}");
    }
}
