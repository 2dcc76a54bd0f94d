//! Rules for names, labels and annotations, with the API server's own words.

const LABEL_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED_FMT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

fn is_lower_alnum(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

fn fits_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().is_some_and(|b| is_lower_alnum(*b))
        && bytes.last().is_some_and(|b| is_lower_alnum(*b));
    ends && bytes.iter().all(|b| is_lower_alnum(*b) || *b == b'-')
}

fn fits_qualified(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric);
    ends && bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

// Label keys and values are measured in bytes, all other names in characters; only the words differ.
fn max_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

fn max_characters(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn with_examples(message: &str, format: &str, examples: &[&str]) -> String {
    let mut out = format!("{message} (e.g. ");
    for (i, example) in examples.iter().enumerate() {
        if i > 0 {
            out.push_str(" or ");
        }
        out.push_str(&format!("'{example}', "));
    }
    out.push_str(&format!("regex used for validation is '{format}')"));
    out
}

/// What keeps `text` from being an RFC 1123 label.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_MAX {
        faults.push(max_characters(LABEL_MAX));
    }
    if !fits_label(text) {
        let mut message = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
             characters or '-', and must start and end with an alphanumeric character"
            .to_owned();
        if text.split('.').all(fits_label) {
            "must not contain dots".clone_into(&mut message);
            faults.push(message);
        } else {
            faults.push(with_examples(&message, LABEL_FMT, &["my-name", "123-abc"]));
        }
    }
    faults
}

/// What keeps `text` from being an RFC 1123 subdomain.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, max_characters)
}

fn subdomain(text: &str, too_long: fn(usize) -> String) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > SUBDOMAIN_MAX {
        faults.push(too_long(SUBDOMAIN_MAX));
    }
    if !text.split('.').all(fits_label) {
        let message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
             characters, '-' or '.', and must start and end with an alphanumeric character";
        faults.push(with_examples(message, SUBDOMAIN_FMT, &["example.com"]));
    }
    faults
}

/// What keeps `text` from being an RFC 1035 label, as Service names are.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_MAX {
        faults.push(max_characters(LABEL_MAX));
    }
    if !fits_label(text) || !text.as_bytes()[0].is_ascii_lowercase() {
        let message = "a DNS-1035 label must consist of lower case alphanumeric characters or \
             '-', start with an alphabetic character, and end with an alphanumeric character";
        let format = "[a-z]([-a-z0-9]*[a-z0-9])?";
        faults.push(with_examples(message, format, &["my-name", "abc-123"]));
    }
    faults
}

/// What keeps `text` from being a URL path segment, as RBAC names are.
pub fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|bad| text.contains(bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// What keeps `text` from being a label or annotation key: `[prefix/]name`.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                faults.extend(
                    subdomain(prefix, max_bytes)
                        .into_iter()
                        .map(|m| format!("prefix part {m}")),
                );
            }
            *name
        }
        _ => {
            let message = "a qualified name must consist of alphanumeric characters, '-', '_' \
                 or '.', and must start and end with an alphanumeric character";
            let mut text = with_examples(message, QUALIFIED_FMT, &["MyName", "my.name", "123-abc"]);
            text.push_str(
                " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            );
            return vec![text];
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_MAX {
        faults.push(format!("name part {}", max_bytes(LABEL_MAX)));
    }
    if !fits_qualified(name) {
        let message = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character";
        faults.push(with_examples(
            message,
            QUALIFIED_FMT,
            &["MyName", "my.name", "123-abc"],
        ));
    }
    faults
}

/// What keeps `text` from being a label value.
pub fn label_value(text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if text.len() > LABEL_MAX {
        faults.push(max_bytes(LABEL_MAX));
    }
    if !text.is_empty() && !fits_qualified(text) {
        let message = "a valid label must be an empty string or consist of alphanumeric \
             characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let format = format!("({QUALIFIED_FMT})?");
        faults.push(with_examples(
            message,
            &format,
            &["MyValue", "my_value", "12345"],
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass() {
        assert!(dns1123_subdomain("a.b-c.d").is_empty());
        assert!(dns1123_label("abc-1").is_empty());
        assert!(dns1035_label("abc-1").is_empty());
        assert!(qualified_name("example.com/My_Name").is_empty());
        assert!(label_value("").is_empty());
    }

    #[test]
    fn refusals_use_the_servers_words() {
        assert_eq!(
            label_value("no spaces allowed"),
            [
                "a valid label must be an empty string or consist of alphanumeric characters, '-', \
                 '_' or '.', and must start and end with an alphanumeric character (e.g. \
                 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ]
        );
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
        let long = "a".repeat(254);
        assert_eq!(
            dns1123_subdomain(&long),
            ["must be no more than 253 characters"]
        );
        assert_eq!(label_value(&long), ["must be no more than 63 bytes"]);
    }
}
