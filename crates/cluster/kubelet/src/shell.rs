//! A small shell: what the scripts of hooks and init containers do, in virtual time.
//!
//! ```text
//! argv + variables + files ── Process::start ──▶ advance(now) ──▶ log lines, exit code
//! ```
//!
//! A script is an async function that waits for moments and for answers of the cluster; nothing but
//! [`Process::advance`] moves it on. It speaks the language of `sh` with the most used words of bash,
//! and knows the programs in [`commands`]. A program it does not know counts as done after a second
//! and says `simulated: …` in the log; where the container is meant to stay and nothing comes after
//! it, it stays. Commands that take no time take a second by the thousand, so that no loop stands
//! still in time.

pub(crate) mod commands;
mod expand;
pub(crate) mod files;
pub(crate) mod machine;
pub(crate) mod network;
mod parse;
mod sum;
mod syntax;
mod task;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod word;

use crate::environment::Variables;
use crate::log::Log;
use crate::spec::{later, number, seconds};
use crate::world::World;
use commands::is_known;
use files::Files;
use machine::{Board, Feed, Manner, Shell, Sink, Site, Streams, confined};
use model::{Timestamp, Value, meta};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use task::{Future0, Task};

/// How long a probe or hook may run, in seconds.
const EXEC_MAX: i64 = 3_600;
/// How often one look may move a script on.
const ROUNDS_MAX: usize = 100_000;

/// What is to be run.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) argv: Vec<String>,
    pub(crate) variables: Variables,
    pub(crate) files: Files,
    pub(crate) namespace: String,
    pub(crate) host: String,
    /// The container is meant to stay.
    pub(crate) serves: bool,
    pub(crate) directory: String,
    /// Ports on which the Pod listens.
    pub(crate) ports: Vec<u16>,
}

/// A running script.
pub(crate) struct Process {
    threads: Vec<(Arc<Task>, Option<Future0<i32>>)>,
    site: Arc<Site>,
    namespace: String,
    ports: Vec<u16>,
    template: Shell,
    exit: Option<(Timestamp, i32)>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Process").field("exit", &self.exit).finish()
    }
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) output: String,
    /// How long it took, in microseconds.
    pub(crate) took: i64,
}

impl Process {
    /// Starts what it knows how to run; nothing for a program of which nothing is known.
    pub(crate) fn start(call: Invocation, at: Timestamp) -> Option<Self> {
        let site = Arc::new(Site {
            host: call.host,
            serves: call.serves,
            board: Mutex::new(Board::default()),
        });
        let directory = match call.directory.as_str() {
            "" => "/".to_owned(),
            directory => directory.to_owned(),
        };
        let template = Shell {
            site: site.clone(),
            task: Task::new(at),
            files: call.files,
            exported: call.variables.keys().cloned().collect(),
            variables: call.variables,
            functions: BTreeMap::new(),
            arguments: Vec::new(),
            name: "sh".into(),
            directory,
            options: BTreeSet::new(),
            pipefail: false,
            traps: BTreeMap::new(),
            status: 0,
            depth: 0,
            deadline: None,
            locals: Vec::new(),
            job: 0,
        };
        let mut process = Self {
            threads: Vec::new(),
            site,
            namespace: call.namespace,
            ports: call.ports,
            template,
            exit: None,
        };
        let main = process.main(&call.argv, at, &Sink::Log)?;
        process.threads.push(main);
        Some(process)
    }

