//! The difference between two texts, in the unified form with three lines of context.
//!
//! Matches blocks the way Python's `difflib` does, longest first, because the API server's
//! messages are made that way.

use std::collections::BTreeMap;

const CONTEXT: usize = 3;
/// From this many lines on, lines that stand everywhere do not start a match.
const CROWD_MIN: usize = 200;

/// The unified difference of two texts; empty when they are the same.
pub(crate) fn unified(old: &str, new: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let mut out = String::new();
    for hunk in hunks(&steps(&a, &b)) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        out.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(first.a.0, last.a.1),
            range(first.b.0, last.b.1)
        ));
        for step in &hunk {
            if step.same {
                push(&mut out, ' ', &a[step.a.0..step.a.1]);
            } else {
                push(&mut out, '-', &a[step.a.0..step.a.1]);
                push(&mut out, '+', &b[step.b.0..step.b.1]);
            }
        }
    }
    out
}

fn push(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// A stretch of lines that both texts share, or that one has instead of the other's.
#[derive(Clone, Copy)]
struct Step {
    same: bool,
    a: (usize, usize),
    b: (usize, usize),
}

fn steps(a: &[&str], b: &[&str]) -> Vec<Step> {
    let mut blocks = Vec::new();
    let places = places(b);
    let mut todo = vec![(0, a.len(), 0, b.len())];
    while let Some((a_low, a_high, b_low, b_high)) = todo.pop() {
        let (i, j, size) = longest(a, b, &places, (a_low, a_high), (b_low, b_high));
        if size == 0 {
            continue;
        }
        blocks.push((i, j, size));
        if a_low < i && b_low < j {
            todo.push((a_low, i, b_low, j));
        }
        if i + size < a_high && j + size < b_high {
            todo.push((i + size, a_high, j + size, b_high));
        }
    }
    blocks.sort_unstable();
    blocks.push((a.len(), b.len(), 0));
    let mut steps: Vec<Step> = Vec::new();
    let (mut at, mut bt) = (0, 0);
    for (i, j, size) in blocks {
        if at < i || bt < j {
            steps.push(Step {
                same: false,
                a: (at, i),
                b: (bt, j),
            });
        }
        (at, bt) = (i + size, j + size);
        if size == 0 {
            continue;
        }
        match steps.last_mut().filter(|step| step.same) {
            Some(last) => {
                last.a.1 = at;
                last.b.1 = bt;
            }
            None => steps.push(Step {
                same: true,
                a: (i, at),
                b: (j, bt),
            }),
        }
    }
    steps
}

fn places<'a>(b: &[&'a str]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (j, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(j);
    }
    if b.len() >= CROWD_MIN {
        let crowd = b.len() / 100 + 1;
        places.retain(|_, at| at.len() <= crowd);
    }
    places
}

fn longest(
    a: &[&str],
    b: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    (a_low, a_high): (usize, usize),
    (b_low, b_high): (usize, usize),
) -> (usize, usize, usize) {
    let (mut best_i, mut best_j, mut best) = (a_low, b_low, 0);
    let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, line) in a.iter().enumerate().take(a_high).skip(a_low) {
        let mut next = BTreeMap::new();
        for &j in places.get(line).into_iter().flatten() {
            if j < b_low {
                continue;
            }
            if j >= b_high {
                break;
            }
            let before = j.checked_sub(1).and_then(|j| ends.get(&j)).copied();
            let size = before.unwrap_or(0) + 1;
            next.insert(j, size);
            if size > best {
                (best_i, best_j, best) = (i + 1 - size, j + 1 - size, size);
            }
        }
        ends = next;
    }
    // Lines that stand everywhere start no match, but they extend one.
    while best_i > a_low && best_j > b_low && a[best_i - 1] == b[best_j - 1] {
        (best_i, best_j, best) = (best_i - 1, best_j - 1, best + 1);
    }
    while best_i + best < a_high && best_j + best < b_high && a[best_i + best] == b[best_j + best] {
        best += 1;
    }
    (best_i, best_j, best)
}

// Cuts long shared stretches down to their ends, and groups what is near.
fn hunks(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut steps = steps.to_vec();
    if steps.iter().all(|step| step.same) {
        return Vec::new();
    }
    if let Some(first) = steps.first_mut().filter(|step| step.same) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.same) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for step in steps {
        if step.same && step.a.1 - step.a.0 > 2 * CONTEXT {
            let mut head = step;
            head.a.1 = step.a.1.min(step.a.0 + CONTEXT);
            head.b.1 = step.b.1.min(step.b.0 + CONTEXT);
            group.push(head);
            groups.push(std::mem::take(&mut group));
            let mut tail = step;
            tail.a.0 = step.a.1.saturating_sub(CONTEXT).max(step.a.0);
            tail.b.0 = step.b.1.saturating_sub(CONTEXT).max(step.b.0);
            group.push(tail);
        } else {
            group.push(step);
        }
    }
    let changed = group.iter().any(|step| !step.same);
    if changed {
        groups.push(group);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_changes_are_hunks_of_their_own() {
        let old: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let mut new = old.clone();
        new[1] = "two".into();
        new.insert(18, "more".into());
        let shown = unified(&old.join("\n"), &new.join("\n"));
        assert_eq!(
            shown,
            "@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n\
             @@ -16,5 +16,6 @@\n 16\n 17\n 18\n+more\n 19\n 20\n"
        );
    }

    #[test]
    fn equal_texts_have_no_difference() {
        assert_eq!(unified("a\nb", "a\nb"), "");
    }
}
