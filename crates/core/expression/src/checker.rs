//! Checks the types of an expression and resolves the names in it.
//!
//! Takes the tree and the declared variables, gives the type of the result and every fault found.
//! Functions of a library (`sets.contains`) are turned from methods into plain functions here, since
//! only the variables tell the two apart.

use crate::ast::{Access, Expr, Kind, Literal, Loop, Outcome};
use crate::fault::Fault;
use crate::overloads::{Overload, are_ordered, is_ordering, overloads};
use crate::types::Type;
use schema::{compile_pattern, parse_duration};

/// Checks an expression; the result's type, or what is wrong.
pub(crate) fn check(expr: &mut Expr, variables: &[(&str, Type)]) -> Result<Type, Vec<Fault>> {
    let scope = variables.iter().map(|(n, t)| ((*n).to_owned(), t.clone()));
    let mut checker = Checker {
        scope: scope.collect(),
        mixed: false,
        faults: Vec::new(),
    };
    let ty = checker.expr(expr);
    if checker.faults.is_empty() {
        Ok(ty)
    } else {
        Err(checker.faults)
    }
}

/// Whether an expression mentions a variable.
pub(crate) fn mentions(expr: &Expr, name: &str) -> bool {
    let mut found = false;
    visit(expr, &mut |e| {
        found |= matches!(&e.kind, Kind::Name(n) if n == name);
    });
    found
}

/// Sees every node of an expression.
pub(crate) fn visit<'e>(expr: &'e Expr, see: &mut dyn FnMut(&'e Expr)) {
    see(expr);
    match &expr.kind {
        Kind::Literal(_) | Kind::Name(_) => {}
        Kind::Select(of, ..) | Kind::Has(of, _) => visit(of, see),
        Kind::Index(of, index, _) => {
            visit(of, see);
            visit(index, see);
        }
        Kind::Call(on, _, args) => {
            for part in on.as_deref().into_iter().chain(args) {
                visit(part, see);
            }
        }
        Kind::Operator(_, parts) | Kind::And(parts) | Kind::Or(parts) => {
            for part in parts {
                visit(part, see);
            }
        }
        Kind::If(parts) => {
            for part in parts.iter() {
                visit(part, see);
            }
        }
        Kind::List(items) => {
            for (_, item) in items {
                visit(item, see);
            }
        }
        Kind::Map(entries) => {
            for (_, key, value) in entries {
                visit(key, see);
                visit(value, see);
            }
        }
        Kind::Loop(body) => {
            visit(&body.range, see);
            for part in [&body.test, &body.result].into_iter().flatten() {
                visit(part, see);
            }
        }
        Kind::OptMap(on, _, body, _) => {
            visit(on, see);
            visit(body, see);
        }
    }
}

struct Checker {
    scope: Vec<(String, Type)>,
    /// Whether literals may hold values of several types, as the arguments of a format do.
    mixed: bool,
    faults: Vec<Fault>,
}

impl Checker {
    fn fault(&mut self, at: usize, message: impl Into<String>) -> Type {
        self.faults.push(Fault::new(at, message));
        Type::Error
    }

    fn variable(&self, name: &str) -> Option<&Type> {
        let mut scope = self.scope.iter().rev();
        scope.find(|(n, _)| n == name).map(|(_, ty)| ty)
    }

