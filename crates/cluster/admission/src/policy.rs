//! ValidatingAdmissionPolicies: rules about requests, written as expressions.
//!
//! Takes a [`Review`] and the policies and bindings of the cluster; refuses with the first denial,
//! or gives the warnings of bindings that only warn. Expressions are evaluated by the [`Host`] and
//! see `object`, `oldObject`, `request`, `params`, `namespaceObject` and `variables`.

use crate::matching::{self, Conditions, Match};
use crate::webhook::FailurePolicy;
use crate::webhook::answer::reason;
use crate::{Cluster, Host, Review, Warnings};
use model::{ApiError, Cause, GroupVersion, GroupVersionKind, LabelSelector, Map, Value, meta};
use std::sync::Arc;

const GROUP: &str = "admissionregistration.k8s.io";
const MESSAGE_MAX: usize = 5 * 1024;

/// A denial before it is known what the binding does with it.
struct Denial {
    message: String,
    reason: String,
}

impl Denial {
    fn failure(message: String) -> Self {
        Self {
            message,
            reason: "Invalid".into(),
        }
    }
}

/// Runs every policy that is bound and matches.
pub fn validate(
    review: &Review<'_>,
    cluster: &dyn Cluster,
    host: &dyn Host,
) -> Result<Warnings, ApiError> {
    if matching::is_exempt(review) || is_question(review) {
        return Ok(Vec::new());
    }
    let policies = cluster.list(GROUP, "validatingadmissionpolicies", None);
    if policies.is_empty() {
        return Ok(Vec::new());
    }
    let bindings = cluster.list(GROUP, "validatingadmissionpolicybindings", None);
    let mut warnings = Vec::new();
    let mut refusal = None;
    for policy in &policies {
        let name = meta::name(policy);
        let bound = bindings
            .iter()
            .filter(|b| meta::text_at(b, "/spec/policyName") == name);
        let bound: Vec<&Value> = bound.map(|b| &**b).collect();
        if bound.is_empty() {
            continue;
        }
        let run = Run {
            review,
            cluster,
            host,
            policy,
        };
        for outcome in run.outcomes(&bound) {
            match outcome {
                Outcome::Warn(text) => warnings.push(text),
                Outcome::Deny(error) => refusal = refusal.or(Some(error)),
            }
        }
    }
    refusal.map_or(Ok(warnings), Err)
}

/// Whether the request is one of the review kinds, which policies never see.
fn is_question(review: &Review<'_>) -> bool {
    matches!(
        (review.gvr.group.as_str(), review.gvr.resource.as_str()),
        (
            "authentication.k8s.io",
            "tokenreviews" | "selfsubjectreviews"
        ) | (
            "authorization.k8s.io",
            "localsubjectaccessreviews"
                | "selfsubjectaccessreviews"
                | "selfsubjectrulesreviews"
                | "subjectaccessreviews"
        )
    )
}

enum Outcome {
    Warn(String),
    Deny(ApiError),
}

struct Run<'a> {
    review: &'a Review<'a>,
    cluster: &'a dyn Cluster,
    host: &'a dyn Host,
    policy: &'a Value,
}

