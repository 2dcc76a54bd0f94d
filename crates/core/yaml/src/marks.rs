//! Where each field of a document stands: offsets while reading, lines and columns when asked for.
//!
//! A mark is made for every entry of a mapping or list, in the order of the text, parents before
//! their children. Nothing is computed until somebody asks: [`Marks::spot`] walks to one field,
//! [`Marks::lines`] gives the line of every field.

use std::borrow::Cow;

/// A place in a text as people count, line and column from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// Where the fields of one document stand. Only useful together with the text it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    all: Vec<Mark>,
    // Keys that do not stand in the text as they are called: escaped, or numbers and the like.
    odd: Vec<(u32, String)>,
    root: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    // The key's bytes; an entry of a list has none.
    key: u32,
    key_end: u32,
    value: u32,
    // Index of the next mark that is no child of this one.
    next: u32,
    // Came in through a merge key.
    merged: bool,
}

/// The fields of a key, as the reader saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// What it is called; the same as the text between start and end in almost every case.
    pub(crate) name: &'a str,
    pub(crate) odd: bool,
}

impl Marks {
    pub(crate) fn begin(&mut self, root: usize) {
        self.all.clear();
        self.odd.clear();
        self.root = root as u32;
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Opens the mark of a list entry; to be closed with [`Marks::close`].
    pub(crate) fn entry(&mut self, value: usize) -> usize {
        let at = value as u32;
        self.put(at, at, at)
    }

    /// Opens the mark of a field; to be closed with [`Marks::close`].
    pub(crate) fn field(&mut self, key: Key<'_>, value: usize) -> usize {
        if key.odd {
            self.odd.push((self.all.len() as u32, key.name.to_owned()));
        }
        self.put(key.start as u32, key.end as u32, value as u32)
    }

    fn put(&mut self, key: u32, key_end: u32, value: u32) -> usize {
        self.all.push(Mark {
            key,
            key_end,
            value,
            next: 0,
            merged: false,
        });
        self.all.len() - 1
    }

    pub(crate) fn close(&mut self, index: usize) {
        self.all[index].next = self.all.len() as u32;
    }

    /// Copies the marks of an anchored value behind all others, as children of the mark just opened.
    pub(crate) fn copy(&mut self, from: std::ops::Range<usize>, merged: bool) {
        let shift = (self.all.len() - from.start) as u32;
        let odd: Vec<_> = self
            .odd
            .iter()
            .filter(|(at, _)| from.contains(&(*at as usize)))
            .map(|(at, name)| (at + shift, name.clone()))
            .collect();
        self.odd.extend(odd);
        for index in from {
            let mark = self.all[index];
            self.all.push(Mark {
                next: mark.next + shift,
                merged: mark.merged || merged,
                ..mark
            });
        }
    }

    /// The offset of a key written earlier in a mapping whose marks begin at `first`.
    pub(crate) fn earlier(&self, text: &str, first: usize, name: &str) -> Option<usize> {
        let mut index = first;
        while index < self.all.len() {
            let mark = self.all[index];
            if !mark.merged && self.name(text, index) == Some(Cow::Borrowed(name)) {
                return Some(mark.key as usize);
            }
            if mark.next == 0 {
                break;
            }
            index = mark.next as usize;
        }
        None
    }

    pub(crate) fn shift(&mut self, by: usize) {
        if by == 0 {
            return;
        }
        let by = by as u32;
        self.root += by;
        for mark in &mut self.all {
            mark.key += by;
            mark.key_end += by;
            mark.value += by;
        }
    }

    /// Offset of the document's first character.
    pub fn root(&self) -> usize {
        self.root as usize
    }

    /// Where the value of a field begins, as byte offset; the pointer is a JSON pointer.
    pub fn value_offset(&self, text: &str, pointer: &str) -> Option<usize> {
        if pointer.is_empty() {
            return Some(self.root as usize);
        }
        self.find(text, pointer).map(|mark| mark.value as usize)
    }

    /// Where a field begins: its key, or its value when it is an entry of a list. The pointer is
    /// a JSON pointer; a field that does not stand in the text is `None`.
    pub fn offset(&self, text: &str, pointer: &str) -> Option<usize> {
        if pointer.is_empty() {
            return Some(self.root as usize);
        }
        self.find(text, pointer).map(|mark| mark.key as usize)
    }

    /// Line and column of a field, or of the nearest parent that stands in the text.
    pub fn spot(&self, text: &str, pointer: &str) -> Spot {
        let mut at = pointer;
        loop {
            if let Some(offset) = self.offset(text, at) {
                return spot_at(text, offset);
            }
            at = at.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }

    /// JSON pointer and line of every field, sorted by pointer; `line` is that of the document's
    /// first character.
    pub fn lines(&self, text: &str, line: usize) -> Vec<(String, usize)> {
        let mut lines = Vec::with_capacity(self.all.len());
        let mut counter = Counter {
            text,
            at: self.root as usize,
            line,
        };
        self.collect(text, &mut counter, &mut lines);
        // Of a key that stands twice the last one counts.
        lines.sort_by(|a: &(String, usize), b| a.0.cmp(&b.0));
        lines.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        lines
    }

    fn collect(&self, text: &str, counter: &mut Counter<'_>, lines: &mut Vec<(String, usize)>) {
        // Ends of the open parents, with the length of their pointer and the entries seen so far.
        let mut open: Vec<(u32, usize, usize)> = vec![(self.all.len() as u32, 0, 0)];
        let mut pointer = String::new();
        for (index, mark) in self.all.iter().enumerate() {
            while open.len() > 1 && open.last().is_some_and(|top| top.0 as usize <= index) {
                open.pop();
            }
            let Some(top) = open.last_mut() else { return };
            pointer.truncate(top.1);
            pointer.push('/');
            match self.name(text, index) {
                Some(name) => push_escaped(&mut pointer, &name),
                None => pointer.push_str(&top.2.to_string()),
            }
            top.2 += 1;
            lines.push((pointer.clone(), counter.line(mark.key as usize)));
            open.push((mark.next, pointer.len(), 0));
        }
    }

    fn find(&self, text: &str, pointer: &str) -> Option<Mark> {
        let mut range = 0..self.all.len();
        let mut found = None;
        for part in pointer.strip_prefix('/')?.split('/') {
            let name = part.replace("~1", "/").replace("~0", "~");
            let index = self.child(text, range, &name)?;
            let mark = self.all[index];
            range = index + 1..mark.next as usize;
            found = Some(mark);
        }
        found
    }

    // The last of the marks in a range with that name, or the entry of that number.
    fn child(&self, text: &str, range: std::ops::Range<usize>, wanted: &str) -> Option<usize> {
        let (mut index, mut position, mut found) = (range.start, 0usize, None);
        while index < range.end {
            let hit = match self.name(text, index) {
                Some(name) => name == wanted,
                None => wanted.parse() == Ok(position),
            };
            if hit {
                found = Some(index);
            }
            position += 1;
            index = self.all[index].next as usize;
        }
        found
    }

    // What a field is called; entries of lists have no name.
    fn name<'a>(&'a self, text: &'a str, index: usize) -> Option<Cow<'a, str>> {
        let mark = self.all[index];
        if let Ok(odd) = self
            .odd
            .binary_search_by_key(&(index as u32), |(at, _)| *at)
        {
            return Some(Cow::Borrowed(&self.odd[odd].1));
        }
        if mark.key == mark.key_end {
            return None;
        }
        text.get(mark.key as usize..mark.key_end as usize)
            .map(Cow::Borrowed)
    }
}

fn push_escaped(pointer: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// Line and column of a byte offset.
pub fn spot_at(text: &str, offset: usize) -> Spot {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Spot {
        line: breaks(before) + 1,
        column: before[start..]
            .trim_start_matches('\u{feff}')
            .chars()
            .count()
            + 1,
    }
}

/// How many line breaks a text has.
pub(crate) fn breaks(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}

// Counts lines from one offset to the next; going back starts anew.
struct Counter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Counter<'_> {
    fn line(&mut self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        if offset < self.at {
            self.line -= breaks(&self.text[offset..self.at]);
        } else {
            self.line += breaks(&self.text[self.at..offset]);
        }
        self.at = offset;
        self.line
    }
}
