//! The word that was perhaps meant.

/// How many changes may lie between two words that could be mixed up.
const DISTANCE_MAX: usize = 4;

/// The candidate nearest to a word, when one is near.
pub(crate) fn nearest<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let limit = DISTANCE_MAX.min(word.chars().count() / 2 + 1);
    let scored = candidates.into_iter().map(|c| (distance(word, c), c));
    let best = scored.min_by_key(|(score, _)| *score)?;
    (best.0 <= limit).then_some(best.1)
}

/// How many letters must change to turn one word into the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().take(200).collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().take(200).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let above = row[j + 1];
            let changed = diagonal + usize::from(a != *b);
            row[j + 1] = changed.min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found() {
        assert_eq!(
            nearest("resource", ["resources", "patches"]),
            Some("resources")
        );
        assert_eq!(
            nearest("comonLabels", ["commonLabels", "labels"]),
            Some("commonLabels")
        );
        assert_eq!(nearest("x", ["resources"]), None);
    }
}
