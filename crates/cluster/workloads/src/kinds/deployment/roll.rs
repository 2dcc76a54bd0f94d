//! From the old ReplicaSets to the new one.

use super::Look;
use super::status::Totals;
use crate::index::PodFacts;

impl Look<'_> {
    /// The next step of a roll-out.
    pub(super) fn roll_out(&mut self) {
        if self.is_rolling() {
            self.roll();
        } else {
            self.recreate();
        }
    }

    fn roll(&mut self) {
        self.find_new();
        if self.new.is_none() {
            self.make_new();
        }
        if self.grow_new() || self.shrink_old() {
            return;
        }
        self.clean_up_when_done();
    }

    fn clean_up_when_done(&mut self) {
        if Totals::of(self).is_complete(self) {
            self.clean_up();
        }
    }

    // Whether the new set was given another size.
    fn grow_new(&mut self) -> bool {
        let Some(new) = self.new else {
            return false;
        };
        let wanted = self.replicas();
        let size = self.sets[new].replicas;
        if size == wanted {
            return false;
        }
        let next = if size > wanted {
            wanted
        } else {
            self.room_for_new(size)
        };
        self.resize_set(new, next)
    }

    // Whether an old set was given another size.
    fn shrink_old(&mut self) -> bool {
        let old: Vec<usize> = self.old().collect();
        let old_asked: i64 = old.iter().map(|i| self.sets[*i].replicas).sum();
        if old_asked == 0 {
            return false;
        }
        let at_least = self.replicas() - self.max_unavailable();
        let new_missing = self.new.map_or(0, |i| {
            let set = &self.sets[i];
            set.replicas - set.available
        });
        let most = self.asked() - at_least - new_missing;
        if most <= 0 {
            return false;
        }
        let unhealthy = self.shrink_unhealthy(&old, most);
        let healthy = self.shrink_healthy(&old, at_least);
        unhealthy || healthy
    }

    // Pods that do not serve go first: nobody misses them.
    fn shrink_unhealthy(&mut self, old: &[usize], most: i64) -> bool {
        let mut gone = 0;
        for i in old {
            if gone >= most {
                break;
            }
            let set = &self.sets[*i];
            if set.replicas == 0 || set.replicas == set.available {
                continue;
            }
            let by = (most - gone).min(set.replicas - set.available);
            if by <= 0 {
                continue;
            }
            let size = set.replicas - by;
            self.resize_set(*i, size);
            gone += by;
        }
        gone > 0
    }

    fn shrink_healthy(&mut self, old: &[usize], at_least: i64) -> bool {
        let available: i64 = self.sets.iter().map(|s| s.available).sum();
        let most = available - at_least;
        let mut gone = 0;
        for i in old {
            if gone >= most {
                break;
            }
            let set = &self.sets[*i];
            let by = set.replicas.min(most - gone);
            if by <= 0 {
                continue;
            }
            let size = set.replicas - by;
            self.resize_set(*i, size);
            gone += by;
        }
        gone > 0
    }

    // All old Pods go before a new one comes.
    fn recreate(&mut self) {
        self.find_new();
        let old: Vec<usize> = self.old().collect();
        let mut shrunk = false;
        for i in &old {
            if self.sets[*i].replicas > 0 {
                shrunk |= self.resize_set(*i, 0);
            }
        }
        if shrunk || self.has_old_pods(&old) {
            return;
        }
        match self.new {
            None => self.make_new(),
            Some(new) => {
                let wanted = self.replicas();
                self.resize_set(new, wanted);
            }
        }
        self.clean_up_when_done();
    }

    fn has_old_pods(&self, old: &[usize]) -> bool {
        let runs = |pod: &&PodFacts| !pod.is_over();
        old.iter()
            .any(|i| self.view.pods_of(&self.sets[*i].uid).iter().any(runs))
    }
}
