//! Evaluates a checked expression.
//!
//! Every step costs, and the cost is limited, so no expression can hold the server up.

use crate::ast::{Access, Expr, Kind, Literal, Loop, Outcome};
use crate::checker::TYPE_NAMES;
use crate::functions;
use crate::operators::{Failure, NO_OVERLOAD, arithmetic, compare, equal, negate};
use crate::types::Identity;
use crate::value::{Key, List, Map, Text, Val};
use regex::Regex;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What is said when an expression costs too much.
pub(crate) const TOO_COSTLY: &str = "operation cancelled: actual cost limit exceeded";

/// Evaluates one expression.
pub(crate) struct Evaluator<'a> {
    /// The variables from outside.
    pub(crate) variables: Vec<(&'a str, Val<'a>)>,
    /// Constant patterns of the expression.
    pub(crate) patterns: &'a BTreeMap<String, Regex>,
    /// What may still be spent.
    pub(crate) left: Cell<u64>,
}

/// A variable of a macro, and what surrounds it.
struct Scope<'s, 'a> {
    name: &'a str,
    value: Val<'a>,
    outer: Option<&'s Scope<'s, 'a>>,
}

type Outer<'s, 'a> = Option<&'s Scope<'s, 'a>>;
type Result<'a> = std::result::Result<Val<'a>, Failure>;

