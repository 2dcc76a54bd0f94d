//! Runs commands.

use super::expand;
use super::files::{FileError, Files, normal};
use super::network::{Question, Reach};
use super::sum;
use super::syntax::{Command, Redirect, RedirectKind, Simple};
use super::task::{Future0, Task};
use super::{commands, parse};
use crate::environment::Variables;
use model::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How deep functions, substitutions and scripts may call each other.
const DEPTH_MAX: usize = 40;
/// How many commands one container may have in the background.
const JOBS_MAX: usize = 50;
/// How much text may wait in a pipe or a variable.
pub(crate) const TEXT_MAX: usize = 256 << 10;

/// What a command returns, or why it does not return.
pub(crate) type Outcome = Result<i32, Flow>;
/// A command on its way.
pub(crate) type Step<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// Leaving a command otherwise than by its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Exit(i32),
    Return(i32),
    Break(u32),
    Continue(u32),
    /// `timeout` is over.
    Expired,
}

/// What all parts of a process share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) host: String,
    /// The container is meant to stay: a program of which nothing is known does not end.
    pub(crate) serves: bool,
    pub(crate) board: Mutex<Board>,
}

/// What a process did and wants.
#[derive(Default)]
pub(crate) struct Board {
    pub(crate) output: Vec<(Timestamp, String)>,
    pub(crate) spawned: Vec<(Arc<Task>, Future0<i32>)>,
    /// Exit codes of background jobs by number.
    pub(crate) jobs: BTreeMap<u32, Option<i32>>,
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("jobs", &self.jobs).finish()
    }
}

impl Site {
    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where text goes.
#[derive(Clone, Debug)]
pub(crate) enum Sink {
    Log,
    Buffer(Arc<Mutex<String>>),
    File(String),
    Nothing,
}

/// Text that can be read, from a place on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    text: Arc<Mutex<(String, usize)>>,
}

impl Feed {
    pub(crate) fn new(text: String) -> Self {
        Self {
            text: Arc::new(Mutex::new((text, 0))),
        }
    }

    /// All that is left.
    pub(crate) fn rest(&self) -> String {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = text.0.get(text.1..).unwrap_or("").to_owned();
        text.1 = text.0.len();
        rest
    }

    /// The next line with its end.
    pub(crate) fn line(&self) -> Option<String> {
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = text.0.get(text.1..).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let line = rest[..end].to_owned();
        text.1 += end;
        Some(line)
    }
}

/// The three streams of a command.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    pub(crate) input: Feed,
    pub(crate) out: Sink,
    pub(crate) err: Sink,
}

/// How a command is run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manner {
    /// Its failure is looked at: `set -e` does not apply.
    pub(crate) checked: bool,
    /// Nothing comes after it.
    pub(crate) last: bool,
}

/// A shell.
#[derive(Clone, Debug)]
pub(crate) struct Shell {
    pub(crate) site: Arc<Site>,
    pub(crate) task: Arc<Task>,
    pub(crate) files: Files,
    pub(crate) variables: Variables,
    pub(crate) exported: BTreeSet<String>,
    pub(crate) functions: BTreeMap<String, Arc<Command>>,
    pub(crate) arguments: Vec<String>,
    pub(crate) name: String,
    pub(crate) directory: String,
    pub(crate) options: BTreeSet<char>,
    pub(crate) pipefail: bool,
    pub(crate) traps: BTreeMap<String, String>,
    pub(crate) status: i32,
    pub(crate) depth: usize,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) locals: Vec<Vec<(String, Option<String>)>>,
    pub(crate) job: u32,
}

impl Shell {
    pub(crate) fn path(&self, path: &str) -> String {
        normal(path, &self.directory)
    }

    /// Waits, but not longer than a `timeout` around it lets it.
    pub(crate) async fn sleep(&self, micros: i64) -> Result<(), Flow> {
        if let Some(deadline) = self.deadline {
            let left = deadline.micros() - self.task.now().micros();
            if left < micros {
                self.task.sleep(left).await;
                return Err(Flow::Expired);
            }
        }
        self.task.sleep(micros).await;
        Ok(())
    }

    pub(crate) async fn reach(&self, host: &str, port: Option<u16>) -> Reach {
        let host = host.to_owned();
        self.task.ask(Question { host, port }).await
    }

