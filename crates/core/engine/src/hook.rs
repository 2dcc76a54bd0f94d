//! Says what part an object plays in a sync: an ordinary one, a hook, or none.

use crate::annotation::{HELM_HOOK, HELM_HOOK_DELETE_POLICY, HOOK, HOOK_DELETE_POLICY, list};
use model::{Value, meta};

/// When in a sync something happens. The order is the order of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before anything is applied.
    PreSync,
    /// The manifests themselves.
    Sync,
    /// After all of them are healthy.
    PostSync,
    /// Only when the sync failed.
    SyncFail,
    /// Before the application is deleted.
    PreDelete,
    /// After the application was deleted.
    PostDelete,
}

impl Phase {
    /// The word people see and write.
    pub fn word(self) -> &'static str {
        match self {
            Self::PreSync => "PreSync",
            Self::Sync => "Sync",
            Self::PostSync => "PostSync",
            Self::SyncFail => "SyncFail",
            Self::PreDelete => "PreDelete",
            Self::PostDelete => "PostDelete",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "PreSync" => Self::PreSync,
            "Sync" => Self::Sync,
            "PostSync" => Self::PostSync,
            "SyncFail" => Self::SyncFail,
            "PreDelete" => Self::PreDelete,
            "PostDelete" => Self::PostDelete,
            _ => return None,
        })
    }

    fn of_helm(word: &str) -> Option<Self> {
        Some(match word {
            "pre-install" | "pre-upgrade" => Self::PreSync,
            "post-install" | "post-upgrade" => Self::PostSync,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            _ => return None,
        })
    }

    /// Whether the phase belongs to a deletion and not to a sync.
    pub fn is_deletion(self) -> bool {
        matches!(self, Self::PreDelete | Self::PostDelete)
    }
}

/// The part an object plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is applied in the Sync phase.
    Resource,
    /// It runs in these phases, in order, each once.
    Hook(Vec<Phase>),
    /// It stays as it is: never applied, never pruned, never compared.
    Skip,
    /// It names no phase we know: neither applied nor compared.
    Dropped,
}

/// The part an object plays, from its annotations.
pub fn role(object: &Value) -> Role {
    let ours = meta::annotation(object, HOOK).is_some();
    let helms = meta::annotation(object, HELM_HOOK).filter(|value| *value != "crd-install");
    if !ours && helms.is_none() {
        return Role::Resource;
    }
    let named = phases(list(object, HOOK).filter_map(Phase::parse));
    if !named.is_empty() {
        return Role::Hook(named);
    }
    if ours && list(object, HOOK).any(|word| word == "Skip") {
        return Role::Skip;
    }
    let mapped = phases(list(object, HELM_HOOK).filter_map(Phase::of_helm));
    if mapped.is_empty() {
        Role::Dropped
    } else {
        Role::Hook(mapped)
    }
}

fn phases(found: impl Iterator<Item = Phase>) -> Vec<Phase> {
    let mut phases: Vec<Phase> = found.collect();
    phases.sort_unstable();
    phases.dedup();
    phases
}

/// When a hook is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletePolicies {
    /// Before it is made anew.
    pub before_creation: bool,
    /// Once the whole operation succeeded.
    pub succeeded: bool,
    /// Once the operation failed.
    pub failed: bool,
}

/// The delete policies of a hook: its own and Helm's together; the first when it names none.
pub fn delete_policies(object: &Value) -> DeletePolicies {
    let ours = |word: &str| list(object, HOOK_DELETE_POLICY).any(|entry| entry == word);
    let helms = |word: &str| list(object, HELM_HOOK_DELETE_POLICY).any(|entry| entry == word);
    let mut policies = DeletePolicies {
        before_creation: ours("BeforeHookCreation") || helms("before-hook-creation"),
        succeeded: ours("HookSucceeded") || helms("hook-succeeded"),
        failed: ours("HookFailed") || helms("hook-failed"),
    };
    policies.before_creation |= !(policies.succeeded || policies.failed);
    policies
}

/// The name of a hook that leaves it to the engine: the same on each retry of one operation.
pub fn generated_name(base: &str, revision: &str, phase: Phase, started_at: i64) -> String {
    let short = if revision.len() >= 8 && revision.is_char_boundary(7) {
        &revision[..7]
    } else {
        revision
    };
    let suffix = format!("{short}-{}-{started_at}", phase.word()).to_lowercase();
    format!("{base}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check_role(annotations: &Value, expected: &str) {
        let role = match role(&json!({"metadata": {"annotations": annotations}})) {
            Role::Resource => "resource".to_owned(),
            Role::Skip => "skip".to_owned(),
            Role::Dropped => "dropped".to_owned(),
            Role::Hook(phases) => phases
                .iter()
                .map(|p| p.word())
                .collect::<Vec<_>>()
                .join(","),
        };
        assert_eq!(role, expected, "{annotations}");
    }

    #[test]
    fn annotations_decide_the_part() {
        check_role(&json!({}), "resource");
        check_role(&json!({HOOK: "PreSync"}), "PreSync");
        check_role(
            &json!({HOOK: "PostSync, PreSync,PreSync"}),
            "PreSync,PostSync",
        );
        check_role(&json!({HOOK: "Skip"}), "skip");
        check_role(&json!({HOOK: "Skip,PreSync"}), "PreSync");
        check_role(&json!({HOOK: "presync"}), "dropped");
        check_role(&json!({HOOK: ""}), "dropped");
        check_role(&json!({HELM_HOOK: "pre-install,pre-upgrade"}), "PreSync");
        check_role(&json!({HELM_HOOK: "post-install"}), "PostSync");
        check_role(&json!({HELM_HOOK: "test"}), "dropped");
        check_role(&json!({HELM_HOOK: "crd-install"}), "resource");
        check_role(&json!({HELM_HOOK: "pre-delete"}), "PreDelete");
        check_role(&json!({HOOK: "Sync", HELM_HOOK: "pre-install"}), "Sync");
    }

    #[test]
    fn policies_of_both_dialects_are_united() {
        let policies = |annotations: Value| {
            let p = delete_policies(&json!({"metadata": {"annotations": annotations}}));
            (p.before_creation, p.succeeded, p.failed)
        };
        assert_eq!(policies(json!({})), (true, false, false));
        assert_eq!(
            policies(json!({HOOK_DELETE_POLICY: "Nonsense"})),
            (true, false, false)
        );
        assert_eq!(
            policies(
                json!({HOOK_DELETE_POLICY: "HookSucceeded", HELM_HOOK_DELETE_POLICY: "hook-failed"})
            ),
            (false, true, true)
        );
    }

    #[test]
    fn generated_names_are_the_same_on_retry() {
        assert_eq!(
            generated_name(
                "migrate-",
                "0123456789abcdef",
                Phase::PreSync,
                1_700_000_000
            ),
            "migrate-0123456-presync-1700000000"
        );
        assert_eq!(
            generated_name("m-", "1.2.3", Phase::PostSync, 7),
            "m-1.2.3-postsync-7"
        );
        assert_eq!(generated_name("m-", "", Phase::PreSync, 7), "m--presync-7");
    }
}
