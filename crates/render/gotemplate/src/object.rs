//! Values of the host: structs with fields and methods, and named slices and maps.
//!
//! `.Chart`, `.Capabilities` and `.Files` are Go types of Helm's own. A [`Struct`] has fields (a
//! field that is not there is an error), a [`Named`] gives a slice or map a type name and methods.

use crate::function::Type;
use crate::text::Text;
use crate::value::Value;
use std::fmt;
use std::rc::Rc;

/// What a method answers: a value, or why not.
pub type Answer = Result<Value, String>;

/// What a method does.
pub(crate) type Body = Rc<dyn Fn(&[Value]) -> Answer>;

/// A method of a host's type; it knows its receiver.
#[derive(Clone)]
pub struct Method {
    /// What templates call it.
    pub name: &'static str,
    /// What it takes.
    pub params: Vec<Type>,
    /// Whether the last parameter may stand any number of times.
    pub variadic: bool,
    /// What it does.
    pub call: Body,
}

impl Method {
    /// A method with fixed parameters.
    pub fn new(
        name: &'static str,
        params: Vec<Type>,
        call: impl Fn(&[Value]) -> Answer + 'static,
    ) -> Self {
        Self {
            name,
            params,
            variadic: false,
            call: Rc::new(call),
        }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "func {}({:?})", self.name, self.params)
    }
}

/// A named slice or map type.
#[derive(Clone, Debug)]
pub struct Named {
    /// The type's name with its package, such as `chartutil.Values`.
    pub name: String,
    /// Its methods.
    pub methods: Vec<Method>,
}

/// A struct, or a pointer to one.
#[derive(Clone, Debug)]
pub struct Struct {
    /// The type's name with its package and without `*`, such as `semver.Version`.
    pub name: String,
    /// Whether templates see a pointer to it.
    pub pointer: bool,
    /// Its fields in order.
    pub fields: Vec<(&'static str, Value)>,
    /// Its methods.
    pub methods: Vec<Method>,
    /// What its `String` method gives, if it has one.
    pub string: Option<Text>,
    /// What it is in JSON; none stands for an object of its fields.
    pub json: Option<model::Value>,
}

impl Struct {
    /// A struct with fields and nothing else.
    pub fn new(name: impl Into<String>, fields: Vec<(&'static str, Value)>) -> Self {
        Self {
            name: name.into(),
            pointer: false,
            fields,
            methods: Vec::new(),
            string: None,
            json: None,
        }
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    pub(crate) fn type_name(&self) -> String {
        format!("{}{}", if self.pointer { "*" } else { "" }, self.name)
    }
}

/// The method of a value, if its type has one of that name.
pub(crate) fn method<'a>(value: &'a Value, name: &str) -> Option<&'a Method> {
    let methods = match value {
        Value::Struct(s) => &s.methods,
        Value::Map(map) => &map.name()?.methods,
        Value::List(list) => &list.name()?.methods,
        _ => return None,
    };
    methods.iter().find(|m| m.name == name)
}
