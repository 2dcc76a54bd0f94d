//! One policy rule: which verbs on which resources or paths.
//!
//! Takes the `rules` of a Role or ClusterRole, gives matching against a request and against other
//! rules (whether one rule grants all that another one does).

use crate::rbac::Attributes;
use model::{Value, field::go_quote, json};
use std::collections::BTreeMap;

/// The largest rule that is taken apart to see which of its permissions are held.
pub const ATOMS_MAX: usize = 10_000;

/// A `PolicyRule` of a Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// API groups, `*` for all.
    pub groups: Vec<String>,
    /// Resources, `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Object names; empty for all.
    pub names: Vec<String>,
    /// Paths that are no resources, a final `*` matches any rest.
    pub urls: Vec<String>,
    /// Verbs, `*` for all.
    pub verbs: Vec<String>,
}

fn texts(value: &Value, field: &str) -> Vec<String> {
    let items = value.get(field).and_then(Value::as_array);
    let items = items.into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn has(set: &[String], wanted: &str) -> bool {
    set.iter().any(|s| s == wanted)
}

fn has_or_star(set: &[String], wanted: &str) -> bool {
    set.iter().any(|s| s == wanted || s == "*")
}

impl Rule {
    /// Reads one entry of `rules`; what is absent is empty.
    pub fn read(value: &Value) -> Self {
        Self {
            groups: texts(value, "apiGroups"),
            resources: texts(value, "resources"),
            names: texts(value, "resourceNames"),
            urls: texts(value, "nonResourceURLs"),
            verbs: texts(value, "verbs"),
        }
    }

    /// Reads the `rules` of a Role or ClusterRole.
    pub fn read_all(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().map(Self::read).collect()
    }

    /// Whether the rule grants the request.
    pub fn allows(&self, a: &Attributes<'_>) -> bool {
        if !has_or_star(&self.verbs, a.verb) {
            return false;
        }
        if !a.is_resource {
            return self.urls.iter().any(|url| url_covers(url, a.path));
        }
        has_or_star(&self.groups, a.group)
            && self
                .resources
                .iter()
                .any(|r| resource_matches(r, a.resource, a.subresource))
            && (self.names.is_empty() || has(&self.names, a.name))
    }

    /// How many single permissions the rule stands for.
    fn size(&self) -> usize {
        let resources = [&self.groups, &self.resources, &self.verbs];
        let product = |lists: &[&Vec<String>]| {
            lists
                .iter()
                .fold(1_usize, |n, list| n.saturating_mul(list.len()))
        };
        let named = product(&resources).saturating_mul(self.names.len().max(1));
        named.saturating_add(product(&[&self.urls, &self.verbs]))
    }

    /// Whether the rule alone grants everything `part` does.
    fn covers(&self, part: &Self) -> bool {
        let each = |set: &[String], parts: &[String]| parts.iter().all(|p| has_or_star(set, p));
        each(&self.verbs, &part.verbs)
            && each(&self.groups, &part.groups)
            && part
                .resources
                .iter()
                .all(|r| resource_covered(&self.resources, r))
            && part
                .urls
                .iter()
                .all(|u| self.urls.iter().any(|own| url_covers(own, u)))
            && (self.names.is_empty()
                || (!part.names.is_empty() && part.names.iter().all(|n| has(&self.names, n))))
    }

    /// The same permissions as rules with one group, resource, name or path and one verb each.
    fn atoms(&self, out: &mut Vec<Self>) {
        let one = |s: &String| vec![s.clone()];
        for group in &self.groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let plain = Self {
                        groups: one(group),
                        resources: one(resource),
                        verbs: one(verb),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        out.push(plain);
                        continue;
                    }
                    out.extend(self.names.iter().map(|name| Self {
                        names: one(name),
                        ..plain.clone()
                    }));
                }
            }
        }
        for url in &self.urls {
            out.extend(self.verbs.iter().map(|verb| Self {
                urls: one(url),
                verbs: one(verb),
                ..Self::default()
            }));
        }
    }

    /// The rule as refusals print it: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
    pub fn compact(&self) -> String {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, values)| !values.is_empty())
            .map(|(name, values)| format!("{name}:{}", quoted_list(values)))
            .collect();
        format!("{{{}}}", parts.join(", "))
    }

    /// The rule as an entry of `status.resourceRules`; `None` when it names no resource.
    pub fn resource_rule(&self) -> Option<Value> {
        if self.resources.is_empty() {
            return None;
        }
        let mut rule = json!({"verbs": self.verbs});
        let body = rule.as_object_mut().expect("made an object above");
        for (key, values) in [
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
        ] {
            if !values.is_empty() {
                body.insert(key.into(), json!(values));
            }
        }
        Some(rule)
    }

    /// The rule as an entry of `status.nonResourceRules`; `None` when it names no path.
    pub fn path_rule(&self) -> Option<Value> {
        (!self.urls.is_empty()).then(|| json!({"verbs": self.verbs, "nonResourceURLs": self.urls}))
    }
}

