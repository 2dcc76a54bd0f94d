//! One watch stream, read event by event.

use crate::access::Access;
use crate::wire::Wire;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

/// One line of a watch.
#[derive(Clone, Debug)]
pub struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    /// The object, or the Status of an error.
    pub object: Value,
}

impl Event {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or("")
    }

    /// The object's version.
    pub fn version(&self) -> u64 {
        let text = self.object["metadata"]["resourceVersion"].as_str();
        text.and_then(|t| t.parse().ok()).unwrap_or(0)
    }
}

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    wire: Wire,
    /// The HTTP status of the answer.
    pub status: u16,
    raw: Vec<u8>,
    text: Vec<u8>,
    events: VecDeque<Event>,
    ended: bool,
}

impl Watch {
    /// Opens a watch at a path with its query (`watch=1` must be part of it).
    pub fn open(access: &Access, path: &str) -> io::Result<Self> {
        let mut wire = Wire::open(access)?;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", access.address());
        wire.send(head.as_bytes())?;
        let mut watch = Self {
            wire,
            status: 0,
            raw: Vec::new(),
            text: Vec::new(),
            events: VecDeque::new(),
            ended: false,
        };
        let until = Instant::now() + Duration::from_secs(10);
        while watch.status == 0 && !watch.ended {
            watch.read(until)?;
        }
        Ok(watch)
    }

    /// The next event; `None` when the stream ended or nothing came in time.
    pub fn next(&mut self, within: Duration) -> Option<Event> {
        let until = Instant::now() + within;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.ended || Instant::now() >= until {
                return None;
            }
            if self.read(until).is_err() {
                return None;
            }
        }
    }

    /// Whether the server ended the stream.
    pub fn ended(&self) -> bool {
        self.ended
    }

    fn read(&mut self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        match self.wire.receive(left)? {
            Some(part) => self.raw.extend(part),
            None => self.ended = true,
        }
        if self.status == 0 {
            self.take_head();
        }
        if self.status != 0 {
            self.take_chunks();
            self.take_lines()?;
        }
        Ok(())
    }

    fn take_head(&mut self) {
        let Some(end) = find(&self.raw, b"\r\n\r\n") else {
            return;
        };
        let head: Vec<u8> = self.raw.drain(..end + 4).collect();
        let head = String::from_utf8_lossy(&head);
        self.status = head
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .unwrap_or(599);
    }

    fn take_chunks(&mut self) {
        while let Some(end) = find(&self.raw, b"\r\n") {
            let size = String::from_utf8_lossy(&self.raw[..end]).into_owned();
            let Ok(size) = usize::from_str_radix(&size, 16) else {
                // A body with a length: an error answer, taken as it is.
                let rest = std::mem::take(&mut self.raw);
                self.text.extend(rest);
                return;
            };
            let whole = end + 2 + size + 2;
            if self.raw.len() < whole {
                return;
            }
            self.text
                .extend_from_slice(&self.raw[end + 2..end + 2 + size]);
            self.raw.drain(..whole);
            if size == 0 {
                self.ended = true;
                return;
            }
        }
    }

    fn take_lines(&mut self) -> io::Result<()> {
        while let Some(end) = find(&self.text, b"\n") {
            let line: Vec<u8> = self.text.drain(..=end).collect();
            let value: Value = serde_json::from_slice(&line)?;
            self.events.push_back(Event {
                kind: value["type"].as_str().unwrap_or("").to_owned(),
                object: value["object"].clone(),
            });
        }
        Ok(())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|w| w == wanted)
}
