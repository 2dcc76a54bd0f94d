//! Mutated templates: whatever is written, parsing and executing end, with output or an error.

use gotemplate::{Context, Edition, Limits, Templates, Value};

const ROUNDS: usize = 6000;

struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

const PIECES: [&str; 24] = [
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "\n",
    "(",
    ")",
    "|",
    ".",
    "$",
    ":=",
    "\"",
    "`",
    "'",
    "{{ end }}",
    "{{ else }}",
    "{{ range . }}",
    "{{ define \"a\" }}",
    "nil",
    "0x",
    "1e9",
    "/*",
    "é",
];

// One change: a piece put in, a stretch taken out or doubled, or two templates joined.
fn mutate(text: &str, other: &str, chance: &mut Chance) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = chance.below(chars.len() + 1);
    let end = (at + chance.below(8)).min(chars.len());
    match chance.below(4) {
        0 => {
            chars.splice(at..at, PIECES[chance.below(PIECES.len())].chars());
        }
        1 => {
            chars.drain(at..end);
        }
        2 => {
            let copy: Vec<char> = chars[at..end].to_vec();
            chars.splice(at..at, copy);
        }
        _ => {
            let tail: Vec<char> = other.chars().skip(chance.below(other.len())).collect();
            chars.truncate(at);
            chars.extend(tail);
        }
    }
    chars.into_iter().collect()
}

#[test]
fn no_mutation_panics_or_hangs() {
    let recorded = include_str!("recorded.jsonl");
    let mut lines = recorded.lines();
    let values: model::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let templates: Vec<String> = lines
        .map(|line| {
            serde_json::from_str::<Vec<String>>(line)
                .unwrap()
                .swap_remove(0)
        })
        // Keys take their time.
        .filter(|t| {
            !t.contains("gen")
                && !t.contains("crypt")
                && !t.contains("derive")
                && !t.contains("htpasswd")
        })
        .collect();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for _ in 0..ROUNDS {
        let mut text = templates[chance.below(templates.len())].clone();
        for _ in 0..=chance.below(3) {
            let other = &templates[chance.below(templates.len())];
            text = mutate(&text, other, &mut chance);
        }
        let mut set = Templates::new(Edition::Helm4);
        if set.parse("t", &text).is_err() {
            continue;
        }
        let mut context = Context::new((1, 0), Box::new(|buffer| buffer.fill(9)));
        context.limits = Limits {
            steps: 200_000,
            output: 1 << 20,
            depth: 100,
        };
        let dot = Value::map([("Values", Value::from_json(&values))]);
        match set.execute("t", dot, &mut context) {
            Ok(output) => drop(output.without_no_value()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
