//! A tiny admission webhook server on loopback; it also serves what else an API server asks for.
//!
//! Takes a function from path and AdmissionReview (nothing for a request without a body) to the
//! answer; gives an address and the
//! certificate an API server needs to call it. Stops when dropped.

use crate::wire;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// What the webhook answers to a review that came in on a path; nothing is answered with 404.
pub type Answer = dyn Fn(&str, &Value) -> Value + Send + Sync;

/// A running webhook server.
#[derive(Debug)]
pub struct Webhook {
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// The certificate to trust, PEM.
    pub ca_pem: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Webhook {
    /// Starts serving on a free port.
    pub fn start(answer: Box<Answer>) -> io::Result<Self> {
        let (config, ca_pem) = identity()?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("https://{}", listener.local_addr()?);
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, answer) = (Arc::clone(&stop), Arc::from(answer));
        let serve = move || accept(&listener, &config, &answer, &stopped);
        let thread = std::thread::Builder::new()
            .name("webhook".into())
            .spawn(serve)?;
        Ok(Self {
            url,
            ca_pem,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.url.trim_start_matches("https://"));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn identity() -> io::Result<(Arc<ServerConfig>, String)> {
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    let pem = made.cert.pem();
    let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(io::Error::other)?;
    let key = made.signing_key.serialize_pem();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(io::Error::other)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(io::Error::other)?;
    Ok((Arc::new(config), pem))
}

fn accept(
    listener: &TcpListener,
    config: &Arc<ServerConfig>,
    answer: &Arc<Answer>,
    stop: &AtomicBool,
) {
    while let Ok((socket, _)) = listener.accept() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let (config, answer) = (Arc::clone(config), Arc::clone(answer));
        std::thread::spawn(move || {
            // A caller that hangs up is its own affair.
            let _ = converse(socket, config, &*answer);
        });
    }
}

fn converse(socket: TcpStream, config: Arc<ServerConfig>, answer: &Answer) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    wire::limit(&socket, until)?;
    let tls = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(tls, socket);
    let (path, body) = wire::read_request(&mut stream, until)?;
    let review: Value = if body.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&body)?
    };
    let answer = answer(&path, &review);
    let status = if answer.is_null() {
        "404 Not Found"
    } else {
        "200 OK"
    };
    let body = answer.to_string();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, Request};
    use serde_json::json;

    #[test]
    fn answers_reviews_over_tls() {
        let hook = Webhook::start(Box::new(|path, review| json!([path, review]))).unwrap();
        let client = Client::new(&hook.url, &hook.ca_pem, None).unwrap();
        for _ in 0..3 {
            let request = Request::new("POST", "/deny").json(&json!({"a": 1}));
            let answer = client.send(&request).unwrap();
            assert_eq!(answer.status, 200);
            assert_eq!(answer.json(), Some(json!(["/deny", {"a": 1}])));
        }
    }
}
