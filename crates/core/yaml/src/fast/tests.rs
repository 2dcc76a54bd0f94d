use super::*;
use crate::located::read_slowly;

#[path = "corpus.rs"]
mod corpus;

use corpus::{Numbers, SEEDS, mutate};

// Lines of fields; where entries of lists begin is seen differently for literal blocks.
fn fields(marks: &Marks, text: &str) -> Vec<(String, usize)> {
    let line = crate::spot_at(text, marks.root()).line;
    let mut lines = marks.lines(text, line);
    lines.retain(|(pointer, _)| !pointer.ends_with(|c: char| c.is_ascii_digit()));
    lines
}

// Whether the quick reader took the text; panics when it read it differently.
fn agrees(text: &str) -> bool {
    let Some((value, marks)) = read(text) else {
        return false;
    };
    let slow = read_slowly(text);
    match slow {
        Ok((wanted, slow_marks)) => {
            assert_eq!(value, wanted, "{text:?}");
            assert_eq!(fields(&marks, text), fields(&slow_marks, text), "{text:?}");
        }
        Err(fault) => panic!("the full reader refuses {text:?}: {fault}"),
    }
    true
}

#[test]
fn the_quick_reader_agrees_with_the_full_one() {
    let mut taken = SEEDS.iter().filter(|seed| agrees(seed)).count();
    assert_eq!(
        taken, 5,
        "only anchors and folded texts are left to the full reader"
    );
    let mut numbers = Numbers::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..12_000 {
        taken += usize::from(agrees(&mutate(&mut numbers)));
    }
    assert!(taken > 1_500, "{taken}");
}
