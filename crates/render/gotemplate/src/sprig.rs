//! The functions of the sprig library, as far as Helm ships them: everything but `env`.

pub(crate) mod args;
mod cast;
mod certificate;
mod cipher;
mod crypto;
mod curve;
mod dates;
mod decimal;
mod defaults;
mod der;
mod dicts;
mod digest;
mod encode;
mod keys;
mod letters;
mod lists;
mod math;
mod merge;
mod paths;
mod primes;
mod random;
mod reflect;
mod regexes;
mod strings;
mod urls;
mod versions;

use crate::function::Function;

/// All of them, by theme.
pub(crate) const GROUPS: &[&[Function]] = &[
    crypto::FUNCTIONS,
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