impl<'a> Evaluator<'a> {
    /// The value of an expression.
    pub(crate) fn run(&self, expr: &'a Expr) -> Result<'a> {
        self.eval(expr, None)
    }

    /// Takes from what may be spent.
    pub(crate) fn charge(&self, cost: u64) -> std::result::Result<(), Failure> {
        let left = self.left.get().checked_sub(cost);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or_else(|| TOO_COSTLY.to_owned())
    }

    fn eval(&self, expr: &'a Expr, scope: Outer<'_, 'a>) -> Result<'a> {
        self.charge(1)?;
        match &expr.kind {
            Kind::Literal(literal) => Ok(constant(literal)),
            Kind::Name(name) => self.name(name, scope),
            Kind::Select(of, field, access) => self.select(of, field, *access, scope),
            Kind::Has(of, field) => self.has(of, field, scope),
            Kind::Index(of, index, access) => self.index(of, index, *access, scope),
            Kind::Call(on, name, args) => self.call(on.as_deref(), name, args, scope),
            Kind::Operator(name, args) => self.operator(name, args, scope),
            Kind::And(parts) => self.logic(parts, false, scope),
            Kind::Or(parts) => self.logic(parts, true, scope),
            Kind::If(parts) => match self.eval(&parts[0], scope)? {
                Val::Bool(true) => self.eval(&parts[1], scope),
                Val::Bool(false) => self.eval(&parts[2], scope),
                _ => Err(NO_OVERLOAD.into()),
            },
            Kind::List(items) => self.list(items, scope),
            Kind::Map(entries) => self.map(entries, scope),
            Kind::Loop(body) => self.visit_all(body, scope),
            Kind::OptMap(on, name, body, flat) => self.opt_map(on, name, body, *flat, scope),
        }
    }

    fn name(&self, name: &'a str, scope: Outer<'_, 'a>) -> Result<'a> {
        let mut inner = scope;
        while let Some(scope) = inner {
            if scope.name == name {
                return Ok(scope.value.clone());
            }
            inner = scope.outer;
        }
        if let Some((_, value)) = self.variables.iter().find(|(n, _)| *n == name) {
            return Ok(value.clone());
        }
        match TYPE_NAMES.iter().find(|ty| **ty == name) {
            Some(ty) => Ok(Val::Type(ty)),
            None => Err(format!("no such attribute(s): {name}")),
        }
    }

    fn select(
        &self,
        of: &'a Expr,
        field: &'a str,
        access: Access,
        scope: Outer<'_, 'a>,
    ) -> Result<'a> {
        let of = self.eval(of, scope)?;
        match (of, access) {
            (Val::Optional(None), _) => Ok(Val::Optional(None)),
            (Val::Optional(Some(inner)), _) => {
                let found = get_field(&inner, field)?;
                Ok(Val::Optional(found.map(Rc::new)))
            }
            (of, Access::Optional) => Ok(Val::Optional(get_field(&of, field)?.map(Rc::new))),
            (of, Access::Plain) => {
                get_field(&of, field)?.ok_or_else(|| format!("no such key: {field}"))
            }
        }
    }

    fn has(&self, of: &'a Expr, field: &str, scope: Outer<'_, 'a>) -> Result<'a> {
        let of = self.eval(of, scope)?;
        let found = match of {
            Val::Optional(None) => None,
            Val::Optional(Some(inner)) => get_field(&inner, field)?,
            of => get_field(&of, field)?,
        };
        Ok(Val::Bool(found.is_some()))
    }

    fn index(
        &self,
        of: &'a Expr,
        index: &'a Expr,
        access: Access,
        scope: Outer<'_, 'a>,
    ) -> Result<'a> {
        let of = self.eval(of, scope)?;
        let index = self.eval(index, scope)?;
        let (of, optional) = match of {
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => ((*inner).clone(), true),
            of => (of, access == Access::Optional),
        };
        let found = match &of {
            Val::List(list) => match whole_index(&index) {
                Some(i) => usize::try_from(i).ok().and_then(|i| list.get(i)),
                None => return Err(NO_OVERLOAD.into()),
            },
            Val::Map(map) => map.get(&index),
            _ => return Err(NO_OVERLOAD.into()),
        };
        if optional {
            return Ok(Val::Optional(found.map(Rc::new)));
        }
        found.ok_or_else(|| match (&of, index.key()) {
            (Val::List(_), Some(key)) => format!("index out of bounds: {}", key.show()),
            (_, Some(key)) => format!("no such key: {}", key.show()),
            (_, None) => NO_OVERLOAD.into(),
        })
    }

    fn call(
        &self,
        on: Option<&'a Expr>,
        name: &'a str,
        args: &'a [Expr],
        scope: Outer<'_, 'a>,
    ) -> Result<'a> {
        // The alternative of an optional is only evaluated when it is needed.
        if let (Some(on), "or" | "orValue", [other]) = (on, name, args)
            && let Val::Optional(value) = self.eval(on, scope)?
        {
            return match (value, name) {
                (Some(value), "orValue") => Ok((*value).clone()),
                (Some(value), _) => Ok(Val::Optional(Some(value))),
                (None, _) => self.eval(other, scope),
            };
        }
        let mut values = Vec::with_capacity(args.len() + 1);
        for part in on.into_iter().chain(args) {
            values.push(self.eval(part, scope)?);
        }
        for value in &values {
            self.charge(weight(value))?;
        }
        functions::call(self, name, &values)
    }

    fn operator(&self, name: &str, args: &'a [Expr], scope: Outer<'_, 'a>) -> Result<'a> {
        match args {
            [one] => {
                let value = self.eval(one, scope)?;
                match (name, &value) {
                    ("!_", Val::Bool(b)) => Ok(Val::Bool(!b)),
                    ("-_", value) => negate(value),
                    _ => Err(NO_OVERLOAD.into()),
                }
            }
            [a, b] => {
                let a = self.eval(a, scope)?;
                let b = self.eval(b, scope)?;
                self.binary(name, &a, &b)
            }
            _ => Err(NO_OVERLOAD.into()),
        }
    }

    fn binary(&self, name: &str, a: &Val<'a>, b: &Val<'a>) -> Result<'a> {
        match name {
            "_==_" | "_!=_" => {
                self.charge(deep_weight(a, 0).min(deep_weight(b, 0)))?;
                Ok(Val::Bool(equal(a, b) == (name == "_==_")))
            }
            "@in" => self.contains(a, b),
            "_<_" | "_<=_" | "_>_" | "_>=_" => {
                self.charge(weight(a).min(weight(b)))?;
                let ordering = match compare(a, b) {
                    Some(ordering) => ordering,
                    None if is_nan(a) || is_nan(b) => return Ok(Val::Bool(false)),
                    None => return Err(NO_OVERLOAD.into()),
                };
                Ok(Val::Bool(match name {
                    "_<_" => ordering == Ordering::Less,
                    "_<=_" => ordering != Ordering::Greater,
                    "_>_" => ordering == Ordering::Greater,
                    _ => ordering != Ordering::Less,
                }))
            }
            _ => {
                self.charge(weight(a) + weight(b))?;
                arithmetic(name, a, b)
            }
        }
    }

    fn contains(&self, a: &Val<'a>, b: &Val<'a>) -> Result<'a> {
        match b {
            Val::List(list) => {
                self.charge(list.len() as u64)?;
                Ok(Val::Bool(list.iter().any(|entry| equal(a, &entry))))
            }
            Val::Map(map) => Ok(Val::Bool(map.get(a).is_some())),
            _ => Err(NO_OVERLOAD.into()),
        }
    }

