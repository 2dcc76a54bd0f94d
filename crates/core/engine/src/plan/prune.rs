//! The waves of what is removed: the other way round, or last of all.

use super::{Deed, Task};
use crate::annotation;
use crate::hook::Phase;
use std::collections::BTreeSet;

/// What was made last goes first: the waves of prunes are exchanged end for end.
pub(super) fn turn_waves(tasks: &mut [Task]) {
    let waves: BTreeSet<i64> = prunes(tasks).map(|task| task.slot.wave).collect();
    let waves: Vec<i64> = waves.into_iter().collect();
    for task in tasks.iter_mut().filter(|task| task.deed == Deed::Prune) {
        if let Ok(at) = waves.binary_search(&task.slot.wave) {
            task.slot.wave = waves[waves.len() - 1 - at];
        }
    }
}

fn prunes(tasks: &[Task]) -> impl Iterator<Item = &Task> {
    tasks.iter().filter(|task| task.deed == Deed::Prune)
}

/// Puts prunes that are to come last into a wave after all others.
pub(super) fn put_last(tasks: &mut [Task], all: bool) {
    let in_sync = tasks.iter().filter(|task| task.slot.phase == Phase::Sync);
    let last = in_sync.map(|task| task.slot.wave).max().unwrap_or(0).max(0);
    for task in tasks.iter_mut().filter(|task| task.deed == Deed::Prune) {
        let asked = |live| annotation::has_sync_option(live, "PruneLast=true");
        if all || task.live.as_ref().is_some_and(asked) {
            task.slot.wave = last + 1;
            "no longer in Git; PruneLast=true".clone_into(&mut task.why);
        }
    }
}
