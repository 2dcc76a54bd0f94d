//! The functions of the sprig library, as far as Helm ships them: everything but `env`.

pub(crate) mod args;
mod cast;
mod dates;
mod decimal;
mod defaults;
mod dicts;
mod digest;
mod encode;
mod letters;
mod lists;
mod math;
mod merge;
mod paths;
mod random;
mod reflect;
mod regexes;
mod strings;
mod urls;
mod versions;

use crate::function::Function;

/// All of them, by theme.
pub(crate) const GROUPS: &[&[Function]] = &[
    dates::FUNCTIONS,
    defaults::FUNCTIONS,
    dicts::FUNCTIONS,
    encode::FUNCTIONS,
    letters::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    paths::FUNCTIONS,
    random::FUNCTIONS,
    reflect::FUNCTIONS,
    regexes::FUNCTIONS,
    strings::FUNCTIONS,
    urls::FUNCTIONS,
    versions::FUNCTIONS,
];
