//! A set of parsed templates that know each other by name.

use crate::context::Context;
use crate::error::ExecError;
use crate::exec::Exec;
use crate::function::{self, Edition};
use crate::node::Tree;
use crate::output::Output;
use crate::parse::{self, ParseError};
use crate::quote::quote;
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Parsed templates by name. Cloning shares the trees; executing changes nothing, so one set
/// serves many renders and threads.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    edition: Edition,
    trees: HashMap<Arc<str>, Arc<Tree>>,
}

impl Templates {
    /// An empty set whose templates may use the functions of an edition.
    pub fn new(edition: Edition) -> Self {
        Self {
            edition,
            trees: HashMap::new(),
        }
    }

    /// Which functions its templates may use.
    pub fn edition(&self) -> Edition {
        self.edition
    }

    /// Adds a file: its text under its name, and every template it defines.
    ///
    /// Of two templates with one name the later one counts, unless it is blank. A file that does
    /// not parse adds nothing.
    pub fn parse(&mut self, name: &str, text: &str) -> Result<(), ParseError> {
        let edition = self.edition;
        for tree in parse::parse(name, text, &|name| function::find(edition, name))? {
            if !(tree.is_empty() && self.trees.contains_key(&tree.name)) {
                self.trees.insert(tree.name.clone(), tree);
            }
        }
        Ok(())
    }

    /// Whether there is a template of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.trees.contains_key(name)
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.trees.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// Executes a template.
    pub fn execute(
        &self,
        name: &str,
        dot: Value,
        context: &mut Context,
    ) -> Result<Output, Box<ExecError>> {
        let Some(tree) = self.trees.get(name) else {
            return Err(Box::new(ExecError {
                template: name.to_owned(),
                location: None,
                message: format!(
                    "no template {} associated with template \"gotpl\"",
                    quote(name.as_bytes())
                ),
                cause: None,
            }));
        };
        let scope = Scope::Base(self);
        let (text, spans) = Exec::run(&scope, tree, dot, context, true)?;
        Ok(Output::new(text, spans))
    }
}

/// Where names are looked up: the set, and what the texts of `tpl` around us define.
pub(crate) enum Scope<'t> {
    Base(&'t Templates),
    Layer {
        trees: &'t [Arc<Tree>],
        parent: &'t Scope<'t>,
    },
}

impl<'t> Scope<'t> {
    pub(crate) fn lookup(&self, name: &str) -> Option<&'t Tree> {
        match self {
            Self::Base(templates) => templates.trees.get(name).map(|tree| &**tree),
            Self::Layer { trees, parent } => {
                let own = trees.iter().find(|tree| &*tree.name == name);
                match own {
                    Some(tree) if tree.is_empty() => parent.lookup(name).or(Some(tree)),
                    Some(tree) => Some(tree),
                    None => parent.lookup(name),
                }
            }
        }
    }

    pub(crate) fn edition(&self) -> Edition {
        match self {
            Self::Base(templates) => templates.edition,
            Self::Layer { parent, .. } => parent.edition(),
        }
    }
}
