//! The tree of an expression.

/// A node and where it stands in the source, counted in characters.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Name(String),
    /// `of.field`, or `of.?field`.
    Select(Box<Expr>, String, Access),
    /// `has(of.field)`.
    Has(Box<Expr>, String),
    /// `of[index]`, or `of[?index]`.
    Index(Box<Expr>, Box<Expr>, Access),
    /// `name(args)`, or `on.name(args)`.
    Call(Option<Box<Expr>>, String, Vec<Expr>),
    /// An operator by its name in overloads: `_+_`, `!_`, `@in`.
    Operator(&'static str, Vec<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    If(Box<[Expr; 3]>),
    List(Vec<(Access, Expr)>),
    Map(Vec<(Access, Expr, Expr)>),
    Loop(Box<Loop>),
    /// `on.optMap(name, body)`; the flag is set for `optFlatMap`, whose body is an optional itself.
    OptMap(Box<Expr>, String, Box<Expr>, bool),
}

/// Whether absence is an error or an empty optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Plain,
    Optional,
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A macro that visits every entry of a list or map.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) range: Expr,
    pub(crate) first: String,
    pub(crate) second: Option<String>,
    pub(crate) outcome: Outcome,
    pub(crate) test: Option<Expr>,
    pub(crate) result: Option<Expr>,
}

/// What a loop gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    All,
    Exists,
    ExistsOne,
    List,
    /// A map with the same keys.
    Map,
    /// A map united from the maps that each step gives.
    MapEntries,
}
