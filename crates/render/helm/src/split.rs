//! Rendered text into documents, as Helm cuts it.
//!
//! Helm does not parse YAML to find documents: a pattern cuts where a line begins with `---`,
//! whatever follows, and the two flavours trim differently.

use crate::Flavour;

/// The documents of a text, in order, without empty ones; each with where it begins.
pub(crate) fn documents(text: &str, flavour: Flavour) -> Vec<(usize, &str)> {
    match flavour {
        Flavour::V3 => split_v3(text),
        Flavour::V4 => split_v4(text),
    }
}

// Blanks as Go's patterns know them.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

// Cuts at `(?:^|\s*\n)---\s*` and trims both ends.
fn split_v3(text: &str) -> Vec<(usize, &str)> {
    let base = text.len() - text.trim_start().len();
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut documents = Vec::new();
    let mut keep = |from: usize, to: usize| {
        let part = &text[from..to];
        if !part.is_empty() {
            let trimmed = part.trim_start();
            documents.push((base + to - trimmed.len(), trimmed.trim_end()));
        }
    };
    let mut start = 0;
    let mut search = 0;
    while let Some((from, dashes)) = separator(bytes, search) {
        keep(start, from);
        start = dashes + 3;
        while start < bytes.len() && is_blank(bytes[start]) {
            start += 1;
        }
        search = start;
    }
    keep(start, text.len());
    documents
}

// Where the next separator begins and where its dashes are; the text before `from` is used up.
fn separator(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    if from == 0 && bytes.starts_with(b"---") {
        return Some((0, 0));
    }
    let mut at = from;
    loop {
        let newline = at + bytes.get(at..)?.iter().position(|byte| *byte == b'\n')?;
        if bytes[newline + 1..].starts_with(b"---") {
            let mut begin = newline;
            while begin > from && is_blank(bytes[begin - 1]) {
                begin -= 1;
            }
            return Some((begin, newline + 1));
        }
        at = newline + 1;
    }
}

// Cuts at `(?m)^---[ \t]*` and trims the front.
fn split_v4(text: &str) -> Vec<(usize, &str)> {
    let base = text.len() - text.trim_start().len();
    let text = &text[base..];
    let bytes = text.as_bytes();
    let mut documents = Vec::new();
    let mut keep = |from: usize, to: usize| {
        let part = text[from..to].trim_start();
        if !part.is_empty() {
            documents.push((base + to - part.len(), part));
        }
    };
    let mut start = 0;
    let mut line = 0;
    while line < bytes.len() {
        if bytes[line..].starts_with(b"---") {
            keep(start, line);
            start = line + 3;
            while start < bytes.len() && matches!(bytes[start], b' ' | b'\t') {
                start += 1;
            }
        }
        let next = bytes[line..].iter().position(|byte| *byte == b'\n');
        line = next.map_or(bytes.len(), |at| line + at + 1);
    }
    keep(start, text.len());
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, v3: &[&str], v4: &[&str]) {
        for (flavour, expected) in [(Flavour::V3, v3), (Flavour::V4, v4)] {
            let found = documents(text, flavour);
            let texts: Vec<&str> = found.iter().map(|(_, part)| *part).collect();
            assert_eq!(texts, expected, "{flavour:?} {text:?}");
            for (at, part) in found {
                assert!(text[at..].starts_with(part), "{flavour:?} {text:?} at {at}");
            }
        }
    }

    #[test]
    fn documents_are_cut_at_dashes() {
        check(
            "\n---\na: 1\n---\nb: 2\n",
            &["a: 1", "b: 2"],
            &["a: 1\n", "b: 2\n"],
        );
        check("a: 1", &["a: 1"], &["a: 1"]);
        check("---", &[], &[]);
        check("", &[], &[]);
        check("a\n  \n--- \t\n\n b\n", &["a", "b"], &["a\n  \n", "b\n"]);
        check("a\n ---\nb", &["a\n ---\nb"], &["a\n ---\nb"]);
    }

    #[test]
    fn what_follows_the_dashes_does_not_matter() {
        check("a\n---b: 1\nc", &["a", "b: 1\nc"], &["a\n", "b: 1\nc"]);
        check("a\n-----BEGIN", &["a", "--BEGIN"], &["a\n", "--BEGIN"]);
        check("---\n---\na", &["---\na"], &["a"]);
        check(
            "# only a comment\n",
            &["# only a comment"],
            &["# only a comment\n"],
        );
    }
}