    // The thread that runs these words.
    fn main(
        &self,
        argv: &[String],
        at: Timestamp,
        out: &Sink,
    ) -> Option<(Arc<Task>, Option<Future0<i32>>)> {
        let mut shell = self.template.clone();
        shell.task = Task::new(at);
        let task = shell.task.clone();
        let streams = Streams {
            input: Feed::default(),
            out: out.clone(),
            err: out.clone(),
        };
        let argv = unwrapped(argv);
        let first = argv.first()?;
        let base = first.rsplit('/').next().unwrap_or(first);
        let script = if matches!(base, "sh" | "bash" | "ash" | "dash") {
            let files = shell.files.clone();
            let directory = shell.directory.clone();
            let read = |path: &str| files.read(&files::normal(path, &directory)).ok();
            let (text, name, arguments) = script_of(&argv[1..], read, &mut shell)?;
            shell.name = name;
            shell.arguments = arguments;
            Some(text)
        } else {
            let own = first.contains('/') && shell.files.read(&shell.path(first)).is_ok();
            if !own && !is_known(&shell, base) {
                return None;
            }
            None
        };
        let words = argv.to_vec();
        let future: Future0<i32> = Box::pin(async move {
            match script {
                Some(text) => shell.script(&text, &streams).await,
                None => {
                    let manner = Manner {
                        checked: false,
                        last: true,
                    };
                    confined(shell.call(&words, &streams, manner).await).unwrap_or(124)
                }
            }
        });
        Some((task, Some(future)))
    }

    /// Moves on to a time; tells when and how it ended.
    pub(crate) fn advance(
        &mut self,
        world: &dyn World,
        now: Timestamp,
        log: &mut Log,
    ) -> Option<(Timestamp, i32)> {
        if self.exit.is_none() {
            for _ in 0..ROUNDS_MAX {
                if !self.poll_all(world, now) {
                    break;
                }
            }
            let mut lines = std::mem::take(&mut self.site.board().output);
            lines.sort_by_key(|(at, _)| *at);
            for (at, text) in lines {
                log.write(at, &text);
            }
        }
        self.exit
    }

    // Lets every thread do what it can; true when there may be more to do at once.
    fn poll_all(&mut self, world: &dyn World, now: Timestamp) -> bool {
        let mut again = false;
        let mut context = Context::from_waker(Waker::noop());
        for at in 0..self.threads.len() {
            let (task, future) = &mut self.threads[at];
            let Some(running) = future else {
                continue;
            };
            task.allow(now);
            match running.as_mut().poll(&mut context) {
                Poll::Ready(code) => {
                    *future = None;
                    again = true;
                    if at == 0 {
                        self.exit = Some((task.now(), code & 0xff));
                        return false;
                    }
                }
                Poll::Pending => {
                    if let Some(question) = task.question() {
                        let ports = &self.ports;
                        task.answer(network::reach(world, &self.namespace, ports, &question));
                        again = true;
                    }
                }
            }
        }
        let spawned = std::mem::take(&mut self.site.board().spawned);
        again |= !spawned.is_empty();
        let spawned = spawned.into_iter().map(|(task, f)| (task, Some(f)));
        self.threads.extend(spawned);
        again
    }

    /// When it does something next.
    pub(crate) fn wake(&self) -> Option<Timestamp> {
        if let Some((at, _)) = self.exit {
            return Some(at);
        }
        let running = self.threads.iter().filter(|(_, future)| future.is_some());
        running.filter_map(|(task, _)| task.wakes()).min()
    }

    /// Asks it to end. A shell without a trap does not listen, as the first process of a container.
    pub(crate) fn terminate(&mut self, at: Timestamp) {
        if let Some((task, _)) = self.threads.first() {
            task.terminate(at);
        }
    }

    /// Runs another command beside it, on the same files, to its end.
    pub(crate) fn exec(&mut self, world: &dyn World, argv: &[String], now: Timestamp) -> Done {
        let buffer = Arc::new(Mutex::new(String::new()));
        let sink = Sink::Buffer(buffer.clone());
        // What is not known succeeds.
        let Some((task, Some(mut future))) = self.main(argv, now, &sink) else {
            return Done::default();
        };
        task.allow(later(now, seconds(EXEC_MAX)));
        let mut context = Context::from_waker(Waker::noop());
        let mut code = 124;
        for _ in 0..ROUNDS_MAX {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(done) => {
                    code = done & 0xff;
                    break;
                }
                Poll::Pending => match task.question() {
                    Some(question) => {
                        let reach = network::reach(world, &self.namespace, &self.ports, &question);
                        task.answer(reach);
                    }
                    None => break,
                },
            }
        }
        let output = std::mem::take(&mut *buffer.lock().unwrap_or_else(PoisonError::into_inner));
        Done {
            code,
            output,
            took: task.now().micros() - now.micros(),
        }
    }

    /// A file of the container.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        self.template.files.read(path).ok()
    }
}