    /// Writes a text.
    pub(crate) fn write(&self, sink: &Sink, text: &str) -> Result<(), Flow> {
        match sink {
            Sink::Nothing => {}
            Sink::Log => {
                let at = self.task.now();
                self.site.board().output.push((at, text.to_owned()));
            }
            Sink::Buffer(buffer) => {
                let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
                if buffer.len() + text.len() > TEXT_MAX {
                    return Err(Flow::Exit(141));
                }
                buffer.push_str(text);
            }
            Sink::File(path) => {
                // A file that cannot be written was refused when it was opened.
                let _ = self.files.write(path, text, true);
            }
        }
        Ok(())
    }

    /// Writes a complaint of the shell itself.
    pub(crate) fn complain(&self, streams: &Streams, text: &str) -> Result<(), Flow> {
        self.write(&streams.err, &format!("{}: {text}\n", self.name))
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.variables.insert(name.to_owned(), value.into());
        if self.options.contains(&'a') {
            self.exported.insert(name.to_owned());
        }
    }

    /// Runs a whole script and its farewell.
    pub(crate) async fn script(&mut self, text: &str, streams: &Streams) -> i32 {
        let command = match parse::parse(text) {
            Ok(command) => command,
            Err(why) => {
                let _ = self.complain(streams, &why);
                return 2;
            }
        };
        let manner = Manner {
            checked: false,
            last: true,
        };
        let ended = self.run(&command, streams, manner).await;
        let mut code = match ended {
            Ok(code) | Err(Flow::Exit(code) | Flow::Return(code)) => code,
            Err(Flow::Break(_) | Flow::Continue(_)) => self.status,
            Err(Flow::Expired) => 124,
        };
        if let Some(farewell) = self.traps.remove("EXIT")
            && let Ok(command) = parse::parse(&farewell)
        {
            self.status = code;
            if let Err(Flow::Exit(other)) = self.run(&command, streams, Manner::default()).await {
                code = other;
            }
        }
        code
    }

