//! Templates and values by chance: mostly sound, with wrong types and missing keys in between.

use serde_json::{Value, json};

pub(super) struct Chance(u64);

const FIELDS: [&str; 14] = [
    ".a", ".b", ".s", ".n", ".l", ".m", ".m.x", ".m.y.z", ".zz", ".m.zz", ".n.x", ".s.x", ".t",
    ".f",
];
// Name and number of arguments; what is given may be of any type.
const PLAIN: [(&str, usize); 17] = [
    ("print", 2),
    ("println", 1),
    ("len", 1),
    ("index", 2),
    ("slice", 3),
    ("not", 1),
    ("and", 2),
    ("or", 2),
    ("eq", 2),
    ("ne", 2),
    ("lt", 2),
    ("le", 2),
    ("gt", 2),
    ("ge", 2),
    ("html", 1),
    ("js", 1),
    ("urlquery", 1),
];
const HELM: [(&str, usize); 94] = [
    ("quote", 1),
    ("squote", 1),
    ("upper", 1),
    ("lower", 1),
    ("title", 1),
    ("trim", 1),
    ("trimSuffix", 2),
    ("trimPrefix", 2),
    ("trunc", 2),
    ("abbrev", 2),
    ("substr", 3),
    ("nospace", 1),
    ("initials", 1),
    ("wrap", 2),
    ("contains", 2),
    ("hasPrefix", 2),
    ("cat", 3),
    ("indent", 2),
    ("nindent", 2),
    ("replace", 3),
    ("plural", 3),
    ("snakecase", 1),
    ("camelcase", 1),
    ("kebabcase", 1),
    ("swapcase", 1),
    ("untitle", 1),
    ("toString", 1),
    ("toStrings", 1),
    ("atoi", 1),
    ("int", 1),
    ("int64", 1),
    ("float64", 1),
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("div", 2),
    ("mod", 2),
    ("max", 2),
    ("min", 2),
    ("addf", 2),
    ("subf", 2),
    ("mulf", 2),
    ("divf", 2),
    ("floor", 1),
    ("ceil", 1),
    ("round", 2),
    ("default", 2),
    ("empty", 1),
    ("coalesce", 3),
    ("ternary", 3),
    ("list", 3),
    ("dict", 4),
    ("get", 2),
    ("set", 3),
    ("unset", 2),
    ("hasKey", 2),
    ("pick", 2),
    ("omit", 2),
    ("merge", 2),
    ("mergeOverwrite", 2),
    ("dig", 3),
    ("deepCopy", 1),
    ("first", 1),
    ("last", 1),
    ("rest", 1),
    ("initial", 1),
    ("append", 2),
    ("prepend", 2),
    ("concat", 2),
    ("reverse", 1),
    ("uniq", 1),
    ("compact", 1),
    ("without", 2),
    ("has", 2),
    ("sortAlpha", 1),
    ("join", 2),
    ("split", 2),
    ("splitList", 2),
    ("toJson", 1),
    ("toYaml", 1),
    ("toPrettyJson", 1),
    ("toToml", 1),
    ("fromJson", 1),
    ("typeOf", 1),
    ("kindOf", 1),
    ("kindIs", 2),
    ("deepEqual", 2),
    ("b64enc", 1),
    ("b64dec", 1),
    ("sha256sum", 1),
    ("base", 1),
    ("dir", 1),
    ("ext", 1),
    ("required", 2),
];
const VERBS: [&str; 12] = [
    "%v", "%d", "%s", "%q", "%x", "%T", "%5v", "%-4d|", "%.2f", "%+v", "%t", "%05d",
];

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn one<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn scalar(&mut self) -> Value {
        match self.below(8) {
            0 => json!(self.below(10)),
            1 => json!(-3),
            2 => json!(2.5),
            3 => json!(1_000_000),
            4 => json!(self.one(&["", "x", "a b", "12", "é<&>", "yes", "a: b\nc"])),
            5 => json!(self.below(2) == 0),
            6 => Value::Null,
            _ => json!("word"),
        }
    }

    fn any(&mut self, depth: usize) -> Value {
        match self.below(if depth > 2 { 3 } else { 5 }) {
            3 => Value::Array((0..self.below(4)).map(|_| self.any(depth + 1)).collect()),
            4 => {
                let keys = ["x", "y", "z", "a", "10", "9"];
                let mut map = serde_json::Map::new();
                for _ in 0..self.below(4) {
                    map.insert(self.one(&keys).to_owned(), self.any(depth + 1));
                }
                Value::Object(map)
            }
            _ => self.scalar(),
        }
    }

    pub(super) fn data(&mut self) -> Value {
        json!({
            "a": self.any(1), "b": self.any(0), "s": self.one(&["str", "", "A b"]), "n": null,
            "l": Value::Array((0..self.below(4)).map(|_| self.any(1)).collect()),
            "m": {"x": self.scalar(), "y": {"z": self.any(2)}}, "t": true, "f": 1.5,
        })
    }

    fn field(&mut self, plain: bool) -> String {
        let field = self.one(&FIELDS);
        if plain {
            field.to_owned()
        } else {
            format!("$.Values{field}")
        }
    }

    fn literal(&mut self) -> String {
        self.one(&[
            "1", "0", "-2", "3.5", "1e6", "0x1f", "\"x\"", "\"\"", "\"a,b\"", "`raw`", "true",
            "false", "'c'", "nil", "2", "\"k\"", "\"%d\"", "1i",
        ])
        .to_owned()
    }

    fn operand(&mut self, depth: usize, plain: bool, vars: usize) -> String {
        match self.below(7) {
            0 | 1 => self.literal(),
            2 | 3 => self.field(plain),
            4 if vars > 0 => format!("$v{}", self.below(vars)),
            5 if depth < 3 => format!("({})", self.pipeline(depth + 1, plain, vars)),
            6 if depth < 2 => format!("({}).x", self.pipeline(depth + 1, plain, vars)),
            _ => ".".to_owned(),
        }
    }

    fn call(&mut self, depth: usize, plain: bool, vars: usize, piped: bool) -> String {
        if self.below(8) == 0 {
            let (one, two) = (self.one(&VERBS), self.one(&VERBS));
            let args: Vec<String> = (0..=self.below(2))
                .map(|_| self.operand(depth, plain, vars))
                .collect();
            return format!("printf \"{one} {two}\" {}", args.join(" "));
        }
        let (name, count) = if plain || self.below(4) == 0 {
            self.one(&PLAIN)
        } else {
            self.one(&HELM)
        };
        // sprig's own `slice` shares memory in ways that only Go can.
        let (name, count) = if name == "slice" && !plain {
            ("len", 1)
        } else {
            (name, count)
        };
        let count = match self.below(60) {
            0 => count + 1,
            1 => count.saturating_sub(1),
            _ => count,
        };
        let count = count.saturating_sub(usize::from(piped));
        let mut args: Vec<String> = (0..count)
            .map(|_| self.operand(depth, plain, vars))
            .collect();
        // Only new maps are written to: one that contains itself is the end of a Go program.
        if matches!(name, "set" | "unset" | "merge" | "mergeOverwrite") {
            if piped {
                return "kindOf".to_owned();
            }
            args.iter_mut()
                .skip(1)
                .for_each(|arg| *arg = format!("(deepCopy {arg})"));
            if let Some(first) = args.first_mut() {
                "(dict \"x\" 1 \"y\" (dict))".clone_into(first);
            }
        }
        format!("{name} {}", args.join(" "))
    }

    fn pipeline(&mut self, depth: usize, plain: bool, vars: usize) -> String {
        let mut out = match self.below(5) {
            0 | 1 => self.operand(depth + 1, plain, vars),
            _ => self.call(depth + 1, plain, vars, false),
        };
        // The words of a set or values are printed in the order of Go's maps: leave them alone.
        for _ in 0..self.below(4) / 2 {
            out = format!("{out} | {}", self.call(depth + 1, plain, vars, true));
        }
        out
    }

    fn nodes(&mut self, depth: usize, plain: bool, vars: usize) -> String {
        let mut vars = vars;
        let mut out = String::new();
        for _ in 0..=self.below(2) {
            let trim = self.one(&["", "", "", "- "]);
            let end = self.one(&["", "", "", " -"]);
            let pipe = self.pipeline(0, plain, vars);
            out.push_str(self.one(&["text ", "\n  ", "", "é "]));
            match self.below(if depth > 2 { 4 } else { 9 }) {
                4 => {
                    let (a, b) = (
                        self.nodes(depth + 1, plain, vars),
                        self.nodes(depth + 1, plain, vars),
                    );
                    out.push_str(&format!(
                        "{{{{{trim}if {pipe}{end}}}}}{a}{{{{else}}}}{b}{{{{end}}}}"
                    ));
                }
                5 => {
                    let body = self.nodes(depth + 1, plain, vars);
                    out.push_str(&format!("{{{{{trim}with {pipe}{end}}}}}{body}{{{{end}}}}"));
                }
                6 => {
                    let body = self.nodes(depth + 1, plain, vars);
                    let jump = self.one(&["", "", "{{break}}", "{{continue}}"]);
                    out.push_str(&format!(
                        "{{{{range {pipe}{end}}}}}{body}{jump}{{{{else}}}}none{{{{end}}}}"
                    ));
                }
                7 => {
                    let body = self.nodes(depth + 1, plain, vars);
                    out.push_str(&format!(
                        "{{{{range $i, $e := {pipe}}}}}{{{{$i}}}}={{{{$e}}}}{body}{{{{end}}}}"
                    ));
                }
                3 => {
                    out.push_str(&format!("{{{{{trim}$v{vars} := {pipe}{end}}}}}"));
                    vars += 1;
                }
                _ => out.push_str(&format!("{{{{{trim}{pipe}{end}}}}}")),
            }
        }
        out
    }

    pub(super) fn template(&mut self, plain: bool) -> String {
        let mut out = self.nodes(0, plain, 0);
        match self.below(10) {
            0 => {
                let body = self.nodes(1, plain, 0);
                let call = if plain {
                    "template \"d\" ."
                } else {
                    "include \"d\" . | upper"
                };
                let definition = format!("{{{{define \"d\"}}}}{body}{{{{end}}}}");
                let out = format!("{out}{{{{{call}}}}}");
                return if plain {
                    format!("{definition}{out}")
                } else {
                    format!("{definition}{{{{with .Values}}}}{out}{{{{end}}}}")
                };
            }
            // A hole: whatever falls out, the error must be Go's.
            1 => {
                let chars: Vec<char> = out.chars().collect();
                let at = self.below(chars.len().max(1));
                out = chars[..at]
                    .iter()
                    .chain(chars.iter().skip(at + 1 + self.below(3)))
                    .collect();
            }
            _ => {}
        }
        // Dot is the values: the rest of what Helm gives is not for this test.
        if plain {
            out
        } else {
            format!("{{{{with .Values}}}}{out}{{{{end}}}}")
        }
    }
}
