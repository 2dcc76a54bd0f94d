//! The order in which Go's emitter writes the keys of a mapping: letters after the rest, numbers
//! inside keys by their amount (`a2` before `a10`).

use std::cmp::Ordering;

/// Compares two keys.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a.is_ascii() && b.is_ascii() && !a.bytes().chain(b.bytes()).any(|c| c.is_ascii_digit()) {
        return plain(a, b);
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(at) = (0..a.len().min(b.len())).find(|&i| a[i] != b[i]) else {
        return a.len().cmp(&b.len());
    };
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => a[at].cmp(&b[at]),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let carry = (a[at] == '0' || b[at] == '0') && inside_number(&a[..at]);
            let (an, ai) = amount(&a, at, carry);
            let (bn, bi) = amount(&b, at, carry);
            an.cmp(&bn).then(ai.cmp(&bi)).then(a[at].cmp(&b[at]))
        }
    }
}

fn plain(a: &str, b: &str) -> Ordering {
    for (x, y) in a.bytes().zip(b.bytes()) {
        if x != y {
            return match (x.is_ascii_alphabetic(), y.is_ascii_alphabetic()) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => x.cmp(&y),
            };
        }
    }
    a.len().cmp(&b.len())
}

// Whether the digits just before hold one that is not zero, so that a zero here is not leading.
fn inside_number(before: &[char]) -> bool {
    before
        .iter()
        .rev()
        .take_while(|c| c.is_numeric())
        .any(|c| *c != '0')
}

fn amount(key: &[char], from: usize, carry: bool) -> (i64, usize) {
    let mut value = i64::from(carry);
    let mut at = from;
    while at < key.len() && key[at].is_numeric() {
        let digit = i64::from(key[at] as u32) - i64::from(b'0');
        value = value.wrapping_mul(10).wrapping_add(digit);
        at += 1;
    }
    (value, at)
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn numbers_count_and_letters_come_last() {
        let mut keys = vec![
            "a10", "a2", "b", "a", "_x", "1", "f:a", ".", "a-b", "ab", "A", "a01",
        ];
        keys.sort_by(|a, b| compare(a, b));
        assert_eq!(
            keys,
            [
                ".", "_x", "1", "A", "a", "a-b", "a01", "a2", "a10", "ab", "b", "f:a"
            ]
        );
    }
}
