//! Tokens to trees: actions, pipelines, and the templates that a text defines.
//!
//! ```text
//! text ── lex ──▶ tokens ── parse ──▶ [Tree]   or one ParseError, in Go's words
//! ```

use crate::function::Function;
use crate::lex::{Kind, Token, lex};
use crate::node::{Branch, Command, Expr, Node, Pipe, Source, Tree};
use crate::number;
use crate::quote::{quote, unquote};
use std::fmt;
use std::sync::Arc;

/// How deep blocks and parentheses may nest.
pub const NESTING_MAX: usize = 1000;

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file.
    pub template: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "template: {}:{}: {}",
            self.template, self.line, self.message
        )
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

/// Parses a text; gives the trees it defines, its own one under `name` among them.
pub(crate) fn parse(
    name: &str,
    text: &str,
    find: &dyn Fn(&str) -> Option<&'static Function>,
) -> Result<Vec<Arc<Tree>>> {
    let source = Arc::new(Source {
        name: name.into(),
        text: text.into(),
    });
    let mut parser = Parser {
        tokens: lex(text),
        next: 0,
        text,
        source,
        find,
        trees: Vec::new(),
        state: State::new(name),
        depth: 0,
    };
    let root = parser.file()?;
    parser.add(root)?;
    Ok(parser.trees)
}

// What belongs to one template while it is parsed; a definition inside has its own.
struct State {
    name: Arc<str>,
    token: [Token; 3],
    peeked: usize,
    vars: Vec<Arc<str>>,
    action_line: usize,
    ranges: usize,
}

impl State {
    fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            token: [Token::none(), Token::none(), Token::none()],
            peeked: 0,
            vars: vec!["$".into()],
            action_line: 0,
            ranges: 0,
        }
    }
}

struct Parser<'a> {
    tokens: Vec<Token>,
    next: usize,
    text: &'a str,
    source: Arc<Source>,
    find: &'a dyn Fn(&str) -> Option<&'static Function>,
    trees: Vec<Arc<Tree>>,
    state: State,
    depth: usize,
}

// What ends a list of nodes.
enum End {
    End,
    // The next token, when it is `if` or `with`.
    Else,
}

enum Item {
    Node(Node),
    Ends(End),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    If,
    Range,
    With,
}

impl Control {
    fn word(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::Range => "range",
            Self::With => "with",
        }
    }
}

