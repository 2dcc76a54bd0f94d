//! Runs a program over a text, all ways at the same time.

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Char(char),
    Class {
        not: bool,
        ranges: Vec<(char, char)>,
    },
    Fork(usize, usize),
    Go(usize),
    Done,
}

impl Step {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Char(wanted) => *wanted == c,
            Self::Class { not, ranges } => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                inside != *not
            }
            Self::Fork(..) | Self::Go(_) | Self::Done => false,
        }
    }
}

impl Program {
    pub(crate) fn matches(&self, text: &str) -> bool {
        let mut now = States::new(self.steps.len());
        let mut next = States::new(self.steps.len());
        now.add(&self.steps, 0);
        for c in text.chars() {
            next.clear();
            for &at in &now.list {
                if self.steps[at].takes(c) {
                    next.add(&self.steps, at + 1);
                }
            }
            std::mem::swap(&mut now, &mut next);
            if now.list.is_empty() && !now.done {
                return false;
            }
        }
        now.done
    }
}

// The steps that are next, each once.
struct States {
    list: Vec<usize>,
    seen: Vec<bool>,
    done: bool,
    stack: Vec<usize>,
}

impl States {
    fn new(size: usize) -> Self {
        Self {
            list: Vec::new(),
            seen: vec![false; size],
            done: false,
            stack: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.seen.fill(false);
        self.done = false;
    }

    fn add(&mut self, steps: &[Step], at: usize) {
        self.stack.push(at);
        while let Some(at) = self.stack.pop() {
            if std::mem::replace(&mut self.seen[at], true) {
                continue;
            }
            match &steps[at] {
                Step::Fork(a, b) => self.stack.extend([*a, *b]),
                Step::Go(to) => self.stack.push(*to),
                Step::Done => self.done = true,
                Step::Char(_) | Step::Class { .. } => self.list.push(at),
            }
        }
    }
}
