//! One run of a container: a program, its log, its probes, and how it is told to stop.

use crate::log::Log;
use crate::probe::Probes;
use crate::shell::Process;
use crate::world::World;
use model::Timestamp;
use std::collections::VecDeque;

/// How a program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) out_of_memory: bool,
}

impl Exit {
    pub(crate) const fn code(code: i32) -> Self {
        Self {
            code,
            out_of_memory: false,
        }
    }

    pub(crate) const fn out_of_memory() -> Self {
        Self {
            code: 137,
            out_of_memory: true,
        }
    }

    /// The word in `terminated.reason`.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self {
                out_of_memory: true,
                ..
            } => "OOMKilled",
            Self { code: 0, .. } => "Completed",
            _ => "Error",
        }
    }
}

/// How a program answers its probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// All succeed.
    Ready,
    /// It lives, but is not ready; what the probe says, when it says something of its own.
    Unready(String),
    /// No probe succeeds.
    Unhealthy(String),
    /// It does not answer at all.
    Hung,
}

/// A program that is told beforehand what to do and when.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) lines: VecDeque<(Timestamp, String)>,
    /// From when on it is in which mood; ready before the first.
    pub(crate) moods: Vec<(Timestamp, Mood)>,
    pub(crate) exit: Option<(Timestamp, Exit)>,
    /// It does not end when asked to.
    pub(crate) stubborn: bool,
}

impl Plan {
    /// The mood at a time, and when it changes next.
    pub(crate) fn mood(&self, at: Timestamp) -> (&Mood, Option<Timestamp>) {
        let current = self.moods.iter().rev().find(|(from, _)| *from <= at);
        let next = self.moods.iter().map(|(from, _)| *from).find(|f| *f > at);
        (current.map_or(&Mood::Ready, |(_, mood)| mood), next)
    }
}

/// What a container runs.
#[derive(Debug)]
pub(crate) enum Program {
    /// What an annotation says, or nothing but being there.
    Plan(Plan),
    /// Its own script.
    Script(Box<Process>),
}

/// A kill under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    /// When the program gets its signal, after the `preStop` hook; not yet known for one that
    /// waits for others to end first.
    pub(crate) signal: Option<Timestamp>,
    /// Whether it got it.
    pub(crate) signalled: bool,
    /// When it is killed for good.
    pub(crate) deadline: Timestamp,
}

/// One run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) started: Timestamp,
    pub(crate) program: Program,
    pub(crate) log: Log,
    pub(crate) probes: Probes,
    pub(crate) kill: Option<Kill>,
}

impl Run {
    pub(crate) fn new(started: Timestamp, program: Program, probes: Probes) -> Self {
        Self {
            started,
            program,
            log: Log::default(),
            probes,
            kill: None,
        }
    }

    /// Lets the program do what it does up to `now`; tells how it ended and when, if it did.
    pub(crate) fn advance(
        &mut self,
        world: &dyn World,
        now: Timestamp,
    ) -> Option<(Timestamp, Exit)> {
        let deadline = self.kill.map(|kill| kill.deadline);
        let exit = match &mut self.program {
            Program::Plan(plan) => {
                let end = plan.exit.map_or(now, |(at, _)| at.min(now));
                while plan.lines.front().is_some_and(|(at, _)| *at <= end) {
                    if let Some((at, line)) = plan.lines.pop_front() {
                        self.log.write(at, &line);
                    }
                }
                plan.exit.filter(|(at, _)| *at <= now)
            }
            Program::Script(process) => process
                .advance(world, now, &mut self.log)
                .map(|(at, code)| (at, Exit::code(code))),
        };
        exit.or_else(|| {
            let killed = deadline.filter(|at| *at <= now)?;
            Some((killed, Exit::code(137)))
        })
    }

    /// When the program does something next by itself.
    pub(crate) fn wake(&self) -> Option<Timestamp> {
        let program = match &self.program {
            Program::Plan(plan) => {
                let line = plan.lines.front().map(|(at, _)| *at);
                let exit = plan.exit.map(|(at, _)| at);
                line.into_iter().chain(exit).min()
            }
            Program::Script(process) => process.wake(),
        };
        let kill = self.kill.iter().flat_map(|kill| {
            let signal = kill.signal.filter(|_| !kill.signalled);
            signal.into_iter().chain(Some(kill.deadline))
        });
        program.into_iter().chain(kill).min()
    }

    /// Asks the program to end.
    pub(crate) fn terminate(&mut self, at: Timestamp) {
        match &mut self.program {
            Program::Plan(plan) if plan.stubborn => {}
            Program::Plan(plan) => {
                let sooner = plan.exit.is_none_or(|(planned, _)| planned > at);
                if sooner {
                    plan.exit = Some((at, Exit::code(0)));
                }
            }
            Program::Script(process) => process.terminate(at),
        }
    }
}