    fn expr(&mut self, expr: &mut Expr) -> Type {
        let at = expr.at;
        self.qualify(expr);
        match &mut expr.kind {
            Kind::Literal(literal) => literal_type(literal),
            Kind::Name(name) => self.name(at, name),
            Kind::Select(of, field, access) => {
                let access = *access;
                let of = self.expr(of);
                self.select(at, &of, field, access)
            }
            Kind::Has(of, field) => {
                let of = self.expr(of);
                self.select(at, &of, field, Access::Plain);
                Type::Bool
            }
            Kind::Index(of, index, access) => {
                let name = match access {
                    Access::Plain => "_[_]",
                    Access::Optional => "_[?_]",
                };
                let args = [self.expr(of), self.expr(index)];
                self.resolve(at, name, false, &args)
            }
            Kind::Call(on, name, args) => {
                let method = on.is_some();
                let before = self.mixed;
                self.mixed |= method && name == "format";
                let parts = on.as_deref_mut().into_iter().chain(args.iter_mut());
                let types: Vec<Type> = parts.map(|part| self.expr(part)).collect();
                self.mixed = before;
                self.literals(name, args);
                self.resolve(at, name, method, &types)
            }
            Kind::Operator(name, args) => {
                let types: Vec<Type> = args.iter_mut().map(|arg| self.expr(arg)).collect();
                self.operator(at, name, &types)
            }
            Kind::And(parts) | Kind::Or(parts) => {
                for part in parts {
                    self.expect_bool(part);
                }
                Type::Bool
            }
            Kind::If(parts) => {
                let types: Vec<Type> = parts.iter_mut().map(|part| self.expr(part)).collect();
                self.resolve(at, "_?_:_", false, &types)
            }
            Kind::List(items) => self.list(items),
            Kind::Map(entries) => self.map(entries),
            Kind::Loop(body) => self.visit_all(at, body),
            Kind::OptMap(on, name, body, flat) => {
                let flat = *flat;
                let on_type = self.expr(on);
                let inner = match on_type {
                    Type::Optional(inner) => (*inner).clone(),
                    _ => Type::Dyn,
                };
                self.scope.push((name.clone(), inner));
                let result = self.expr(body);
                self.scope.pop();
                if flat { result } else { Type::optional(result) }
            }
        }
    }

    // `sets.contains(...)` reads as a method of `sets` until the variables are known.
    fn qualify(&self, expr: &mut Expr) {
        let Kind::Call(on, name, _) = &mut expr.kind else {
            return;
        };
        let Some(Kind::Name(library)) = on.as_deref().map(|on| &on.kind) else {
            return;
        };
        let full = format!("{library}.{name}");
        if self.variable(library).is_none() && overloads(&full).is_some() {
            *name = full;
            *on = None;
        }
    }

    fn name(&mut self, at: usize, name: &str) -> Type {
        if let Some(ty) = self.variable(name) {
            return ty.clone();
        }
        if TYPE_NAMES.contains(&name) {
            return Type::Kind;
        }
        let message = format!("undeclared reference to '{name}' (in container '')");
        self.fault(at, message)
    }

