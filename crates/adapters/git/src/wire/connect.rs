//! Sockets that do not wait for ever: host names, connections, reads and writes.

use super::Operation;
use crate::{GitError, Stage, Step};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc;

/// A socket whose every wait is bounded by the limits of its operation.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: TcpStream,
    operation: Arc<Operation>,
}

/// Looks the host up and connects to the first of its addresses that answers.
pub(crate) fn tcp(operation: &Arc<Operation>, host: &str, port: u16) -> Result<Timed, GitError> {
    let shown = format!("{host}:{port}");
    let addresses = lookup(operation, host, port)?;
    let mut last = None;
    for address in &addresses {
        let patience = operation
            .patience(operation.timeouts.connect)
            .map_err(|_| kept(operation))?;
        match TcpStream::connect_timeout(address, patience) {
            Ok(stream) => {
                // Small requests should not wait for each other; a failure costs only speed.
                let _ = stream.set_nodelay(true);
                return Ok(Timed {
                    stream,
                    operation: Arc::clone(operation),
                });
            }
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if error.kind() == ErrorKind::TimedOut => {
            operation.timed_out(Step::Connect);
            Err(kept(operation))
        }
        Some(error) => Err(operation.unreachable(&shown, Stage::Tcp, error)),
        None => Err(operation.unreachable(&shown, Stage::Dns, "the host has no address")),
    }
}

/// The addresses of a host. The system's resolver cannot be hurried, so a thread waits for it.
fn lookup(operation: &Operation, host: &str, port: u16) -> Result<Vec<SocketAddr>, GitError> {
    let (sender, receiver) = mpsc::channel();
    let name = host.to_owned();
    std::thread::spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs();
        // Nobody listens any more when time ran out.
        let _ = sender.send(found.map(Iterator::collect::<Vec<_>>));
    });
    let patience = operation
        .patience(operation.timeouts.connect)
        .map_err(|_| kept(operation))?;
    match receiver.recv_timeout(patience) {
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(operation.unreachable(&format!("{host}:{port}"), Stage::Dns, error)),
        Err(_) => {
            operation.timed_out(Step::Resolve);
            Err(kept(operation))
        }
    }
}

/// The failure that was just kept in the operation.
pub(crate) fn kept(operation: &Operation) -> GitError {
    operation.failure().unwrap_or_else(|| GitError::Protocol {
        url: operation.url.to_string(),
        says: "it failed without saying why".into(),
    })
}

impl Timed {
    /// A second handle on the same socket.
    pub(crate) fn second(&self) -> io::Result<Self> {
        Ok(Self {
            stream: self.stream.try_clone()?,
            operation: Arc::clone(&self.operation),
        })
    }

    fn late(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.operation.timed_out(Step::Answer),
            _ => error,
        }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let patience = self.operation.patience(self.operation.timeouts.idle)?;
        self.stream.set_read_timeout(Some(patience))?;
        let count = self.stream.read(buffer).map_err(|e| self.late(e))?;
        self.operation.count_bytes(count)?;
        Ok(count)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let patience = self.operation.patience(self.operation.timeouts.idle)?;
        self.stream.set_write_timeout(Some(patience))?;
        self.stream.write(bytes).map_err(|e| self.late(e))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