    // A part that decides wins over a part that fails.
    fn logic(&self, parts: &'a [Expr], decisive: bool, scope: Outer<'_, 'a>) -> Result<'a> {
        let mut failure = None;
        for part in parts {
            match self.eval(part, scope) {
                Ok(Val::Bool(b)) if b == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => failure = failure.or(Some(NO_OVERLOAD.to_owned())),
                Err(why) if why == TOO_COSTLY => return Err(why),
                Err(why) => failure = failure.or(Some(why)),
            }
        }
        failure.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn list(&self, items: &'a [(Access, Expr)], scope: Outer<'_, 'a>) -> Result<'a> {
        self.charge(10)?;
        let mut list = Vec::with_capacity(items.len());
        for (access, item) in items {
            match (access, self.eval(item, scope)?) {
                (Access::Optional, Val::Optional(value)) => {
                    list.extend(value.map(|value| (*value).clone()));
                }
                (_, value) => list.push(value),
            }
        }
        Ok(Val::list(list))
    }

    fn map(&self, entries: &'a [(Access, Expr, Expr)], scope: Outer<'_, 'a>) -> Result<'a> {
        self.charge(30)?;
        let mut map = BTreeMap::new();
        for (access, key, value) in entries {
            let key = self.eval(key, scope)?.key();
            let key = key.ok_or_else(|| "unsupported key type".to_owned())?;
            let value = match (access, self.eval(value, scope)?) {
                (Access::Optional, Val::Optional(None)) => continue,
                (Access::Optional, Val::Optional(Some(value))) => (*value).clone(),
                (_, value) => value,
            };
            insert(&mut map, key, value)?;
        }
        Ok(Val::Map(Map::Made(Rc::new(map))))
    }

    fn opt_map(
        &self,
        on: &'a Expr,
        name: &'a str,
        body: &'a Expr,
        flat: bool,
        outer: Outer<'_, 'a>,
    ) -> Result<'a> {
        match self.eval(on, outer)? {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => {
                let value = (*value).clone();
                let result = self.eval(body, Some(&Scope { name, value, outer }))?;
                Ok(if flat { result } else { Val::some(result) })
            }
            _ => Err(NO_OVERLOAD.into()),
        }
    }

    fn visit_all(&self, body: &'a Loop, outer: Outer<'_, 'a>) -> Result<'a> {
        let range = self.eval(&body.range, outer)?;
        let mut gathered = Gathered::default();
        match &range {
            Val::List(list) => {
                for (i, entry) in list.iter().enumerate() {
                    let pair = match body.second {
                        Some(_) => (Val::Int(i as i64), Some(entry)),
                        None => (entry, None),
                    };
                    if self.step(body, pair, &mut gathered, outer)? {
                        break;
                    }
                }
            }
            Val::Map(map) => {
                for (key, value) in map.entries() {
                    let pair = (key, body.second.as_ref().map(|_| value));
                    if self.step(body, pair, &mut gathered, outer)? {
                        break;
                    }
                }
            }
            _ => return Err(NO_OVERLOAD.into()),
        }
        gathered.finish(body.outcome)
    }

    // One round of a macro; true when the outcome is settled.
    fn step(
        &self,
        body: &'a Loop,
        pair: (Val<'a>, Option<Val<'a>>),
        gathered: &mut Gathered<'a>,
        outer: Outer<'_, 'a>,
    ) -> std::result::Result<bool, Failure> {
        self.charge(2)?;
        let (first, second) = pair;
        let scope = Scope {
            name: &body.first,
            value: first.clone(),
            outer,
        };
        let inner = body.second.as_deref().zip(second.clone());
        let inner = inner.map(|(name, value)| Scope {
            name,
            value,
            outer: Some(&scope),
        });
        let scope = inner.as_ref().unwrap_or(&scope);
        let test = match &body.test {
            Some(test) => self.eval(test, Some(scope)),
            None => Ok(Val::Bool(true)),
        };
        match body.outcome {
            Outcome::All | Outcome::Exists => {
                gathered.decide(test, body.outcome == Outcome::Exists)
            }
            Outcome::ExistsOne => {
                gathered.count += u64::from(as_bool(test?)?);
                Ok(false)
            }
            Outcome::List | Outcome::Map | Outcome::MapEntries => {
                if as_bool(test?)? {
                    let value = match &body.result {
                        Some(result) => self.eval(result, Some(scope))?,
                        None => first.clone(),
                    };
                    gathered.keep(body.outcome, &first, value)?;
                }
                Ok(false)
            }
        }
    }
}

#[derive(Default)]
struct Gathered<'a> {
    decided: bool,
    failure: Option<Failure>,
    count: u64,
    list: Vec<Val<'a>>,
    map: BTreeMap<Key, Val<'a>>,
}

impl<'a> Gathered<'a> {
    fn decide(&mut self, test: Result<'a>, decisive: bool) -> std::result::Result<bool, Failure> {
        match test {
            Ok(Val::Bool(b)) => {
                self.decided = b == decisive;
                Ok(self.decided)
            }
            Ok(_) => Err(NO_OVERLOAD.into()),
            Err(why) if why == TOO_COSTLY => Err(why),
            Err(why) => {
                self.failure.get_or_insert(why);
                Ok(false)
            }
        }
    }

    fn keep(
        &mut self,
        outcome: Outcome,
        key: &Val<'a>,
        value: Val<'a>,
    ) -> std::result::Result<(), Failure> {
        match (outcome, value) {
            (Outcome::Map, value) => {
                let key = key.key().ok_or_else(|| NO_OVERLOAD.to_owned())?;
                insert(&mut self.map, key, value)
            }
            (Outcome::MapEntries, Val::Map(entries)) => {
                for (key, value) in entries.entries() {
                    let key = key.key().ok_or_else(|| NO_OVERLOAD.to_owned())?;
                    insert(&mut self.map, key, value)?;
                }
                Ok(())
            }
            (Outcome::MapEntries, _) => Err(NO_OVERLOAD.into()),
            (_, value) => {
                self.list.push(value);
                Ok(())
            }
        }
    }

    fn finish(self, outcome: Outcome) -> Result<'a> {
        match outcome {
            Outcome::All | Outcome::Exists => match self.failure {
                Some(why) if !self.decided => Err(why),
                _ => Ok(Val::Bool(self.decided == (outcome == Outcome::Exists))),
            },
            Outcome::ExistsOne => Ok(Val::Bool(self.count == 1)),
            Outcome::List => Ok(Val::list(self.list)),
            Outcome::Map | Outcome::MapEntries => Ok(Val::Map(Map::Made(Rc::new(self.map)))),
        }
    }
}

fn insert<'a>(
    map: &mut BTreeMap<Key, Val<'a>>,
    key: Key,
    value: Val<'a>,
) -> std::result::Result<(), Failure> {
    if map.contains_key(&key) {
        return Err(format!("insert failed: key {} already exists", key.show()));
    }
    map.insert(key, value);
    Ok(())
}

fn as_bool(value: Val<'_>) -> std::result::Result<bool, Failure> {
    match value {
        Val::Bool(b) => Ok(b),
        _ => Err(NO_OVERLOAD.into()),
    }
}

fn get_field<'a>(of: &Val<'a>, field: &str) -> std::result::Result<Option<Val<'a>>, Failure> {
    match of {
        Val::Map(map) => Ok(map.field(field)),
        _ => Err(NO_OVERLOAD.into()),
    }
}

