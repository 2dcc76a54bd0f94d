//! A proxy that lets connections through when it is shown who asks.

use crate::Outcome;
use base64::Engine as _;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A proxy for `CONNECT` and for plain requests.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    used: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
}

impl Proxy {
    /// Starts a proxy that knows one user.
    pub fn start(user: &str, password: &str) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|e| e.to_string())?;
        let port = listener.local_addr().map_err(|e| e.to_string())?.port();
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        let expected = format!("Proxy-Authorization: Basic {pair}");
        let used = Arc::new(AtomicUsize::new(0));
        let stopped = Arc::new(AtomicBool::new(false));
        let (counted, ends) = (Arc::clone(&used), Arc::clone(&stopped));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (expected, counted) = (expected.clone(), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let _ = serve(stream, &expected, &counted);
                });
            }
        });
        Ok(Self {
            port,
            used,
            stopped,
        })
    }

    /// Its host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// How many connections went through.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn serve(stream: TcpStream, expected: &str, used: &AtomicUsize) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let mut out = stream;
    if !lines.iter().any(|line| line == expected) {
        return out.write_all(b"HTTP/1.1 407 X\r\nContent-Length: 0\r\n\r\n");
    }
    used.fetch_add(1, Ordering::SeqCst);
    let first = lines.first().cloned().unwrap_or_default();
    let target = first.split_whitespace().nth(1).unwrap_or_default();
    let host = match target.strip_prefix("http://") {
        Some(rest) => rest.split('/').next().unwrap_or_default(),
        None => target,
    };
    let mut far = TcpStream::connect(host.replace("localhost", "127.0.0.1"))?;
    if first.starts_with("CONNECT") {
        out.write_all(b"HTTP/1.1 200 X\r\n\r\n")?;
    } else {
        far.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes())?;
    }
    let (mut back, mut near) = (far.try_clone()?, out.try_clone()?);
    let returning = std::thread::spawn(move || {
        let _ = io::copy(&mut back, &mut near);
        let _ = near.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut reader, &mut far);
    let _ = far.shutdown(Shutdown::Both);
    let _ = returning.join();
    Ok(())
}
