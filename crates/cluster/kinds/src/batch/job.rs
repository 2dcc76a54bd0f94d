//! Jobs: their labels and selector come from their uid, and their template stays as it is.

use super::{job_status, policies};
use crate::fault::{Faults, Spot};
use crate::fields::{
    at, carry, entries, fill, fill_empty, flag, get, has, int, is_empty, items_mut, list, map_slot,
    number, same, set, slot, text, unset,
};
use crate::pod::{defaults, spec, warnings};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::{Endpoint, Fresh, go, selector, syntax, workload};
use model::{LabelSelector, Map, Value, meta, names};

const NAMES: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const UIDS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];

/// What is special about a Job.
pub(crate) static JOB: Rules = Rules {
    default: |object, _| default(object),
    create,
    check,
    check_update,
    warn: |new, old, out| {
        if old.is_none() {
            warnings::host_name(new, "Pod names and hostnames", out);
        }
        if old.is_none_or(|old| meta::generation(old) != meta::generation(new)) {
            warn_spec(get(new, "spec"), &Spot::of("spec"), out);
        }
    },
    select: |object| {
        let count = number(get(object, "status"), "succeeded");
        vec![("status.successful", count.to_string())]
    },
    status: Some("{}"),
    generation: &["spec"],
    recheck: Recheck::Around,
    ..PLAIN
};

fn default(object: &mut Value) {
    let own = map_slot(object, "spec");
    default_spec(own);
    if !has(own, "completions") && !has(own, "parallelism") {
        set(own, "completions", 1);
    }
    fill(own, "parallelism", 1);
    let retries = if has(own, "backoffLimitPerIndex") {
        i32::MAX
    } else {
        6
    };
    fill(own, "backoffLimit", retries);
    fill(own, "completionMode", "NonIndexed");
    fill(own, "suspend", false);
    let replacement = if has(own, "podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    fill(own, "podReplacementPolicy", replacement);
    fill(own, "manualSelector", false);
    let labels = at(own, &["template", "metadata", "labels"]).clone();
    let metadata = map_slot(object, "metadata");
    if !is_empty(&labels) && is_empty(get(metadata, "labels")) {
        set(metadata, "labels", labels);
    }
}

/// Fills what the spec of a job has in jobs and in templates of jobs alike.
pub(super) fn default_spec(own: &mut Value) {
    defaults::template(map_slot(own, "template"));
    if let Some(policy) = crate::fields::some_mut(own, "podFailurePolicy") {
        for rule in items_mut(policy, "rules") {
            for pattern in items_mut(rule, "onPodConditions") {
                fill_empty(pattern, "status", "True");
            }
        }
    }
}

fn create(object: &mut Value, fresh: &Fresh<'_>) {
    let name = meta::name(object).to_owned();
    let own = map_slot(object, "spec");
    if flag(own, "manualSelector") {
        return;
    }
    let labels = map_slot(map_slot(slot(own, "template"), "metadata"), "labels");
    for key in NAMES {
        fill(labels, key, name.as_str());
    }
    for key in UIDS {
        fill(labels, key, fresh.uid);
    }
    let labels = labels.clone();
    let chosen = map_slot(slot(own, "selector"), "matchLabels");
    fill(chosen, UIDS[1], fresh.uid);
    let metadata = map_slot(object, "metadata");
    if is_empty(get(metadata, "labels")) {
        set(metadata, "labels", labels);
    }
}

/// Warns about the spec of a job.
pub(super) fn warn_spec(own: &Value, spot: &Spot<'_>, out: &mut Vec<String>) {
    let indexed = text(own, "completionMode") == "Indexed";
    if indexed && number(own, "completions") > 100_000 && number(own, "parallelism") > 10_000 {
        out.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism \
             higher than 10^4, Kubernetes might not be able to track completedIndexes when a big \
             number of indexes fail",
            spot.path()
        ));
    }
    let at = &spot.child("template");
    warnings::template(get(own, "template"), None, at, out);
}

fn check(object: &Value, faults: &mut Faults) {
    check_generated(object, faults);
    let own = get(object, "spec");
    let spot = &Spot::of("spec");
    check_whole(own, spot, faults);
    let completions = number(own, "completions");
    if text(own, "completionMode") == "Indexed" && completions > 0 {
        let name = meta::name(object);
        let last = format!("{name}-{}", completions - 1);
        if !names::dns1123_label(&last).is_empty() {
            let message = format!("will not able to create pod with invalid DNS label: {last}");
            faults.invalid(&Spot::of("metadata.name"), name, &message);
        }
    }
}

