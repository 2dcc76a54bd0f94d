//! What a storm writes: a fixed sequence of batches per thread, known to writer and checker.

use std::collections::BTreeMap;

/// Threads of a storm; each writes objects of its own, so its last acknowledged batch says exactly
/// which states are allowed.
pub(crate) const THREADS: u64 = 4;
const NAMES: u64 = 12;

/// Where a thread of a round writes.
pub(crate) fn namespace(round: u64, thread: u64) -> String {
    format!("round-{round}-thread-{thread}")
}

/// The changes of one batch: names, with content or without for a removal.
pub(crate) fn batch(round: u64, thread: u64, step: u64) -> Vec<(String, Option<String>)> {
    let mut dice = round << 40 ^ thread << 32 ^ step;
    let changes = (0..=roll(&mut dice) % 3).map(|_| {
        let name = format!("n{}", roll(&mut dice) % NAMES);
        let content = match roll(&mut dice) % 4 {
            0 => None,
            _ => Some(content(step, &mut dice)),
        };
        (name, content)
    });
    changes.collect()
}

/// The objects of one thread after so many batches: name to content.
#[allow(dead_code, reason = "the writer only writes")]
pub(crate) fn state(round: u64, thread: u64, steps: u64) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for (name, content) in (0..steps).flat_map(|step| batch(round, thread, step)) {
        match content {
            Some(content) => state.insert(name, content),
            None => state.remove(&name),
        };
    }
    state
}

/// Between nothing and some pages, and never the same twice.
fn content(step: u64, dice: &mut u64) -> String {
    let words = roll(dice) % 40 * (roll(dice) % 20);
    let mut text = format!("step {step}");
    for _ in 0..words {
        text.push_str(&format!(" {:x}", roll(dice)));
    }
    text
}

fn roll(dice: &mut u64) -> u64 {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *dice;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 20
}