fn whole_index(index: &Val<'_>) -> Option<i64> {
    match index.key()? {
        Key::Int(n) => Some(n),
        Key::Uint(_) => Some(i64::MAX),
        Key::Bool(_) | Key::Text(_) => None,
    }
}

fn is_nan(value: &Val<'_>) -> bool {
    matches!(value, Val::Double(n) if n.is_nan())
}

fn constant(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(b) => Val::Bool(*b),
        Literal::Int(n) => Val::Int(*n),
        Literal::Uint(n) => Val::Uint(*n),
        Literal::Double(n) => Val::Double(*n),
        Literal::Text(text) => Val::Text(Text::Borrowed(text)),
        Literal::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
    }
}

// What it costs to look at a value once.
fn weight(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(text) => text.len() as u64 / 10,
        Val::Bytes(bytes) => bytes.len() as u64 / 10,
        Val::List(List::Made(list)) => list.len() as u64 / 10,
        _ => 0,
    }
}

// What it costs to compare a value with another; lists whose order does not matter cost the square.
fn deep_weight(value: &Val<'_>, depth: u8) -> u64 {
    let add = |sum: u64, value: &Val<'_>| sum.saturating_add(deep_weight(value, depth + 1));
    match value {
        Val::List(list) if depth < 8 => {
            let once = list.iter().fold(1, |sum, entry| add(sum, &entry));
            match list.identity() {
                Identity::Place => once,
                Identity::Value | Identity::Keys(_) => {
                    once.saturating_add((list.len() as u64).saturating_pow(2))
                }
            }
        }
        Val::Map(map) if depth < 8 => map.entries().iter().fold(1, |sum, (_, v)| add(sum, v)),
        other => weight(other),
    }
}
