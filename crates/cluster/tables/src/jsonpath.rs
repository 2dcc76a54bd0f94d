//! The JSONPath of printer columns: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Children, indexes, slices, wildcards, unions, filters and recursive descent, with the manners of
//! the API server: a dot in `['a.b']` separates, a missing key gives nothing, a wrong type is an
//! error. [`mod@parse`] turns text into steps, [`mod@walk`] takes them through a value.

mod parse;
mod walk;

use model::Value;
use std::borrow::Cow;

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Descend,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter(Filter),
    Literal(Value),
    /// `range`, `end` and other bare words: they parse, and give nothing.
    Word,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    /// A single index: `to` was made from `from`.
    single: bool,
    step: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Vec<Step>,
    /// The operator and its right side; none asks whether the left side exists.
    test: Option<(String, Vec<Step>)>,
}

impl JsonPath {
    /// Reads a path without its outer braces. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            steps: parse::steps(text)?,
        })
    }

    /// All values at the path; an error when a step does not fit the value it meets.
    pub fn find<'a>(&'a self, value: &'a Value) -> Result<Vec<Cow<'a, Value>>, String> {
        walk::walk(&self.steps, vec![Cow::Borrowed(value)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check(path: &str, expected: &str) {
        let object = json!({
            "a": {"b.c": 1, "b": {"c": 2}, "d-e": "x"},
            "list": [{"type": "A", "n": 1}, {"type": "Ready", "n": 2, "s": "yes"}, {"n": 3}],
            "words": ["p", "q", "r", "s"],
            "none": null,
        });
        let found = match JsonPath::parse(path) {
            Ok(parsed) => match parsed.find(&object) {
                Ok(values) => values
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" "),
                Err(error) => format!("walk: {error}"),
            },
            Err(error) => format!("parse: {error}"),
        };
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn paths_find_what_the_server_finds() {
        check(".a.b.c", "2");
        check("$.a.d-e", "\"x\"");
        check(".a.b\\.c", "1");
        check(".a['b.c']", "2");
        check(".a['b\\.c']", "1");
        check(".a.nope.deeper", "");
        check(".none.x", "");
        check(".words[0]", "\"p\"");
        check(".words[-1]", "\"s\"");
        check(".words[1:3]", "\"q\" \"r\"");
        check(".words[::2]", "\"p\" \"r\"");
        check(".words[*]", "\"p\" \"q\" \"r\" \"s\"");
        check(".words[0,2]", "\"p\" \"r\"");
        check(".list[*].n", "1 2 3");
        check(".list[?(@.type==\"Ready\")].s", "\"yes\"");
        check(".list[?(@.type=='Ready')].n", "2");
        check(".list[?(@.type!='Ready')].n", "1");
        check(".list[?(@.n>1)].n", "2 3");
        check(".list[?(@.n<=2)].n", "1 2");
        check(".list[?(@.s)].n", "2");
        check(".list..n", "1 2 3");
        check(".a.*", "{\"c\":2} 1 \"x\"");
    }

    #[test]
    fn misfits_are_errors() {
        check(
            ".words[9]",
            "walk: array index out of bounds: index 9, length 4",
        );
        check(".a[0]", "walk: not an array");
        check(
            ".list[?(@.n==\"x\")].n",
            "walk: incompatible types for comparison",
        );
        check(".list[?(@.n=1)].n", "walk: unrecognized filter operator =");
        check("range .list[*]", "walk: a bare word is no path");
        check(".words[x]", "parse: invalid array index x");
        check(".words[", "parse: unterminated array");
        check(".list[?(@.n", "parse: unterminated filter");
        check(".words[0}", "parse: unterminated array");
        check("#", "parse: unrecognized character in action: U+0023 '#'");
    }

    #[test]
    fn no_text_makes_it_panic() {
        let object = json!({"ä": ["ö", {"ü": null}]});
        let whole = ".ä[?(@.ü == \"ß\")]..['x\\.y','é'][-1:2:3]{range}\\é$@+1.5'ñ'true}";
        let cuts: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        for &from in &cuts {
            for &to in cuts.iter().filter(|to| **to >= from) {
                if let Ok(path) = JsonPath::parse(&whole[from..to]) {
                    let _ = path.find(&object);
                }
            }
        }
        let deep = "[?(".repeat(1_000) + ")]";
        assert!(JsonPath::parse(&deep).is_err());
    }
}
