//! A Pod's containers as its spec names them, with the rules that hang on their place.

use model::{Timestamp, Value, meta};

/// What a container is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs to its end before the next one starts.
    Init,
    /// An init container that stays: it has `restartPolicy: Always`.
    Sidecar,
    /// One of `spec.containers`.
    Main,
}

/// One container of a Pod.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Container<'a> {
    pub(crate) value: &'a Value,
    pub(crate) role: Role,
}

impl<'a> Container<'a> {
    pub(crate) fn name(&self) -> &'a str {
        meta::text_at(self.value, "/name")
    }

    pub(crate) fn image(&self) -> &'a str {
        meta::text_at(self.value, "/image")
    }

    /// `spec.containers{name}`, as events name it.
    pub(crate) fn field_path(&self) -> String {
        let list = if self.role == Role::Main {
            "containers"
        } else {
            "initContainers"
        };
        format!("spec.{list}{{{}}}", self.name())
    }

    /// Whether it is started again after it ended with this code.
    pub(crate) fn restarts_after(&self, pod: &Value, code: i32) -> bool {
        if let Some(rule) = self.matching_rule(code) {
            return rule;
        }
        let own = meta::text_at(self.value, "/restartPolicy");
        let policy = if own.is_empty() {
            meta::text_at(pod, "/spec/restartPolicy")
        } else {
            own
        };
        match policy {
            "Never" => false,
            "OnFailure" => code != 0,
            // An init container that succeeded has done its work.
            _ => self.role != Role::Init || code != 0,
        }
    }

    fn matching_rule(&self, code: i32) -> Option<bool> {
        let matches = |rule: &&Value| {
            let listed = meta::entries(rule, "/exitCodes/values")
                .any(|v| v.as_i64() == Some(i64::from(code)));
            match meta::text_at(rule, "/exitCodes/operator") {
                "In" => listed,
                "NotIn" => !listed,
                _ => false,
            }
        };
        meta::entries(self.value, "/restartPolicyRules")
            .find(matches)
            .map(|_| true)
    }

    /// Whether it is meant to end by itself: init containers, and those of Pods that are not
    /// restarted for ever, unless they listen.
    pub(crate) fn is_task(&self, pod: &Value) -> bool {
        match self.role {
            Role::Init => true,
            Role::Sidecar => false,
            Role::Main => {
                let policy = meta::text_at(pod, "/spec/restartPolicy");
                let listens = [
                    "/ports",
                    "/readinessProbe",
                    "/livenessProbe",
                    "/startupProbe",
                ]
                .iter()
                .any(|p| self.value.pointer(p).is_some());
                matches!(policy, "Never" | "OnFailure") && !listens
            }
        }
    }
}

/// All containers, in the order in which they start.
pub(crate) fn containers(pod: &Value) -> Vec<Container<'_>> {
    let init = meta::entries(pod, "/spec/initContainers").map(|value| Container {
        value,
        role: if meta::text_at(value, "/restartPolicy") == "Always" {
            Role::Sidecar
        } else {
            Role::Init
        },
    });
    let main = meta::entries(pod, "/spec/containers").map(|value| Container {
        value,
        role: Role::Main,
    });
    init.chain(main).collect()
}

/// `name_namespace(uid)`, as messages name a Pod.
pub(crate) fn full_name(pod: &Value) -> String {
    format!(
        "{}_{}({})",
        meta::name(pod),
        meta::namespace(pod),
        meta::uid(pod)
    )
}

/// A whole number of the Pod or a container, or its default.
pub(crate) fn number(value: &Value, pointer: &str, default: i64) -> i64 {
    value
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or(default)
}

/// How long a Pod's containers have to end when they are asked to.
pub(crate) fn grace_seconds(pod: &Value) -> i64 {
    number(pod, "/spec/terminationGracePeriodSeconds", 30)
}

/// This point, some microseconds later; far away rather than past the end of time.
pub(crate) fn later(at: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(at.micros().saturating_add(micros))
}

/// Seconds in microseconds.
pub(crate) fn seconds(count: i64) -> i64 {
    count.saturating_mul(1_000_000)
}

/// 64 well-mixed bits of a text, the same on every machine.
pub(crate) fn hash(text: &str, seed: u64) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state ^= state >> 31;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ (state >> 29)
}

/// 64 hexadecimal digits out of a text, for ids and digests.
pub(crate) fn digest(text: &str) -> String {
    (1..=4)
        .map(|seed| format!("{:016x}", hash(text, seed)))
        .collect()
}