impl Run<'_> {
    fn outcomes(&self, bindings: &[&Value]) -> Vec<Outcome> {
        let matched = match self.matches(self.policy.pointer("/spec/matchConstraints")) {
            Ok(Some(matched)) => matched,
            Ok(None) => return Vec::new(),
            Err(error) => {
                let why = format!("failed to configure policy: {}", error.message);
                return self.configuration(None, why);
            }
        };
        let mut outcomes = Vec::new();
        for binding in bindings {
            match self.matches(binding.pointer("/spec/matchResources")) {
                Ok(None) => continue,
                Ok(Some(_)) => {}
                Err(error) => {
                    let why = format!("failed to configure binding: {}", error.message);
                    outcomes.extend(self.configuration(Some(binding), why));
                    continue;
                }
            }
            match self.params(binding) {
                Ok(params) => {
                    for param in params {
                        let param = param.as_deref().unwrap_or(&Value::Null);
                        for denial in self.denials(&matched, param) {
                            outcomes.extend(self.act(binding, denial));
                        }
                    }
                }
                Err(why) => {
                    let why = format!("failed to configure binding: {why}");
                    outcomes.extend(self.configuration(Some(binding), why));
                }
            }
        }
        outcomes
    }

    /// Matches `matchConstraints` or `matchResources`; without rules everything matches.
    fn matches(&self, resources: Option<&Value>) -> Result<Option<Match>, ApiError> {
        let own = || Match {
            gvr: self.review.gvr.clone(),
            gvk: self.review.gvk.clone(),
        };
        let Some(resources) = resources.filter(|r| !r.is_null()) else {
            return Ok(Some(own()));
        };
        let selected = matching::by_selectors(self.review, resources, self.cluster);
        if selected == Ok(false) {
            return Ok(None);
        }
        let rules =
            |field| matching::by_rules(self.review, resources, field, "Equivalent", self.host);
        if rules("excludeResourceRules").is_some() {
            return Ok(None);
        }
        let none = meta::entries(resources, "/resourceRules").next().is_none();
        let matched = if none {
            Some(own())
        } else {
            rules("resourceRules")
        };
        if matched.is_some() {
            selected?;
        }
        Ok(matched)
    }

    fn ignores(&self) -> bool {
        let spec = self.policy.get("spec").unwrap_or(&Value::Null);
        FailurePolicy::of(spec) == FailurePolicy::Ignore
    }

    fn configuration(&self, binding: Option<&Value>, why: String) -> Vec<Outcome> {
        if self.ignores() {
            return Vec::new();
        }
        vec![Outcome::Deny(self.refusal(binding, &Denial::failure(why)))]
    }

    /// The parameters to run with; one absent one when the policy takes none.
    fn params(&self, binding: &Value) -> Result<Vec<Option<Arc<Value>>>, String> {
        let kind = self
            .policy
            .pointer("/spec/paramKind")
            .filter(|k| !k.is_null());
        let by = binding.pointer("/spec/paramRef").filter(|r| !r.is_null());
        let (Some(kind), Some(by)) = (kind, by) else {
            return Ok(vec![None]);
        };
        let version = GroupVersion::parse(meta::text_at(kind, "/apiVersion")).unwrap_or_default();
        let gvk =
            GroupVersionKind::new(version.group, version.version, meta::text_at(kind, "/kind"));
        let Some((gvr, namespaced)) = self.host.resource_of(&gvk) else {
            return Err(format!(
                "paramKind kind `{}, Kind={}` not known",
                gvk.group_version(),
                gvk.kind
            ));
        };
        let given = meta::text_at(by, "/namespace");
        let namespace = match (namespaced, given.is_empty()) {
            (true, false) => given,
            (true, true) if self.review.namespace.is_empty() => {
                return Err("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".into());
            }
            (true, true) => self.review.namespace,
            (false, false) => {
                return Err(
                    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
                        .into(),
                );
            }
            (false, true) => "",
        };
        let name = meta::text_at(by, "/name");
        let found: Vec<Arc<Value>> = if name.is_empty() {
            let selector = LabelSelector::from_spec(by.get("selector"))?;
            let place = namespaced.then_some(namespace);
            let mut all = self.cluster.list(&gvr.group, &gvr.resource, place);
            all.retain(|param| selector.matches_object(param));
            all
        } else {
            let found = self.cluster.get(&gvr.group, &gvr.resource, namespace, name);
            found.into_iter().collect()
        };
        if found.is_empty() && meta::text_at(by, "/parameterNotFoundAction") == "Deny" {
            return Err(
                "no params found for policy binding with `Deny` parameterNotFoundAction".into(),
            );
        }
        Ok(found.into_iter().map(Some).collect())
    }

    fn denials(&self, matched: &Match, param: &Value) -> Vec<Denial> {
        match self.evaluate(matched, param) {
            Ok(denials) => denials,
            Err(_) if self.ignores() => Vec::new(),
            Err(why) => vec![Denial::failure(why)],
        }
    }

    fn evaluate(&self, matched: &Match, param: &Value) -> Result<Vec<Denial>, String> {
        let convert = |object: Option<&Value>| match object {
            None => Ok(Value::Null),
            Some(object) if matched.gvk == *self.review.gvk => Ok(object.clone()),
            Some(object) => {
                let converted = self.host.convert(object, &matched.gvk);
                converted.map_err(|why| format!("failed to convert object version: {why}"))
            }
        };
        let (object, old) = (convert(self.review.object)?, convert(self.review.old)?);
        let namespace = self.namespace();
        let request = matching::variables(self.review, matched, &object, &old);
        let mut seen: Vec<(&str, &Value)> = request.iter().map(|(n, v)| (*n, &**v)).collect();
        seen.push(("params", param));
        let spec = self.policy.get("spec").unwrap_or(&Value::Null);
        match matching::conditions(spec, self.ignores(), &seen, self.host) {
            Conditions::Met => {}
            Conditions::Unmet => return Ok(Vec::new()),
            Conditions::Failed(why) => return Err(why),
        }
        let namespace = namespace.as_deref().unwrap_or(&Value::Null);
        seen.push(("namespaceObject", namespace));
        let composed = Composed::new(spec, &seen, self.host);
        seen.push(("variables", &composed.values));
        let checks = meta::entries(self.policy, "/spec/validations");
        Ok(checks
            .filter_map(|check| self.check(check, &seen, &composed))
            .collect())
    }

    fn namespace(&self) -> Option<Arc<Value>> {
        let own = self.review.gvk.group.is_empty() && self.review.gvk.kind == "Namespace";
        if self.review.namespace.is_empty() || own {
            return None;
        }
        self.cluster
            .get("", "namespaces", "", self.review.namespace)
    }

    fn check(&self, check: &Value, seen: &[(&str, &Value)], composed: &Composed) -> Option<Denial> {
        let expression = meta::text_at(check, "/expression");
        match self.host.evaluate(expression, seen) {
            Ok(Value::Bool(true)) => None,
            Ok(_) => {
                let given = meta::text_at(check, "/reason");
                let reason = if given.is_empty() { "Invalid" } else { given };
                Some(Denial {
                    message: self.message(check, seen),
                    reason: reason.into(),
                })
            }
            Err(_) if self.ignores() => None,
            Err(why) => {
                let why = composed.blame(expression).unwrap_or(why);
                let text = format!("expression '{expression}' resulted in error: {why}");
                Some(Denial::failure(text))
            }
        }
    }

    fn message(&self, check: &Value, seen: &[(&str, &Value)]) -> String {
        let expression = meta::text_at(check, "/messageExpression");
        if !expression.is_empty()
            && let Ok(Value::String(text)) = self.host.evaluate(expression, seen)
        {
            let text = text.trim();
            if !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n') {
                return text.into();
            }
        }
        match meta::text_at(check, "/message").trim() {
            "" => format!(
                "failed expression: {}",
                meta::text_at(check, "/expression").trim()
            ),
            message => message.into(),
        }
    }

    fn act(&self, binding: &Value, denial: Denial) -> Vec<Outcome> {
        let actions = meta::entries(binding, "/spec/validationActions").filter_map(Value::as_str);
        let outcome = |action| match action {
            "Deny" => Some(Outcome::Deny(self.refusal(Some(binding), &denial))),
            "Warn" => Some(Outcome::Warn(format!(
                "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                meta::name(self.policy),
                meta::name(binding),
                denial.message
            ))),
            _ => None,
        };
        actions.filter_map(outcome).collect()
    }

    fn refusal(&self, binding: Option<&Value>, denial: &Denial) -> ApiError {
        let policy = meta::name(self.policy);
        let bound = binding.map(|b| format!(" with binding '{}'", meta::name(b)));
        let message = format!(
            "ValidatingAdmissionPolicy '{policy}'{} denied request: {}",
            bound.unwrap_or_default(),
            denial.message
        );
        let mut error = self.review.forbidden(&message);
        error.code = match denial.reason.as_str() {
            "Forbidden" => 403,
            "Unauthorized" => 401,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        error.reason = Some(reason(&denial.reason));
        error.causes.push(Cause {
            message,
            ..Cause::default()
        });
        error
    }
}

