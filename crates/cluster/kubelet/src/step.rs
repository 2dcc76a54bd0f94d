//! One look at a Pod.

use crate::act::{Act, Reaction};
use crate::life::Life;
use crate::status;
use crate::world::World;
use model::{Timestamp, Value, meta};

/// Moves a Pod's life on to `now` and says what to do about it.
///
/// Total and deterministic: it may be called at any time, for any Pod bound to this node; a call
/// that has nothing to do gives no acts.
pub fn step(world: &dyn World, pod: &Value, life: &mut Life, now: Timestamp) -> Reaction {
    let mut reaction = Reaction::default();
    if life.uid != meta::uid(pod) {
        *life = Life::resume(pod, now);
    }
    if meta::deletion_timestamp(pod).is_some() {
        reaction.acts.push(Act::Delete);
        return reaction;
    }
    let status = status::running(pod, life, &world.pod_ip(pod), now);
    if pod.get("status") != Some(&status) {
        reaction.acts.push(Act::Status(status));
    }
    reaction
}
