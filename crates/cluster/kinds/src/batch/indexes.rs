//! Reads lists of indexes such as `1,3-5,7`.

/// The number of indexes in a list; the error says what is wrong with it.
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for part in text.split(',') {
        let (low, high) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= low) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {low}"
            ));
        }
        total += high - low + 1;
        last = Some(high);
    }
    Ok(total)
}

fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let ends: Vec<&str> = part.split('-').collect();
    if ends.len() > 2 {
        return Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two \
             parts separated by '-'",
            model::field::go_quote(part)
        ));
    }
    let low = index(ends[0], completions)?;
    let Some(high) = ends.get(1) else {
        return Ok((low, low));
    };
    let high = index(high, completions)?;
    if low >= high {
        return Err(format!(
            "non-increasing order, previous: {low}, current: {high}"
        ));
    }
    Ok((low, high))
}

fn index(text: &str, completions: i64) -> Result<i64, String> {
    let quoted = model::field::go_quote(text);
    let value: i64 = text
        .parse()
        .map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
    if value >= completions {
        return Err(format!("too large index: {quoted}"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_checked() {
        assert_eq!(count("1,3-5,7", 10), Ok(5));
        assert_eq!(
            count("3-5,4", 10).unwrap_err(),
            "non-increasing order, previous: 5, current: 4"
        );
        assert_eq!(count("11", 10).unwrap_err(), "too large index: \"11\"");
    }
}