    /// Runs a command.
    pub(crate) fn run<'a>(
        &'a mut self,
        command: &'a Command,
        streams: &'a Streams,
        manner: Manner,
    ) -> Step<'a> {
        Box::pin(async move {
            if self.depth > DEPTH_MAX {
                self.complain(streams, "Maximum function recursion depth reached")?;
                return Err(Flow::Exit(2));
            }
            self.depth += 1;
            let outcome = self.run_inner(command, streams, manner).await;
            self.depth -= 1;
            let code = outcome?;
            self.status = code;
            let simple = matches!(
                command,
                Command::Simple(_)
                    | Command::Pipeline { negated: false, .. }
                    | Command::Subshell(_)
                    | Command::Arithmetic(_)
            );
            if simple && code != 0 && !manner.checked && self.options.contains(&'e') {
                return Err(Flow::Exit(code));
            }
            Ok(code)
        })
    }

    async fn run_inner(&mut self, command: &Command, streams: &Streams, manner: Manner) -> Outcome {
        let tested = Manner {
            checked: true,
            last: false,
        };
        match command {
            Command::Simple(simple) => self.simple(simple, streams, manner).await,
            Command::Pipeline { negated, parts } => {
                let code = self.pipeline(parts, streams, manner, *negated).await?;
                Ok(if *negated { i32::from(code == 0) } else { code })
            }
            Command::And(left, right) => match self.run(left, streams, tested).await? {
                0 => self.run(right, streams, manner).await,
                code => Ok(code),
            },
            Command::Or(left, right) => match self.run(left, streams, tested).await? {
                0 => Ok(0),
                _ => self.run(right, streams, manner).await,
            },
            Command::List(commands) => {
                let mut code = 0;
                for (at, command) in commands.iter().enumerate() {
                    let last = manner.last && at + 1 == commands.len();
                    code = self
                        .run(command, streams, Manner { last, ..manner })
                        .await?;
                }
                Ok(code)
            }
            Command::Background(command) => {
                if self.site.board().jobs.len() >= JOBS_MAX {
                    self.complain(streams, "can't fork: Resource temporarily unavailable")?;
                    return Err(Flow::Exit(2));
                }
                self.spawn(command, streams);
                Ok(0)
            }
            Command::If { arms, otherwise } => {
                for (test, body) in arms {
                    if self.run(test, streams, tested).await? == 0 {
                        return self.run(body, streams, manner).await;
                    }
                }
                match otherwise {
                    Some(body) => self.run(body, streams, manner).await,
                    None => Ok(0),
                }
            }
            Command::For { .. } | Command::Count { .. } | Command::While { .. } => {
                let manner = Manner {
                    last: false,
                    ..manner
                };
                self.repeat(command, streams, manner).await
            }
            Command::Case { word, arms } => {
                let subject = expand::text(self, word, streams).await?;
                for (patterns, body) in arms {
                    for pattern in patterns {
                        let pattern = expand::pattern(self, pattern, streams).await?;
                        if pattern.matches(&subject) {
                            return self.run(body, streams, manner).await;
                        }
                    }
                }
                Ok(0)
            }
            Command::Subshell(body) => {
                let mut inner = self.clone();
                inner.traps.clear();
                confined(inner.run(body, streams, manner).await)
            }
            Command::Redirected(inner, redirects) => {
                let Some(streams) = self.redirect(redirects, streams).await? else {
                    return Ok(1);
                };
                self.run(inner, &streams, manner).await
            }
            Command::Function(name, body) => {
                self.functions.insert(name.clone(), body.clone());
                Ok(0)
            }
            Command::Arithmetic(expression) => {
                let value = self.calculate(expression, streams).await?;
                Ok(i32::from(value == 0))
            }
        }
    }

    pub(crate) async fn calculate(
        &mut self,
        expression: &str,
        streams: &Streams,
    ) -> Result<i64, Flow> {
        let expression = expand::embedded(self, expression, streams).await?;
        match sum::calculate(&expression, &mut self.variables) {
            Ok(value) => Ok(value),
            Err(why) => {
                self.complain(streams, &why)?;
                Err(Flow::Exit(2))
            }
        }
    }

    // One after the other: what the first wrote, the second reads.
    async fn pipeline(
        &mut self,
        parts: &[Command],
        streams: &Streams,
        manner: Manner,
        negated: bool,
    ) -> Outcome {
        let manner = Manner {
            checked: manner.checked || negated,
            last: manner.last,
        };
        if let [only] = parts {
            return self.run(only, streams, manner).await;
        }
        let mut input = streams.input.clone();
        let mut failed = 0;
        let mut code = 0;
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            let buffer = Arc::new(Mutex::new(String::new()));
            let mut inner = self.clone();
            inner.traps.clear();
            let own = Streams {
                input,
                out: if last {
                    streams.out.clone()
                } else {
                    Sink::Buffer(buffer.clone())
                },
                err: streams.err.clone(),
            };
            code = confined(inner.run(part, &own, manner).await)?;
            if code != 0 {
                failed = code;
            }
            let text = std::mem::take(&mut *buffer.lock().unwrap_or_else(PoisonError::into_inner));
            input = Feed::new(text);
        }
        Ok(if self.pipefail { failed } else { code })
    }

    fn spawn(&mut self, command: &Arc<Command>, streams: &Streams) {
        let mut inner = self.clone();
        inner.task = Task::new(self.task.now());
        inner.traps.clear();
        let task = inner.task.clone();
        let (command, streams) = (command.clone(), streams.clone());
        let site = self.site.clone();
        let mut board = site.board();
        let job = board.jobs.len() as u32 + 2;
        board.jobs.insert(job, None);
        let site = self.site.clone();
        let future = Box::pin(async move {
            let outcome = inner.run(&command, &streams, Manner::default()).await;
            let code = confined(outcome).unwrap_or(124);
            site.board().jobs.insert(job, Some(code));
            code
        });
        board.spawned.push((task, future));
        self.job = job;
    }

    async fn repeat(&mut self, command: &Command, streams: &Streams, manner: Manner) -> Outcome {
        let tested = Manner {
            checked: true,
            last: false,
        };
        let mut code = 0;
        match command {
            Command::For { name, words, body } => {
                let values = match words {
                    Some(words) => expand::fields(self, words, streams).await?,
                    None => self.arguments.clone(),
                };
                for value in values {
                    self.task.tick().await;
                    self.set(name, value);
                    match turn(self.run(body, streams, manner).await)? {
                        Turn::Go(done) => code = done,
                        Turn::Leave => break,
                    }
                }
            }
            Command::Count { parts, body } => {
                self.calculate(&parts[0], streams).await?;
                while parts[1].trim().is_empty() || self.calculate(&parts[1], streams).await? != 0 {
                    self.task.tick().await;
                    match turn(self.run(body, streams, manner).await)? {
                        Turn::Go(done) => code = done,
                        Turn::Leave => break,
                    }
                    self.calculate(&parts[2], streams).await?;
                }
            }
            Command::While { until, test, body } => loop {
                self.task.tick().await;
                self.check_signal(streams).await?;
                let holds = self.run(test, streams, tested).await? == 0;
                if holds == *until {
                    break;
                }
                match turn(self.run(body, streams, manner).await)? {
                    Turn::Go(done) => code = done,
                    Turn::Leave => break,
                }
            },
            _ => {}
        }
        Ok(code)
    }

    async fn simple(&mut self, simple: &Simple, streams: &Streams, manner: Manner) -> Outcome {
        self.task.tick().await;
        let before = self.status;
        let words = expand::fields(self, &simple.words, streams).await?;
        let Some(streams) = self.redirect(&simple.redirects, streams).await? else {
            return Ok(1);
        };
        let mut assigned = Vec::new();
        for (name, word) in &simple.assignments {
            let value = expand::text(self, word, &streams).await?;
            assigned.push((name.clone(), value));
        }
        self.trace(&assigned, &words, &streams)?;
        if words.is_empty() {
            // The status is that of a substitution in it, if there was one.
            let code = if simple.assignments.is_empty() {
                0
            } else {
                self.status
            };
            let fresh = simple
                .assignments
                .iter()
                .any(|(_, w)| expand::substitutes(w));
            for (name, value) in assigned {
                self.set(&name, value);
            }
            return Ok(if fresh { code } else { 0 });
        }
        self.status = before;
        let mut kept = Vec::new();
        for (name, value) in assigned {
            kept.push((name.clone(), self.variables.get(&name).cloned()));
            self.exported.insert(name.clone());
            self.set(&name, value);
        }
        let outcome = self.call(&words, &streams, manner).await;
        for (name, value) in kept {
            match value {
                Some(value) => self.variables.insert(name, value),
                None => self.variables.remove(&name),
            };
        }
        let code = outcome?;
        self.check_signal(&streams).await?;
        Ok(code)
    }

    fn trace(
        &self,
        assigned: &[(String, String)],
        words: &[String],
        streams: &Streams,
    ) -> Result<(), Flow> {
        if !self.options.contains(&'x') {
            return Ok(());
        }
        let assigned = assigned.iter().map(|(n, v)| format!("{n}={}", shown(v)));
        let all: Vec<String> = assigned.chain(words.iter().map(|w| shown(w))).collect();
        self.write(&streams.err, &format!("+ {}\n", all.join(" ")))
    }

    /// Runs a function, a builtin or a program.
    pub(crate) fn call<'a>(
        &'a mut self,
        words: &'a [String],
        streams: &'a Streams,
        manner: Manner,
    ) -> Step<'a> {
        Box::pin(async move {
            if let Some(body) = self.functions.get(&words[0]).cloned() {
                let outer = std::mem::replace(&mut self.arguments, words[1..].to_vec());
                self.locals.push(Vec::new());
                let outcome = self.run(&body, streams, manner).await;
                for (name, value) in self.locals.pop().unwrap_or_default() {
                    match value {
                        Some(value) => self.variables.insert(name, value),
                        None => self.variables.remove(&name),
                    };
                }
                self.arguments = outer;
                return match outcome {
                    Err(Flow::Return(code)) => Ok(code),
                    other => other,
                };
            }
            commands::run(self, words, streams, manner).await
        })
    }

    /// Runs the trap of a signal that came while something else ran.
    pub(crate) async fn check_signal(&mut self, streams: &Streams) -> Result<(), Flow> {
        if !self.task.is_terminated() {
            return Ok(());
        }
        let trap = self
            .traps
            .remove("TERM")
            .or_else(|| self.traps.remove("INT"));
        if let Some(trap) = trap
            && let Ok(command) = parse::parse(&trap)
        {
            self.run(&command, streams, Manner::default()).await?;
        }
        Ok(())
    }

    // The streams of a command; nothing when a file cannot be opened.
    async fn redirect(
        &mut self,
        redirects: &[Redirect],
        streams: &Streams,
    ) -> Result<Option<Streams>, Flow> {
        let mut own = streams.clone();
        for redirect in redirects {
            let target = expand::text(self, &redirect.target, streams).await?;
            match redirect.kind {
                RedirectKind::Here => own.input = Feed::new(target),
                RedirectKind::Duplicate => {
                    let sink = match target.as_str() {
                        "1" => own.out.clone(),
                        "2" => own.err.clone(),
                        "-" => Sink::Nothing,
                        _ => continue,
                    };
                    put(&mut own, redirect.stream, sink);
                }
                RedirectKind::Read => {
                    if let Some(code) = self.open_socket(&target, streams).await? {
                        if code != 0 {
                            return Ok(None);
                        }
                        continue;
                    }
                    let path = self.path(&target);
                    if path == "/dev/null" || path == "/dev/stdin" {
                        own.input = Feed::default();
                        continue;
                    }
                    match self.files.read(&path) {
                        Ok(text) => own.input = Feed::new(text),
                        Err(_) => {
                            self.complain(streams, &format!("can't open {target}: no such file"))?;
                            return Ok(None);
                        }
                    }
                }
                RedirectKind::Write | RedirectKind::Append => {
                    if let Some(code) = self.open_socket(&target, streams).await? {
                        if code != 0 {
                            return Ok(None);
                        }
                        put(&mut own, redirect.stream, Sink::Nothing);
                        continue;
                    }
                    let append = redirect.kind == RedirectKind::Append;
                    match self.open(&target, append) {
                        Ok(sink) => put(&mut own, redirect.stream, sink),
                        Err(why) => {
                            let what = format!("can't create {target}: {}", why.text());
                            self.complain(streams, &what)?;
                            return Ok(None);
                        }
                    }
                }
            }
        }
        Ok(Some(own))
    }

    fn open(&self, target: &str, append: bool) -> Result<Sink, FileError> {
        let path = self.path(target);
        match path.as_str() {
            "/dev/null" => return Ok(Sink::Nothing),
            "/dev/stdout" | "/dev/stderr" | "/proc/1/fd/1" | "/proc/1/fd/2" | "/dev/tty"
            | "/proc/self/fd/1" | "/proc/self/fd/2" => return Ok(Sink::Log),
            _ => {}
        }
        self.files.write(&path, "", append)?;
        Ok(Sink::File(path))
    }

    // `/dev/tcp/host/port` of bash: connects. Nothing when it is another path.
    async fn open_socket(&mut self, target: &str, streams: &Streams) -> Result<Option<i32>, Flow> {
        let Some((host, port)) = target
            .strip_prefix("/dev/tcp/")
            .and_then(|rest| rest.split_once('/'))
        else {
            return Ok(None);
        };
        let why = match self.reach(host, port.parse().ok()).await {
            Reach::Open(_) => return Ok(Some(0)),
            Reach::Refused(_) => "Connection refused",
            Reach::Unknown => "Name or service not known",
        };
        self.complain(streams, &format!("connect: {why}"))?;
        self.complain(streams, &format!("{target}: {why}"))?;
        Ok(Some(1))
    }
}

fn put(streams: &mut Streams, stream: u8, sink: Sink) {
    match stream {
        1 => streams.out = sink,
        2 => streams.err = sink,
        3 => {
            streams.out = sink.clone();
            streams.err = sink;
        }
        _ => {}
    }
}

enum Turn {
    Go(i32),
    Leave,
}

fn turn(outcome: Outcome) -> Result<Turn, Flow> {
    match outcome {
        Ok(code) => Ok(Turn::Go(code)),
        Err(Flow::Break(0 | 1)) => Ok(Turn::Leave),
        Err(Flow::Break(levels)) => Err(Flow::Break(levels - 1)),
        Err(Flow::Continue(0 | 1)) => Ok(Turn::Go(0)),
        Err(Flow::Continue(levels)) => Err(Flow::Continue(levels - 1)),
        Err(other) => Err(other),
    }
}

/// What leaves a shell of its own is its exit code.
pub(crate) fn confined(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(code) | Err(Flow::Exit(code) | Flow::Return(code)) => Ok(code),
        Err(Flow::Break(_) | Flow::Continue(_)) => Ok(0),
        Err(Flow::Expired) => Err(Flow::Expired),
    }
}

// A word as `set -x` shows it.
fn shown(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
