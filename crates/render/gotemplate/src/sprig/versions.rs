//! Versions and ranges of them.

use super::args::text;
use crate::call::Call;
use crate::function::Type::{String as Str, Version as VersionType};
use crate::function::{Edition, Fault, Function};
use crate::object::{Method, Struct};
use crate::value::Value;
use std::rc::Rc;
use version::{Constraint, Version};

type Answer = Result<Value, Fault>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("semver", &[Str], semver),
    Function::new("semverCompare", &[Str, Str], compare),
];

// Each Helm has its release of the library.
fn edition(call: &Call<'_>) -> version::Edition {
    match call.edition() {
        Edition::Helm3 => version::Edition::V33,
        Edition::Helm4 | Edition::Plain => version::Edition::V35,
    }
}

fn compare(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let edition = edition(call);
    let range = Constraint::parse_as(&text(args, 0).lossy(), edition).map_err(|e| e.to_string())?;
    let version = Version::parse_as(&text(args, 1).lossy(), edition).map_err(|e| e.to_string())?;
    Ok(range.check(&version).into())
}

fn semver(call: &mut Call<'_>, args: &[Value]) -> Answer {
    let edition = edition(call);
    let version = Version::parse_as(&text(args, 0).lossy(), edition).map_err(|e| e.to_string())?;
    Ok(value(version, true))
}

// What templates see of a version: only methods, its fields are private.
fn value(version: Version, pointer: bool) -> Value {
    let mut body = Struct::new("semver.Version", Vec::new());
    body.pointer = pointer;
    body.string = Some(version.to_string().into());
    body.json = Some(model::Value::String(version.to_string()));
    body.methods = methods(&version);
    Value::Struct(Rc::new(body))
}

fn methods(version: &Version) -> Vec<Method> {
    let get = |name: &'static str, value: Value| {
        Method::new(name, Vec::new(), move |_| Ok(value.clone()))
    };
    let next = |name: &'static str, make: fn(&Version) -> Version| {
        let version = version.clone();
        Method::new(name, Vec::new(), move |_| Ok(value(make(&version), false)))
    };
    let compared = |name: &'static str, judge: fn(std::cmp::Ordering) -> Value| {
        let version = version.clone();
        Method::new(name, vec![VersionType], move |args| {
            let other = match &args[0] {
                Value::Struct(body) => body.string.clone().unwrap_or_default(),
                _ => return Err(super::args::NIL_POINTER.to_owned()),
            };
            let other = Version::parse(&other.lossy()).map_err(|e| e.to_string())?;
            Ok(judge(version.cmp(&other)))
        })
    };
    vec![
        get("Major", Value::Uint64(version.major)),
        get("Minor", Value::Uint64(version.minor)),
        get("Patch", Value::Uint64(version.patch)),
        get("Prerelease", version.pre.clone().into()),
        get("Metadata", version.metadata.clone().into()),
        get("Original", version.original.clone().into()),
        get("String", version.to_string().into()),
        next("IncMajor", Version::increment_major),
        next("IncMinor", Version::increment_minor),
        next("IncPatch", Version::increment_patch),
        compared("Compare", |o| Value::Int(o as i64)),
        compared("LessThan", |o| Value::Bool(o.is_lt())),
        compared("LessThanEqual", |o| Value::Bool(o.is_le())),
        compared("GreaterThan", |o| Value::Bool(o.is_gt())),
        compared("GreaterThanEqual", |o| Value::Bool(o.is_ge())),
        compared("Equal", |o| Value::Bool(o.is_eq())),
    ]
}
