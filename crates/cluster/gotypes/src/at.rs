//! Where in an object the decoder is: for strict errors, which name every step, and for type
//! errors, which name struct fields alone.

use crate::table::{Field, StructType};
use std::fmt::{self, Write as _};

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a StructType, &'a Field),
    Key(&'a str),
    Index(usize),
}

/// A place, as a chain of steps on the stack.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    last: Option<(&'a At<'a>, Step<'a>)>,
}

impl<'a> At<'a> {
    /// The whole object.
    pub(crate) const ROOT: At<'static> = At { last: None };

    /// A field of a struct.
    pub(crate) fn field(&'a self, ty: &'a StructType, field: &'a Field) -> At<'a> {
        At {
            last: Some((self, Step::Field(ty, field))),
        }
    }

    /// An entry of a map, or a field that the struct does not have.
    pub(crate) fn key(&'a self, key: &'a str) -> At<'a> {
        At {
            last: Some((self, Step::Key(key))),
        }
    }

    /// An element of a list.
    pub(crate) fn index(&'a self, index: usize) -> At<'a> {
        At {
            last: Some((self, Step::Index(index))),
        }
    }

    /// Go's message for a value of the wrong type.
    pub(crate) fn type_error(&self, value: &str, go_type: &str) -> String {
        let mut message = format!("json: cannot unmarshal {value} into Go ");
        match self.innermost() {
            Some(name) => {
                message.push_str("struct field ");
                message.push_str(name);
                self.push_fields(&mut message);
            }
            None => message.push_str("value"),
        }
        let _ = write!(message, " of type {go_type}");
        message
    }

    fn innermost(&self) -> Option<&'a str> {
        let (parent, step) = self.last?;
        match step {
            Step::Field(ty, _) => Some(&ty.name),
            Step::Key(_) | Step::Index(_) => parent.innermost(),
        }
    }

    fn push_fields(&self, out: &mut String) {
        let Some((parent, step)) = self.last else {
            return;
        };
        parent.push_fields(out);
        if let Step::Field(_, field) = step {
            for name in field.via.iter().chain([&field.name]) {
                out.push('.');
                out.push_str(name);
            }
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((parent, step)) = self.last else {
            return Ok(());
        };
        parent.fmt(f)?;
        let name = match step {
            Step::Index(index) => return write!(f, "[{index}]"),
            Step::Field(_, field) => &field.name,
            Step::Key(key) => key,
        };
        if parent.last.is_some() {
            f.write_char('.')?;
        }
        f.write_str(name)
    }
}
