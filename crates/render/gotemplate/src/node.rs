//! Parsed templates: a tree of nodes that print as Go prints them in error messages.

use crate::function::Function;
use crate::text::Text;
use std::fmt;
use std::sync::Arc;

/// The text that a tree was parsed from.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file's name, as errors show it.
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
}

impl Source {
    /// Line from 1 and column as Go counts it, from 0.
    pub(crate) fn place(&self, pos: usize) -> (usize, usize) {
        let before = &self.text.as_bytes()[..pos.min(self.text.len())];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        let column = match before.iter().rposition(|b| *b == b'\n') {
            Some(at) => pos - at - 1,
            None => pos,
        };
        (line, column)
    }
}

/// One template.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Arc<str>,
    pub(crate) source: Arc<Source>,
    pub(crate) root: Vec<Node>,
}

impl Tree {
    /// Whether it would print nothing, whatever it is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.root.iter().all(|node| match node {
            Node::Text { text, .. } => text.lossy().trim().is_empty(),
            _ => false,
        })
    }
}

#[derive(Debug)]
pub(crate) enum Node {
    Text {
        pos: usize,
        text: Text,
    },
    Action {
        pos: usize,
        pipe: Pipe,
    },
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template {
        pos: usize,
        name: Arc<str>,
        pipe: Option<Pipe>,
    },
    Break {
        pos: usize,
    },
    Continue {
        pos: usize,
    },
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pos: usize,
    pub(crate) pipe: Pipe,
    pub(crate) list: Vec<Node>,
    pub(crate) otherwise: Option<Vec<Node>>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) pos: usize,
    pub(crate) assigns: bool,
    pub(crate) declares: Vec<(usize, Arc<str>)>,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) pos: usize,
    pub(crate) args: Vec<Expr>,
}

#[derive(Debug)]
pub(crate) enum Expr {
    Field {
        pos: usize,
        names: Vec<Arc<str>>,
    },
    Chain {
        pos: usize,
        inner: Box<Expr>,
        names: Vec<Arc<str>>,
    },
    Identifier {
        pos: usize,
        function: &'static Function,
    },
    Variable {
        pos: usize,
        name: Arc<str>,
        names: Vec<Arc<str>>,
    },
    Pipe(Box<Pipe>),
    Bool {
        pos: usize,
        value: bool,
    },
    Dot {
        pos: usize,
    },
    Nil {
        pos: usize,
    },
    Number(Box<Number>),
    String {
        pos: usize,
        quoted: Arc<str>,
        text: Text,
    },
}

/// A number, as every type that can hold it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Number {
    pub(crate) pos: usize,
    pub(crate) text: String,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

impl Expr {
    pub(crate) fn pos(&self) -> usize {
        match self {
            Self::Field { pos, .. }
            | Self::Chain { pos, .. }
            | Self::Identifier { pos, .. }
            | Self::Variable { pos, .. }
            | Self::Bool { pos, .. }
            | Self::Dot { pos }
            | Self::Nil { pos }
            | Self::String { pos, .. } => *pos,
            Self::Pipe(pipe) => pipe.pos,
            Self::Number(number) => number.pos,
        }
    }
}

fn dotted(f: &mut fmt::Formatter<'_>, names: &[Arc<str>]) -> fmt::Result {
    names.iter().try_for_each(|name| write!(f, ".{name}"))
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { names, .. } => dotted(f, names),
            Self::Chain { inner, names, .. } => {
                match &**inner {
                    Self::Pipe(pipe) => write!(f, "({pipe})")?,
                    inner => write!(f, "{inner}")?,
                }
                dotted(f, names)
            }
            Self::Identifier { function, .. } => f.write_str(function.name),
            Self::Variable { name, names, .. } => {
                f.write_str(name)?;
                dotted(f, names)
            }
            Self::Pipe(pipe) => write!(f, "{pipe}"),
            Self::Bool { value, .. } => write!(f, "{value}"),
            Self::Dot { .. } => f.write_str("."),
            Self::Nil { .. } => f.write_str("nil"),
            Self::Number(number) => f.write_str(&number.text),
            Self::String { quoted, .. } => f.write_str(quoted),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, arg) in self.args.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " " })?;
            match arg {
                Expr::Pipe(pipe) => write!(f, "({pipe})")?,
                arg => write!(f, "{arg}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (_, name)) in self.declares.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            f.write_str(name)?;
        }
        if !self.declares.is_empty() {
            f.write_str(if self.assigns { " = " } else { " := " })?;
        }
        for (i, command) in self.commands.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { " | " })?;
            write!(f, "{command}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = |f: &mut fmt::Formatter<'_>, word: &str, branch: &Branch| {
            write!(f, "{{{{{word} {}}}}}", branch.pipe)?;
            branch.list.iter().try_for_each(|n| write!(f, "{n}"))?;
            if let Some(otherwise) = &branch.otherwise {
                f.write_str("{{else}}")?;
                otherwise.iter().try_for_each(|n| write!(f, "{n}"))?;
            }
            f.write_str("{{end}}")
        };
        match self {
            Self::Text { text, .. } => write!(f, "{text}"),
            Self::Action { pipe, .. } => write!(f, "{{{{{pipe}}}}}"),
            Self::If(b) => branch(f, "if", b),
            Self::With(b) => branch(f, "with", b),
            Self::Range(b) => branch(f, "range", b),
            Self::Template { name, pipe, .. } => {
                write!(f, "{{{{template {}", crate::quote::quote(name.as_bytes()))?;
                if let Some(pipe) = pipe {
                    write!(f, " {pipe}")?;
                }
                f.write_str("}}")
            }
            Self::Break { .. } => f.write_str("{{break}}"),
            Self::Continue { .. } => f.write_str("{{continue}}"),
        }
    }
}
