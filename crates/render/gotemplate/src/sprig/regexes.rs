//! Regular expressions; those without `must` fail just the same, except `regexMatch`.

use super::args::{int, text};
use crate::call::Call;
use crate::function::Type::{Int, String as Str};
use crate::function::{Fault, Function};
use crate::quote::quote;
use crate::regexp::{Regexp, quote_meta};
use crate::value::{Element, List, Value};
use std::rc::Rc;

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("regexMatch", &[Str, Str], |call, a| {
        let regex = call.context().regex(&text(a, 0));
        Ok(regex.is_ok_and(|r| r.is_match(&text(a, 1))).into())
    }),
    Function::new("mustRegexMatch", &[Str, Str], |call, a| {
        Ok(checked(call, a)?.is_match(&text(a, 1)).into())
    }),
    Function::new("regexFindAll", &[Str, Str, Int], |call, a| {
        find_all(must(call, a)?, a)
    }),
    Function::new("mustRegexFindAll", &[Str, Str, Int], |call, a| {
        find_all(checked(call, a)?, a)
    }),
    Function::new("regexFind", &[Str, Str], |call, a| {
        Ok(Value::from(must(call, a)?.find(&text(a, 1)).to_vec()))
    }),
    Function::new("mustRegexFind", &[Str, Str], |call, a| {
        Ok(Value::from(checked(call, a)?.find(&text(a, 1)).to_vec()))
    }),
    Function::new("regexReplaceAll", &[Str, Str, Str], |call, a| {
        let regex = must(call, a)?;
        expand(call, &regex, a)
    }),
    Function::new("mustRegexReplaceAll", &[Str, Str, Str], |call, a| {
        let regex = checked(call, a)?;
        expand(call, &regex, a)
    }),
    Function::new("regexReplaceAllLiteral", &[Str, Str, Str], |call, a| {
        let regex = must(call, a)?;
        literal(call, &regex, a)
    }),
    Function::new("mustRegexReplaceAllLiteral", &[Str, Str, Str], |call, a| {
        let regex = checked(call, a)?;
        literal(call, &regex, a)
    }),
    Function::new("regexSplit", &[Str, Str, Int], |call, a| {
        split(must(call, a)?, a)
    }),
    Function::new("mustRegexSplit", &[Str, Str, Int], |call, a| {
        split(checked(call, a)?, a)
    }),
    Function::new("regexQuoteMeta", &[Str], |_, a| {
        Ok(quote_meta(&text(a, 0)).into())
    }),
];

fn checked(call: &mut Call<'_>, args: &[Value]) -> Result<Rc<Regexp>, Fault> {
    Ok(call.context().regex(&text(args, 0))?)
}

// A broken pattern is a panic with its own words.
fn must(call: &mut Call<'_>, args: &[Value]) -> Result<Rc<Regexp>, Fault> {
    let pattern = text(args, 0);
    let shown = if crate::quote::can_backquote(&pattern) {
        format!("`{pattern}`")
    } else {
        quote(&pattern)
    };
    Ok(call
        .context()
        .regex(&pattern)
        .map_err(|e| format!("regexp: Compile({shown}): {e}"))?)
}

fn texts(found: Option<Vec<&[u8]>>) -> Value {
    Value::List(match found {
        Some(found) => List::strings(found),
        None => List::nil(Element::String),
    })
}

fn find_all(regex: Rc<Regexp>, args: &[Value]) -> Answer {
    Ok(texts(regex.find_all(&text(args, 1), int(args, 2))))
}

fn split(regex: Rc<Regexp>, args: &[Value]) -> Answer {
    Ok(texts(regex.split(&text(args, 1), int(args, 2))))
}

fn check_size(call: &mut Call<'_>, args: &[Value]) -> Result<(), Fault> {
    let (subject, replacement) = (text(args, 1), text(args, 2));
    let size = (subject.len() + 1).saturating_mul(replacement.len() + 1);
    // A pattern may match between all characters and insert the whole text at each.
    let worst = if replacement.contains(&b'$') {
        size.saturating_mul(subject.len() + 1)
    } else {
        size
    };
    if worst > call.context().limits.output {
        call.context().step(subject.len() as u64)?;
    }
    Ok(())
}

fn expand(call: &mut Call<'_>, regex: &Regexp, args: &[Value]) -> Answer {
    check_size(call, args)?;
    Ok(regex
        .replace_expanding(&text(args, 1), &text(args, 2))
        .into())
}

fn literal(call: &mut Call<'_>, regex: &Regexp, args: &[Value]) -> Answer {
    check_size(call, args)?;
    let replacement = text(args, 2);
    Ok(regex
        .replace(&text(args, 1), |_, out| out.extend_from_slice(&replacement))
        .into())
}
