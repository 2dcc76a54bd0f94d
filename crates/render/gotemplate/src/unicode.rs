//! Classes of characters as Go's `unicode` package draws them.

use regex::Regex;
use std::sync::LazyLock;

macro_rules! class {
    ($(#[$doc:meta])* $name:ident, $ascii:expr, $pattern:literal) => {
        $(#[$doc])*
        pub(crate) fn $name(c: char) -> bool {
            static CLASS: LazyLock<Regex> =
                LazyLock::new(|| Regex::new($pattern).expect("a fixed pattern"));
            if c.is_ascii() {
                let ascii: fn(&char) -> bool = $ascii;
                return ascii(&c);
            }
            CLASS.is_match(c.encode_utf8(&mut [0; 4]))
        }
    };
}

class!(is_letter, char::is_ascii_alphabetic, r"\p{L}");
class!(is_digit, char::is_ascii_digit, r"\p{Nd}");
class!(is_number, char::is_ascii_digit, r"\p{N}");
class!(is_upper, char::is_ascii_uppercase, r"\p{Lu}");
class!(is_lower, char::is_ascii_lowercase, r"\p{Ll}");
class!(is_title, |_| false, r"\p{Lt}");
class!(
    is_punct,
    |c| c.is_ascii_punctuation() && !"$+<=>^`|~".contains(*c),
    r"\p{P}"
);
class!(
    is_print,
    |c| c.is_ascii_graphic() || *c == ' ',
    r"[\p{L}\p{M}\p{N}\p{P}\p{S}]"
);

/// Letters, digits and `_`: what names are made of.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    c == '_' || is_letter(c) || is_digit(c)
}

/// One upper case letter for one; letters that would become several stay.
pub(crate) fn to_upper(c: char) -> char {
    single(c, c.to_uppercase())
}

/// One lower case letter for one.
pub(crate) fn to_lower(c: char) -> char {
    if c == 'İ' {
        'i'
    } else {
        single(c, c.to_lowercase())
    }
}

/// One title case letter for one.
pub(crate) fn to_title(c: char) -> char {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        _ => to_upper(c),
    }
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}