/// The `variables` of a policy, each seeing those before it.
struct Composed {
    values: Value,
    failures: Vec<(String, String)>,
}

impl Composed {
    fn new(spec: &Value, seen: &[(&str, &Value)], host: &dyn Host) -> Self {
        let mut values = Value::Object(Map::new());
        let mut failures: Vec<(String, String)> = Vec::new();
        for variable in meta::entries(spec, "/variables") {
            let name = meta::text_at(variable, "/name");
            let mut all = seen.to_vec();
            all.push(("variables", &values));
            let answer = host.evaluate(meta::text_at(variable, "/expression"), &all);
            match answer {
                Ok(value) => {
                    if let Some(map) = values.as_object_mut() {
                        map.insert(name.into(), value);
                    }
                }
                Err(why) => {
                    let partial = Self {
                        values: Value::Null,
                        failures,
                    };
                    let text = meta::text_at(variable, "/expression");
                    let why = partial.blame(text).unwrap_or(why);
                    failures = partial.failures;
                    failures.push((name.into(), why));
                }
            }
        }
        Self { values, failures }
    }

    /// The failure of a variable that the expression uses: it is only told when one is used.
    fn blame(&self, expression: &str) -> Option<String> {
        let used = |name: &str| {
            let needle = format!("variables.{name}");
            expression.match_indices(&needle).any(|(at, _)| {
                let next = expression[at + needle.len()..].chars().next();
                next.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
            })
        };
        let (name, why) = self.failures.iter().find(|(name, _)| used(name))?;
        Some(format!(
            "composited variable {name:?} fails to evaluate: {why}"
        ))
    }
}

#[cfg(test)]
mod tests;
