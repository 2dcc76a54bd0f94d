//! The grammar behind `--set`: `a.b[0].c=value,d={x,y}` and its relatives.

use model::{Map, Value};

/// The largest index a list may be given.
pub const INDEX_MAX: i64 = 65536;
/// How deep a name may nest.
pub const NESTED_MAX: usize = 30;
// How many indexes may follow each other, as in `a[0][0][0]`.
const BRACKETS_MAX: usize = 256;

/// `--set`: words like `true`, `null` and whole numbers get their types.
pub fn set(line: &str, into: &mut Map<String, Value>) -> Result<(), String> {
    Parser::new(line, Kind::Typed).parse(into)
}

/// `--set-string`: every value is a string.
pub fn set_string(line: &str, into: &mut Map<String, Value>) -> Result<(), String> {
    Parser::new(line, Kind::Text).parse(into)
}

/// `--set-json`: every value is JSON.
pub fn set_json(line: &str, into: &mut Map<String, Value>) -> Result<(), String> {
    Parser::new(line, Kind::Json).parse(into)
}

/// `--set-literal`: the value is all that follows the first `=`.
pub fn set_literal(line: &str, into: &mut Map<String, Value>) -> Result<(), String> {
    Parser::new(line, Kind::Literal).parse(into)
}

/// `--set-file`: every value is the content of a file.
pub fn set_file(
    line: &str,
    into: &mut Map<String, Value>,
    read: impl FnMut(&str) -> Result<String, String>,
) -> Result<(), String> {
    let mut read = read;
    let mut parser = Parser::new(line, Kind::File);
    parser.read = Some(&mut read);
    parser.parse(into)
}

/// A flag as Helm 4 reads it.
pub(super) fn set_leniently(
    line: &str,
    into: &mut Map<String, Value>,
    text: bool,
) -> Result<(), String> {
    let mut parser = Parser::new(line, if text { Kind::Text } else { Kind::Typed });
    parser.lenient = true;
    parser.parse(into)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Typed,
    Text,
    Json,
    Literal,
    File,
}

// Why reading stopped: the line is at its end, or something is wrong.
#[derive(Debug)]
enum Stop {
    End,
    Fault(String),
}

type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

struct Parser<'a> {
    chars: Vec<char>,
    at: usize,
    kind: Kind,
    lenient: bool,
    read: Option<ReadFile<'a>>,
}

fn fault<T>(message: String) -> Result<T, Stop> {
    Err(Stop::Fault(message))
}