impl Parser<'_> {
    fn advance(&mut self) -> Token {
        if self.state.peeked > 0 {
            self.state.peeked -= 1;
        } else {
            self.state.token[0] = self.lexed();
        }
        self.state.token[self.state.peeked].clone()
    }

    // The lexer's next token; after a fault there is only the end.
    fn lexed(&mut self) -> Token {
        let token = self
            .tokens
            .get(self.next)
            .cloned()
            .unwrap_or_else(Token::none);
        self.next += 1;
        token
    }

    fn backup(&mut self) {
        self.state.peeked += 1;
    }

    fn peek(&mut self) -> Token {
        let token = self.advance();
        self.backup();
        token
    }

    fn advance_solid(&mut self) -> Token {
        loop {
            let token = self.advance();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_solid(&mut self) -> Token {
        let token = self.advance_solid();
        self.backup();
        token
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ParseError {
            template: self.source.name.to_string(),
            line: self.state.token[0].line,
            message: message.into(),
        })
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Result<T> {
        let shown = token.show(self.text);
        if token.kind != Kind::Error {
            return self.error(format!("unexpected {shown} in {context}"));
        }
        let line = self.state.action_line;
        if line == 0 || line == token.line {
            return self.error(shown);
        }
        let lead = if shown.ends_with(" action") {
            ""
        } else {
            " in action"
        };
        self.error(format!(
            "{shown}{lead} started at {}:{line}",
            self.source.name
        ))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token> {
        let token = self.advance_solid();
        if token.kind == kind {
            Ok(token)
        } else {
            self.unexpected(&token, context)
        }
    }

    // Runs with room on the stack and a limit on nesting.
    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_MAX {
            return self.error("max expression depth exceeded");
        }
        self.depth += 1;
        let result = crate::deep(|| work(self));
        self.depth -= 1;
        result
    }

    fn file(&mut self) -> Result<Vec<Node>> {
        let mut root = Vec::new();
        loop {
            match self.peek().kind {
                Kind::Eof => return Ok(root),
                Kind::LeftDelim => {
                    let delim = self.advance();
                    if self.advance_solid().kind == Kind::Define {
                        self.definition()?;
                        continue;
                    }
                    self.state.token[1] = delim;
                    self.state.peeked = 2;
                }
                _ => {}
            }
            match self.text_or_action()? {
                Item::Node(node) => root.push(node),
                Item::Ends(End::End) => return self.error("unexpected {{end}}"),
                Item::Ends(End::Else) => return self.error("unexpected {{else}}"),
            }
        }
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.state, State::new("definition"));
        let token = self.advance_solid();
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return self.unexpected(&token, CONTEXT);
        }
        self.state.name = self.unquoted(&token)?.into();
        self.expect(Kind::RightDelim, CONTEXT)?;
        let (root, end) = self.list()?;
        if matches!(end, End::Else) {
            return self.error(format!("unexpected {{{{else}}}} in {CONTEXT}"));
        }
        self.add(root)?;
        self.state = outer;
        Ok(())
    }

    fn add(&mut self, root: Vec<Node>) -> Result<()> {
        let name = self.state.name.clone();
        let tree = Tree {
            name,
            source: self.source.clone(),
            root,
        };
        match self.trees.iter_mut().find(|t| t.name == tree.name) {
            None => self.trees.push(Arc::new(tree)),
            Some(old) if old.is_empty() => *old = Arc::new(tree),
            Some(_) if tree.is_empty() => {}
            Some(_) => {
                let name = quote(tree.name.as_bytes());
                return self.error(format!("template: multiple definition of template {name}"));
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Result<(Vec<Node>, End)> {
        let mut list = Vec::new();
        while self.peek_solid().kind != Kind::Eof {
            match self.text_or_action()? {
                Item::Node(node) => list.push(node),
                Item::Ends(end) => return Ok((list, end)),
            }
        }
        self.error("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Result<Item> {
        let token = self.advance_solid();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text {
                pos: token.pos,
                text: token.text(self.text).into(),
            })),
            Kind::LeftDelim => {
                self.state.action_line = token.line;
                let item = self.nested(Self::action)?;
                self.state.action_line = 0;
                Ok(item)
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Result<Item> {
        let token = self.advance_solid();
        let node = match token.kind {
            Kind::Block => self.block()?,
            Kind::Break | Kind::Continue => self.jump(&token)?,
            Kind::Else => {
                if !matches!(self.peek_solid().kind, Kind::If | Kind::With) {
                    self.expect(Kind::RightDelim, "else")?;
                }
                return Ok(Item::Ends(End::Else));
            }
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Item::Ends(End::End));
            }
            Kind::If => Node::If(Box::new(self.control(Control::If)?)),
            Kind::Range => Node::Range(Box::new(self.control(Control::Range)?)),
            Kind::With => Node::With(Box::new(self.control(Control::With)?)),
            Kind::Template => self.template()?,
            _ => {
                self.backup();
                let pos = self.peek().pos;
                Node::Action {
                    pos,
                    pipe: self.pipeline("command", Kind::RightDelim)?,
                }
            }
        };
        Ok(Item::Node(node))
    }

    fn jump(&mut self, word: &Token) -> Result<Node> {
        let text = format!("{{{{{}}}}}", word.text(self.text));
        let token = self.advance_solid();
        if token.kind != Kind::RightDelim {
            return self.unexpected(&token, &text);
        }
        if self.state.ranges == 0 {
            return self.error(format!("{text} outside {{{{range}}}}"));
        }
        Ok(match word.kind {
            Kind::Break => Node::Break { pos: word.pos },
            _ => Node::Continue { pos: word.pos },
        })
    }

    fn control(&mut self, control: Control) -> Result<Branch> {
        let vars = self.state.vars.len();
        let pipe = self.pipeline(control.word(), Kind::RightDelim)?;
        self.state.ranges += usize::from(control == Control::Range);
        let (list, end) = self.list()?;
        self.state.ranges -= usize::from(control == Control::Range);
        let otherwise = match end {
            End::End => None,
            End::Else => Some(self.otherwise(control)?),
        };
        self.state.vars.truncate(vars);
        Ok(Branch {
            pos: pipe.pos,
            pipe,
            list,
            otherwise,
        })
    }

    fn otherwise(&mut self, control: Control) -> Result<Vec<Node>> {
        match (control, self.peek().kind) {
            (Control::If, Kind::If) => {
                self.advance();
                let inner = self.nested(|p| p.control(Control::If))?;
                return Ok(vec![Node::If(Box::new(inner))]);
            }
            (Control::With, Kind::With) => {
                self.advance();
                let inner = self.nested(|p| p.control(Control::With))?;
                return Ok(vec![Node::With(Box::new(inner))]);
            }
            _ => {}
        }
        let (list, end) = self.list()?;
        match end {
            End::End => Ok(list),
            End::Else => self.error("expected end; found {{else}}"),
        }
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Result<String> {
        if matches!(token.kind, Kind::String | Kind::RawString) {
            self.unquoted(token)
        } else {
            self.unexpected(token, context)
        }
    }

    fn unquoted(&self, token: &Token) -> Result<String> {
        match unquote(token.text(self.text)) {
            Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            None => self.error("invalid syntax"),
        }
    }

    fn block(&mut self) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.advance_solid();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let outer = std::mem::replace(&mut self.state, State::new(&name));
        let (root, end) = self.list()?;
        if matches!(end, End::Else) {
            self.state = outer;
            return self.error(format!("unexpected {{{{else}}}} in {CONTEXT}"));
        }
        self.add(root)?;
        self.state = outer;
        Ok(Node::Template {
            pos: token.pos,
            name: name.into(),
            pipe: Some(pipe),
        })
    }

    fn template(&mut self) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.advance_solid();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.advance_solid().kind != Kind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(Node::Template {
            pos: token.pos,
            name: name.into(),
            pipe,
        })
    }

    fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe> {
        let pos = self.peek_solid().pos;
        let mut pipe = Pipe {
            pos,
            assigns: false,
            declares: Vec::new(),
            commands: Vec::new(),
        };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.advance_solid();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
    }

    // `$x :=`, `$x =` and, in a range, `$i, $x :=`.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<()> {
        loop {
            let variable = self.peek_solid();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.advance();
            let after = self.peek();
            let next = self.peek_solid();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assigns = next.kind == Kind::Assign;
                    self.advance_solid();
                    self.declare(pipe, &variable);
                    return Ok(());
                }
                Kind::Char if next.text(self.text) == "," => {
                    self.advance_solid();
                    self.declare(pipe, &variable);
                    if context == "range" && pipe.declares.len() < 2 {
                        match self.peek_solid().kind {
                            Kind::Variable | Kind::RightDelim | Kind::RightParen => continue,
                            _ => return self.error("range can only initialize variables"),
                        }
                    }
                    return self.error(format!("too many declarations in {context}"));
                }
                _ if after.kind == Kind::Space => {
                    self.state.token[1] = after;
                    self.state.token[2] = variable;
                    self.state.peeked = 3;
                    return Ok(());
                }
                _ => {
                    self.state.token[1] = variable;
                    self.state.peeked = 2;
                    return Ok(());
                }
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, variable: &Token) {
        let name: Arc<str> = variable.text(self.text).into();
        pipe.declares.push((variable.pos, name.clone()));
        self.state.vars.push(name);
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Result<()> {
        if pipe.commands.is_empty() {
            return self.error(format!("missing value for {context}"));
        }
        for (i, command) in pipe.commands.iter().enumerate().skip(1) {
            if let Expr::Bool { .. }
            | Expr::Dot { .. }
            | Expr::Nil { .. }
            | Expr::Number(_)
            | Expr::String { .. } = command.args[0]
            {
                let stage = i + 1;
                return self.error(format!("non executable command in pipeline stage {stage}"));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let mut command = Command {
            pos: self.peek_solid().pos,
            args: Vec::new(),
        };
        loop {
            self.peek_solid();
            if let Some(operand) = self.operand()? {
                command.args.push(operand);
            }
            let token = self.advance();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if command.args.is_empty() {
            return self.error("empty command");
        }
        Ok(command)
    }

    fn operand(&mut self) -> Result<Option<Expr>> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut more: Vec<Arc<str>> = Vec::new();
        while self.peek().kind == Kind::Field {
            more.push(self.advance().text(self.text)[1..].into());
        }
        let pos = first.pos;
        Ok(Some(match term {
            Expr::Field { mut names, .. } => {
                names.append(&mut more);
                Expr::Field { pos, names }
            }
            Expr::Variable {
                name, mut names, ..
            } => {
                names.append(&mut more);
                Expr::Variable { pos, name, names }
            }
            Expr::Bool { .. }
            | Expr::String { .. }
            | Expr::Number(_)
            | Expr::Nil { .. }
            | Expr::Dot { .. } => {
                let shown = quote(term.to_string().as_bytes());
                return self.error(format!("unexpected . after term {shown}"));
            }
            inner => Expr::Chain {
                pos,
                inner: Box::new(inner),
                names: more,
            },
        }))
    }

    fn term(&mut self) -> Result<Option<Expr>> {
        let token = self.advance_solid();
        let (pos, text) = (token.pos, token.text(self.text));
        Ok(Some(match token.kind {
            Kind::Identifier => match (self.find)(text) {
                Some(function) => Expr::Identifier { pos, function },
                None => {
                    let name = quote(text.as_bytes());
                    return self.error(format!("function {name} not defined"));
                }
            },
            Kind::Dot => Expr::Dot { pos },
            Kind::Nil => Expr::Nil { pos },
            Kind::Variable => {
                if !self.state.vars.iter().any(|v| &**v == text) {
                    let name = quote(text.as_bytes());
                    return self.error(format!("undefined variable {name}"));
                }
                Expr::Variable {
                    pos,
                    name: text.into(),
                    names: Vec::new(),
                }
            }
            Kind::Field => Expr::Field {
                pos,
                names: vec![text[1..].into()],
            },
            Kind::Bool => Expr::Bool {
                pos,
                value: text == "true",
            },
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                match number::parse(pos, text, token.kind) {
                    Ok(number) => Expr::Number(Box::new(number)),
                    Err(why) => return self.error(why),
                }
            }
            Kind::LeftParen => {
                Expr::Pipe(Box::new(self.nested(|p| {
                    p.pipeline("parenthesized pipeline", Kind::RightParen)
                })?))
            }
            Kind::String | Kind::RawString => match unquote(text) {
                Some(bytes) => Expr::String {
                    pos,
                    quoted: text.into(),
                    text: bytes.into(),
                },
                None => return self.error("invalid syntax"),
            },
            _ => {
                self.backup();
                return Ok(None);
            }
        }))
    }
}
