//! The build environment, and `$VAR` in parameters filled from it.

use crate::context::Context;
use crate::source::Source;

/// The variables of the build environment and what they hold, in the documented order.
pub fn build_environment(source: &Source, context: &Context) -> Vec<(String, String)> {
    let revision = context.revision.as_str();
    let short = |length: usize| revision.get(..length).unwrap_or(revision);
    [
        ("ARGOCD_APP_NAME", context.app_name.as_str()),
        ("ARGOCD_APP_NAMESPACE", &context.namespace),
        ("ARGOCD_APP_PROJECT_NAME", &context.project),
        ("ARGOCD_APP_REVISION", revision),
        ("ARGOCD_APP_REVISION_SHORT", short(7)),
        ("ARGOCD_APP_REVISION_SHORT_8", short(8)),
        ("ARGOCD_APP_SOURCE_REPO_URL", &source.repo_url),
        ("ARGOCD_APP_SOURCE_PATH", &source.path),
        ("ARGOCD_APP_SOURCE_TARGET_REVISION", &source.target_revision),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

/// Fills `$VAR` and `${VAR}`; `$$` is a dollar, unknown variables are empty.
pub fn substitute(text: &str, environment: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (name, used) = name_of(rest);
        match name {
            None if used == 0 => out.push('$'),
            None => {}
            Some("$") => out.push('$'),
            Some(name) => {
                let value = environment.iter().rev().find(|(known, _)| known == name);
                out.push_str(value.map_or("", |(_, value)| value));
            }
        }
        rest = &rest[used..];
    }
    out.push_str(rest);
    out
}

// The variable behind a dollar and how many bytes it takes; broken braces are eaten.
fn name_of(text: &str) -> (Option<&str>, usize) {
    let special = |b: &u8| b"*#$@!?-0123456789".contains(b);
    match text.as_bytes() {
        [] => (None, 0),
        [b'{', one, b'}', ..] if special(one) => (Some(&text[1..2]), 3),
        [b'{', ..] => match text.find('}') {
            Some(1) => (None, 2),
            Some(end) => (Some(&text[1..end]), end + 1),
            None => (None, 1),
        },
        [one, ..] if special(one) => (Some(&text[..1]), 1),
        bytes => {
            let word = bytes
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                .count();
            ((word > 0).then_some(&text[..word]), word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let environment = [("A".to_owned(), "1".to_owned())];
        for (text, wanted) in [
            ("$A-${A}-$B.", "1-1-."),
            ("$$A $", "$A $"),
            ("a${}b${A", "abA"),
            ("$-x", "x"),
            ("ö$Aö", "ö1ö"),
            ("$ A", "$ A"),
        ] {
            assert_eq!(substitute(text, &environment), wanted, "{text}");
        }
    }
}
