//! Amounts of resources.

use super::Answer;
use crate::value::{Library, Val};
use model::Quantity;
use std::cmp::Ordering;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    let made = |quantity| Ok(Val::library(Library::Quantity(quantity)));
    if let [Val::Text(text)] = args {
        return Some(match name {
            "quantity" => match Quantity::parse(text) {
                Some(quantity) => made(quantity),
                None => Err(model::quantity::SYNTAX.to_owned()),
            },
            "isQuantity" => Ok(Val::Bool(Quantity::parse(text).is_some())),
            _ => return None,
        });
    }
    let own = as_quantity(args.first()?)?;
    let other = args.get(1).and_then(as_quantity).or(match args.get(1) {
        Some(Val::Int(n)) if matches!(name, "add" | "sub") => Some(Quantity::whole(*n)),
        _ => None,
    });
    Some(match (name, other) {
        ("sign", None) => Ok(Val::Int(order(own.cmp(&Quantity::ZERO)))),
        ("isInteger", None) => Ok(Val::Bool(is_whole(own))),
        ("asInteger", None) if is_whole(own) => Ok(Val::Int(own.value())),
        ("asInteger", None) => Err("cannot convert value to integer".into()),
        ("asApproximateFloat", None) => Ok(Val::Double(own.milli_value() as f64 / 1_000.0)),
        ("isGreaterThan", Some(other)) => Ok(Val::Bool(own > other)),
        ("isLessThan", Some(other)) => Ok(Val::Bool(own < other)),
        ("compareTo", Some(other)) => Ok(Val::Int(order(own.cmp(&other)))),
        ("add", Some(other)) => made(own.plus(other)),
        ("sub", Some(other)) => made(own.minus(other)),
        _ => return None,
    })
}

fn as_quantity(value: &Val<'_>) -> Option<Quantity> {
    match value {
        Val::Library(library) => match &**library {
            Library::Quantity(quantity) => Some(*quantity),
            _ => None,
        },
        _ => None,
    }
}

fn is_whole(quantity: Quantity) -> bool {
    Quantity::whole(quantity.value()) == quantity
}

fn order(ordering: Ordering) -> i64 {
    ordering as i64
}
