//! Calls webhooks over HTTPS, and words failures as Go's client does.

use crate::cluster::Cluster;
use admission::webhook::{Answer, Answers, Call, Target};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use model::{Value, meta};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The largest answer a webhook may give.
const ANSWER_MAX: usize = 16 << 20;

/// Makes calls at once and gathers what came of each.
pub(crate) async fn perform(cluster: &Cluster, calls: Vec<Call>) -> Answers {
    let tasks: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let cluster = cluster.clone();
            tokio::spawn(async move { (call.key.clone(), bounded(&cluster, &call).await) })
        })
        .collect();
    let mut answers = Answers::new();
    for task in tasks {
        if let Ok((key, answer)) = task.await {
            answers.insert(key, answer);
        }
    }
    answers
}

async fn bounded(cluster: &Cluster, call: &Call) -> Answer {
    let limit = Duration::from_secs(u64::from(call.timeout_seconds.max(1)));
    match tokio::time::timeout(limit, ask(cluster, call)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(why)) => Answer::Unreachable(why),
        Err(_) => Answer::Unreachable("context deadline exceeded".into()),
    }
}

struct Place {
    /// What the certificate must be for.
    host: String,
    /// Where to dial.
    dial: String,
    path: String,
}

fn place(cluster: &Cluster, call: &Call) -> Result<Place, String> {
    match &call.target {
        Target::Url(_) => {
            let url: http::Uri = call
                .url()
                .parse()
                .map_err(|e| format!("invalid URL: {e}"))?;
            let host = url.host().ok_or("the URL names no host")?.to_owned();
            let dial = format!("{host}:{}", url.port_u16().unwrap_or(443));
            let path = url.path_and_query().map_or("/", |p| p.as_str()).to_owned();
            Ok(Place {
                host: host.trim_matches(['[', ']']).to_owned(),
                dial,
                path,
            })
        }
        Target::Service {
            namespace,
            name,
            path,
            port,
        } => {
            let dial = endpoint(cluster, namespace, name, *port)?;
            let path = format!("{path}?timeout={}s", call.timeout_seconds);
            let path = if path.starts_with('/') {
                path
            } else {
                format!("/{path}")
            };
            Ok(Place {
                host: format!("{name}.{namespace}.svc"),
                dial,
                path,
            })
        }
    }
}

// There is no cluster network to route a Service's address: its endpoints are dialled directly.
fn endpoint(cluster: &Cluster, namespace: &str, name: &str, port: u16) -> Result<String, String> {
    let state = cluster.shared.read();
    let service = state
        .registry
        .find("", "v1", "services")
        .and_then(|kind| state.get(kind, namespace, name))
        .ok_or_else(|| format!("service {name:?} not found"))?;
    let target = meta::entries(&service, "/spec/ports").find(|p| p["port"] == u64::from(port));
    let target =
        target.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let port_name = target["name"].as_str().unwrap_or("").to_owned();
    let slices = state
        .registry
        .find("discovery.k8s.io", "v1", "endpointslices");
    let slices = slices
        .map(|kind| state.list(kind, Some(namespace)))
        .unwrap_or_default();
    let own = slices
        .iter()
        .filter(|s| meta::label(s, "kubernetes.io/service-name") == Some(name));
    for slice in own {
        let ports = meta::entries(slice, "/ports");
        let port = ports
            .filter(|p| p["name"].as_str().unwrap_or("") == port_name)
            .find_map(|p| p["port"].as_u64());
        let ready = meta::entries(slice, "/endpoints")
            .find(|e| e.pointer("/conditions/ready") != Some(&Value::Bool(false)));
        let address = ready
            .and_then(|e| e.pointer("/addresses/0"))
            .and_then(Value::as_str);
        if let (Some(address), Some(port)) = (address, port) {
            return Ok(format!("{address}:{port}"));
        }
    }
    Err(format!("no endpoints available for service {name:?}"))
}

async fn ask(cluster: &Cluster, call: &Call) -> Result<Answer, String> {
    let place = place(cluster, call)?;
    let stream = TcpStream::connect(&place.dial)
        .await
        .map_err(|e| format!("dial tcp {}: {}", place.dial, connect_words(&e)))?;
    let name = ServerName::try_from(place.host.clone()).map_err(|e| e.to_string())?;
    let tls = TlsConnector::from(Arc::new(client_config(&call.ca_bundle)?));
    let stream = tls.connect(name, stream).await.map_err(|e| tls_words(&e))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    let driver = tokio::spawn(connection);
    let request = Request::post(&place.path)
        .header("host", &place.host)
        .header("content-type", "application/json")
        .header("accept", "application/json, */*")
        .header("user-agent", "kube-apiserver-admission")
        .body(Full::new(Bytes::from(call.body.to_string())))
        .map_err(|e| e.to_string())?;
    let response = sender
        .send_request(request)
        .await
        .map_err(|_| "EOF".to_owned())?;
    let status = response.status().as_u16();
    let text_type = response
        .headers()
        .get("content-type")
        .is_some_and(|v| v.as_bytes().starts_with(b"text/"));
    let body = Limited::new(response.into_body(), ANSWER_MAX)
        .collect()
        .await;
    driver.abort();
    let body = body.map_err(|e| e.to_string())?.to_bytes();
    let text = String::from_utf8_lossy(&body);
    if !(200..300).contains(&status) {
        let shown = if text_type {
            text.into_owned()
        } else {
            String::new()
        };
        return Ok(Answer::Status(status, shown));
    }
    Ok(match text.parse::<Value>() {
        Ok(body) => Answer::Body(body),
        Err(why) => Answer::Garbled(why.to_string()),
    })
}

fn client_config(ca_bundle: &str) -> Result<rustls::ClientConfig, String> {
    let mut roots = rustls::RootCertStore::empty();
    let pem = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, ca_bundle)
        .map_err(|e| e.to_string())?;
    for certificate in CertificateDer::pem_slice_iter(&pem).flatten() {
        roots.add(certificate).map_err(|e| e.to_string())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn connect_words(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        ErrorKind::TimedOut => "i/o timeout".into(),
        ErrorKind::HostUnreachable => "connect: no route to host".into(),
        ErrorKind::NetworkUnreachable => "connect: network is unreachable".into(),
        _ => error.to_string(),
    }
}

fn tls_words(error: &std::io::Error) -> String {
    use rustls::CertificateError as Why;
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    let words = match inner {
        Some(rustls::Error::InvalidCertificate(why)) => match why {
            Why::UnknownIssuer => "x509: certificate signed by unknown authority".to_owned(),
            Why::Expired | Why::ExpiredContext { .. } => {
                "x509: certificate has expired or is not yet valid".to_owned()
            }
            Why::NotValidForName | Why::NotValidForNameContext { .. } => {
                "x509: certificate is not valid for the name it was asked for".to_owned()
            }
            other => format!("x509: {other}"),
        },
        _ => return error.to_string(),
    };
    format!("tls: failed to verify certificate: {words}")
}
