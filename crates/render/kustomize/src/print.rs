//! Nodes to YAML text, as the newer of Go's two printers writes them: order and styles are kept.

use crate::node::{Arena, Kind, Node, NodeId, Style, Tag};
use crate::scalar::{self, Scalar};

const INDENT: usize = 2;

/// The text of a node, with a line break at its end.
pub(crate) fn to_string(arena: &Arena, id: NodeId) -> String {
    let mut printer = Printer {
        arena,
        out: String::new(),
    };
    printer.node(id, 0, Where::Root);
    if !printer.out.ends_with('\n') {
        printer.out.push('\n');
    }
    printer.out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Root,
    Value,
    Entry,
}

struct Printer<'a> {
    arena: &'a Arena,
    out: String,
}

impl Printer<'_> {
    fn node(&mut self, id: NodeId, indent: usize, at: Where) {
        let node = self.arena.get(id);
        match node.kind {
            Kind::Zero => self.word("null", at),
            Kind::Scalar => self.scalar(node, indent, at),
            Kind::Mapping if node.content.is_empty() => self.word("{}", at),
            Kind::Sequence if node.content.is_empty() => self.word("[]", at),
            Kind::Mapping => self.mapping(node, indent, at),
            Kind::Sequence => self.sequence(node, indent, at),
        }
    }

    fn word(&mut self, word: &str, at: Where) {
        if at != Where::Root {
            self.out.push(' ');
        }
        self.out.push_str(word);
        self.out.push('\n');
    }

    fn mapping(&mut self, node: &Node, indent: usize, at: Where) {
        if at == Where::Value {
            self.out.push('\n');
        }
        for (index, pair) in node.content.chunks_exact(2).enumerate() {
            if index > 0 || at != Where::Entry {
                self.out.push_str(&" ".repeat(indent));
            } else {
                self.out.push(' ');
            }
            let key = self.arena.get(pair[0]);
            let text = self.inline(key);
            self.out.push_str(&text);
            self.out.push(':');
            let list = self.arena.kind(pair[1]) == Kind::Sequence;
            let deeper = if list { indent } else { indent + INDENT };
            self.node(pair[1], deeper, Where::Value);
        }
    }

    fn sequence(&mut self, node: &Node, indent: usize, at: Where) {
        if at == Where::Value {
            self.out.push('\n');
        }
        for (index, &entry) in node.content.iter().enumerate() {
            if index > 0 || at != Where::Entry {
                self.out.push_str(&" ".repeat(indent));
            } else {
                self.out.push(' ');
            }
            self.out.push('-');
            self.node(entry, indent + INDENT, Where::Entry);
        }
    }

    fn scalar(&mut self, node: &Node, indent: usize, at: Where) {
        let block = match node.style {
            Style::Literal | Style::Folded => true,
            Style::Plain => node.value.contains('\n'),
            _ => false,
        };
        if !block || !fits_block(&node.value) {
            let text = self.inline(node);
            self.word(&text, at);
            return;
        }
        if at != Where::Root {
            self.out.push(' ');
        }
        let text = &*node.value;
        let body = text.trim_end_matches('\n');
        let chomp = match text.len() - body.len() {
            0 => "-",
            1 if !body.is_empty() => "",
            _ => "+",
        };
        let hint = if text.starts_with([' ', '\n']) {
            INDENT.to_string()
        } else {
            String::new()
        };
        self.out.push_str(&format!("|{hint}{chomp}\n"));
        let indent = indent.max(INDENT);
        let kept = if chomp == "+" {
            text.strip_suffix('\n').unwrap_or(text)
        } else {
            body
        };
        for line in kept.split('\n') {
            if !line.is_empty() {
                self.out.push_str(&" ".repeat(indent));
                self.out.push_str(line);
            }
            self.out.push('\n');
        }
    }

    // A scalar on one line.
    fn inline(&self, node: &Node) -> String {
        let plain = node.value.to_string();
        match node.style {
            Style::Double => return double(&node.value),
            Style::Single if !node.value.contains('\n') => return single(&node.value),
            _ => {}
        }
        let found = scalar::resolve(&node.value);
        let is_text = found == Scalar::Text;
        if node.tag == Tag::Str && !is_text {
            return double(&node.value);
        }
        if node.tag == Tag::Null && node.value.is_empty() {
            return String::new();
        }
        if is_text && !fits_plain(&node.value) {
            return if node.value.chars().any(|c| c.is_control()) {
                double(&node.value)
            } else {
                single(&node.value)
            };
        }
        plain
    }
}

fn fits_block(text: &str) -> bool {
    !text.is_empty()
        && !text
            .chars()
            .any(|c| c.is_control() && c != '\n' && c != '\t')
        && !text.contains(" \n")
}

fn fits_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let indicator = "#,[]{}&*!|>'\"%@`".contains(first)
        || "?:-".contains(first) && text.chars().nth(1).is_none_or(|c| c == ' ');
    !(indicator
        || text.starts_with(' ')
        || text.ends_with(' ')
        || text.starts_with("---")
        || text.starts_with("...")
        || text.contains(": ")
        || text.ends_with(':')
        || text.contains(" #")
        || text.chars().any(char::is_control))
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if c.is_control() => out.push_str(&format!("\\x{:02X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
