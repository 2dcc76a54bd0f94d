//! The functions templates call: their signatures, and which program has which.
//!
//! A function's arguments are checked against Go's parameter types before it runs, so that a
//! wrong argument fails with Go's words and at Go's place.

use crate::call::Call;
use crate::value::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

/// A parameter's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `interface {}`.
    Any,
    /// `reflect.Value`: like [`Type::Any`], but the function sees whether nothing was given.
    Reflect,
    /// `string`.
    String,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `uint32`.
    Uint32,
    /// `float64`.
    Float,
    /// `map[string]interface {}`.
    Map,
    /// `[]interface {}`.
    List,
    /// `time.Time`.
    Time,
    /// `time.Duration`.
    Duration,
    /// sprig's certificate and key.
    Certificate,
    /// `*semver.Version`.
    Version,
}

impl Type {
    /// As Go prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Reflect => "reflect.Value",
            Self::String => "string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint32 => "uint32",
            Self::Float => "float64",
            Self::Map => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Time => "time.Time",
            Self::Duration => "time.Duration",
            Self::Certificate => "sprig.certificate",
            Self::Version => "*semver.Version",
        }
    }

    pub(crate) fn can_be_nil(self) -> bool {
        matches!(
            self,
            Self::Any | Self::Reflect | Self::Map | Self::List | Self::Version
        )
    }
}

/// Which program's functions and rules apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edition {
    /// Go's own functions only.
    Plain,
    /// Helm 3.17.
    Helm3,
    /// Helm 4.
    #[default]
    Helm4,
}

/// What a function does.
pub(crate) type Body = fn(&mut Call<'_>, &[Value]) -> Result<Value, Fault>;

/// Why a function failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// An error or panic of the function.
    Text(String),
    /// A template that it ran failed; what stands before its error, if anything.
    Inner(Option<String>, Box<crate::error::ExecError>),
    /// A limit of ours.
    Limit(crate::error::Limit),
}

impl<T: Into<String>> From<T> for Fault {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// A function and its signature.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) params: &'static [Type],
    pub(crate) variadic: bool,
    pub(crate) special: Special,
    pub(crate) body: Body,
}

/// Functions that the evaluator treats by rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    None,
    And,
    Or,
    Call,
    Slice,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "func {}", self.name)
    }
}

impl Function {
    pub(crate) const fn new(name: &'static str, params: &'static [Type], body: Body) -> Self {
        Self {
            name,
            params,
            variadic: false,
            special: Special::None,
            body,
        }
    }

    /// The last parameter may stand any number of times.
    pub(crate) const fn variadic(name: &'static str, params: &'static [Type], body: Body) -> Self {
        Self {
            name,
            params,
            variadic: true,
            special: Special::None,
            body,
        }
    }
}

type Table = HashMap<&'static str, &'static Function>;

fn table(groups: &[&'static [Function]]) -> Table {
    // Later groups replace earlier ones.
    groups
        .iter()
        .flat_map(|group| group.iter())
        .map(|f| (f.name, f))
        .collect()
}

static PLAIN: LazyLock<Table> = LazyLock::new(|| table(&[crate::builtin::FUNCTIONS]));
static HELM3: LazyLock<Table> = LazyLock::new(|| {
    let mut groups = vec![crate::builtin::FUNCTIONS];
    groups.extend_from_slice(crate::sprig::GROUPS);
    groups.push(crate::helm::FUNCTIONS);
    table(&groups)
});
static HELM4: LazyLock<Table> = LazyLock::new(|| {
    let mut table = HELM3.clone();
    table.extend(crate::helm::FUNCTIONS_4.iter().map(|f| (f.name, f)));
    table
});

/// The function of that name.
pub(crate) fn find(edition: Edition, name: &str) -> Option<&'static Function> {
    let table = match edition {
        Edition::Plain => &*PLAIN,
        Edition::Helm3 => &*HELM3,
        Edition::Helm4 => &*HELM4,
    };
    table.get(name).copied()
}

/// The names of all functions of an edition, sorted.
pub fn function_names(edition: Edition) -> Vec<&'static str> {
    let table = match edition {
        Edition::Plain => &*PLAIN,
        Edition::Helm3 => &*HELM3,
        Edition::Helm4 => &*HELM4,
    };
    let mut names: Vec<_> = table.keys().copied().collect();
    names.sort_unstable();
    names
}
