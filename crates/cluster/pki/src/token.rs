//! ServiceAccount tokens: JSON Web Tokens signed with ES256, and the documents by which others check
//! them.

use crate::Fault;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use model::{Value, json};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use std::fmt;

/// What precedes the point in the DER form of a P-256 public key.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Signs and checks ServiceAccount tokens.
pub struct TokenKey {
    key_pem: String,
    key: EcdsaKeyPair,
    /// The public point: 4, x, y.
    point: [u8; 65],
    id: String,
    random: SystemRandom,
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl TokenKey {
    /// A new key.
    pub fn generate() -> Result<Self, Fault> {
        Self::of(&KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?)
    }

    /// Reads a PKCS#8 PEM key, as [`key_pem`](Self::key_pem) gives it.
    pub fn from_pem(key_pem: &str) -> Result<Self, Fault> {
        Self::of(&KeyPair::from_pem(key_pem)?)
    }

    fn of(pair: &KeyPair) -> Result<Self, Fault> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pair.serialized_der(), &random)
            .map_err(|_| Fault::new("the token key is not an ECDSA P-256 key"))?;
        let point = <[u8; 65]>::try_from(pair.public_key_raw())
            .map_err(|_| Fault::new("the token key's public point is compressed"))?;
        let public = [PUBLIC_KEY_HEAD.as_slice(), &point].concat();
        Ok(Self {
            key_pem: pair.serialize_pem(),
            key,
            point,
            id: BASE64.encode(digest(&SHA256, &public)),
            random,
        })
    }

    /// The private key, PKCS#8 PEM.
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// The key's id in token headers: the hash of the public key.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What `/openid/v1/jwks` answers.
    pub fn jwks(&self) -> Value {
        let (x, y) = self.point[1..].split_at(32);
        json!({"keys": [{
            "use": "sig",
            "kty": "EC",
            "kid": self.id,
            "crv": "P-256",
            "alg": "ES256",
            "x": BASE64.encode(x),
            "y": BASE64.encode(y),
        }]})
    }
}