fn check_generated(object: &Value, faults: &mut Faults) {
    let own = get(object, "spec");
    if flag(own, "manualSelector") || !has(own, "selector") {
        return;
    }
    let labels = at(own, &["template", "metadata", "labels"]);
    let (uid, name) = (meta::uid(object), meta::name(object));
    for (key, wanted) in [
        (UIDS[0], uid),
        (NAMES[0], name),
        (UIDS[1], uid),
        (NAMES[1], name),
    ] {
        let spot = &Spot::of("spec.template.metadata.labels");
        let message = format!("must be '{wanted}'");
        match get(labels, key).as_str() {
            None => faults.required(&spot.key(key), &message),
            Some(given) if given != wanted => {
                faults.invalid(&spot.key(key), labels.clone(), &message);
            }
            Some(_) => {}
        }
    }
    let expected: Map<String, Value> = [
        (UIDS[0], uid),
        (UIDS[1], uid),
        (NAMES[0], name),
        (NAMES[1], name),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), Value::from(value)))
    .collect();
    let chosen = get(own, "selector");
    if let Ok(reader) = LabelSelector::from_spec(Some(chosen))
        && !reader.matches(Some(&expected))
    {
        let shown = selector::show(chosen);
        let message = "`selector` not auto-generated";
        faults.invalid_shown(&Spot::of("spec.selector"), &shown, message);
    }
}

fn check_whole(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    check_spec(own, spot, faults);
    if has(own, "selector") {
        selector::check(get(own, "selector"), &spot.child("selector"), faults);
    } else {
        faults.required(&spot.child("selector"), "");
    }
    workload::check_match(own, spot, faults);
}

/// Finds the faults of a job's spec, in jobs and in templates of jobs.
pub(super) fn check_spec(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        faults.non_negative(&spot.child(field), number(own, field));
    }
    if has(own, "maxFailedIndexes") && !has(own, "backoffLimitPerIndex") {
        let at = &spot.child("backoffLimitPerIndex");
        faults.required(at, "when maxFailedIndexes is specified");
    }
    if let Some(manager) = get(own, "managedBy").as_str() {
        let at = &spot.child("managedBy");
        syntax::check_domain_path(manager, at, faults);
        if manager.len() > 63 {
            faults.too_long(at, 63);
        }
    }
    check_completion(own, spot, faults);
    if has(own, "podFailurePolicy") {
        policies::check_failures(own, &spot.child("podFailurePolicy"), faults);
    }
    if has(own, "successPolicy") {
        policies::check_success(own, &spot.child("successPolicy"), faults);
    }
    check_replacement(own, &spot.child("podReplacementPolicy"), faults);
    spec::check_template(get(own, "template"), &spot.child("template"), faults);
    let at = &spot.child("template.spec.restartPolicy");
    match text(get(get(own, "template"), "spec"), "restartPolicy") {
        "Always" | "" => faults.required(at, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(own, "podFailurePolicy") => {
            let message = "only \"Never\" is supported when podFailurePolicy is specified";
            faults.invalid(at, "OnFailure", message);
        }
        "Never" | "OnFailure" => {}
        other => faults.unsupported(at, other, &["OnFailure", "Never"]),
    }
}

fn check_completion(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let (parallel, failed) = (&spot.child("parallelism"), &spot.child("maxFailedIndexes"));
    let mode = get(own, "completionMode").as_str();
    faults.maybe_one_of(
        &spot.child("completionMode"),
        get(own, "completionMode"),
        &["NonIndexed", "Indexed"],
    );
    let (parallelism, completions) = (number(own, "parallelism"), int(own, "completions"));
    let most = int(own, "maxFailedIndexes");
    if mode == Some("Indexed") {
        if completions.is_none() {
            let at = &spot.child("completions");
            faults.required(at, "when completion mode is Indexed");
        }
        if parallelism > 100_000 {
            let message = "must be less than or equal to 100000 when completion mode is Indexed";
            faults.invalid(parallel, parallelism, message);
        }
        if let (Some(most), Some(completions)) = (most, completions)
            && most > completions
        {
            faults.invalid(failed, most, "must be less than or equal to completions");
        }
        if let Some(most) = most.filter(|most| *most > 100_000) {
            faults.invalid(failed, most, "must be less than or equal to 100000");
        }
        let many = completions.is_some_and(|count| count > 100_000);
        if many && has(own, "backoffLimitPerIndex") {
            check_many(parallelism, most, parallel, failed, faults);
        }
    }
    if matches!(mode, None | Some("NonIndexed")) {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(value) = int(own, field) {
                let message = "requires indexed completion mode";
                faults.invalid(&spot.child(field), value, message);
            }
        }
    }
}

