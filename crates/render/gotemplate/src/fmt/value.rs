//! Values of every type under a verb: lists, maps and structs print what they hold.

use super::Printer;
use crate::object::Struct;
use crate::value::{Element, List, Map, Value};

impl Printer {
    /// Prints one argument.
    pub(super) fn arg(&mut self, value: &Value, verb: char) {
        match (value, verb) {
            (Value::Invalid | Value::Nil, 'T' | 'v') => self.pad(b"<nil>"),
            (Value::Invalid | Value::Nil, _) | (_, 'p') => self.bad_verb(verb, value),
            (_, 'T') => {
                let name = value.type_name();
                let name = self.truncated(name.as_bytes()).to_vec();
                self.pad(&name);
            }
            _ => self.value(value, verb, 0),
        }
    }

    fn value(&mut self, value: &Value, verb: char, depth: usize) {
        if self.overflowed {
            return;
        }
        // The walk is taken out so that the closure may use the printer.
        let mut walk = std::mem::replace(&mut self.walk, crate::walk::Walk::new());
        let fine = walk.down(|walk| {
            std::mem::swap(&mut self.walk, walk);
            self.any(value, verb, depth);
            std::mem::swap(&mut self.walk, walk);
            Some(())
        });
        self.walk = walk;
        self.overflowed |= fine.is_none();
    }

    fn any(&mut self, value: &Value, verb: char, depth: usize) {
        if !self.complaining && self.method(value, verb) {
            return;
        }
        match value {
            Value::Invalid | Value::Nil => match (verb, self.flags.sharp_v) {
                (_, true) => self.put("interface {}(nil)"),
                _ => self.put("<nil>"),
            },
            Value::Bool(b) if matches!(verb, 't' | 'v') => self.pad(b.to_string().as_bytes()),
            Value::Bool(_) => self.bad_verb(verb, value),
            Value::Int(i) | Value::Int64(i) | Value::Duration(i) => {
                self.integer(*i as u64, true, verb, value);
            }
            Value::Int32(i) => self.integer(i64::from(*i) as u64, true, verb, value),
            Value::Uint8(u) => self.integer(u64::from(*u), false, verb, value),
            Value::Uint64(u) => self.integer(*u, false, verb, value),
            Value::Float(f) => self.float(*f, verb, value),
            Value::Complex(re, im) => self.complex(*re, *im, verb, value),
            Value::String(text) => self.string(text, verb, value),
            Value::List(list) => self.list(list, verb, value, depth),
            Value::Map(map) => self.map(map, verb, value, depth),
            Value::Struct(body) => self.structure(body, verb, value, depth),
            // What Go keeps inside: flags, seconds since year 1, and a zone.
            Value::Time(time) => {
                let fields = [
                    Value::Uint64(0),
                    Value::Int64(time.seconds.saturating_add(62_135_596_800)),
                ];
                self.out.push(b'{');
                for field in fields {
                    self.any(&field, verb, depth + 1);
                    self.out.push(b' ');
                }
                self.put("<nil>}");
            }
        }
    }

    // Values that know their own text.
    fn method(&mut self, value: &Value, verb: char) -> bool {
        if verb == 'w' {
            self.bad_verb(verb, value);
            return true;
        }
        if self.flags.sharp_v || !matches!(verb, 'v' | 's' | 'x' | 'X' | 'q') {
            return false;
        }
        let text = match value {
            Value::Time(time) => time.to_string().into_bytes(),
            Value::Duration(nanos) => crate::date::duration_text(*nanos).into_bytes(),
            Value::Struct(body) => match &body.string {
                Some(text) => text.to_vec(),
                None => return false,
            },
            _ => return false,
        };
        self.string(&text, verb, value);
        true
    }

    fn list(&mut self, list: &List, verb: char, whole: &Value, depth: usize) {
        if let (true, Some(bytes)) = (matches!(verb, 's' | 'q' | 'x' | 'X'), list.as_bytes()) {
            return self.string(&bytes, verb, whole);
        }
        let byte = *list.element() == Element::Byte;
        let sharp = self.flags.sharp_v;
        if sharp {
            self.put(&whole.type_name());
            if list.is_nil() {
                return self.put("(nil)");
            }
        }
        self.put(if sharp { "{" } else { "[" });
        for (i, item) in list.items().iter().enumerate() {
            if i > 0 {
                self.put(if sharp { ", " } else { " " });
            }
            if byte && sharp {
                self.put(&format!("0x{:x}", item.as_unsigned().unwrap_or(0)));
            } else {
                self.value(item, verb, depth + 1);
            }
        }
        self.put(if sharp { "}" } else { "]" });
    }

    fn map(&mut self, map: &Map, verb: char, whole: &Value, depth: usize) {
        let sharp = self.flags.sharp_v;
        if sharp {
            self.put(&whole.type_name());
            if map.is_nil() {
                return self.put("(nil)");
            }
        }
        self.put(if sharp { "{" } else { "map[" });
        for (i, (key, value)) in map.entries().into_iter().enumerate() {
            if i > 0 {
                self.put(if sharp { ", " } else { " " });
            }
            self.value(&Value::String(key), verb, depth + 1);
            self.out.push(b':');
            self.value(&value, verb, depth + 1);
        }
        self.put(if sharp { "}" } else { "]" });
    }

    fn structure(&mut self, body: &Struct, verb: char, whole: &Value, depth: usize) {
        if body.pointer && depth > 0 {
            // An address, which nobody can rely on.
            return self.put("0xc000000000");
        }
        let sharp = self.flags.sharp_v;
        if body.pointer {
            self.out.push(b'&');
        }
        if sharp {
            self.put(whole.type_name().trim_start_matches('*'));
        }
        self.out.push(b'{');
        for (i, (name, value)) in body.fields.iter().enumerate() {
            if i > 0 {
                self.put(if sharp { ", " } else { " " });
            }
            if sharp || self.flags.plus_v {
                self.put(name);
                self.out.push(b':');
            }
            self.value(value, verb, depth + 1);
        }
        self.out.push(b'}');
    }
}
