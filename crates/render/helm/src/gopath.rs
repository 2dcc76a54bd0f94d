//! Paths and patterns as Go's `path` and `path/filepath` have them.

/// A pattern that means nothing, as in `a[`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The last name of a path, as Go's `path.Base`.
pub(crate) fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return "/";
    }
    trimmed.rsplit('/').next().unwrap_or(trimmed)
}

/// The extension of a path with its dot, as Go's `path.Ext`.
pub(crate) fn extension(path: &str) -> &str {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    path[name_at..]
        .rfind('.')
        .map_or("", |at| &path[name_at + at..])
}

/// Joins two paths and cleans the result, as Go's `path.Join`.
pub(crate) fn join(a: &str, b: &str) -> String {
    let joined = format!("{a}/{b}");
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a name matches a pattern, as Go's `filepath.Match`: `*` and `?` stop at `/`.
pub(crate) fn matches(pattern: &str, name: &str) -> Result<bool, Malformed> {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let matched = match_here(&pattern, &name);
    // Go looks at the rest of a pattern even when the name has failed already.
    check(&pattern)?;
    Ok(matched)
}

fn check(pattern: &[char]) -> Result<(), Malformed> {
    let mut at = 0;
    while at < pattern.len() {
        at += match pattern[at] {
            '[' => class(&pattern[at..], '\0').ok_or(Malformed)?.1,
            '\\' if at + 1 == pattern.len() => return Err(Malformed),
            '\\' => 2,
            _ => 1,
        };
    }
    Ok(())
}

// Tries a star at every place, one star at a time: quadratic at worst.
fn match_here(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if p == pattern.len() && n == name.len() {
            return true;
        }
        if p < pattern.len() {
            if pattern[p] == '*' {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            if n < name.len()
                && let Some(width) = one(&pattern[p..], name[n])
            {
                p += width;
                n += 1;
                continue;
            }
        }
        match star {
            Some((after, from)) if from < name.len() && name[from] != '/' => {
                star = Some((after, from + 1));
                p = after;
                n = from + 1;
            }
            _ => return false,
        }
    }
}

// How much of the pattern a character used up, when it matches.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern[0] {
        '?' => (c != '/').then_some(1),
        '[' => class(pattern, c).and_then(|(hit, width)| hit.then_some(width)),
        '\\' => (*pattern.get(1)? == c).then_some(2),
        literal => (literal == c).then_some(1),
    }
}

// Whether a character is in the class at the start of the pattern, and how long the class is.
fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let mut at = 1;
    let negated = pattern.get(at) == Some(&'^');
    at += usize::from(negated);
    let mut hit = false;
    let mut ranges = 0;
    loop {
        if pattern.get(at) == Some(&']') && ranges > 0 {
            return Some((hit != negated, at + 1));
        }
        let (low, next) = member(pattern, at)?;
        let mut high = low;
        at = next;
        if pattern.get(at) == Some(&'-') {
            (high, at) = member(pattern, at + 1)?;
        }
        hit |= low <= c && c <= high;
        ranges += 1;
    }
}

fn member(pattern: &[char], at: usize) -> Option<(char, usize)> {
    let (c, next) = match *pattern.get(at)? {
        '-' | ']' => return None,
        '\\' => (*pattern.get(at + 1)?, at + 2),
        c => (c, at + 1),
    };
    // A class is never the end of a pattern: its bracket must follow.
    (next < pattern.len()).then_some((c, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stop_at_slashes() {
        for (pattern, name, expected) in [
            ("*", "abc", Ok(true)),
            ("*", "a/b", Ok(false)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("ab[^b-d]", "abc", Ok(false)),
            ("ab[^e-g]", "abc", Ok(true)),
            ("a\\*b", "a*b", Ok(true)),
            ("[a-]", "-", Err(Malformed)),
            ("[]a]", "]", Err(Malformed)),
            ("a[", "a", Err(Malformed)),
            ("*x", "xxx", Ok(true)),
            ("templates/*.yaml", "templates/a.yaml", Ok(true)),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn paths_are_taken_apart() {
        assert_eq!((base("a/b.yaml"), base("")), ("b.yaml", "."));
        assert_eq!((extension("a.b/c"), extension("a/b.tar.gz")), ("", ".gz"));
        assert_eq!(join("a", "templates/../x//y"), "a/x/y");
    }
}