/// What `/.well-known/openid-configuration` answers; `server_url` is where the key document is read.
pub fn openid_configuration(issuer: &str, server_url: &str) -> Value {
    let server = server_url.trim_end_matches('/');
    json!({
        "issuer": issuer,
        "jwks_uri": format!("{server}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

/// Signs claims into a token.
pub fn sign_token(key: &TokenKey, claims: &Value) -> Result<String, Fault> {
    let header = json!({"alg": "ES256", "kid": key.id});
    let mut token = BASE64.encode(header.to_string());
    token.push('.');
    token.push_str(&BASE64.encode(claims.to_string()));
    let signature = key.key.sign(&key.random, token.as_bytes());
    let signature = signature.map_err(|_| Fault::new("the token could not be signed"))?;
    token.push('.');
    token.push_str(&BASE64.encode(signature));
    Ok(token)
}

/// The claims of a token that `key` signed. Whether they are still true (`exp`, `nbf`, `aud`, the
/// account itself) is the caller's question.
pub fn verify_token(key: &TokenKey, token: &str) -> Result<Value, String> {
    let malformed = || "token is not a JSON Web Token".to_owned();
    let json = |text: &str| -> Option<Value> {
        let bytes = BASE64.decode(text).ok()?;
        std::str::from_utf8(&bytes).ok()?.parse().ok()
    };
    let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
    let signature = BASE64.decode(signature).map_err(|_| malformed())?;
    let header = json(header).ok_or_else(malformed)?;
    if header.get("alg").and_then(Value::as_str) != Some("ES256") {
        return Err("token is signed with another algorithm than ES256".into());
    }
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &key.point)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| "token was not signed by this cluster".to_owned())?;
    json(claims).filter(Value::is_object).ok_or_else(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that a kube-apiserver was once started with, and a token it gave.
    fn known() -> (TokenKey, &'static str) {
        let body = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4Xp91RoWJRs3b13m\n\
                    mQ5N36YRsDrXSAQwXGDzN5vimHehRANCAARePZ11hG85vHqWtk+rbIDzImGgcFmJ\n\
                    CYygYvXpa1SEwwLr4/GhN5RxIaVeyeEBj/yYzuHQFgUwRevw3BO0LQq4";
        let edge = |word: &str| format!("-----{word} PRIVATE KEY-----");
        let pem = format!("{}\n{body}\n{}\n", edge("BEGIN"), edge("END"));
        let token = "eyJhbGciOiJFUzI1NiIsImtpZCI6IkpUVk4zTjlpcEtCT3B6dXQzVGo0TkowdlZBYThycEhteHR\
                     WUktuNXRSSVUifQ.eyJhdWQiOlsiaHR0cHM6Ly9rdWJlcm5ldGVzLmRlZmF1bHQuc3ZjIl0sImV4c\
                     CI6MTc5NDc4MzkxOSwiaWF0IjoxNzk0NzgwMzE5LCJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZG\
                     VmYXVsdC5zdmMiLCJqdGkiOiJlNzdhMzUyMy1kMWJkLTQyYWYtYTkzMC03YTZlZjk4NDQxYjIiLCJ\
                     rdWJlcm5ldGVzLmlvIjp7Im5hbWVzcGFjZSI6ImRlZmF1bHQiLCJzZXJ2aWNlYWNjb3VudCI6eyJu\
                     YW1lIjoiZCIsInVpZCI6IjUxMjg0NzZiLTIzYTEtNDRiNS04MmYwLTBmMGU2NDQwMzI5MyJ9fSwib\
                     mJmIjoxNzk0NzgwMzE5LCJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6ZGVmYXVsdDpkIn0.e9\
                     qt_Z-ImHuXx5teoSCeMy0ObA5xTIQxMb-vOHqnFwgnB-rXO426kG2G4io4WJd0e9fTZgAE6eLDs2b\
                     HzXpEIg";
        (TokenKey::from_pem(&pem).unwrap(), token)
    }

    #[test]
    fn the_real_server_s_token_is_ours() {
        let (key, token) = known();
        let claims = verify_token(&key, token).unwrap();
        assert_eq!(claims["sub"], "system:serviceaccount:default:d");
        let ours = sign_token(&key, &claims).unwrap();
        let unsigned = |token: &str| token.rsplit_once('.').unwrap().0.to_owned();
        assert_eq!(unsigned(&ours), unsigned(token));
    }

    #[test]
    fn tokens_carry_their_claims() {
        let key = TokenKey::generate().unwrap();
        let claims = json!({"sub": "system:serviceaccount:default:d", "exp": 1_794_783_919});
        let token = sign_token(&key, &claims).unwrap();
        assert_eq!(verify_token(&key, &token).unwrap(), claims);
        let again = TokenKey::from_pem(key.key_pem()).unwrap();
        assert_eq!(verify_token(&again, &token).unwrap(), claims);
        assert_eq!(again.id(), key.id());
    }

    #[test]
    fn forged_tokens_are_refused() {
        let (key, _) = known();
        let token = sign_token(&key, &json!({"sub": "a"})).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let other = BASE64.encode(r#"{"sub":"b"}"#);
        let none = BASE64.encode(r#"{"alg":"none"}"#);
        for (forged, message) in [
            ("x".into(), "token is not a JSON Web Token"),
            (parts[..2].join("."), "token is not a JSON Web Token"),
            (
                format!("{}.{other}.{}", parts[0], parts[2]),
                "token was not signed by this cluster",
            ),
            (
                format!("{none}.{}.", parts[1]),
                "token is signed with another algorithm than ES256",
            ),
        ] {
            assert_eq!(
                verify_token(&key, &forged).unwrap_err(),
                message,
                "{forged}"
            );
        }
        let stranger = TokenKey::generate().unwrap();
        assert!(verify_token(&stranger, &token).is_err());
    }

    #[test]
    fn documents_describe_the_key() {
        let (key, _) = known();
        assert_eq!(
            key.jwks().to_string(),
            concat!(
                r#"{"keys":[{"alg":"ES256","crv":"P-256","#,
                r#""kid":"JTVN3N9ipKBOpzut3Tj4NJ0vVAa8rpHmxtVRKn5tRIU","kty":"EC","use":"sig","#,
                r#""x":"Xj2ddYRvObx6lrZPq2yA8yJhoHBZiQmMoGL16WtUhMM","#,
                r#""y":"Auvj8aE3lHEhpV7J4QGP_JjO4dAWBTBF6_DcE7QtCrg"}]}"#
            )
        );
        assert_eq!(
            openid_configuration("https://kubernetes.default.svc", "https://127.0.0.1:6443/")["jwks_uri"],
            "https://127.0.0.1:6443/openid/v1/jwks"
        );
    }
}
