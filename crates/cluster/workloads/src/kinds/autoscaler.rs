//! HorizontalPodAutoscalers, driven by a script instead of a metrics server.
//!
//! `sandbox.tiphys.dev/cpu: "40%, 180% after 30s, 20% after 10m"` on the autoscaler or its target is the
//! load over time, since the autoscaler was made, in percent of what one Pod requests. It is
//! spread over the Pods: 180 % on two Pods is a utilization of 90 %. `memory` works alike. Without
//! a script there are no metrics, as in a cluster without a metrics server.

mod script;

use crate::act::{CONTROLLERS, Reaction, patch};
use crate::event::{Grade, Note, about};
use crate::object::{self, AUTOSCALER, condition_in, conditions, count, number};
use crate::view::{AUTOSCALERS, View};
use model::{GroupVersion, Timestamp, Value, json, meta};
use script::Script;

const COMPONENT: &str = "horizontal-pod-autoscaler";
const SYNC_SECONDS: i64 = 15;
const STABLE_SECONDS: i64 = 300;
const NO_METRICS: &str = "unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";

/// Looks at one autoscaler.
pub(super) fn step(view: &View<'_>, namespace: &str, name: &str) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(scaler) = view.get(AUTOSCALERS, namespace, name) else {
        return reaction;
    };
    let created = meta::creation_timestamp(&scaler).unwrap_or(view.now);
    let first = created.plus_seconds(SYNC_SECONDS);
    if view.now < first {
        reaction.look_at(first);
        return reaction;
    }
    reaction.look_at(view.now.plus_seconds(SYNC_SECONDS));
    let mut look = Look {
        view,
        scaler: &scaler,
        list: conditions(&scaler),
        status: json!({}),
        reaction,
    };
    look.go_on();
    look.report();
    look.reaction
}

struct Look<'a> {
    view: &'a View<'a>,
    scaler: &'a Value,
    list: Vec<Value>,
    status: Value,
    reaction: Reaction,
}

/// What is scaled.
struct Target {
    object: Value,
    path: String,
    replicas: i64,
}

