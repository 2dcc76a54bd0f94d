//! What a container wrote, line by line, and how `kubectl logs` asks for it.

use crate::life::{ContainerLife, Life, Stage};
use model::Timestamp;
use std::collections::VecDeque;

/// How much of one run's log is kept; the oldest lines go first, as when a log file is rotated.
pub(crate) const BYTES_MAX: usize = 1 << 20;

#[derive(Clone, Debug)]
struct Line {
    at: Timestamp,
    text: Box<str>,
    whole: bool,
}

/// The log of one run of a container.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    lines: VecDeque<Line>,
    /// How many lines came before the first that is kept.
    dropped: u64,
    bytes: usize,
}

/// What of a log is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Only the last lines.
    pub tail: Option<u64>,
    /// Only what was written at or after this.
    pub since: Option<Timestamp>,
    /// Each line begins with its time.
    pub timestamps: bool,
    /// At most this many bytes.
    pub limit: Option<u64>,
    /// The run before the current one.
    pub previous: bool,
}

impl Log {
    /// Adds a text; an unfinished last line goes on with the next text.
    pub(crate) fn write(&mut self, at: Timestamp, text: &str) {
        for piece in text.split_inclusive('\n') {
            let whole = piece.ends_with('\n');
            let piece = piece.strip_suffix('\n').unwrap_or(piece);
            self.bytes += piece.len() + 1;
            match self.lines.back_mut() {
                Some(last) if !last.whole => {
                    last.text = format!("{}{piece}", last.text).into();
                    last.whole = whole;
                }
                _ => self.lines.push_back(Line {
                    at,
                    text: piece.into(),
                    whole,
                }),
            }
        }
        while self.bytes > BYTES_MAX && self.lines.len() > 1 {
            if let Some(line) = self.lines.pop_front() {
                self.bytes -= (line.text.len() + 1).min(self.bytes);
                self.dropped += 1;
            }
        }
    }

    /// The end of the log, as a termination message may quote it.
    pub(crate) fn ending(&self, lines_max: usize, bytes_max: usize) -> String {
        let skip = self.lines.len().saturating_sub(lines_max);
        let mut out = String::new();
        for line in self.lines.iter().skip(skip) {
            out.push_str(&line.text);
            if line.whole {
                out.push('\n');
            }
        }
        let mut start = out.len().saturating_sub(bytes_max);
        while !out.is_char_boundary(start) {
            start += 1;
        }
        out.split_off(start)
    }

    /// How many lines there ever were: where a follower goes on.
    pub(crate) fn end(&self) -> u64 {
        self.dropped + self.lines.len() as u64
    }

    // Where an answer to these options begins.
    fn begin(&self, options: &LogOptions) -> u64 {
        let tail = options
            .tail
            .map_or(0, |count| self.end().saturating_sub(count));
        let since = options.since.map_or(0, |since| {
            let before = self.lines.iter().take_while(|l| l.at < since).count();
            self.dropped + before as u64
        });
        tail.max(since)
    }

    // The lines from one on, as they are sent, and where the next begin. An unfinished line waits
    // for its end while there may be one.
    fn text(&self, from: u64, timestamps: bool, open: bool) -> (String, u64) {
        let skip = usize::try_from(from.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let mut out = String::new();
        for line in self.lines.iter().skip(skip) {
            if open && !line.whole {
                return (out, self.end() - 1);
            }
            if timestamps {
                // Nanoseconds are what the runtime writes; there are none here.
                let time = line.at.rfc3339_micros();
                out.push_str(time.trim_end_matches('Z'));
                out.push_str("000Z ");
            }
            out.push_str(&line.text);
            if line.whole {
                out.push('\n');
            }
        }
        (out, self.end().max(from))
    }
}

/// A piece of a log, and how to go on reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogChunk {
    /// The text.
    pub text: String,
    /// Where the next piece begins; nothing when no more will come.
    pub next: Option<LogCursor>,
}

/// A place in the log of one run of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCursor {
    container: String,
    started: Timestamp,
    line: u64,
    timestamps: bool,
    bytes_left: Option<u64>,
}

impl Life {
    /// What `kubectl logs` gets. The error is the text of a 400 (Bad Request).
    pub fn log(
        &self,
        pod: &str,
        container: &str,
        options: &LogOptions,
    ) -> Result<LogChunk, String> {
        let one = self
            .containers
            .get(container)
            .ok_or_else(|| format!("container {container:?} in pod {pod:?} is not available"))?;
        let log = one.wanted_log(options.previous).map_err(|why| match why {
            Absent::Previous => {
                format!("previous terminated container {container:?} in pod {pod:?} not found")
            }
            Absent::Waiting(why) => {
                format!("container {container:?} in pod {pod:?} is waiting to start: {why}")
            }
        })?;
        let Some(log) = log else {
            return Ok(LogChunk::default());
        };
        let cursor = LogCursor {
            container: container.to_owned(),
            started: one.begun(),
            line: log.begin(options),
            timestamps: options.timestamps,
            bytes_left: options.limit,
        };
        let open = one.is_running() && !options.previous;
        Ok(cursor.read(log, open))
    }

    /// What came after an earlier piece.
    pub fn log_after(&self, cursor: &LogCursor) -> LogChunk {
        let Some(one) = self.containers.get(&cursor.container) else {
            return LogChunk::default();
        };
        let same = one.begun() == cursor.started;
        let log = if same {
            one.run.as_ref().map(|run| &run.log)
        } else {
            one.previous.as_ref()
        };
        log.map_or_else(LogChunk::default, |log| {
            cursor.clone().read(log, same && one.is_running())
        })
    }
}

impl LogCursor {
    fn read(mut self, log: &Log, open: bool) -> LogChunk {
        let (mut text, line) = log.text(self.line, self.timestamps, open);
        self.line = line;
        if let Some(left) = self.bytes_left {
            let mut end = usize::try_from(left).unwrap_or(usize::MAX).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            self.bytes_left = Some(left - end as u64);
        }
        let more = open && self.bytes_left != Some(0);
        LogChunk {
            text,
            next: more.then_some(self),
        }
    }
}

enum Absent<'a> {
    Previous,
    Waiting(&'a str),
}

impl ContainerLife {
    fn wanted_log(&self, previous: bool) -> Result<Option<&Log>, Absent<'_>> {
        let current = self.run.as_ref().map(|run| &run.log);
        match (&self.state, &self.last) {
            (_, None) if previous => Err(Absent::Previous),
            (Stage::Waiting { .. }, Some(_)) => Ok(current),
            _ if previous => Ok(self.previous.as_ref()),
            (Stage::Running(_) | Stage::Ended(_), _) => Ok(current),
            (Stage::Waiting { reason, .. }, None) => Err(Absent::Waiting(match reason.as_str() {
                "ErrImagePull" => "image can't be pulled",
                "ImagePullBackOff" => "trying and failing to pull image",
                "" if self.initializing => "PodInitializing",
                "" => "ContainerCreating",
                reason => reason,
            })),
        }
    }
}
