//! What an execution may use and how much of it: entropy, the time, a cluster to ask, limits.
//!
//! A [`Context`] serves one render, of one or many templates. It also remembers which functions
//! made the output depend on more than its input.

use crate::error::Limit;
use crate::function::Fault;
use crate::node::Tree;
use crate::regexp::Regexp;
use crate::text::Text;
use crate::value::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// What templates may ask the outside.
pub trait Host {
    /// `lookup apiVersion kind namespace name`: the object or list in a cluster; an empty map when
    /// there is none.
    fn lookup(&mut self, what: Lookup<'_>) -> Result<model::Value, String> {
        let _ = what;
        Ok(model::Value::Object(model::Map::new()))
    }

    /// `getHostByName`: an address, or nothing.
    fn host_by_name(&mut self, name: &str) -> String {
        let _ = name;
        String::new()
    }
}

/// What `lookup` asks for.
#[derive(Clone, Copy, Debug)]
pub struct Lookup<'a> {
    /// Group and version.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// The namespace; empty for all or none.
    pub namespace: &'a str,
    /// The name; empty for a list.
    pub name: &'a str,
}

/// A host that knows nothing: what `helm template` has without `--validate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {}

/// Random bytes for keys, passwords and names; fills all of what it is given.
pub type Entropy = Box<dyn FnMut(&mut [u8])>;

/// How much a render may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes, calls, iterations, and every 64 bytes worked on.
    pub steps: u64,
    /// Bytes of one template's output or of one string; elements of one list.
    pub output: usize,
    /// `{{template}}` inside `{{template}}`; Go says 100000 whatever it is.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100_000_000,
            output: 64 << 20,
            depth: 3000,
        }
    }
}

/// What a map's missing key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// No value at all: Go's default.
    Invalid,
    /// The zero value of the map's type: Helm.
    #[default]
    Zero,
    /// An error: Helm with `--strict`.
    Error,
}

/// A function whose answer is not decided by the template and its values, and where it ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The function.
    pub function: &'static str,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

/// How many texts of `tpl` and regular expressions one context keeps.
const CACHE_MAX: usize = 1000;

/// What a render may use, and what it used.
pub struct Context {
    /// Whom to ask.
    pub host: Box<dyn Host>,
    /// Where random bytes come from.
    pub entropy: Entropy,
    /// The time in seconds and nanoseconds since 1970.
    pub now: (i64, u32),
    /// How much may be used.
    pub limits: Limits,
    /// What a missing key is.
    pub missing_key: MissingKey,
    /// `required` and `fail` do not stop the execution, as in `helm lint`.
    pub lint: bool,
    steps: u64,
    // Executions inside executions, and the bytes of the texts that `tpl` is at.
    pub(crate) nested: usize,
    pub(crate) pending: usize,
    pub(crate) marks: BTreeSet<Mark>,
    pub(crate) included: HashMap<Text, usize>,
    pub(crate) texts: HashMap<Text, Rc<Vec<Arc<Tree>>>>,
    regexes: HashMap<Text, Result<Rc<Regexp>, String>>,
    // Maps that were written to with maps; one of them may contain itself.
    written: Vec<Map>,
}

impl Context {
    /// A context without a cluster.
    pub fn new(now: (i64, u32), entropy: Entropy) -> Self {
        Self {
            host: Box::new(NoHost),
            entropy,
            now,
            limits: Limits::default(),
            missing_key: MissingKey::default(),
            lint: false,
            steps: 0,
            nested: 0,
            pending: 0,
            marks: BTreeSet::new(),
            included: HashMap::new(),
            texts: HashMap::new(),
            regexes: HashMap::new(),
            written: Vec::new(),
        }
    }

    /// How many steps were taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Which functions so far made the output depend on chance, the time or the cluster.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter()
    }

    pub(crate) fn step(&mut self, count: u64) -> Result<(), Limit> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.limits.steps {
            Err(Limit::Steps)
        } else {
            Ok(())
        }
    }

    /// Accounts for work on so many bytes, and refuses more than a string may have.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<(), Limit> {
        if count > self.limits.output {
            return Err(Limit::Output);
        }
        self.step(count as u64 / 64)
    }

    pub(crate) fn regex(&mut self, pattern: &Text) -> Result<Rc<Regexp>, String> {
        if let Some(found) = self.regexes.get(pattern) {
            return found.clone();
        }
        let compiled = Regexp::new(pattern).map(Rc::new);
        if self.regexes.len() < CACHE_MAX {
            self.regexes.insert(pattern.clone(), compiled.clone());
        }
        compiled
    }

    pub(crate) fn remember_text(&mut self, text: &Text, trees: &Rc<Vec<Arc<Tree>>>) {
        if self.texts.len() < CACHE_MAX {
            self.texts.insert(text.clone(), trees.clone());
        }
    }

    /// Notes that a map got a value, which may make it contain itself.
    pub(crate) fn wrote(&mut self, map: &Map, value: &Value) {
        let holds = matches!(value, Value::Map(_) | Value::List(_));
        if holds && !self.written.last().is_some_and(|last| last.same(map)) {
            self.written.push(map.clone());
        }
    }
}

impl Drop for Context {
    // Maps that contain themselves would never be freed: empty them.
    fn drop(&mut self) {
        for map in std::mem::take(&mut self.written) {
            if crate::walk::contains_itself(&map) {
                map.clear();
            }
        }
    }
}

impl From<Limit> for Fault {
    fn from(limit: Limit) -> Self {
        Self::Limit(limit)
    }
}
