//! Why a plugin gave nothing, and the finding that says it.

use model::{Evidence, Finding, Fix, Remedy};
use std::fmt;
use std::time::Duration;

/// Why a plugin gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginError {
    /// The plugin's full name.
    pub plugin: String,
    /// Which of its commands: `discover`, `init`, `generate` or `parameters`.
    pub phase: &'static str,
    /// What went wrong.
    pub failure: Failure,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plugin's own settings.
    Config(String),
    /// The files could not be copied for it.
    Files(String),
    /// The program could not be started.
    Start {
        /// The program.
        program: String,
        /// What the system said.
        why: String,
    },
    /// It ended badly.
    Exit {
        /// The command as typed.
        command: String,
        /// `exit status 3` or `signal 9`.
        status: String,
        /// The end of what it said on standard error.
        stderr: String,
    },
    /// It was still running when its time was up.
    Timeout {
        /// The command as typed.
        command: String,
        /// The limit.
        limit: Duration,
        /// The end of what it said on standard error.
        stderr: String,
    },
    /// What it printed cannot be used.
    Output(String),
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plugin, phase) = (&self.plugin, self.phase);
        write!(f, "plugin `{plugin}` failed in {phase}: ")?;
        match &self.failure {
            Failure::Config(why) | Failure::Files(why) | Failure::Output(why) => f.write_str(why),
            Failure::Start { program, why } => write!(f, "`{program}` could not be started: {why}"),
            Failure::Exit {
                command, status, ..
            } => write!(f, "`{command}` ended with {status}"),
            Failure::Timeout { command, limit, .. } => {
                write!(
                    f,
                    "`{command}` was still running after {} s",
                    limit.as_secs()
                )
            }
        }
    }
}

impl std::error::Error for PluginError {}

impl PluginError {
    /// The catalogue's entry for it.
    pub fn finding(&self) -> Finding {
        let (code, slug) = match self.failure {
            Failure::Timeout { .. } => ("G11", "generation-timeout"),
            _ => ("G13", "plugin-failed"),
        };
        let stderr = match &self.failure {
            Failure::Exit { stderr, .. } | Failure::Timeout { stderr, .. } => stderr.as_str(),
            _ => "",
        };
        let mut evidence = Vec::new();
        if !stderr.is_empty() {
            evidence.push(Evidence {
                source: format!("stderr of {} {}", self.plugin, self.phase),
                says: stderr.to_owned(),
                place: None,
            });
        }
        Finding {
            culprit: format!("plugin `{}`, phase {}", self.plugin, self.phase),
            evidence,
            fix: self.fix(),
            ..Finding::new(code, slug, self.to_string())
        }
    }

    fn fix(&self) -> Vec<Fix> {
        let how = match &self.failure {
            Failure::Timeout { .. } => "raise `ARGOCD_EXEC_TIMEOUT`, or let the plugin do less",
            Failure::Start { .. } => {
                "install the program where the plugin runs, or correct `command` in plugin.yaml"
            }
            Failure::Config(_) => "correct plugin.yaml",
            Failure::Files(_) | Failure::Exit { .. } | Failure::Output(_) => return Vec::new(),
        };
        vec![Fix {
            title: how.to_owned(),
            how: Remedy::Advice(how.to_owned()),
            destructive: false,
        }]
    }
}
