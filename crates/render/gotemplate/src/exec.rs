//! Executes a template: walks its nodes, keeps its variables, writes its output.

use crate::call::Runtime;
use crate::context::{Context, Mark};
use crate::error::{Cause, ExecError, Limit, Location};
use crate::function::{Edition, Fault};
use crate::node::{Branch, Command, Expr, Node, Pipe, Tree};
use crate::output::Span;
use crate::quote::quote;
use crate::templates::Scope;
use crate::text::Text;
use crate::value::{Element, Value};
use std::sync::Arc;

pub(crate) type Result<T> = std::result::Result<T, Box<ExecError>>;

/// A value, and whether Go sees it through an `interface {}`.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) boxed: bool,
}

impl Slot {
    pub(crate) fn plain(value: Value) -> Self {
        let boxed = matches!(value, Value::Nil);
        Self { value, boxed }
    }

    // What a map or list of the given element type holds.
    pub(crate) fn element(value: Value, element: &Element) -> Self {
        Self {
            value,
            boxed: *element == Element::Any,
        }
    }

    // The value without the interface around it; nothing when that holds nil.
    pub(crate) fn open(self) -> Self {
        let value = if matches!(self.value, Value::Nil) {
            Value::Invalid
        } else {
            self.value
        };
        Self {
            value,
            boxed: false,
        }
    }

    // The type's name as the reader of an error sees it.
    pub(crate) fn type_name(&self) -> String {
        if self.boxed {
            "interface {}".to_owned()
        } else {
            self.value.type_name()
        }
    }
}

/// What the last thing looked at was; errors name it.
#[derive(Clone, Copy)]
pub(crate) enum Cursor<'t> {
    None,
    Node(&'t Node),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Expr(&'t Expr),
}

