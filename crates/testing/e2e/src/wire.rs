//! A TLS connection to the server on which a test writes bytes of its own.

use crate::access::{Access, Identity};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An open connection.
#[derive(Debug)]
pub struct Wire {
    stream: StreamOwned<ClientConnection, TcpStream>,
}

impl Wire {
    /// Connects with the kubeconfig's client certificate.
    pub fn open(access: &Access) -> io::Result<Self> {
        Self::connect(access, Identity::Certificate)
    }

    /// Connects without a client certificate.
    pub fn open_anonymous(access: &Access) -> io::Result<Self> {
        Self::connect(access, Identity::Anonymous)
    }

    fn connect(access: &Access, identity: Identity) -> io::Result<Self> {
        let socket = TcpStream::connect(access.address())?;
        socket.set_nodelay(true)?;
        let tls = access.tls(identity).map_err(io::Error::other)?;
        let host = access.address().rsplit_once(':').map_or("", |(h, _)| h);
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut tls = ClientConnection::new(Arc::new(tls), name).map_err(io::Error::other)?;
        let mut socket = socket;
        while tls.is_handshaking() {
            tls.complete_io(&mut socket)?;
        }
        Ok(Self {
            stream: StreamOwned::new(tls, socket),
        })
    }

    /// Writes bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }

    /// Reads what comes next; `None` at the end of the stream, an error of kind `WouldBlock` or
    /// `TimedOut` when nothing came in time.
    pub fn receive(&mut self, within: Duration) -> io::Result<Option<Vec<u8>>> {
        let within = within.max(Duration::from_millis(1));
        self.stream.sock.set_read_timeout(Some(within))?;
        let mut buffer = vec![0; 64 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => Ok(None),
            Ok(read) => {
                buffer.truncate(read);
                Ok(Some(buffer))
            }
            // Hung up without a farewell.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Everything until the server hangs up or the time is over, and whether it hung up.
    pub fn receive_all(&mut self, within: Duration) -> (Vec<u8>, bool) {
        let until = Instant::now() + within;
        let mut all = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (all, false);
            }
            match self.receive(left) {
                Ok(Some(part)) => all.extend(part),
                Ok(None) => return (all, true),
                Err(_) => return (all, false),
            }
        }
    }
}
