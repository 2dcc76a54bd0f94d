//! Manifests from user-supplied commands: the only renderer that starts a process.
//!
//! A plugin is what its `plugin.yaml` declares: commands to prepare and to generate, and rules by which it
//! recognises a source. Each run gets a copy of the files in a directory of its own and an
//! environment with nothing in it but what is documented; commands are started as written, without a shell.
//!
//! ```text
//! files ── copy ──▶ init ──▶ generate ──▶ text of manifests
//! ```

mod config;
mod copy;
mod environment;
mod error;
mod process;

pub use config::{ConfigError, Discover, Plugin, Step};
pub use environment::{Parameter, parameter_variables};
pub use error::{Failure, PluginError};

use copy::Workspace;
use model::{SourceTree, Value};
use pattern::Glob;
use process::Limits;
use std::time::Duration;

/// How long one command may run; Argo CD's `ARGOCD_EXEC_TIMEOUT`.
pub const TIME_MAX: Duration = Duration::from_secs(90);
/// How many bytes a command may print.
pub const OUTPUT_MAX: usize = 64 * 1024 * 1024;

/// What a run needs besides the files.
#[derive(Clone, Debug)]
pub struct Run {
    /// The source's directory, from the root of the tree.
    pub directory: String,
    /// The variables the commands see, besides `PATH` and the like.
    pub environment: Vec<(String, String)>,
    /// How long one command may run.
    pub time_max: Duration,
    /// How many bytes a command may print.
    pub output_max: usize,
}

impl Run {
    /// A run with the usual limits.
    pub fn new(directory: impl Into<String>, environment: Vec<(String, String)>) -> Self {
        Self {
            directory: directory.into(),
            environment,
            time_max: TIME_MAX,
            output_max: OUTPUT_MAX,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            time: self.time_max,
            output: self.output_max,
        }
    }
}

impl Plugin {
    /// Whether the plugin finds in a source what it looks for; one that looks for nothing applies
    /// only when it is named.
    pub fn matches(&self, tree: &SourceTree, run: &Run) -> Result<bool, PluginError> {
        match &self.discover {
            Discover::Never => Ok(false),
            Discover::FileName(pattern) => self.finds(tree, run, pattern, Glob::path),
            Discover::Glob(pattern) => self.finds(tree, run, pattern, Glob::doublestar),
            Discover::Command(step) => {
                let space = self.space(tree, "discover")?;
                let answer = self.command(&space, run, "discover", step);
                match answer {
                    Ok(output) => Ok(!output.trim_ascii().is_empty()),
                    // A command that says no may say it with its exit code.
                    Err(PluginError {
                        failure: Failure::Exit { .. },
                        ..
                    }) => Ok(false),
                    Err(other) => Err(other),
                }
            }
        }
    }

    /// Runs the plugin and gives what it printed.
    pub fn generate(&self, tree: &SourceTree, run: &Run) -> Result<String, PluginError> {
        let space = self.space(tree, "init")?;
        if let Some(init) = &self.init {
            self.command(&space, run, "init", init)?;
        }
        let output = self.command(&space, run, "generate", &self.generate)?;
        String::from_utf8(output).map_err(|_| {
            self.error(
                "generate",
                Failure::Output("it printed what is not UTF-8".into()),
            )
        })
    }

    /// The parameters the plugin announces: those it lists, then those its command prints.
    pub fn announce(&self, tree: &SourceTree, run: &Run) -> Result<Vec<Value>, PluginError> {
        let mut all = self.static_parameters.clone();
        if let Some(step) = &self.dynamic_parameters {
            let space = self.space(tree, "parameters")?;
            let output = self.command(&space, run, "parameters", step)?;
            match serde_json::from_slice(&output) {
                Ok(Value::Array(list)) => all.extend(list),
                Ok(_) => {
                    let why = "it did not print a JSON list".to_owned();
                    return Err(self.error("parameters", Failure::Output(why)));
                }
                Err(why) => {
                    return Err(self.error("parameters", Failure::Output(why.to_string())));
                }
            }
        }
        Ok(all)
    }

    fn finds(
        &self,
        tree: &SourceTree,
        run: &Run,
        pattern: &str,
        compile: fn(&str) -> Result<Glob, pattern::PatternError>,
    ) -> Result<bool, PluginError> {
        let clean = pattern.trim_start_matches("./");
        let glob = compile(clean).map_err(|fault| {
            self.error(
                "discover",
                Failure::Config(format!("`{pattern}` is no pattern: {fault}")),
            )
        })?;
        copy::any_path(tree, &run.directory, &|path| glob.matches(path))
            .map_err(|fault| self.error("discover", Failure::Files(fault.to_string())))
    }

    fn space(&self, tree: &SourceTree, phase: &'static str) -> Result<Workspace, PluginError> {
        Workspace::of(tree).map_err(|why| self.error(phase, Failure::Files(why)))
    }

    fn command(
        &self,
        space: &Workspace,
        run: &Run,
        phase: &'static str,
        step: &Step,
    ) -> Result<Vec<u8>, PluginError> {
        let at = space.path(&run.directory);
        process::run(step, &at, space.root(), &run.environment, run.limits())
            .map_err(|failure| self.error(phase, failure))
    }

    fn error(&self, phase: &'static str, failure: Failure) -> PluginError {
        PluginError {
            plugin: self.full_name(),
            phase,
            failure,
        }
    }
}

#[cfg(test)]
mod tests;
