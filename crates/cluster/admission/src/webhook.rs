//! Admission webhooks, as data.
//!
//! [`mutating`] and [`validating`] are run again and again with the answers so far: each run either
//! names the calls that are still missing or is done. They depend on their arguments alone, so a
//! run with the same answers takes the same way.
//!
//! ```text
//! Review + answers ── mutating ──▶ Step::Call([one]) … ──▶ Step::Done
//!                  ── validating ─▶ Step::Call([all at once]) ──▶ Step::Done
//! ```

pub mod answer;
pub mod call;

use crate::matching::{self, Conditions, Match};
use crate::{Cluster, Host, Review, Warnings, seen};
pub use answer::Answer;
use answer::{Verdict, interpret};
pub use call::{Call, FailurePolicy, Target};
use model::{ApiError, Value, meta};
use std::collections::{BTreeMap, BTreeSet};

/// Answers by [`Call::key`].
pub type Answers = BTreeMap<String, Answer>;

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make these calls, at once, and run again with their answers added.
    Call(Vec<Call>),
    /// All webhooks agree; these are their warnings.
    Done(Warnings),
}

const GROUP: &str = "admissionregistration.k8s.io";

struct Hook<'a> {
    configuration: &'a str,
    index: usize,
    webhook: &'a Value,
}

impl Hook<'_> {
    fn name(&self) -> &str {
        meta::text_at(self.webhook, "/name")
    }

    fn key(&self, phase: &str) -> String {
        format!(
            "{phase}/{}/{}/{}",
            self.configuration,
            self.index,
            self.name()
        )
    }
}

fn hooks(configurations: &[std::sync::Arc<Value>]) -> Vec<Hook<'_>> {
    let mut hooks = Vec::new();
    for configuration in configurations {
        let name = meta::name(configuration);
        let webhooks = meta::entries(configuration, "/webhooks").enumerate();
        hooks.extend(webhooks.map(|(index, webhook)| Hook {
            configuration: name,
            index,
            webhook,
        }));
    }
    hooks
}

/// Whether the webhook is to be called, and as what it sees the request.
fn concerns(
    review: &Review<'_>,
    hook: &Hook<'_>,
    cluster: &dyn Cluster,
    host: &dyn Host,
) -> Result<Option<Match>, ApiError> {
    let selected = matching::by_selectors(review, hook.webhook, cluster);
    if selected == Ok(false) {
        return Ok(None);
    }
    let Some(matched) = matching::by_rules(review, hook.webhook, "rules", "Equivalent", host)
    else {
        return Ok(None);
    };
    selected?;
    if meta::entries(hook.webhook, "/matchConditions")
        .next()
        .is_none()
    {
        return Ok(Some(matched));
    }
    let object = converted(review.object, &matched, review, host)?;
    let old = converted(review.old, &matched, review, host)?;
    let variables = matching::variables(review, &matched, &object, &old);
    let variables: Vec<(&str, &Value)> = variables.iter().map(|(n, v)| (*n, &**v)).collect();
    let ignore = FailurePolicy::of(hook.webhook) == FailurePolicy::Ignore;
    match matching::conditions(hook.webhook, ignore, &variables, host) {
        Conditions::Met => Ok(Some(matched)),
        Conditions::Unmet => Ok(None),
        Conditions::Failed(why) => Err(ApiError::forbidden(review.gvr, review.name, &why)),
    }
}

fn converted(
    object: Option<&Value>,
    matched: &Match,
    review: &Review<'_>,
    host: &dyn Host,
) -> Result<Value, ApiError> {
    match object {
        None => Ok(Value::Null),
        Some(object) if matched.gvk == *review.gvk => Ok(object.clone()),
        Some(object) => host
            .convert(object, &matched.gvk)
            .map_err(ApiError::internal),
    }
}

fn prepare(
    review: &Review<'_>,
    hook: &Hook<'_>,
    matched: &Match,
    phase: &str,
    host: &dyn Host,
) -> Result<Result<Call, String>, ApiError> {
    let effects = meta::text_at(hook.webhook, "/sideEffects");
    if review.dry_run && !matches!(effects, "None" | "NoneOnDryRun") {
        return Err(ApiError::bad_request(format!(
            "admission webhook {:?} does not support dry run",
            hook.name()
        )));
    }
    let object = converted(review.object, matched, review, host)?;
    let old = converted(review.old, matched, review, host)?;
    let key = hook.key(phase);
    let uid = host.uid(&key);
    let mut request = matching::request(review, matched);
    if let Some(body) = request.as_object_mut() {
        body.insert("uid".into(), Value::String(uid.clone()));
        body.insert("object".into(), object);
        body.insert("oldObject".into(), old);
    }
    Ok(Call::new(
        key,
        uid,
        hook.configuration,
        hook.webhook,
        request,
    ))
}

