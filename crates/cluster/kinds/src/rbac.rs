//! Roles and role bindings.

use crate::fault::{Faults, Spot};
use crate::fields::{fill_empty, get, has, items_mut, list, map_slot, text};
use crate::rules::{Name, PLAIN, Recheck, Rules, segment};
use crate::selector;
use model::{Value, names};

const GROUP: &str = "rbac.authorization.k8s.io";

/// What is special about a Role.
pub(crate) static ROLE: Rules = Rules {
    check: |object, faults| check_rules(object, true, faults),
    check_update: |new, _, _, faults| check_rules(new, true, faults),
    name: Name::Segment,
    create_on_update: true,
    recheck: Recheck::Around,
    ..PLAIN
};

/// What is special about a ClusterRole.
pub(crate) static CLUSTER_ROLE: Rules = Rules {
    check: check_cluster_role,
    check_update: |new, _, _, faults| check_cluster_role(new, faults),
    name: Name::Segment,
    create_on_update: true,
    recheck: Recheck::Around,
    ..PLAIN
};

/// What is special about a RoleBinding.
pub(crate) static ROLE_BINDING: Rules = Rules {
    default: |object, _| default_binding(object),
    check: |object, faults| check_binding(object, true, faults),
    check_update: |new, old, _, faults| {
        check_binding(new, true, faults);
        keep_role(new, old, faults);
    },
    name: Name::Segment,
    create_on_update: true,
    recheck: Recheck::Around,
    ..PLAIN
};

/// What is special about a ClusterRoleBinding.
pub(crate) static CLUSTER_ROLE_BINDING: Rules = Rules {
    default: |object, _| default_binding(object),
    check: |object, faults| check_binding(object, false, faults),
    check_update: |new, old, _, faults| {
        check_binding(new, false, faults);
        keep_role(new, old, faults);
    },
    name: Name::Segment,
    create_on_update: true,
    recheck: Recheck::Around,
    ..PLAIN
};

fn default_binding(object: &mut Value) {
    fill_empty(map_slot(object, "roleRef"), "apiGroup", GROUP);
    for subject in items_mut(object, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            fill_empty(subject, "apiGroup", GROUP);
        }
    }
}

fn check_cluster_role(object: &Value, faults: &mut Faults) {
    check_rules(object, false, faults);
    if !has(object, "aggregationRule") {
        return;
    }
    let spot = &Spot::of("aggregationRule.clusterRoleSelectors");
    let selectors = list(get(object, "aggregationRule"), "clusterRoleSelectors");
    if selectors.is_empty() {
        let message = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        faults.required(spot, message);
    }
    for (index, chosen) in selectors.iter().enumerate() {
        let at = &spot.index(index);
        selector::check(chosen, at, faults);
        if selector::matches(chosen, &Value::Null).is_none() {
            faults.invalid(at, Value::Null, "invalid label selector.");
        }
    }
}

fn check_rules(object: &Value, namespaced: bool, faults: &mut Faults) {
    let spot = &Spot::of("rules");
    for (index, rule) in list(object, "rules").iter().enumerate() {
        check_rule(rule, namespaced, &spot.index(index), faults);
    }
}

fn check_rule(rule: &Value, namespaced: bool, spot: &Spot<'_>, faults: &mut Faults) {
    if list(rule, "verbs").is_empty() {
        faults.required(
            &spot.child("verbs"),
            "verbs must contain at least one value",
        );
    }
    let empty = |field: &str| list(rule, field).is_empty();
    if !empty("nonResourceURLs") {
        let (at, urls) = (&spot.child("nonResourceURLs"), get(rule, "nonResourceURLs"));
        if namespaced {
            let message = "namespaced rules cannot apply to non-resource URLs";
            faults.invalid(at, urls.clone(), message);
        }
        if !(empty("apiGroups") && empty("resources") && empty("resourceNames")) {
            let message = "rules cannot apply to both regular resources and non-resource URLs";
            faults.invalid(at, urls.clone(), message);
        }
        return;
    }
    if empty("apiGroups") {
        let message = "resource rules must supply at least one api group";
        faults.required(&spot.child("apiGroups"), message);
    }
    if empty("resources") {
        let message = "resource rules must supply at least one resource";
        faults.required(&spot.child("resources"), message);
    }
}

fn check_binding(object: &Value, namespaced: bool, faults: &mut Faults) {
    let spot = &Spot::of("roleRef");
    let role = get(object, "roleRef");
    let group = text(role, "apiGroup");
    if group != GROUP {
        faults.unsupported(&spot.child("apiGroup"), group, &[GROUP]);
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = text(role, "kind");
    if !kinds.contains(&kind) {
        faults.unsupported(&spot.child("kind"), kind, kinds);
    }
    match text(role, "name") {
        "" => faults.required(&spot.child("name"), ""),
        name => faults.invalid_each(&spot.child("name"), name, segment(name, false)),
    }
    let spot = &Spot::of("subjects");
    for (index, subject) in list(object, "subjects").iter().enumerate() {
        check_subject(subject, namespaced, &spot.index(index), faults);
    }
}

fn check_subject(subject: &Value, namespaced: bool, spot: &Spot<'_>, faults: &mut Faults) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        faults.required(&spot.child("name"), "");
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let found = names::dns1123_subdomain(name);
                faults.invalid_each(&spot.child("name"), name, found);
            }
            if !group.is_empty() {
                faults.unsupported(&spot.child("apiGroup"), group, &[""]);
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                faults.required(&spot.child("namespace"), "");
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                faults.unsupported(&spot.child("apiGroup"), group, &[GROUP]);
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            faults.unsupported(&spot.child("kind"), other, &kinds);
        }
    }
}

fn keep_role(new: &Value, old: &Value, faults: &mut Faults) {
    let (now, then) = (get(new, "roleRef"), get(old, "roleRef"));
    let same = ["apiGroup", "kind", "name"]
        .iter()
        .all(|field| text(now, field) == text(then, field));
    if !same {
        let shown = format!(
            "{{\"APIGroup\":{},\"Kind\":{},\"Name\":{}}}",
            Value::from(text(now, "apiGroup")),
            Value::from(text(now, "kind")),
            Value::from(text(now, "name"))
        );
        faults.invalid_shown(&Spot::of("roleRef"), &shown, "cannot change roleRef");
    }
}