fn check_many(
    parallelism: i64,
    most: Option<i64>,
    parallel: &Spot<'_>,
    failed: &Spot<'_>,
    faults: &mut Faults,
) {
    let message = "must be less than or equal to 10000 when completions are above 100000 and used \
         with backoff limit per index";
    if most.is_none() {
        faults.required(failed, "must be specified when completions is above 100000");
    }
    if parallelism > 10_000 {
        faults.invalid(parallel, parallelism, message);
    }
    if let Some(most) = most.filter(|most| *most > 10_000) {
        faults.invalid(failed, most, message);
    }
}

fn check_replacement(own: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let policy = get(own, "podReplacementPolicy");
    if has(own, "podFailurePolicy") {
        faults.maybe_one_of(spot, policy, &["Failed"]);
    } else {
        faults.maybe_one_of(spot, policy, &["Failed", "TerminatingOrFailed"]);
    }
}

fn check_update(new: &Value, old: &Value, endpoint: Endpoint, faults: &mut Faults) {
    if endpoint == Endpoint::Status {
        return job_status::check(new, old, faults);
    }
    let spot = &Spot::of("spec");
    let (own, before) = (get(new, "spec"), get(old, "spec"));
    check(new, faults);
    check_whole(own, spot, faults);
    let (done, done_before) = (get(own, "completions"), get(before, "completions"));
    if text(own, "completionMode") != "Indexed" {
        faults.immutable(&spot.child("completions"), done, done_before);
    } else if done != done_before && !done.is_null() && done != get(own, "parallelism") {
        let message = "can only be modified in tandem with spec.parallelism";
        faults.invalid(&spot.child("completions"), done.clone(), message);
    }
    let (chosen, chosen_before) = (get(own, "selector"), get(before, "selector"));
    if !same(chosen, chosen_before) {
        let shown = selector::show(chosen);
        faults.invalid_shown(&spot.child("selector"), &shown, "field is immutable");
    }
    check_template_update(own, old, spot, faults);
    for field in [
        "completionMode",
        "podFailurePolicy",
        "backoffLimitPerIndex",
        "managedBy",
        "successPolicy",
    ] {
        let (now, then) = (get(own, field), get(before, field));
        let kind = match field {
            "podFailurePolicy" => "PodFailurePolicy",
            "successPolicy" => "SuccessPolicy",
            _ => "",
        };
        if kind.is_empty() || now.is_null() {
            faults.immutable(&spot.child(field), now, then);
        } else if !same(now, then) {
            let shown = go::show(kind, now);
            faults.invalid_shown(&spot.child(field), &shown, "field is immutable");
        }
    }
}

// The template of a suspended job can still be told where to run and how much to use.
fn check_template_update(own: &Value, old: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let before = get(old, "spec");
    let template = get(own, "template");
    let mut kept = get(before, "template").clone();
    let suspended = flag(before, "suspend")
        && list(get(old, "status"), "conditions")
            .iter()
            .any(|c| text(c, "type") == "Suspended" && text(c, "status") == "True");
    let fresh = flag(before, "suspend") && !has(get(old, "status"), "startTime");
    if suspended || fresh {
        allow_scheduling(&mut kept, template);
    }
    if same(template, &kept) {
        return;
    }
    if !(suspended || fresh) {
        let shown = go::show("PodTemplateSpec", template);
        return faults.invalid_shown(&spot.child("template"), &shown, "field is immutable");
    }
    let pod = slot(&mut kept, "spec");
    for field in ["containers", "initContainers"] {
        let asked = list(get(template, "spec"), field);
        for (index, container) in items_mut(pod, field).enumerate() {
            if let Some(asked) = asked
                .get(index)
                .filter(|asked| text(asked, "name") == text(container, "name"))
            {
                carry(container, asked, "resources");
            }
        }
    }
    if !same(get(template, "spec"), pod) {
        let shown = go::show("PodSpec", get(template, "spec"));
        faults.invalid_shown(&spot.child("template.spec"), &shown, "field is immutable");
    }
}

fn allow_scheduling(kept: &mut Value, template: &Value) {
    let wanted = get(template, "spec");
    let pod = map_slot(kept, "spec");
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        carry(pod, wanted, field);
    }
    let node = get(get(wanted, "affinity"), "nodeAffinity").clone();
    let affinity = map_slot(pod, "affinity");
    if node.is_null() {
        unset(affinity, "nodeAffinity");
    } else {
        set(affinity, "nodeAffinity", node);
    }
    if entries(pod, "affinity").next().is_none() {
        unset(pod, "affinity");
    }
    let metadata = map_slot(kept, "metadata");
    for field in ["annotations", "labels"] {
        carry(metadata, get(template, "metadata"), field);
    }
}
