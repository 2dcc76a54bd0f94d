//! The names nearest to one that does not exist: by edit distance, best first.

/// How many names are worth showing.
const NEAREST_MAX: usize = 3;
/// Longer names are compared by their first characters only.
const COMPARED_CHARS_MAX: usize = 200;

/// The few names that were probably meant, best first.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted_low: Vec<char> = fold(wanted);
    let limit = (wanted_low.len() / 3).max(2);
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let folded = fold(name);
            let part = contains(&folded, &wanted_low) || contains(&wanted_low, &folded);
            let distance = distance(&wanted_low, &folded, limit);
            match (distance, part) {
                (Some(d), _) => Some((d, name)),
                // One is a part of the other: likely meant, after what is spelled alike.
                (None, true) => Some((limit + wanted_low.len().abs_diff(folded.len()), name)),
                (None, false) => None,
            }
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(NEAREST_MAX);
    found.into_iter().map(|(_, name)| name.to_owned()).collect()
}

fn fold(name: &str) -> Vec<char> {
    name.chars()
        .flat_map(char::to_lowercase)
        .take(COMPARED_CHARS_MAX)
        .collect()
}

fn contains(long: &[char], short: &[char]) -> bool {
    const PART_CHARS_MIN: usize = 3;
    short.len() >= PART_CHARS_MIN && long.windows(short.len()).any(|window| window == short)
}

// Insertions, deletions, replacements and swaps of neighbours; `None` above the limit.
fn distance(a: &[char], b: &[char], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let same = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + same);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len()]).filter(|d| *d <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_case_and_parts_are_found_the_best_first() {
        let names = ["main", "master", "release-1.2", "release-1.3", "Develop"];
        let check = |wanted: &str, expected: &[&str]| assert_eq!(nearest(wanted, names), expected);
        check("mian", &["main"]);
        check("develop", &["Develop"]);
        check("relase-1.2", &["release-1.2", "release-1.3"]);
        check("release", &["release-1.2", "release-1.3"]);
        check("zzzzzz", &[]);
    }
}
