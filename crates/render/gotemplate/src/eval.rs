//! Evaluates pipelines: commands, fields, variables, constants, and calls with checked arguments.

use crate::call::Call;
use crate::context::MissingKey;
use crate::error::Cause;
use crate::exec::{Cursor, Exec, Result, Slot};
use crate::function::{Fault, Function, Special, Type};
use crate::node::{Command, Expr, Number, Pipe};
use crate::object;
use crate::quote::quote;
use crate::value::{List, Map, Value};
use std::sync::Arc;

// What is called: its name, signature and what errors of it point at.
struct Callee<'a, 't> {
    name: &'a str,
    params: &'a [Type],
    variadic: bool,
    special: Special,
    at: Cursor<'t>,
}

impl<'t> Exec<'t, '_> {
    pub(crate) fn eval_pipeline(&mut self, dot: &Slot, pipe: &'t Pipe) -> Result<Slot> {
        self.cursor = Cursor::Pipe(pipe);
        let mut value = None;
        for command in &pipe.commands {
            value = Some(self.eval_command(dot, command, value)?.open());
        }
        let value = value.unwrap_or_else(|| Slot::plain(Value::Invalid));
        for (_, name) in &pipe.declares {
            if pipe.assigns {
                self.set_var(name, value.clone())?;
            } else {
                self.vars.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    fn not_a_function(&self, args: &[Expr], last: Option<&Slot>) -> Result<()> {
        if args.len() > 1 || last.is_some() {
            return self.fail(format!("can't give argument to non-function {}", args[0]));
        }
        Ok(())
    }

    fn eval_command(
        &mut self,
        dot: &Slot,
        command: &'t Command,
        last: Option<Slot>,
    ) -> Result<Slot> {
        let args = &command.args[..];
        let first = &args[0];
        match first {
            Expr::Field { names, .. } => {
                self.cursor = Cursor::Expr(first);
                return self.eval_chain(dot, dot.clone(), first, names, Some(args), last);
            }
            Expr::Chain { .. } => return self.eval_chain_node(dot, first, Some(args), last),
            Expr::Identifier { function, .. } => {
                self.cursor = Cursor::Expr(first);
                let at = Cursor::Command(command);
                return self.eval_function(dot, function, at, Some(args), last);
            }
            Expr::Pipe(pipe) => {
                self.not_a_function(args, last.as_ref())?;
                return crate::deep(|| self.eval_pipeline(dot, pipe));
            }
            Expr::Variable { name, names, .. } => {
                return self.eval_variable(dot, first, name, names, Some(args), last);
            }
            _ => {}
        }
        self.cursor = Cursor::Expr(first);
        self.not_a_function(args, last.as_ref())?;
        match first {
            Expr::Dot { .. } => Ok(dot.clone()),
            Expr::Nil { .. } => self.fail("nil is not a command"),
            other => self.constant(other),
        }
    }

    // The value of a literal where any type will do.
    fn constant(&mut self, expr: &'t Expr) -> Result<Slot> {
        self.cursor = Cursor::Expr(expr);
        Ok(Slot::plain(match expr {
            Expr::Bool { value, .. } => Value::Bool(*value),
            Expr::String { text, .. } => Value::String(text.clone()),
            Expr::Number(number) => return self.ideal(number),
            other => {
                return self.fail(format!(
                    "can't evaluate command {}",
                    quote(other.to_string().as_bytes())
                ));
            }
        }))
    }

    fn ideal(&self, number: &Number) -> Result<Slot> {
        let text = number.text.as_str();
        let hex = text.len() > 2
            && (text.starts_with("0x") || text.starts_with("0X"))
            && !text.contains(['p', 'P']);
        let looks_float =
            !hex && !text.starts_with('\'') && text.contains(['.', 'e', 'E', 'p', 'P']);
        let value = match number {
            Number {
                complex: Some((re, im)),
                ..
            } => Value::Complex(*re, *im),
            Number {
                float: Some(float), ..
            } if looks_float => Value::Float(*float),
            Number { int: Some(int), .. } => Value::Int(*int),
            Number { uint: Some(_), .. } => return self.fail(format!("{text} overflows int")),
            _ => Value::Invalid,
        };
        Ok(Slot::plain(value))
    }

    fn eval_variable(
        &mut self,
        dot: &Slot,
        expr: &'t Expr,
        name: &str,
        names: &'t [Arc<str>],
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        self.cursor = Cursor::Expr(expr);
        let value = self.var(name)?;
        if names.is_empty() {
            if let Some(args) = args {
                self.not_a_function(args, last.as_ref())?;
            }
            return Ok(value);
        }
        self.eval_chain(dot, value, expr, names, args, last)
    }

    fn eval_chain_node(
        &mut self,
        dot: &Slot,
        expr: &'t Expr,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        self.cursor = Cursor::Expr(expr);
        let Expr::Chain { inner, names, .. } = expr else {
            return self.fail("internal error: no fields in evalChainNode");
        };
        if matches!(**inner, Expr::Nil { .. }) {
            return self.fail(format!("indirection through explicit nil in {expr}"));
        }
        let receiver = self.eval_operand(dot, inner)?;
        self.eval_chain(dot, receiver, expr, names, args, last)
    }

    fn eval_chain(
        &mut self,
        dot: &Slot,
        mut receiver: Slot,
        expr: &'t Expr,
        names: &'t [Arc<str>],
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        let Some((final_name, names)) = names.split_last() else {
            return Ok(receiver);
        };
        for name in names {
            receiver = self.eval_field(dot, name, expr, None, None, receiver)?;
        }
        self.eval_field(dot, final_name, expr, args, last, receiver)
    }

    fn eval_field(
        &mut self,
        dot: &Slot,
        name: &str,
        expr: &'t Expr,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
        receiver: Slot,
    ) -> Result<Slot> {
        match &receiver.value {
            Value::Invalid => {
                if self.context.missing_key == MissingKey::Error {
                    let key = quote(name.as_bytes());
                    return self.fail(format!("nil data; no entry for key {key}"));
                }
                return Ok(Slot::plain(Value::Invalid));
            }
            Value::Nil => {
                return self.fail(format!("nil pointer evaluating interface {{}}.{name}"));
            }
            _ => {}
        }
        if let Some(method) = object::method(&receiver.value, name) {
            return self.eval_method(dot, &method.clone(), expr, args, last);
        }
        if let Value::Time(time) = &receiver.value
            && let Some(method) = crate::date::method(*time, name)
        {
            return self.eval_method(dot, &method, expr, args, last);
        }
        let has_args = args.is_some_and(|a| a.len() > 1) || last.is_some();
        match &receiver.value {
            Value::Struct(body) => {
                if let Some(field) = body.field(name) {
                    if has_args {
                        return self.fail(format!(
                            "{name} has arguments but cannot be invoked as function"
                        ));
                    }
                    return Ok(Slot::plain(field.clone()));
                }
            }
            Value::Map(map) => {
                if has_args {
                    return self.fail(format!("{name} is not a method but has arguments"));
                }
                return self.eval_key(map, name);
            }
            _ => {}
        }
        self.fail(format!(
            "can't evaluate field {name} in type {}",
            receiver.type_name()
        ))
    }

    fn eval_key(&self, map: &Map, name: &str) -> Result<Slot> {
        if let Some(value) = map.get(name) {
            return Ok(Slot::element(value, map.element()));
        }
        match self.context.missing_key {
            MissingKey::Invalid => Ok(Slot::plain(Value::Invalid)),
            MissingKey::Zero => Ok(Slot::element(map.element().zero(), map.element())),
            MissingKey::Error => self.fail(format!(
                "map has no entry for key {}",
                quote(name.as_bytes())
            )),
        }
    }

    fn eval_method(
        &mut self,
        dot: &Slot,
        method: &object::Method,
        expr: &'t Expr,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        let callee = Callee {
            name: method.name,
            params: &method.params,
            variadic: method.variadic,
            special: Special::None,
            at: Cursor::Expr(expr),
        };
        let values = self.eval_args(dot, &callee, args, last)?;
        match (method.call)(&values) {
            Ok(value) => Ok(Slot::plain(value)),
            Err(text) => Err(self.call_error(&callee, Fault::Text(text))),
        }
    }

    fn eval_function(
        &mut self,
        dot: &Slot,
        function: &'static Function,
        at: Cursor<'t>,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        let callee = Callee {
            name: function.name,
            params: function.params,
            variadic: function.variadic,
            special: function.special,
            at,
        };
        self.step()?;
        if matches!(function.special, Special::And | Special::Or) {
            return self.eval_logic(dot, &callee, args, last);
        }
        let shown = match (function.special, args.and_then(|a| a.get(1))) {
            (Special::Call, Some(arg)) => Some(arg.to_string()),
            _ => None,
        };
        let mut values = self.eval_args(dot, &callee, args, last)?;
        if function.special == Special::Call {
            let name = shown.unwrap_or_else(|| {
                values
                    .first()
                    .map_or_else(String::new, crate::builtin::reflect_string)
            });
            values.insert(0, Value::from(name));
        }
        let size: usize = values
            .iter()
            .map(|v| v.as_text().map_or(0, |t| t.len()))
            .sum();
        let work = self.context.bytes(size);
        self.limited(work)?;
        let result = {
            let mut call = Call {
                name: function.name,
                runtime: self,
            };
            crate::deep(|| (function.body)(&mut call, &values))
        };
        match result {
            Ok(value) => {
                if let Value::String(text) = &value {
                    let work = self.context.bytes(text.len());
                    self.limited(work)?;
                }
                Ok(Slot::plain(value))
            }
            Err(fault) => Err(self.call_error(&callee, fault)),
        }
    }

    fn call_error(&mut self, callee: &Callee<'_, 't>, fault: Fault) -> Box<crate::ExecError> {
        self.cursor = callee.at;
        let cause = match fault {
            Fault::Text(text) => Cause::Text(text),
            Fault::Inner(None, error) => Cause::Exec(*error),
            Fault::Inner(Some(lead), error) => Cause::Wrapped(lead, *error),
            Fault::Limit(limit) => Cause::Limit(limit),
        };
        self.error(format!("error calling {}: ", callee.name), Some(cause))
    }

    // `and` and `or` look at no more arguments than they must.
    fn eval_logic(
        &mut self,
        dot: &Slot,
        callee: &Callee<'_, 't>,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Slot> {
        let args = args.map_or(&[][..], |a| &a[1..]);
        self.check_count(callee, args.len(), last.is_some())?;
        let mut value = Slot::plain(Value::Invalid);
        for arg in args {
            value = self.eval_arg(dot, Type::Reflect, arg)?;
            if value.value.truth() == (callee.special == Special::Or) {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    fn check_count(&self, callee: &Callee<'_, 't>, given: usize, piped: bool) -> Result<()> {
        let (count, wanted) = (given + usize::from(piped), callee.params.len());
        let name = callee.name;
        if callee.variadic {
            if count < wanted - 1 {
                return self.fail(format!(
                    "wrong number of args for {name}: want at least {} got {given}",
                    wanted - 1
                ));
            }
        } else if count != wanted {
            return self.fail(format!(
                "wrong number of args for {name}: want {wanted} got {count}"
            ));
        }
        Ok(())
    }

    fn eval_args(
        &mut self,
        dot: &Slot,
        callee: &Callee<'_, 't>,
        args: Option<&'t [Expr]>,
        last: Option<Slot>,
    ) -> Result<Vec<Value>> {
        let args = args.map_or(&[][..], |a| &a[1..]);
        self.check_count(callee, args.len(), last.is_some())?;
        let param = |i: usize| callee.params[i.min(callee.params.len() - 1)];
        let mut values = Vec::with_capacity(args.len() + 2);
        for (i, arg) in args.iter().enumerate() {
            let value = self.eval_arg(dot, param(i), arg)?;
            // Go's own `slice` does not look through interfaces at its indexes.
            let sealed = value.boxed && i > 0 && callee.special == Special::Slice;
            values.push(if sealed {
                sealed_value()
            } else {
                finish(value, param(i))
            });
        }
        if let Some(last) = last {
            let wanted = param(args.len());
            let value = self.validate(last, Some(wanted))?;
            values.push(finish(value, wanted));
        }
        Ok(values)
    }

    fn validate(&self, slot: Slot, wanted: Option<Type>) -> Result<Slot> {
        let Some(wanted) = wanted else {
            return Ok(slot);
        };
        if matches!(slot.value, Value::Invalid) {
            if wanted.can_be_nil() {
                return Ok(zero(wanted));
            }
            return self.fail(format!("invalid value; expected {}", wanted.name()));
        }
        if fits(&slot.value, wanted) {
            return Ok(slot);
        }
        let got = match slot.value {
            Value::Nil => "interface {}".to_owned(),
            ref value => value.type_name(),
        };
        self.fail(format!(
            "wrong type for value; expected {}; got {got}",
            wanted.name()
        ))
    }

    // Everything that is no literal; none when it is one.
    fn eval_dynamic(&mut self, dot: &Slot, expr: &'t Expr) -> Result<Option<Slot>> {
        Ok(Some(match expr {
            Expr::Dot { .. } => dot.clone(),
            Expr::Field { names, .. } => {
                self.cursor = Cursor::Expr(expr);
                self.eval_chain(dot, dot.clone(), expr, names, None, None)?
            }
            Expr::Variable { name, names, .. } => {
                self.eval_variable(dot, expr, name, names, None, None)?
            }
            Expr::Pipe(pipe) => crate::deep(|| self.eval_pipeline(dot, pipe))?,
            Expr::Identifier { function, .. } => {
                self.cursor = Cursor::Expr(expr);
                self.eval_function(dot, function, Cursor::Expr(expr), None, None)?
            }
            Expr::Chain { .. } => self.eval_chain_node(dot, expr, None, None)?,
            _ => return Ok(None),
        }))
    }

    // What stands before the dots of a chain.
    fn eval_operand(&mut self, dot: &Slot, expr: &'t Expr) -> Result<Slot> {
        self.cursor = Cursor::Expr(expr);
        match self.eval_dynamic(dot, expr)? {
            Some(slot) => Ok(slot),
            None => self.constant(expr),
        }
    }

    fn eval_arg(&mut self, dot: &Slot, wanted: Type, expr: &'t Expr) -> Result<Slot> {
        self.cursor = Cursor::Expr(expr);
        if let Expr::Nil { .. } = expr {
            if wanted.can_be_nil() {
                return Ok(zero(wanted));
            }
            return self.fail(format!("cannot assign nil to {}", wanted.name()));
        }
        if let Some(slot) = self.eval_dynamic(dot, expr)? {
            return self.validate(slot, Some(wanted));
        }
        let value = match (wanted, expr) {
            (Type::Any | Type::Reflect, _) => return self.constant(expr),
            (Type::Bool, Expr::Bool { value, .. }) => Value::Bool(*value),
            (Type::String, Expr::String { text, .. }) => Value::String(text.clone()),
            (Type::Int, Expr::Number(number)) if number.int.is_some() => {
                Value::Int(number.int.unwrap_or(0))
            }
            (Type::Duration, Expr::Number(number)) if number.int.is_some() => {
                Value::Duration(number.int.unwrap_or(0))
            }
            (Type::Uint32, Expr::Number(number)) if number.uint.is_some() => {
                Value::Uint64(number.uint.unwrap_or(0) & 0xffff_ffff)
            }
            (Type::Float, Expr::Number(number)) if number.float.is_some() => {
                Value::Float(number.float.unwrap_or(0.0))
            }
            (Type::Bool, _) => return self.fail(format!("expected bool; found {expr}")),
            (Type::String, _) => return self.fail(format!("expected string; found {expr}")),
            (Type::Int | Type::Duration, _) => {
                return self.fail(format!("expected integer; found {expr}"));
            }
            (Type::Uint32, _) => {
                return self.fail(format!("expected unsigned integer; found {expr}"));
            }
            (Type::Float, _) => return self.fail(format!("expected float; found {expr}")),
            (Type::Map | Type::List | Type::Time | Type::Certificate | Type::Version, _) => {
                return self.fail(format!(
                    "can't handle {expr} for arg of type {}",
                    wanted.name()
                ));
            }
        };
        Ok(Slot::plain(value))
    }
}

// What a nil argument is in a parameter that takes one.
fn zero(wanted: Type) -> Slot {
    match wanted {
        Type::Map => Slot::plain(Value::Map(Map::nil())),
        Type::List => Slot::plain(Value::List(List::nil(crate::value::Element::Any))),
        Type::Reflect => Slot {
            value: Value::Invalid,
            boxed: false,
        },
        _ => Slot::plain(Value::Nil),
    }
}

// Stands for a value in an interface that is not looked into.
fn sealed_value() -> Value {
    Value::Struct(std::rc::Rc::new(object::Struct::new(
        "interface {}",
        Vec::new(),
    )))
}

// A function with `interface {}` parameters cannot tell no value from nil.
fn finish(slot: Slot, wanted: Type) -> Value {
    match slot.value {
        Value::Invalid if wanted == Type::Any => Value::Nil,
        value => value,
    }
}

fn fits(value: &Value, wanted: Type) -> bool {
    match (wanted, value) {
        (Type::Any | Type::Reflect, _)
        | (Type::String, Value::String(_))
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(_))
        | (Type::Float, Value::Float(_))
        | (Type::Time, Value::Time(_))
        | (Type::Duration, Value::Duration(_)) => true,
        (Type::Map, Value::Map(map)) => map.is_plain(),
        (Type::List, Value::List(list)) => *list.element() == crate::value::Element::Any,
        (Type::Certificate | Type::Version, Value::Struct(s)) => s.type_name() == wanted.name(),
        _ => false,
    }
}
