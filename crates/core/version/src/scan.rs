//! Finds versions in text: `v1.2.3-rc.1+build`, and with wildcards `1.x.*`.

/// A version found at the start of a text, in pieces.
pub(crate) struct Found<'a> {
    pub(crate) major: &'a str,
    pub(crate) minor: Option<&'a str>,
    pub(crate) patch: Option<&'a str>,
    pub(crate) pre: &'a str,
    pub(crate) metadata: &'a str,
    /// Length of all of it.
    pub(crate) end: usize,
}

/// What a number may be made of in a version.
pub(crate) const DIGITS: fn(u8) -> bool = |b| b.is_ascii_digit();
/// What a number may be made of in a range; the library takes `|` too and refuses it later.
pub(crate) const WILD: fn(u8) -> bool = |b| b.is_ascii_digit() || b"xX*|".contains(&b);

/// Reads the longest version at the start of the text.
pub(crate) fn version(text: &str, digit: fn(u8) -> bool) -> Option<Found<'_>> {
    let mut at = usize::from(text.starts_with('v'));
    let major = take(text, &mut at, digit)?;
    let minor = after(text, &mut at, '.', digit);
    let patch = if minor.is_some() {
        after(text, &mut at, '.', digit)
    } else {
        None
    };
    let pre = words(text, &mut at, '-');
    let metadata = words(text, &mut at, '+');
    Some(Found {
        major,
        minor,
        patch,
        pre,
        metadata,
        end: at,
    })
}

fn take<'a>(text: &'a str, at: &mut usize, allowed: fn(u8) -> bool) -> Option<&'a str> {
    let rest = &text[*at..];
    let length = rest.bytes().take_while(|b| allowed(*b)).count();
    *at += length;
    (length > 0).then(|| &rest[..length])
}

fn after<'a>(
    text: &'a str,
    at: &mut usize,
    mark: char,
    allowed: fn(u8) -> bool,
) -> Option<&'a str> {
    if !text[*at..].starts_with(mark) {
        return None;
    }
    let mut next = *at + 1;
    let found = take(text, &mut next, allowed)?;
    *at = next;
    Some(found)
}

// Words with dots between them after a mark; nothing at all when there is none.
fn words<'a>(text: &'a str, at: &mut usize, mark: char) -> &'a str {
    let letter: fn(u8) -> bool = |b| b.is_ascii_alphanumeric() || b == b'-';
    let start = *at + 1;
    if after(text, at, mark, letter).is_none() {
        return "";
    }
    while after(text, at, '.', letter).is_some() {}
    &text[start..*at]
}

/// White space as Go's regular expressions know it.
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// How many bytes of white space the text starts with.
pub(crate) fn spaces(text: &str) -> usize {
    text.bytes().take_while(|b| is_space(*b)).count()
}
