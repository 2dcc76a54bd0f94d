//! The annotations by which objects speak to the engine, and how their lists are read.

use model::{Value, meta};

/// `argocd.argoproj.io/hook`: phases in which the object runs as a hook.
pub const HOOK: &str = "argocd.argoproj.io/hook";
/// `argocd.argoproj.io/hook-delete-policy`: when a hook is removed.
pub const HOOK_DELETE_POLICY: &str = "argocd.argoproj.io/hook-delete-policy";
/// `argocd.argoproj.io/sync-wave`: the wave of an object.
pub const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// `argocd.argoproj.io/sync-options`: options for this object alone.
pub const SYNC_OPTIONS: &str = "argocd.argoproj.io/sync-options";
/// `argocd.argoproj.io/compare-options`: how this object is compared.
pub const COMPARE_OPTIONS: &str = "argocd.argoproj.io/compare-options";
/// `argocd.argoproj.io/tracking-id`: which application the object belongs to.
pub const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
/// `argocd.argoproj.io/installation-id`: which installation it belongs to.
pub const INSTALLATION_ID: &str = "argocd.argoproj.io/installation-id";
/// `argocd.argoproj.io/ignore-restart-policy`: a Pod that counts as long-running.
pub const IGNORE_RESTART_POLICY: &str = "argocd.argoproj.io/ignore-restart-policy";
/// The finalizer that keeps a hook until the engine has seen its end.
pub const HOOK_FINALIZER: &str = "argocd.argoproj.io/hook-finalizer";
/// Helm's hook annotation.
pub const HELM_HOOK: &str = "helm.sh/hook";
/// Helm's wave.
pub const HELM_HOOK_WEIGHT: &str = "helm.sh/hook-weight";
/// Helm's delete policy.
pub const HELM_HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";

/// The entries of a comma list, trimmed, without empty ones.
pub fn list<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    let text = meta::annotation(object, key).unwrap_or("");
    text.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

/// Whether an object carries a sync option, as in `Prune=false`.
pub fn has_sync_option(object: &Value, option: &str) -> bool {
    list(object, SYNC_OPTIONS).any(|entry| entry == option)
}

/// The value of a sync option of an object, as `confirm` of `Prune=confirm`.
pub fn sync_option<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    list(object, SYNC_OPTIONS).find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='))
}

/// The wave of an object: its own annotation, else Helm's weight, else 0.
pub fn wave(object: &Value) -> i64 {
    let number = |key: &str| meta::annotation(object, key).and_then(|text| text.parse().ok());
    number(SYNC_WAVE)
        .or_else(|| number(HELM_HOOK_WEIGHT))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn check_wave(annotations: &Value, expected: i64) {
        assert_eq!(
            wave(&json!({"metadata": {"annotations": annotations}})),
            expected
        );
    }

    #[test]
    fn a_wave_is_a_whole_number_or_helms_weight_or_zero() {
        check_wave(&json!({}), 0);
        check_wave(&json!({SYNC_WAVE: "-5"}), -5);
        check_wave(&json!({SYNC_WAVE: "+5"}), 5);
        check_wave(&json!({SYNC_WAVE: " 5", HELM_HOOK_WEIGHT: "3"}), 3);
        check_wave(&json!({SYNC_WAVE: "first"}), 0);
        check_wave(&json!({HELM_HOOK_WEIGHT: "-1"}), -1);
    }

    #[test]
    fn options_are_trimmed_and_exact() {
        let object =
            json!({"metadata": {"annotations": {SYNC_OPTIONS: " Prune=confirm , Force=true,"}}});
        assert!(has_sync_option(&object, "Force=true"));
        assert!(!has_sync_option(&object, "force=true"));
        assert_eq!(sync_option(&object, "Prune"), Some("confirm"));
        assert_eq!(sync_option(&object, "Pru"), None);
    }
}
