//! Query strings, read as leniently as Go reads them.

/// The parameters of a URL, in the order they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads what follows the `?`. Empty parts are passed over, and so are parts that Go drops:
    /// those with a `;` or a broken escape.
    pub fn parse(text: &str) -> Self {
        let mut pairs = Vec::new();
        for part in text.split('&') {
            if part.is_empty() || part.contains(';') {
                continue;
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if let (Some(name), Some(value)) = (unescape(name), unescape(value)) {
                pairs.push((name, value));
            }
        }
        Self { pairs }
    }

    /// The first value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a parameter.
    pub fn all<'s, 'n>(&'s self, name: &'n str) -> impl Iterator<Item = &'s str> + use<'s, 'n> {
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }

    /// Whether there is no parameter at all.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// A switch: there, and neither `0` nor `false`.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    /// A number; the error is Go's.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, String> {
        self.get(name).map(parse_int).transpose()
    }
}

/// Reads a number as Go's `strconv.ParseInt` does.
pub fn parse_int(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!(
            "strconv.ParseInt: parsing {}: invalid syntax",
            model::field::go_quote(text)
        ));
    }
    text.parse().map_err(|_| {
        format!(
            "strconv.ParseInt: parsing {}: value out of range",
            model::field::go_quote(text)
        )
    })
}

/// Reads a number as Go's `strconv.ParseUint` does.
pub fn parse_uint(text: &str) -> Result<u64, String> {
    let why = if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        "invalid syntax"
    } else {
        match text.parse() {
            Ok(number) => return Ok(number),
            Err(_) => "value out of range",
        }
    };
    let shown = model::field::go_quote(text);
    Err(format!("strconv.ParseUint: parsing {shown}: {why}"))
}

/// Undoes percent escapes of one path segment; `None` when an escape is broken.
pub fn unescape_path(text: &str) -> Option<String> {
    decode(text, false)
}

fn unescape(text: &str) -> Option<String> {
    decode(text, true)
}

fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(broken) => String::from_utf8_lossy(broken.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_queries_are_read() {
        let query = Query::parse("&limit=1&&labelSelector=a%3Db%2Cc+d&watch&x=%zz&y=1;2&limit=2");
        assert_eq!(query.get("limit"), Some("1"));
        assert_eq!(query.all("limit").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.get("labelSelector"), Some("a=b,c d"));
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.get("x"), None);
        assert_eq!(query.get("y"), None);
        assert!(Query::parse("").is_empty());
    }

    #[test]
    fn numbers_fail_in_go_words() {
        let query = Query::parse("limit=abc&timeoutSeconds=99999999999999999999");
        assert_eq!(
            query.number("limit").unwrap_err(),
            "strconv.ParseInt: parsing \"abc\": invalid syntax"
        );
        assert_eq!(
            query.number("timeoutSeconds").unwrap_err(),
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"
        );
    }

    #[test]
    fn path_segments_keep_their_plus() {
        assert_eq!(unescape_path("a+b%20c").as_deref(), Some("a+b c"));
        assert_eq!(unescape_path("a%2"), None);
    }
}