    fn select(&mut self, at: usize, of: &Type, field: &str, access: Access) -> Type {
        let optional = access == Access::Optional;
        let (target, wrapped) = match of {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), optional),
        };
        let found = match &target {
            Type::Dyn => Type::Dyn,
            Type::Error => return Type::Error,
            Type::Map(map) => map.1.clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(field) => field.ty.clone(),
                None => return self.fault(at, format!("undefined field '{field}'")),
            },
            other => {
                let message = format!("type '{other}' does not support field selection");
                return self.fault(at, message);
            }
        };
        if wrapped {
            Type::optional(found)
        } else {
            found
        }
    }

    fn expect_bool(&mut self, part: &mut Expr) {
        let ty = self.expr(part);
        if !matches!(ty, Type::Bool | Type::Dyn | Type::Error) {
            self.fault(part.at, format!("expected type 'bool' but found '{ty}'"));
        }
    }

    fn list(&mut self, items: &mut [(Access, Expr)]) -> Type {
        let mut common: Option<Type> = None;
        for (access, item) in items {
            let mut ty = self.expr(item);
            if *access == Access::Optional {
                ty = unwrap_optional(ty);
            }
            common = Some(self.common(item.at, common, ty));
        }
        Type::list(common.unwrap_or(Type::Dyn))
    }

    fn map(&mut self, entries: &mut [(Access, Expr, Expr)]) -> Type {
        let (mut keys, mut values) = (None, None);
        for (access, key, value) in entries {
            let ty = self.expr(key);
            keys = Some(self.common(key.at, keys, ty));
            let mut ty = self.expr(value);
            if *access == Access::Optional {
                ty = unwrap_optional(ty);
            }
            values = Some(self.common(value.at, values, ty));
        }
        Type::map(keys.unwrap_or(Type::Dyn), values.unwrap_or(Type::Dyn))
    }

    // Entries of one literal have one type.
    fn common(&mut self, at: usize, so_far: Option<Type>, ty: Type) -> Type {
        match so_far {
            None => ty,
            Some(so_far) if fits(&so_far, &ty) => so_far,
            Some(_) if self.mixed => Type::Dyn,
            Some(so_far) => {
                let message = format!("expected type '{so_far}' but found '{ty}'");
                self.fault(at, message);
                so_far
            }
        }
    }

    fn visit_all(&mut self, at: usize, body: &mut Loop) -> Type {
        let range = self.expr(&mut body.range);
        let (first, second) = match (&range, &body.second) {
            (Type::List(list), None) => (list.item.clone(), None),
            (Type::List(list), Some(_)) => (Type::Int, Some(list.item.clone())),
            (Type::Map(map), None) => (map.0.clone(), None),
            (Type::Map(map), Some(_)) => (map.0.clone(), Some(map.1.clone())),
            (Type::Dyn | Type::Error, _) => (Type::Dyn, Some(Type::Dyn)),
            (other, _) => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be \
                     list, map, or dynamic)"
                );
                self.fault(body.range.at, message);
                (Type::Error, Some(Type::Error))
            }
        };
        let depth = self.scope.len();
        self.scope.push((body.first.clone(), first.clone()));
        if let (Some(name), Some(ty)) = (&body.second, &second) {
            self.scope.push((name.clone(), ty.clone()));
        }
        self.test(at, body, &first);
        let result = body.result.as_mut().map(|result| self.expr(result));
        self.scope.truncate(depth);
        match body.outcome {
            Outcome::All | Outcome::Exists | Outcome::ExistsOne => Type::Bool,
            Outcome::List => Type::list(result.unwrap_or(first)),
            Outcome::Map => Type::map(first, result.unwrap_or(Type::Dyn)),
            Outcome::MapEntries => result.unwrap_or(Type::Dyn),
        }
    }

    fn test(&mut self, at: usize, body: &mut Loop, first: &Type) {
        let Some(test) = &mut body.test else {
            return;
        };
        let place = test.at;
        let ty = self.expr(test);
        if matches!(ty, Type::Bool | Type::Dyn | Type::Error) {
            return;
        }
        let list = Type::list(first.clone());
        let message = match body.outcome {
            Outcome::All | Outcome::Exists => format!("expected type 'bool' but found '{ty}'"),
            Outcome::ExistsOne => no_overload("_?_:_", false, &[ty, Type::Int, Type::Int]),
            Outcome::List | Outcome::Map | Outcome::MapEntries => {
                no_overload("_?_:_", false, &[ty, list.clone(), list])
            }
        };
        let bool_wanted = matches!(body.outcome, Outcome::All | Outcome::Exists);
        self.fault(if bool_wanted { place } else { at }, message);
    }

    fn operator(&mut self, at: usize, name: &str, args: &[Type]) -> Type {
        if is_ordering(name) {
            if let [a, b] = args
                && are_ordered(a, b)
            {
                return Type::Bool;
            }
            return self.fault(at, no_overload(name, false, args));
        }
        self.resolve(at, name, false, args)
    }

    fn resolve(&mut self, at: usize, name: &str, method: bool, args: &[Type]) -> Type {
        let Some(candidates) = overloads(name) else {
            let message = format!("undeclared reference to '{name}' (in container '')");
            return self.fault(at, message);
        };
        let mut results = Vec::new();
        for overload in candidates {
            if overload.method == method
                && let Some(result) = apply(overload, args)
            {
                results.push(result);
            }
        }
        match results.as_slice() {
            [] => self.fault(at, no_overload(name, method, args)),
            [one] => one.clone(),
            [first, rest @ ..] => {
                let shown = first.to_string();
                let alike = rest.iter().all(|ty| ty.to_string() == shown);
                if alike { first.clone() } else { Type::Dyn }
            }
        }
    }

    // Constant arguments that cannot work are refused right away.
    fn literals(&mut self, name: &str, args: &[Expr]) {
        let Some(Expr {
            at,
            kind: Kind::Literal(Literal::Text(text)),
        }) = args.last()
        else {
            return;
        };
        let good = match name {
            "matches" => compile_pattern(text).is_ok(),
            "duration" => parse_duration(text).is_some(),
            "timestamp" => model::Timestamp::parse(text).is_some(),
            _ => true,
        };
        if !good {
            self.fault(*at, format!("invalid {name} argument"));
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The names that stand for types.
pub(crate) const TYPE_NAMES: [&str; 10] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "type",
    "null_type",
];

fn no_overload(name: &str, method: bool, args: &[Type]) -> String {
    let shown: Vec<String> = args.iter().map(ToString::to_string).collect();
    let applied = match shown.split_first() {
        Some((on, rest)) if method => format!("{on}.({})", rest.join(", ")),
        _ => format!("({})", shown.join(", ")),
    };
    format!("found no matching overload for '{name}' applied to '{applied}'")
}

fn unwrap_optional(ty: Type) -> Type {
    match ty {
        Type::Optional(inner) => (*inner).clone(),
        other => other,
    }
}

// The result of an overload for these arguments, if they fit.
fn apply(overload: &Overload, args: &[Type]) -> Option<Type> {
    if overload.args.len() != args.len() {
        return None;
    }
    let mut bound = [None, None];
    let pairs = overload.args.iter().zip(args);
    for (wanted, given) in pairs {
        if !unify(wanted, given, &mut bound) {
            return None;
        }
    }
    Some(substitute(&overload.result, &bound))
}

fn unify(wanted: &Type, given: &Type, bound: &mut [Option<Type>; 2]) -> bool {
    match (wanted, given) {
        (Type::Param(n), given) => {
            let place = &mut bound[usize::from(*n).min(1)];
            match place {
                Some(known) if matches!(known, Type::Dyn | Type::Error | Type::Null) => {
                    *known = if matches!(given, Type::Null) {
                        known.clone()
                    } else {
                        given.clone()
                    };
                    true
                }
                Some(known) => fits(known, given),
                None => {
                    *place = Some(given.clone());
                    true
                }
            }
        }
        (Type::List(a), Type::List(b)) => unify(&a.item, &b.item, bound),
        (Type::Map(a), Type::Map(b)) => unify(&a.0, &b.0, bound) && unify(&a.1, &b.1, bound),
        (Type::Optional(a), Type::Optional(b)) => unify(a, b, bound),
        (wanted, given) => fits(wanted, given),
    }
}

// Whether a value of one type may stand where the other is wanted.
fn fits(wanted: &Type, given: &Type) -> bool {
    match (wanted, given) {
        (Type::Dyn | Type::Error | Type::Param(_), _)
        | (_, Type::Dyn | Type::Error | Type::Param(_))
        | (Type::Null, Type::Null | Type::Object(_) | Type::Opaque(_))
        | (Type::Null | Type::Timestamp, Type::Timestamp)
        | (Type::Null | Type::Duration, Type::Duration)
        | (Type::Timestamp | Type::Duration | Type::Object(_) | Type::Opaque(_), Type::Null)
        | (Type::Bool, Type::Bool)
        | (Type::Int, Type::Int)
        | (Type::Uint, Type::Uint)
        | (Type::Double, Type::Double)
        | (Type::Text, Type::Text)
        | (Type::Bytes, Type::Bytes)
        | (Type::Kind, Type::Kind) => true,
        (Type::List(a), Type::List(b)) => fits(&a.item, &b.item),
        (Type::Map(a), Type::Map(b)) => fits(&a.0, &b.0) && fits(&a.1, &b.1),
        (Type::Optional(a), Type::Optional(b)) => fits(a, b),
        (Type::Opaque(a), Type::Opaque(b)) => a == b,
        (Type::Object(a), Type::Object(b)) => a.name == b.name,
        _ => false,
    }
}

fn substitute(ty: &Type, bound: &[Option<Type>; 2]) -> Type {
    match ty {
        Type::Param(n) => bound[usize::from(*n).min(1)].clone().unwrap_or(Type::Dyn),
        Type::List(list) => Type::list(substitute(&list.item, bound)),
        Type::Map(map) => Type::map(substitute(&map.0, bound), substitute(&map.1, bound)),
        Type::Optional(of) => Type::optional(substitute(of, bound)),
        other => other.clone(),
    }
}
