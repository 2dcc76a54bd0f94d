//! ClusterRoles that gather the rules of others.
//!
//! Takes all ClusterRoles, gives the new `rules` of those with an `aggregationRule` whose rules are
//! out of date. Running it again after applying the changes gives no further change unless
//! aggregated roles select each other.

use model::{LabelSelector, Value, meta};

/// New rules for one ClusterRole.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleChange {
    /// Name of the ClusterRole.
    pub name: String,
    /// Its `rules`, complete.
    pub rules: Vec<Value>,
}

/// The name under which aggregated rules are owned in `managedFields`.
pub const MANAGER: &str = "clusterrole-aggregation-controller";

/// Computes the rules of aggregating ClusterRoles; gives those that differ from what is stored.
pub fn aggregate(roles: &[&Value]) -> Vec<RoleChange> {
    let mut sorted: Vec<&Value> = roles.to_vec();
    sorted.sort_by_key(|role| meta::name(role));
    let changes = sorted.iter().filter_map(|role| {
        let rules = gathered(role, &sorted)?;
        let stored: Vec<&Value> = meta::entries(role, "/rules").collect();
        let same = stored.len() == rules.len() && stored.iter().zip(&rules).all(|(a, b)| a == b);
        (!same).then(|| RoleChange {
            name: meta::name(role).into(),
            rules: rules.into_iter().cloned().collect(),
        })
    });
    changes.collect()
}

fn gathered<'a>(role: &Value, sorted: &[&'a Value]) -> Option<Vec<&'a Value>> {
    role.get("aggregationRule").filter(|r| !r.is_null())?;
    let mut rules: Vec<&Value> = Vec::new();
    for selector in meta::entries(role, "/aggregationRule/clusterRoleSelectors") {
        let selector = LabelSelector::from_spec(Some(selector)).ok()?;
        for other in sorted {
            if meta::name(other) == meta::name(role) || !selector.matches_object(other) {
                continue;
            }
            for rule in meta::entries(other, "/rules") {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    Some(rules)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn rules_are_gathered_by_label_in_name_order_without_repeats() {
        let rule =
            |resource: &str| json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
        let part = |name: &str, label: &str, rules: Value| json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": rules});
        let view = json!({"metadata": {"name": "view", "labels": {"to": "view"}}, "rules": [rule("old")],
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "view"}}, {"matchLabels": {"to": "edit"}}]}});
        let roles = [
            part("b", "view", json!([rule("pods"), rule("jobs")])),
            part("a", "view", json!([rule("pods")])),
            part("c", "edit", json!([rule("jobs"), rule("nodes")])),
            part("d", "none", json!([rule("secrets")])),
            view,
        ];
        let roles: Vec<&Value> = roles.iter().collect();
        let changes = aggregate(&roles);
        assert_eq!(
            changes,
            [RoleChange {
                name: "view".into(),
                rules: vec![rule("pods"), rule("jobs"), rule("nodes")]
            }]
        );

        let mut done = roles[4].clone();
        done["rules"] = json!(changes[0].rules);
        assert_eq!(
            aggregate(&[roles[0], roles[1], roles[2], roles[3], &done]),
            []
        );
    }
}
