//! Sizes of ReplicaSets: one alone, or several in proportion.

use super::sets::ReplicaSet;
use super::{COMPONENT, DESIRED, Look, MAXIMUM};
use crate::act::{Act, CONTROLLERS, patch};
use crate::event::{Grade, Note, about};
use crate::object::{DEPLOYMENT, REPLICA_SET};
use model::{json, meta};
use std::cmp::Reverse;

impl Look<'_> {
    pub(super) fn scaled_event(&self, set: &str, from: i64, to: i64) -> Act {
        let way = if from < to { "up" } else { "down" };
        let note = Note {
            component: COMPONENT,
            grade: Grade::Normal,
            reason: "ScalingReplicaSet",
            message: &format!("Scaled {way} replica set {set} from {from} to {to}"),
        };
        about(self.view, &DEPLOYMENT, self.deployment, note)
    }

    /// Gives a set a size; whether that changed it.
    pub(super) fn resize_set(&mut self, index: usize, size: i64) -> bool {
        let desired = self.replicas();
        let most = desired + self.max_surge();
        let set = &mut self.sets[index];
        let from = set.replicas;
        let noted = set.desired == Some(desired) && set.maximum == Some(most);
        if from == size && noted {
            return false;
        }
        let mut body = json!({"metadata": {"annotations": {
            DESIRED: desired.to_string(), MAXIMUM: most.to_string(),
        }}});
        if from != size {
            body["spec"] = json!({"replicas": size});
        }
        set.replicas = size;
        (set.desired, set.maximum) = (Some(desired), Some(most));
        let name = set.name.clone();
        let path = REPLICA_SET.path(meta::namespace(self.deployment), &name);
        let mut act = patch(CONTROLLERS, path, &body);
        if from != size {
            act = act.and_then(self.scaled_event(&name, from, size));
        }
        self.reaction.push(act);
        from != size
    }

    /// How large the new set, which is of some size now, may be.
    pub(super) fn room_for_new(&self, size: i64) -> i64 {
        let wanted = self.replicas();
        if !self.is_rolling() {
            return wanted;
        }
        let most = wanted + self.max_surge();
        let current = self.asked();
        if current >= most {
            return size;
        }
        size + (most - current).min(wanted - size)
    }

    /// Brings the sets to the number of replicas without rolling anything out.
    pub(super) fn resize(&mut self) {
        let wanted = self.replicas();
        let active: Vec<usize> = (0..self.sets.len())
            .filter(|i| self.sets[*i].replicas > 0)
            .collect();
        let only = match active.as_slice() {
            [] => self.new.or_else(|| self.latest_old()),
            [one] => Some(*one),
            _ => None,
        };
        if let Some(only) = only {
            if self.sets[only].replicas != wanted {
                self.resize_set(only, wanted);
            } else {
                self.resize_set(only, wanted);
            }
            return;
        }
        if active.is_empty() {
            return;
        }
        if self.is_saturated() {
            for old in self.old().collect::<Vec<_>>() {
                if self.sets[old].replicas > 0 {
                    self.resize_set(old, 0);
                }
            }
            return;
        }
        if self.is_rolling() {
            self.resize_in_proportion(active);
        }
    }

    fn latest_old(&self) -> Option<usize> {
        self.old()
            .max_by_key(|i| (self.sets[*i].created, Reverse(*i)))
    }

    // Whether the new set has all Pods, available.
    fn is_saturated(&self) -> bool {
        let wanted = self.replicas();
        self.new.is_some_and(|i| {
            let set = &self.sets[i];
            set.replicas == wanted && set.desired == Some(wanted) && set.available == wanted
        })
    }

    fn resize_in_proportion(&mut self, mut active: Vec<usize>) {
        let wanted = self.replicas();
        let allowed = if wanted > 0 {
            wanted + self.max_surge()
        } else {
            0
        };
        let total: i64 = active.iter().map(|i| self.sets[*i].replicas).sum();
        let to_add = allowed - total;
        let sets = &self.sets;
        let larger = |i: &usize| Reverse(sets[*i].replicas);
        if to_add > 0 {
            active.sort_by_key(|i| (larger(i), Reverse(sets[*i].created)));
        } else if to_add < 0 {
            active.sort_by_key(|i| (larger(i), sets[*i].created));
        }
        let mut added = 0;
        let mut sizes = Vec::new();
        for i in &active {
            let share = self.share(&self.sets[*i], to_add, added);
            added += share;
            sizes.push(self.sets[*i].replicas + share);
        }
        if let Some(first) = sizes.first_mut()
            && to_add != 0
        {
            *first = (*first + to_add - added).max(0);
        }
        for (i, size) in active.into_iter().zip(sizes) {
            self.resize_set(i, size);
        }
    }

    // How much of a change one set takes.
    fn share(&self, set: &ReplicaSet, to_add: i64, added: i64) -> i64 {
        if set.replicas == 0 || to_add == 0 || to_add == added {
            return 0;
        }
        let fraction = self.fraction(set);
        let left = to_add - added;
        if to_add > 0 {
            fraction.min(left)
        } else {
            fraction.max(left)
        }
    }

    fn fraction(&self, set: &ReplicaSet) -> i64 {
        let wanted = self.replicas();
        if wanted == 0 {
            return -set.replicas;
        }
        let most = wanted + self.max_surge();
        let before = set
            .maximum
            .unwrap_or_else(|| crate::object::count(self.deployment, "/status/replicas"));
        if before == 0 {
            return 0;
        }
        let size = (set.replicas * most) as f64 / before as f64;
        size.round() as i64 - set.replicas
    }
}