/// Runs a hook of a container that has no script of its own.
pub(crate) fn exec_alone(world: &dyn World, pod: &Value, argv: &[String], now: Timestamp) -> Done {
    let call = Invocation {
        argv: vec!["true".into()],
        variables: Variables::new(),
        files: Files::plain(),
        namespace: meta::namespace(pod).to_owned(),
        host: crate::program::host(pod),
        serves: false,
        directory: String::new(),
        ports: ports(pod),
    };
    match Process::start(call, now) {
        Some(mut process) => process.exec(world, argv, now),
        None => Done::default(),
    }
}

/// The ports on which a Pod's containers say they listen.
pub(crate) fn ports(pod: &Value) -> Vec<u16> {
    meta::entries(pod, "/spec/containers")
        .flat_map(|c| meta::entries(c, "/ports"))
        .filter_map(|p| u16::try_from(number(p, "/containerPort", 0)).ok())
        .collect()
}

// Small programs that only start another.
fn unwrapped(argv: &[String]) -> &[String] {
    let mut rest = argv;
    while let [first, tail @ ..] = rest {
        let base = first.rsplit('/').next().unwrap_or(first);
        match (base, tail.first().map(String::as_str)) {
            ("tini" | "dumb-init", Some(flag)) if flag.starts_with('-') => rest = &tail[1..],
            ("tini" | "dumb-init", _) => rest = tail,
            ("-g" | "-v" | "--", _) => rest = tail,
            _ => break,
        }
    }
    rest
}

/// The script, its name and its arguments in the words after `sh`; flags go to the shell.
pub(crate) fn script_of(
    words: &[String],
    read: impl Fn(&str) -> Option<String>,
    shell: &mut Shell,
) -> Option<(String, String, Vec<String>)> {
    let inline = |word: &String| {
        word.starts_with('-')
            && !word.starts_with("--")
            && word.contains('c')
            && !word.starts_with("-o")
    };
    let mut flags: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        if inline(word) {
            let letters: String = word.chars().filter(|c| *c != 'c').collect();
            flags.push(letters);
            // `-ceuo pipefail script`
            let mut next = at + 1;
            if word.contains('o') {
                flags.extend(words.get(next).cloned());
                next += 1;
            }
            while words
                .get(next)
                .is_some_and(|w| w.starts_with(['-', '+']) && w.len() > 1 && w != "--")
            {
                flags.extend(words.get(next).cloned());
                if words.get(next).is_some_and(|w| w.ends_with('o')) {
                    next += 1;
                    flags.extend(words.get(next).cloned());
                }
                next += 1;
            }
            if words.get(next).is_some_and(|w| w == "--") {
                next += 1;
            }
            let text = words.get(next)?.clone();
            commands::options(shell, &flags);
            let name = words.get(next + 1).cloned().unwrap_or_else(|| "sh".into());
            let rest = words.get(next + 2..).unwrap_or(&[]).to_vec();
            return Some((text, name, rest));
        }
        if !word.starts_with(['-', '+']) {
            break;
        }
        flags.push(word.clone());
        at += 1;
        if word.ends_with('o') && !word.starts_with("--") {
            flags.extend(words.get(at).cloned());
            at += 1;
        }
    }
    let path = words.get(at)?;
    let text = read(path)?;
    commands::options(shell, &flags);
    Some((text, path.clone(), words[at + 1..].to_vec()))
}