impl Parser<'_> {
    fn new(line: &str, kind: Kind) -> Self {
        Self {
            chars: line.chars().collect(),
            at: 0,
            kind,
            lenient: false,
            read: None,
        }
    }

    fn parse(mut self, into: &mut Map<String, Value>) -> Result<(), String> {
        loop {
            match self.key(into, 0) {
                Ok(()) => {}
                Err(Stop::End) => return Ok(()),
                Err(Stop::Fault(message)) => return Err(message),
            }
        }
    }

    // Characters up to one of `stops`, with it; backslashes escape except in literals.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        while let Some(c) = self.next() {
            if stops.contains(&c) {
                return (text, Some(c));
            }
            if c == '\\' && self.kind != Kind::Literal {
                match self.next() {
                    Some(escaped) => text.push(escaped),
                    None => return (text, None),
                }
            } else {
                text.push(c);
            }
        }
        (text, None)
    }

    fn next(&mut self) -> Option<char> {
        let c = self.chars.get(self.at).copied()?;
        self.at += 1;
        Some(c)
    }

    fn key(&mut self, data: &mut Map<String, Value>, level: usize) -> Result<(), Stop> {
        let stops: &[char] = match self.kind {
            Kind::Literal => &['=', '[', '.'],
            _ => &['=', '[', ',', '.'],
        };
        let (key, last) = self.until(stops);
        match last {
            None if key.is_empty() => Err(Stop::End),
            None => fault(format!("key {key:?} has no value")),
            Some('[') => self.list_key(&key, data, level),
            Some('=') => self.value_of(key, data),
            Some(',') => {
                put(data, &key, Value::String(String::new()));
                fault(format!("key {key:?} has no value (cannot end with ,)"))
            }
            Some(_) => self.nested(&key, data, level + 1),
        }
    }

    fn list_key(
        &mut self,
        key: &str,
        data: &mut Map<String, Value>,
        level: usize,
    ) -> Result<(), Stop> {
        let index = self.index()?;
        let mut list = match data.get_mut(key).map(Value::take) {
            None => Vec::new(),
            Some(Value::Array(list)) => list,
            Some(other) => {
                let message = conversion(&other, "[]interface {}");
                data.insert(key.to_owned(), other);
                return fault(message);
            }
        };
        let done = self.item(&mut list, index, level, 0);
        put(data, key, Value::Array(list));
        done
    }

    fn nested(
        &mut self,
        key: &str,
        data: &mut Map<String, Value>,
        level: usize,
    ) -> Result<(), Stop> {
        if level > NESTED_MAX {
            return fault(format!(
                "value name nested level is greater than maximum supported nested level of {NESTED_MAX}"
            ));
        }
        let mut inner = match data.get_mut(key).map(Value::take) {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(other) => {
                let message = conversion(&other, "map[string]interface {}");
                data.insert(key.to_owned(), other);
                return fault(message);
            }
        };
        let known = data.contains_key(key);
        let done = self.key(&mut inner, level);
        let empty = inner.is_empty();
        if !empty || known {
            put(data, key, Value::Object(inner));
        }
        if done.is_ok() && empty {
            return fault(format!("key map {key:?} has no value"));
        }
        done
    }

    fn index(&mut self) -> Result<i64, Stop> {
        let (text, last) = self.until(&[']']);
        if last.is_none() {
            // Helm 4 takes a line that ends here for one that is done.
            if self.lenient {
                return Err(Stop::End);
            }
            return fault("error parsing index: EOF".into());
        }
        text.parse().or_else(|_| {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
            let why = if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                "value out of range"
            } else {
                "invalid syntax"
            };
            fault(format!(
                "error parsing index: strconv.Atoi: parsing {text:?}: {why}"
            ))
        })
    }

    fn value_of(&mut self, key: String, data: &mut Map<String, Value>) -> Result<(), Stop> {
        match self.value()? {
            Read::Value(value) => {
                put(data, &key, value);
                Ok(())
            }
            Read::Nothing => {
                put(data, &key, Value::String(String::new()));
                Err(Stop::End)
            }
            Read::Partial(value, message) => {
                put(data, &key, value);
                fault(message)
            }
        }
    }

    // What stands behind an `=`.
    fn value(&mut self) -> Result<Read, Stop> {
        match self.kind {
            Kind::Json => return self.json(),
            Kind::Literal => {
                let (text, _) = self.until(&[]);
                return Ok(Read::Value(Value::String(text)));
            }
            Kind::Typed | Kind::Text | Kind::File => {}
        }
        match self.chars.get(self.at) {
            None => Ok(Read::Nothing),
            Some('{') => {
                self.at += 1;
                self.list().map(Read::Value)
            }
            Some(_) => {
                let (text, _) = self.until(&[',']);
                Ok(match self.scalar(text) {
                    Ok(value) => Read::Value(value),
                    Err(message) => Read::Partial(Value::Null, message),
                })
            }
        }
    }

    fn list(&mut self) -> Result<Value, Stop> {
        let mut items = Vec::new();
        loop {
            let (text, last) = self.until(&[',', '}']);
            if last.is_none() {
                return fault("list must terminate with '}'".into());
            }
            items.push(self.scalar(text).map_err(Stop::Fault)?);
            if last == Some('}') {
                if self.chars.get(self.at) == Some(&',') {
                    self.at += 1;
                }
                return Ok(Value::Array(items));
            }
        }
    }

    fn scalar(&mut self, text: String) -> Result<Value, String> {
        match (self.kind, &mut self.read) {
            (Kind::Typed, _) => Ok(typed(text)),
            (Kind::File, Some(read)) => read(&text).map(Value::String),
            _ => Ok(Value::String(text)),
        }
    }

    fn json(&mut self) -> Result<Read, Stop> {
        if self.skip_empty() {
            return Ok(Read::Value(Value::Null));
        }
        let rest: String = self.chars[self.at..].iter().collect();
        let Some((value, used)) = json_prefix(&rest) else {
            return fault("invalid JSON".into());
        };
        self.at += rest[..used].chars().count();
        self.skip_empty();
        Ok(Read::Value(value))
    }

    // Skips blanks and one comma; true when nothing stood in front of the comma or the end.
    fn skip_empty(&mut self) -> bool {
        while let Some(c) = self.next() {
            if c == ',' {
                return true;
            }
            if !c.is_whitespace() {
                self.at -= 1;
                return false;
            }
        }
        true
    }

    fn item(
        &mut self,
        list: &mut Vec<Value>,
        index: i64,
        level: usize,
        brackets: usize,
    ) -> Result<(), Stop> {
        if index < 0 {
            return fault(format!("negative {index} index not allowed"));
        }
        if brackets > BRACKETS_MAX {
            return fault(format!("more than {BRACKETS_MAX} indexes in a row"));
        }
        let (text, last) = self.until(&['[', '.', '=']);
        if !text.is_empty() {
            return fault(format!(
                "unexpected data at end of array index: {}",
                runes(&text)
            ));
        }
        match last {
            None => Err(Stop::End),
            Some('=') => match self.value()? {
                Read::Value(value) => put_at(list, index, value),
                Read::Nothing => put_at(list, index, Value::String(String::new())),
                Read::Partial(_, message) => fault(message),
            },
            Some('[') => {
                let next = self.index()?;
                let mut inner = match usize::try_from(index).ok().and_then(|i| list.get_mut(i)) {
                    None | Some(Value::Null) => Vec::new(),
                    Some(Value::Array(items)) => items.clone(),
                    Some(other) => return fault(conversion(other, "[]interface {}")),
                };
                self.item(&mut inner, next, level, brackets + 1)?;
                put_at(list, index, Value::Array(inner))
            }
            Some(_) => {
                let known = usize::try_from(index).ok().and_then(|i| list.get_mut(i));
                if let Some(place) = known {
                    if !place.is_object() {
                        *place = Value::Object(Map::new());
                    }
                    if let Value::Object(inner) = place {
                        self.key(inner, level)?;
                    }
                    return Ok(());
                }
                let mut inner = Map::new();
                self.key(&mut inner, level)?;
                put_at(list, index, Value::Object(inner))
            }
        }
    }
}

