//! `plugin.yaml`: what a plugin declares about itself.

use model::{Map, Value};
use std::fmt;

/// A config management plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version; a part of the name people use.
    pub version: String,
    /// What runs before it generates.
    pub init: Option<Step>,
    /// What prints the manifests.
    pub generate: Step,
    /// How it recognises a source.
    pub discover: Discover,
    /// Parameters it lists.
    pub static_parameters: Vec<Value>,
    /// What prints more parameters.
    pub dynamic_parameters: Option<Step>,
    /// Files keep their mode.
    pub preserve_file_mode: bool,
    /// The repository's credentials are lent to the commands.
    pub provide_git_creds: bool,
    /// Only one run at a time for each repository.
    pub lock_repo: bool,
}

/// A command and its arguments, started as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// Further arguments.
    pub args: Vec<String>,
}

/// How a plugin recognises a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Discover {
    /// It is used only where it is named.
    #[default]
    Never,
    /// A file in the source's directory, as a path pattern.
    FileName(String),
    /// A file anywhere below, as a pattern with `**`.
    Glob(String),
    /// A command that prints something.
    Command(Step),
}

/// What is wrong with a `plugin.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The field, as a JSON pointer.
    pub pointer: String,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.pointer.trim_start_matches('/').replace('/', ".");
        write!(f, "{field} {}", self.problem)
    }
}

impl std::error::Error for ConfigError {}

impl Plugin {
    /// Reads a `plugin.yaml`.
    pub fn read(value: &Value) -> Result<Self, ConfigError> {
        let kind = text(value, "/kind")?;
        if kind != "ConfigManagementPlugin" {
            return Err(fault("/kind", "must be `ConfigManagementPlugin`"));
        }
        let name = text(value, "/metadata/name")?;
        if name.is_empty() {
            return Err(fault("/metadata/name", "is required"));
        }
        let Some(generate) = step(value, "/spec/generate")? else {
            return Err(fault(
                "/spec/generate",
                "is required: write the command that prints manifests",
            ));
        };
        let static_parameters = match value.pointer("/spec/parameters/static") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(_) => return Err(fault("/spec/parameters/static", "must be a list")),
        };
        Ok(Self {
            name,
            version: text(value, "/spec/version")?,
            init: step(value, "/spec/init")?,
            generate,
            discover: discover(value)?,
            static_parameters,
            dynamic_parameters: step(value, "/spec/parameters/dynamic")?,
            preserve_file_mode: flag(value, "/spec/preserveFileMode")?,
            provide_git_creds: flag(value, "/spec/provideGitCreds")?,
            lock_repo: flag(value, "/spec/lockRepo")?,
        })
    }

    /// The name people use: with the version behind a dash when there is one.
    pub fn full_name(&self) -> String {
        if self.version.is_empty() {
            self.name.clone()
        } else {
            format!("{}-{}", self.name, self.version)
        }
    }
}

fn fault(pointer: &str, problem: &str) -> ConfigError {
    ConfigError {
        pointer: pointer.into(),
        problem: problem.into(),
    }
}

fn text(value: &Value, pointer: &str) -> Result<String, ConfigError> {
    match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(fault(pointer, "must be a string")),
    }
}

fn flag(value: &Value, pointer: &str) -> Result<bool, ConfigError> {
    match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(fault(pointer, "must be true or false")),
    }
}

fn discover(value: &Value) -> Result<Discover, ConfigError> {
    let file_name = text(value, "/spec/discover/fileName")?;
    if !file_name.is_empty() {
        return Ok(Discover::FileName(file_name));
    }
    let glob = text(value, "/spec/discover/find/glob")?;
    if !glob.is_empty() {
        return Ok(Discover::Glob(glob));
    }
    let command = step(value, "/spec/discover/find")?;
    Ok(command.map_or(Discover::Never, Discover::Command))
}

fn step(value: &Value, pointer: &str) -> Result<Option<Step>, ConfigError> {
    let map = match value.pointer(pointer) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(map)) => map,
        Some(_) => return Err(fault(pointer, "must be an object with a `command`")),
    };
    let step = Step {
        command: texts(map, pointer, "command")?,
        args: texts(map, pointer, "args")?,
    };
    Ok((!step.command.is_empty()).then_some(step))
}

fn texts(map: &Map<String, Value>, pointer: &str, name: &str) -> Result<Vec<String>, ConfigError> {
    let list = match map.get(name) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(fault(
                &format!("{pointer}/{name}"),
                "must be a list of strings",
            ));
        }
    };
    let texts = list.iter().enumerate().map(|(index, entry)| match entry {
        Value::String(text) => Ok(text.clone()),
        _ => Err(fault(
            &format!("{pointer}/{name}/{index}"),
            "must be a string",
        )),
    });
    texts.collect()
}
