//! Numbers: whole ones as `int64`, others as `float64` by way of exact decimals.

use super::cast::{to_float, to_int};
use super::decimal::Decimal;
use crate::call::Call;
use crate::function::Type::{Any, Float, Int};
use crate::function::{Fault, Function};
use crate::strconv::parse_int;
use crate::value::Value;

type Answer = Result<Value, Fault>;
type Operation = fn(&Decimal, &Decimal) -> Result<Decimal, String>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("int", &[Any], |_, a| Ok(Value::Int(to_int(&a[0])))),
    Function::new("int64", &[Any], |_, a| Ok(Value::Int64(to_int(&a[0])))),
    Function::new("float64", &[Any], |_, a| Ok(Value::Float(to_float(&a[0])))),
    Function::new("toDecimal", &[Any], |_, a| {
        let text = crate::fmt::text_of(&a[0]);
        Ok(Value::Int64(parse_int(&text, 8).unwrap_or(0)))
    }),
    Function::new("add1", &[Any], |_, a| {
        Ok(Value::Int64(to_int(&a[0]).wrapping_add(1)))
    }),
    Function::variadic("add", &[Any], |_, a| {
        Ok(Value::Int64(
            a.iter().map(to_int).fold(0, i64::wrapping_add),
        ))
    }),
    Function::new("sub", &[Any, Any], |_, a| {
        Ok(Value::Int64(to_int(&a[0]).wrapping_sub(to_int(&a[1]))))
    }),
    Function::new("div", &[Any, Any], |_, a| divide(a, i64::wrapping_div)),
    Function::new("mod", &[Any, Any], |_, a| divide(a, i64::wrapping_rem)),
    Function::variadic("mul", &[Any, Any], |_, a| {
        Ok(Value::Int64(
            a.iter().map(to_int).fold(1, i64::wrapping_mul),
        ))
    }),
    Function::new("add1f", &[Any], |call, a| {
        decimal(call, &[a[0].clone(), Value::Int(1)], Decimal::add)
    }),
    Function::variadic("addf", &[Any], |call, a| {
        let mut values = vec![Value::Float(0.0)];
        values.extend_from_slice(a);
        decimal(call, &values, Decimal::add)
    }),
    Function::variadic("subf", &[Any, Any], |call, a| {
        decimal(call, a, Decimal::sub)
    }),
    Function::variadic("divf", &[Any, Any], |call, a| {
        decimal(call, a, Decimal::div)
    }),
    Function::variadic("mulf", &[Any, Any], |call, a| {
        decimal(call, a, Decimal::mul)
    }),
    Function::variadic("max", &[Any, Any], |_, a| {
        Ok(Value::Int64(a.iter().map(to_int).max().unwrap_or(0)))
    }),
    Function::variadic("biggest", &[Any, Any], |_, a| {
        Ok(Value::Int64(a.iter().map(to_int).max().unwrap_or(0)))
    }),
    Function::variadic("min", &[Any, Any], |_, a| {
        Ok(Value::Int64(a.iter().map(to_int).min().unwrap_or(0)))
    }),
    Function::variadic("maxf", &[Any, Any], |_, a| {
        Ok(Value::Float(extreme(a, f64::max)))
    }),
    Function::variadic("minf", &[Any, Any], |_, a| {
        Ok(Value::Float(extreme(a, f64::min)))
    }),
    Function::new("ceil", &[Any], |_, a| {
        Ok(Value::Float(to_float(&a[0]).ceil()))
    }),
    Function::new("floor", &[Any], |_, a| {
        Ok(Value::Float(to_float(&a[0]).floor()))
    }),
    Function::variadic("round", &[Any, Int, Float], |_, a| {
        let places = super::args::int(a, 1);
        let on = if let Some(Value::Float(on)) = a.get(2) {
            *on
        } else {
            0.5
        };
        Ok(Value::Float(round(to_float(&a[0]), places, on)))
    }),
];

fn divide(args: &[Value], operation: fn(i64, i64) -> i64) -> Answer {
    let (a, b) = (to_int(&args[0]), to_int(&args[1]));
    if b == 0 {
        return Err("runtime error: integer divide by zero".into());
    }
    Ok(Value::Int64(operation(a, b)))
}

fn decimal(call: &mut Call<'_>, args: &[Value], operation: Operation) -> Answer {
    let mut total = Decimal::from_float(to_float(&args[0]))?;
    for value in &args[1..] {
        call.context().step(1)?;
        total = operation(&total, &Decimal::from_float(to_float(value))?)?;
    }
    Ok(Value::Float(total.to_float()))
}

// Not a number wins over every number.
fn extreme(args: &[Value], pick: fn(f64, f64) -> f64) -> f64 {
    args.iter()
        .map(to_float)
        .reduce(|a, b| {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                pick(a, b)
            }
        })
        .unwrap_or(0.0)
}

fn round(value: f64, places: i64, on: f64) -> f64 {
    let power = 10f64.powi(places.clamp(-400, 400) as i32);
    let digit = power * value;
    let rounded = if digit.fract() >= on {
        digit.ceil()
    } else {
        digit.floor()
    };
    rounded / power
}