enum Read {
    Value(Value),
    // The line ended behind the `=`.
    Nothing,
    // A value is set although something is wrong.
    Partial(Value, String),
}

fn put(data: &mut Map<String, Value>, key: &str, value: Value) {
    if !key.is_empty() {
        data.insert(key.to_owned(), value);
    }
}

fn put_at(list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
    if index > INDEX_MAX {
        return fault(format!(
            "index of {index} is greater than maximum supported index of {INDEX_MAX}"
        ));
    }
    let at = usize::try_from(index).map_err(|_| Stop::End)?;
    if list.len() <= at {
        list.resize(at + 1, Value::Null);
    }
    list[at] = value;
    Ok(())
}

fn typed(text: String) -> Value {
    let is = |word: &str| {
        text.chars().count() == word.len()
            && text.chars().zip(word.chars()).all(|(a, b)| {
                // Go folds the long s, too.
                a.to_ascii_lowercase() == b || (a == 'ſ' && b == 's')
            })
    };
    if is("true") {
        return Value::Bool(true);
    }
    if is("false") {
        return Value::Bool(false);
    }
    if is("null") {
        return Value::Null;
    }
    if text == "0" {
        return Value::from(0);
    }
    if !text.starts_with('0')
        && let Ok(number) = text.parse::<i64>()
    {
        return Value::from(number);
    }
    Value::String(text)
}

// What Go's runtime says when a value has another type than the name implies.
fn conversion(value: &Value, wanted: &str) -> String {
    let is = match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    format!("unable to parse key: interface conversion: interface {{}} is {is}, not {wanted}")
}

// Go prints a slice of runes with %q as a list of quoted characters.
fn runes(text: &str) -> String {
    let quoted: Vec<String> = text.chars().map(|c| format!("{c:?}")).collect();
    format!("[{}]", quoted.join(" "))
}

/// One JSON value at the start of a text, numbers as floats, and how many bytes it took.
pub(crate) fn json_prefix(text: &str) -> Option<(Value, usize)> {
    let mut reader = json::Reader::new(text.as_bytes());
    reader.skip().ok()?;
    let end = reader.offset();
    let mut value = json::parse(&text.as_bytes()[..end]).ok()?.value;
    super::as_floats(&mut value);
    Some((value, end))
}