/// Runs the mutating webhooks in order on the object to be stored.
///
/// `object` is as the built-in plugins left it, on every run. After a webhook changed the object
/// once, the built-in plugins run again and those webhooks that ask for it, one more time.
pub fn mutating(
    review: &Review<'_>,
    object: &mut Value,
    cluster: &dyn Cluster,
    host: &dyn Host,
    answers: &Answers,
) -> Result<Step, ApiError> {
    if matching::is_exempt(review) {
        return Ok(Step::Done(Vec::new()));
    }
    let configurations = cluster.list(GROUP, "mutatingwebhookconfigurations", None);
    let mut round = Round {
        review,
        cluster,
        host,
        answers,
        warnings: Vec::new(),
        invoked: BTreeSet::new(),
        again: BTreeSet::new(),
        changed: false,
    };
    let hooks = hooks(&configurations);
    if let Some(call) = round.run(&hooks, object, "m0")? {
        return Ok(Step::Call(vec![call]));
    }
    if round.changed {
        let before = object.clone();
        host.mutate_again(object)?;
        if *object != before {
            let invoked = std::mem::take(&mut round.invoked);
            round.again.extend(invoked);
        }
        if let Some(call) = round.run(&hooks, object, "m1")? {
            return Ok(Step::Call(vec![call]));
        }
    }
    Ok(Step::Done(round.warnings))
}

struct Round<'a> {
    review: &'a Review<'a>,
    cluster: &'a dyn Cluster,
    host: &'a dyn Host,
    answers: &'a Answers,
    warnings: Warnings,
    /// Webhooks that ran, would like to run again, and have seen every change so far.
    invoked: BTreeSet<String>,
    /// Webhooks to run again.
    again: BTreeSet<String>,
    changed: bool,
}

impl Round<'_> {
    /// Goes through the webhooks; gives the first call whose answer is not there yet.
    fn run(
        &mut self,
        hooks: &[Hook<'_>],
        object: &mut Value,
        phase: &str,
    ) -> Result<Option<Call>, ApiError> {
        let second = phase != "m0";
        for hook in hooks {
            let id = hook.key("");
            if second && !self.again.contains(&id) {
                continue;
            }
            let review = seen(self.review, object);
            let Some(matched) = concerns(&review, hook, self.cluster, self.host)? else {
                continue;
            };
            let call = match prepare(&review, hook, &matched, phase, self.host)? {
                Ok(call) => call,
                Err(why) => {
                    answer::failed(hook.name(), FailurePolicy::of(hook.webhook), &why)?;
                    continue;
                }
            };
            let Some(given) = self.answers.get(&call.key) else {
                return Ok(Some(call));
            };
            let verdict = interpret(&call, given, true)?;
            if self.apply(&call, &matched, verdict, object)? {
                self.changed = true;
                let invoked = std::mem::take(&mut self.invoked);
                self.again.extend(invoked);
            }
            if meta::text_at(hook.webhook, "/reinvocationPolicy") == "IfNeeded" {
                self.invoked.insert(id);
            }
        }
        Ok(None)
    }

    fn apply(
        &mut self,
        call: &Call,
        matched: &Match,
        verdict: Verdict,
        object: &mut Value,
    ) -> Result<bool, ApiError> {
        self.warnings.extend(verdict.warnings);
        let Some(patch) = verdict.patch else {
            return Ok(false);
        };
        if object.is_null() {
            return Err(ApiError::internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                call.webhook
            )));
        }
        let version = converted(Some(object), matched, self.review, self.host)?;
        let patched = self
            .host
            .json_patch(&version, &patch)
            .map_err(ApiError::internal)?;
        let mut patched = if matched.gvk == *self.review.gvk {
            patched
        } else {
            let back = self.host.convert(&patched, self.review.gvk);
            back.map_err(ApiError::internal)?
        };
        self.host.settle(&mut patched)?;
        let changed = *object != patched;
        *object = patched;
        Ok(changed)
    }
}

/// Runs the validating webhooks, all at once; the first refusal in order is the answer.
pub fn validating(
    review: &Review<'_>,
    cluster: &dyn Cluster,
    host: &dyn Host,
    answers: &Answers,
) -> Result<Step, ApiError> {
    if matching::is_exempt(review) {
        return Ok(Step::Done(Vec::new()));
    }
    let configurations = cluster.list(GROUP, "validatingwebhookconfigurations", None);
    let mut calls = Vec::new();
    let mut refusal = None;
    for hook in hooks(&configurations) {
        let Some(matched) = concerns(review, &hook, cluster, host)? else {
            continue;
        };
        let prepared = prepare(review, &hook, &matched, "v", host).and_then(|call| match call {
            Ok(call) => Ok(Some(call)),
            Err(why) => {
                let policy = FailurePolicy::of(hook.webhook);
                answer::failed(hook.name(), policy, &why).map(|()| None)
            }
        });
        match prepared {
            Ok(call) => calls.extend(call),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    let missing: Vec<Call> = calls
        .iter()
        .filter(|call| !answers.contains_key(&call.key))
        .cloned()
        .collect();
    if !missing.is_empty() {
        return Ok(Step::Call(missing));
    }
    let mut warnings = Vec::new();
    for call in &calls {
        let Some(given) = answers.get(&call.key) else {
            continue;
        };
        match interpret(call, given, false) {
            Ok(verdict) => warnings.extend(verdict.warnings),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    refusal.map_or(Ok(Step::Done(warnings)), Err)
}

#[cfg(test)]
mod tests;