impl Look<'_> {
    fn text(&self, pointer: &str) -> &str {
        meta::text_at(self.scaler, pointer)
    }

    fn target(&self) -> Result<Target, String> {
        let kind = self.text("/spec/scaleTargetRef/kind");
        let name = self.text("/spec/scaleTargetRef/name");
        let version = self.text("/spec/scaleTargetRef/apiVersion");
        let group = GroupVersion::parse(version).map_or_else(String::new, |gv| gv.group);
        let registry = &self.view.state.registry;
        let Some(resource) = registry.find_group_kind(&group, kind) else {
            return Err(format!("no matches for kind {kind:?} in group {group:?}"));
        };
        let namespace = meta::namespace(self.scaler);
        let gvr = &resource.gvr;
        let shown = if gvr.group.is_empty() {
            gvr.resource.clone()
        } else {
            format!("{}.{}", gvr.resource, gvr.group)
        };
        let object = self.view.get(&resource.storage, namespace, name);
        let object = object.ok_or_else(|| format!("{shown} {name:?} not found"))?;
        let root = if gvr.group.is_empty() {
            format!("/api/{}", gvr.version)
        } else {
            format!("/apis/{}/{}", gvr.group, gvr.version)
        };
        Ok(Target {
            replicas: number(&object, "/spec/replicas").unwrap_or(1),
            path: format!(
                "{root}/namespaces/{namespace}/{}/{name}/scale",
                gvr.resource
            ),
            object,
        })
    }

    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let mut since = self.view.now.rfc3339();
        let old = condition_in(&self.list, kind);
        if let Some(old) = old.filter(|c| c["status"] == status) {
            meta::text_at(old, "/lastTransitionTime").clone_into(&mut since);
        }
        let new = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since,
        });
        match self.list.iter_mut().find(|c| c["type"] == kind) {
            Some(old) => *old = new,
            None => self.list.push(new),
        }
    }

    fn tell(&mut self, grade: Grade, reason: &str, message: &str) {
        let note = Note {
            component: COMPONENT,
            grade,
            reason,
            message,
        };
        let act = about(self.view, &AUTOSCALER, self.scaler, note);
        self.reaction.push(act);
    }

    fn go_on(&mut self) {
        let old = |field: &str| self.scaler.pointer(&format!("/status/{field}")).cloned();
        self.status = json!({
            "desiredReplicas": count(self.scaler, "/status/desiredReplicas"),
            "currentMetrics": old("currentMetrics").unwrap_or(Value::Null),
        });
        if let Some(at) = old("lastScaleTime") {
            self.status["lastScaleTime"] = at;
        }
        let target = match self.target() {
            Ok(target) => target,
            Err(why) => {
                self.tell(Grade::Warning, "FailedGetScale", &why);
                let message = format!(
                    "the HPA controller was unable to get the target's current scale: {why}"
                );
                self.set("AbleToScale", "False", "FailedGetScale", &message);
                return;
            }
        };
        let message = "the HPA controller was able to get the target's current scale";
        self.set("AbleToScale", "True", "SucceededGetScale", message);
        let current = count(&target.object, "/status/replicas");
        if current > 0 {
            self.status["currentReplicas"] = current.into();
        }
        if target.replicas == 0 {
            self.status["desiredReplicas"] = 0.into();
            let message = "scaling is disabled since the replica count of the target is zero";
            self.set("ScalingActive", "False", "ScalingDisabled", message);
            return;
        }
        self.scale(&target);
    }

    fn scale(&mut self, target: &Target) {
        let metrics: Vec<Value> = meta::entries(self.scaler, "/spec/metrics")
            .cloned()
            .collect();
        let mut best: Option<(i64, String)> = None;
        let mut shown = Vec::new();
        let mut stabilized = 0;
        for metric in &metrics {
            let name = meta::text_at(metric, "/resource/name").to_owned();
            let Some(script) = self.script(&name, &target.object) else {
                self.no_metrics(&name, metrics.len());
                return;
            };
            let goal = number(metric, "/resource/target/averageUtilization")
                .unwrap_or(80)
                .max(1);
            let pods = target.replicas.max(1);
            let load = script.load(self.view.now);
            let used = load / pods;
            let wanted = recommend(load, goal, pods);
            stabilized = stabilized.max(script.highest(
                self.view.now.plus_seconds(-STABLE_SECONDS),
                self.view.now,
                goal,
            ));
            shown.push(json!({
                "type": "Resource",
                "resource": {"name": name, "current": {
                    "averageUtilization": used, "averageValue": format!("{used}m"),
                }},
            }));
            let words = format!("{name} resource utilization (percentage of request)");
            if best.as_ref().is_none_or(|(most, _)| wanted > *most) {
                best = Some((wanted, words));
            }
        }
        let Some((wanted, words)) = best else {
            return;
        };
        self.status["currentMetrics"] = shown.into();
        let message =
            format!("the HPA was able to successfully calculate a replica count from {words}");
        self.set("ScalingActive", "True", "ValidMetricFound", &message);
        self.apply(target, wanted, stabilized, &words);
    }

    fn apply(&mut self, target: &Target, wanted: i64, stabilized: i64, words: &str) {
        let current = target.replicas;
        let least = number(self.scaler, "/spec/minReplicas").unwrap_or(1);
        let most = number(self.scaler, "/spec/maxReplicas").unwrap_or(1);
        let mut size = wanted;
        if size < current && stabilized.min(current) > size {
            size = stabilized.min(current);
            let message = "recent recommendations were higher than current one, applying the highest recent recommendation";
            self.set("AbleToScale", "True", "ScaleDownStabilized", message);
        } else {
            let message = "recommended size matches current size";
            self.set("AbleToScale", "True", "ReadyForNewScale", message);
        }
        let step = (2 * current).max(current + 4);
        let (limited, why, message) = if size > most && most <= step {
            (
                most,
                "TooManyReplicas",
                "the desired replica count is more than the maximum replica count",
            )
        } else if size > step {
            (
                step,
                "ScaleUpLimit",
                "the desired replica count is increasing faster than the maximum scale rate",
            )
        } else if size < least {
            (
                least,
                "TooFewReplicas",
                "the desired replica count is less than the minimum replica count",
            )
        } else {
            (
                size,
                "DesiredWithinRange",
                "the desired count is within the acceptable range",
            )
        };
        let status = if limited == size { "False" } else { "True" };
        self.set("ScalingLimited", status, why, message);
        self.status["desiredReplicas"] = limited.into();
        if limited == current {
            return;
        }
        let reason = if limited > current {
            format!("{words} above target")
        } else {
            "All metrics below target".to_owned()
        };
        let body = json!({"spec": {"replicas": limited}});
        self.reaction
            .push(patch(CONTROLLERS, target.path.clone(), &body));
        let message = format!("New size: {limited}; reason: {reason}");
        self.tell(Grade::Normal, "SuccessfulRescale", &message);
        let message =
            format!("the HPA controller was able to update the target scale to {limited}");
        self.set("AbleToScale", "True", "SucceededRescale", &message);
        self.status["lastScaleTime"] = self.view.now.rfc3339().into();
    }

    fn script(&self, resource: &str, target: &Value) -> Option<Script> {
        let key = format!("sandbox.tiphys.dev/{resource}");
        let text =
            meta::annotation(self.scaler, &key).or_else(|| meta::annotation(target, &key))?;
        let begin: Timestamp = meta::creation_timestamp(self.scaler)?;
        Script::parse(text, begin)
    }

    fn no_metrics(&mut self, name: &str, many: usize) {
        let why = format!(
            "failed to get {name} utilization: unable to get metrics for resource {name}: {NO_METRICS}"
        );
        self.tell(Grade::Warning, "FailedGetResourceMetric", &why);
        let message = format!(
            "invalid metrics ({many} invalid out of {many}), first error is: failed to get {name} resource metric value: {why}"
        );
        self.tell(Grade::Warning, "FailedComputeMetricsReplicas", &message);
        let message = format!("the HPA was unable to compute the replica count: {why}");
        self.set(
            "ScalingActive",
            "False",
            "FailedGetResourceMetric",
            &message,
        );
        let blank: Vec<Value> = (0..many).map(|_| json!({"type": ""})).collect();
        self.status["currentMetrics"] = blank.into();
    }

    fn report(&mut self) {
        self.status["conditions"] = self.list.clone().into();
        if let Some(seen) = number(self.scaler, "/metadata/generation") {
            self.status["observedGeneration"] = seen.into();
        }
        if self.scaler.get("status") == Some(&self.status) {
            return;
        }
        let wanted = std::mem::take(&mut self.status);
        let body = json!({"status": object::replacing(self.scaler.get("status"), wanted)});
        let path = AUTOSCALER.status(meta::namespace(self.scaler), meta::name(self.scaler));
        self.reaction.push(patch(CONTROLLERS, path, &body));
    }
}

// How many Pods a load asks for; small differences change nothing.
fn recommend(load: i64, goal: i64, pods: i64) -> i64 {
    let ratio = load as f64 / pods as f64 / goal as f64;
    if (0.9..=1.1).contains(&ratio) {
        pods
    } else {
        (load + goal - 1).div_euclid(goal)
    }
}