/// Texts as Go prints a list of quoted strings: `["a" "b"]`.
pub fn quoted_list(values: &[String]) -> String {
    let quoted: Vec<String> = values.iter().map(|v| go_quote(v)).collect();
    format!("[{}]", quoted.join(" "))
}

/// Says which permissions of `wanted` no rule of `held` grants, as people read them.
///
/// Sorted, with the verbs of one resource put together; empty when everything is covered. A rule
/// that stands for more than [`ATOMS_MAX`] single permissions must be covered by one rule at once.
pub fn missing(held: &[&Rule], wanted: &[Rule]) -> Vec<String> {
    let mut merged: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    let mut texts = Vec::new();
    for rule in wanted {
        if held.iter().any(|own| own.covers(rule)) {
            continue;
        }
        if rule.size() > ATOMS_MAX {
            texts.push(rule.compact());
            continue;
        }
        let mut atoms = Vec::new();
        rule.atoms(&mut atoms);
        atoms.retain(|atom| !held.iter().any(|own| own.covers(atom)));
        for mut atom in atoms {
            if atom.urls.is_empty() {
                let verbs = std::mem::take(&mut atom.verbs);
                merged.entry(atom).or_default().extend(verbs);
            } else {
                texts.push(atom.compact());
            }
        }
    }
    texts.extend(
        merged
            .into_iter()
            .map(|(rule, verbs)| Rule { verbs, ..rule }.compact()),
    );
    texts.sort();
    texts.dedup();
    texts
}

fn resource_matches(pattern: &str, resource: &str, subresource: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    if subresource.is_empty() {
        return pattern == resource;
    }
    match pattern.split_once('/') {
        Some((parent, sub)) => sub == subresource && (parent == "*" || parent == resource),
        None => false,
    }
}

fn resource_covered(set: &[String], wanted: &str) -> bool {
    has_or_star(set, wanted)
        || wanted
            .split_once('/')
            .is_some_and(|(_, sub)| set.iter().any(|s| s.strip_prefix("*/") == Some(sub)))
}

fn url_covers(own: &str, path: &str) -> bool {
    own == path || (own.ends_with('*') && path.starts_with(own.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check_missing(held: &Value, wanted: &Value, expected: Expect) {
        let held: Vec<Rule> = held.as_array().unwrap().iter().map(Rule::read).collect();
        let wanted: Vec<Rule> = wanted.as_array().unwrap().iter().map(Rule::read).collect();
        let held: Vec<&Rule> = held.iter().collect();
        expected.assert_eq(&missing(&held, &wanted).join("\n"));
    }

    #[test]
    fn verbs_of_one_resource_are_reported_together() {
        check_missing(
            &json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]),
            &json!([
                {"apiGroups": ["", "apps"], "resources": ["pods", "secrets"], "verbs": ["get", "list", "create"]},
                {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["b", "a"], "verbs": ["get", "*"]},
                {"nonResourceURLs": ["/x", "/y"], "verbs": ["get"]},
            ]),
            expect![[r#"
                {APIGroups:[""], Resources:["configmaps"], ResourceNames:["a"], Verbs:["get" "*"]}
                {APIGroups:[""], Resources:["configmaps"], ResourceNames:["b"], Verbs:["get" "*"]}
                {APIGroups:[""], Resources:["pods"], Verbs:["create"]}
                {APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "create"]}
                {APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list" "create"]}
                {APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list" "create"]}
                {NonResourceURLs:["/x"], Verbs:["get"]}
                {NonResourceURLs:["/y"], Verbs:["get"]}"#]],
        );
    }

    #[test]
    fn a_monstrous_rule_is_not_taken_apart() {
        let many: Vec<String> = (0..200).map(|i| format!("x{i}")).collect();
        let rule = json!([{"apiGroups": many, "resources": many, "verbs": many}]);
        let wanted: Vec<Rule> = rule.as_array().unwrap().iter().map(Rule::read).collect();
        assert_eq!(missing(&[], &wanted), [wanted[0].compact()]);
        let star = || vec!["*".to_owned()];
        let all = Rule {
            groups: star(),
            resources: star(),
            verbs: star(),
            ..Rule::default()
        };
        assert!(missing(&[&all], &wanted).is_empty());
    }

    #[test]
    fn stars_subresources_and_path_prefixes_cover() {
        check_missing(
            &json!([
                {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["*"]},
                {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
            ]),
            &json!([
                {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch"]},
                {"nonResourceURLs": ["/healthz/etcd"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
            ]),
            expect![[r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#]],
        );
    }
}