impl Cursor<'_> {
    fn pos(self) -> Option<usize> {
        Some(match self {
            Self::None => return None,
            Self::Node(
                Node::Text { pos, .. }
                | Node::Action { pos, .. }
                | Node::Template { pos, .. }
                | Node::Break { pos }
                | Node::Continue { pos },
            ) => *pos,
            Self::Node(Node::If(b) | Node::With(b) | Node::Range(b)) => b.pos,
            Self::Pipe(pipe) => pipe.pos,
            Self::Command(command) => command.pos,
            Self::Expr(expr) => expr.pos(),
        })
    }

    fn show(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Node(node) => node.to_string(),
            Self::Pipe(pipe) => pipe.to_string(),
            Self::Command(command) => command.to_string(),
            Self::Expr(expr) => expr.to_string(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// How deep `include` and `tpl` may stand in each other; Helm allows a thousand of each name.
const NESTED_MAX: usize = 4000;

/// One execution.
pub(crate) struct Exec<'t, 'c> {
    pub(crate) scope: &'t Scope<'t>,
    pub(crate) context: &'c mut Context,
    pub(crate) tree: &'t Tree,
    pub(crate) cursor: Cursor<'t>,
    pub(crate) vars: Vec<(&'t str, Slot)>,
    depth: usize,
    out: Vec<u8>,
    // Where the output came from; only of the outermost template.
    spans: Option<Vec<Span>>,
}

impl<'t, 'c> Exec<'t, 'c> {
    /// Runs a template of the scope from its start.
    pub(crate) fn run(
        scope: &'t Scope<'t>,
        tree: &'t Tree,
        dot: Value,
        context: &'c mut Context,
        spans: bool,
    ) -> Result<(Vec<u8>, Vec<Span>)> {
        let dot = Slot::plain(dot).open();
        if context.nested >= NESTED_MAX {
            return Err(Box::new(ExecError {
                template: tree.name.to_string(),
                location: None,
                message: String::new(),
                cause: Some(Box::new(Cause::Limit(Limit::Depth))),
            }));
        }
        context.nested += 1;
        let mut exec = Exec {
            scope,
            context,
            tree,
            cursor: Cursor::None,
            vars: vec![("$", dot.clone())],
            depth: 0,
            out: Vec::new(),
            spans: spans.then(Vec::new),
        };
        let result = crate::deep(|| exec.walk_list(&dot, &tree.root));
        exec.context.nested -= 1;
        result?;
        Ok((exec.out, exec.spans.unwrap_or_default()))
    }

    /// An error at the cursor.
    pub(crate) fn error(&self, message: impl Into<String>, cause: Option<Cause>) -> Box<ExecError> {
        let location = self.cursor.pos().map(|pos| {
            let (line, column) = self.tree.source.place(pos);
            let node = self.cursor.show();
            Location {
                file: self.tree.source.name.to_string(),
                line,
                column,
                node,
            }
        });
        Box::new(ExecError {
            template: self.tree.name.to_string(),
            location,
            message: message.into(),
            cause: cause.map(Box::new),
        })
    }

    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(self.error(message, None))
    }

    pub(crate) fn limited<T>(&self, result: std::result::Result<T, Limit>) -> Result<T> {
        result.map_err(|limit| self.error("", Some(Cause::Limit(limit))))
    }

    pub(crate) fn step(&mut self) -> Result<()> {
        let step = self.context.step(1);
        self.limited(step)
    }

    fn write(&mut self, pos: usize, bytes: &[u8], is_text: bool) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // The whole output counts against the limit, but only the new bytes as work.
        let size = if self.out.len() + bytes.len() > self.context.limits.output {
            Err(Limit::Output)
        } else {
            self.context.step(bytes.len() as u64 / 64)
        };
        self.limited(size)?;
        if let Some(spans) = &mut self.spans {
            spans.push(Span {
                start: self.out.len(),
                source: self.tree.source.clone(),
                pos,
                is_text,
            });
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn walk_list(&mut self, dot: &Slot, list: &'t [Node]) -> Result<Flow> {
        for node in list {
            let flow = self.walk(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn walk(&mut self, dot: &Slot, node: &'t Node) -> Result<Flow> {
        self.cursor = Cursor::Node(node);
        self.step()?;
        match node {
            Node::Text { pos, text } => self.write(*pos, text, true)?,
            Node::Action { pos, pipe } => {
                let value = self.eval_pipeline(dot, pipe)?;
                if pipe.declares.is_empty() {
                    self.cursor = Cursor::Node(node);
                    self.print(*pos, &value.value)?;
                }
            }
            Node::If(branch) => return self.walk_condition(dot, branch, false),
            Node::With(branch) => return self.walk_condition(dot, branch, true),
            Node::Range(branch) => {
                let mark = self.vars.len();
                let flow = crate::deep(|| self.walk_range(dot, branch));
                self.vars.truncate(mark);
                return flow;
            }
            Node::Template { name, pipe, .. } => self.walk_template(dot, name, pipe.as_ref())?,
            Node::Break { .. } => return Ok(Flow::Break),
            Node::Continue { .. } => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn print(&mut self, pos: usize, value: &Value) -> Result<()> {
        match value {
            Value::Invalid | Value::Nil => self.write(pos, b"<no value>", false),
            Value::String(text) => self.write(pos, text, false),
            other => match crate::fmt::sprint_value(other) {
                Some(bytes) => self.write(pos, &bytes, false),
                None => Err(self.error("", Some(Cause::Limit(Limit::Output)))),
            },
        }
    }

    fn walk_condition(&mut self, dot: &Slot, branch: &'t Branch, with: bool) -> Result<Flow> {
        let mark = self.vars.len();
        let value = self.eval_pipeline(dot, &branch.pipe)?;
        let flow = crate::deep(|| {
            if value.value.truth() {
                self.walk_list(if with { &value } else { dot }, &branch.list)
            } else if let Some(otherwise) = &branch.otherwise {
                self.walk_list(dot, otherwise)
            } else {
                Ok(Flow::Next)
            }
        });
        self.vars.truncate(mark);
        flow
    }

    fn walk_range(&mut self, dot: &Slot, branch: &'t Branch) -> Result<Flow> {
        let value = self.eval_pipeline(dot, &branch.pipe)?.value;
        let mark = self.vars.len();
        let mut items: Box<dyn Iterator<Item = (Value, Slot)>> = match &value {
            Value::Int(_)
            | Value::Int64(_)
            | Value::Int32(_)
            | Value::Uint8(_)
            | Value::Uint64(_)
            | Value::Duration(_) => {
                if branch.pipe.declares.len() > 1 {
                    let text = String::from_utf8_lossy(&crate::fmt::sprint(&[value])).into_owned();
                    return self.fail(format!(
                        "can't use {text} to iterate over more than one variable"
                    ));
                }
                Box::new(counted(&value))
            }
            Value::List(list) => {
                let list = list.clone();
                Box::new((0..list.items().len()).map(move |i| {
                    let item = Slot::element(list.items()[i].clone(), list.element());
                    (Value::Int(i as i64), item)
                }))
            }
            Value::Map(map) => {
                let element = map.element().clone();
                Box::new(
                    map.entries().into_iter().map(move |(key, value)| {
                        (Value::String(key), Slot::element(value, &element))
                    }),
                )
            }
            Value::Invalid | Value::Nil => Box::new(std::iter::empty()),
            other => {
                let text = crate::fmt::sprint(std::slice::from_ref(other));
                let text = String::from_utf8_lossy(&text);
                return self.fail(format!("range can't iterate over {text}"));
            }
        };
        let mut ran = false;
        for (index, item) in items.by_ref() {
            ran = true;
            self.step()?;
            self.bind(branch, index, &item)?;
            let flow = self.walk_list(&item, &branch.list)?;
            self.vars.truncate(mark);
            if flow == Flow::Break {
                break;
            }
        }
        drop(items);
        match &branch.otherwise {
            Some(otherwise) if !ran => self.walk_list(dot, otherwise),
            _ => Ok(Flow::Next),
        }
    }

    // Gives the variables of a range their values of this iteration.
    fn bind(&mut self, branch: &'t Branch, index: Value, item: &Slot) -> Result<()> {
        let pipe = &branch.pipe;
        let top = self.vars.len();
        match (&pipe.declares[..], pipe.assigns) {
            ([], _) => {}
            ([(_, name)], true) => self.set_var(name, item.clone())?,
            ([_], false) => self.vars[top - 1].1 = item.clone(),
            ([(_, first), (_, second), ..], true) => {
                self.set_var(first, Slot::plain(index))?;
                self.set_var(second, item.clone())?;
            }
            ([_, _, ..], false) => {
                self.vars[top - 1].1 = item.clone();
                self.vars[top - 2].1 = Slot::plain(index);
            }
        }
        Ok(())
    }

    fn walk_template(
        &mut self,
        dot: &Slot,
        name: &'t Arc<str>,
        pipe: Option<&'t Pipe>,
    ) -> Result<()> {
        let Some(tree) = self.scope.lookup(name) else {
            return self.fail(format!("template {} not defined", quote(name.as_bytes())));
        };
        if self.depth >= self.context.limits.depth {
            return self.fail("exceeded maximum template depth (100000)");
        }
        let dot = match pipe {
            Some(pipe) => self.eval_pipeline(dot, pipe)?,
            None => Slot::plain(Value::Invalid),
        };
        let vars = std::mem::replace(&mut self.vars, vec![("$", dot.clone())]);
        let outer = std::mem::replace(&mut self.tree, tree);
        let cursor = self.cursor;
        self.depth += 1;
        crate::deep(|| self.walk_list(&dot, &tree.root))?;
        self.depth -= 1;
        self.vars = vars;
        self.tree = outer;
        self.cursor = cursor;
        Ok(())
    }

    pub(crate) fn set_var(&mut self, name: &str, value: Slot) -> Result<()> {
        match self.vars.iter_mut().rev().find(|(n, _)| *n == name) {
            Some((_, slot)) => {
                *slot = value;
                Ok(())
            }
            None => self.fail(format!("undefined variable: {name}")),
        }
    }

    pub(crate) fn var(&self, name: &str) -> Result<Slot> {
        match self.vars.iter().rev().find(|(n, _)| *n == name) {
            Some((_, slot)) => Ok(slot.clone()),
            None => self.fail(format!("undefined variable: {name}")),
        }
    }
}

// 0 up to a number, in its type.
fn counted(value: &Value) -> impl Iterator<Item = (Value, Slot)> + use<> {
    let end = value
        .as_signed()
        .unwrap_or_else(|| i64::try_from(value.as_unsigned().unwrap_or(0)).unwrap_or(i64::MAX));
    let value = value.clone();
    (0..end).map(move |i| {
        let item = match &value {
            Value::Int64(_) => Value::Int64(i),
            Value::Int32(_) => Value::Int32(i as i32),
            Value::Uint8(_) => Value::Uint8(i as u8),
            Value::Uint64(_) => Value::Uint64(i as u64),
            Value::Duration(_) => Value::Duration(i),
            _ => Value::Int(i),
        };
        (Value::Invalid, Slot::plain(item))
    })
}

impl Runtime for Exec<'_, '_> {
    fn context(&mut self) -> &mut Context {
        self.context
    }

    fn edition(&self) -> Edition {
        self.scope.edition()
    }

    fn include(&mut self, name: &Text, data: Value) -> std::result::Result<Value, Fault> {
        let depth = self.context.included.entry(name.clone()).or_insert(0);
        if *depth > crate::helm::INCLUDE_MAX {
            return Err(Fault::Text(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )));
        }
        *depth += 1;
        let result = match self.scope.lookup(&name.lossy()) {
            None => Err(Fault::Text(format!(
                "template: no template {} associated with template \"gotpl\"",
                quote(name)
            ))),
            Some(tree) => Exec::run(self.scope, tree, data, self.context, false)
                .map(|(out, _)| Value::String(out.into()))
                .map_err(|error| Fault::Inner(None, error)),
        };
        if let Some(depth) = self.context.included.get_mut(name) {
            *depth -= 1;
        }
        result
    }

    fn tpl(&mut self, text: &Text, data: Value) -> std::result::Result<Value, Fault> {
        let trees = match self.context.texts.get(text) {
            Some(trees) => trees.clone(),
            None => {
                let edition = self.scope.edition();
                let find = |name: &str| crate::function::find(edition, name);
                let trees = crate::parse::parse("gotpl", &text.lossy(), &find).map_err(|e| {
                    Fault::Text(format!("cannot parse template {}: {e}", quote(text)))
                })?;
                let trees = std::rc::Rc::new(trees);
                self.context.remember_text(text, &trees);
                trees
            }
        };
        // An error names the text of every `tpl` around it.
        self.context.pending += text.len();
        if self.context.pending > self.context.limits.output {
            return Err(Fault::Limit(Limit::Output));
        }
        let scope = Scope::Layer {
            trees: &trees,
            parent: self.scope,
        };
        let tree = trees
            .last()
            .ok_or_else(|| Fault::Text("no template".to_owned()))?;
        let (out, _) = Exec::run(&scope, tree, data, self.context, false).map_err(|error| {
            let lead = format!("error during tpl function execution for {}", quote(text));
            Fault::Inner(Some(lead), error)
        })?;
        self.context.pending -= text.len();
        Ok(Value::String(crate::output::without_no_value(&out).into()))
    }

    fn mark(&mut self, function: &'static str) {
        let line = self
            .cursor
            .pos()
            .map_or(0, |pos| self.tree.source.place(pos).0);
        let file = self.tree.source.name.to_string();
        self.context.marks.insert(Mark {
            function,
            file,
            line,
        });
    }
}
