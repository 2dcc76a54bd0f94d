//! Webhook configurations.

use crate::fault::{Faults, Spot};
use crate::fields::{fill, get, has, int, items_mut, list, some_mut, text, texts};
use crate::rules::{PLAIN, Recheck, Rules};
use crate::selector;
use model::{Map, Value, names};

/// What is special about a ValidatingWebhookConfiguration.
pub(crate) static VALIDATING: Rules = Rules {
    default: |object, _| items_mut(object, "webhooks").for_each(default_hook),
    check,
    check_update: |new, _, _, faults| check(new, faults),
    generation: &["webhooks"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

/// What is special about a MutatingWebhookConfiguration.
pub(crate) static MUTATING: Rules = Rules {
    default: |object, _| {
        for hook in items_mut(object, "webhooks") {
            default_hook(hook);
            fill(hook, "reinvocationPolicy", "Never");
        }
    },
    check,
    check_update: |new, _, _, faults| check(new, faults),
    generation: &["webhooks"],
    unconditional: false,
    recheck: Recheck::AsNew,
    ..PLAIN
};

fn default_hook(hook: &mut Value) {
    fill(hook, "failurePolicy", "Fail");
    fill(hook, "matchPolicy", "Equivalent");
    fill(hook, "namespaceSelector", Map::new());
    fill(hook, "objectSelector", Map::new());
    fill(hook, "timeoutSeconds", 10);
    let service = some_mut(hook, "clientConfig").and_then(|config| some_mut(config, "service"));
    if let Some(service) = service {
        fill(service, "port", 443);
    }
    for rule in items_mut(hook, "rules") {
        fill(rule, "scope", "*");
    }
}

fn check(object: &Value, faults: &mut Faults) {
    let spot = &Spot::of("webhooks");
    let hooks = list(object, "webhooks");
    for (index, hook) in hooks.iter().enumerate() {
        let spot = &spot.index(index);
        check_hook(hook, spot, faults);
        check_versions(hook, &spot.child("admissionReviewVersions"), faults);
        let name = text(hook, "name");
        let again = hooks[..index]
            .iter()
            .any(|other| text(other, "name") == name);
        if again && !name.is_empty() {
            faults.duplicate(&spot.child("name"), name);
        }
    }
}

fn check_hook(hook: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    check_name(text(hook, "name"), &spot.child("name"), faults);
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        let at = &spot.child("rules");
        check_rule(rule, &at.index(index), faults);
    }
    faults.maybe_one_of(
        &spot.child("failurePolicy"),
        get(hook, "failurePolicy"),
        &["Fail", "Ignore"],
    );
    faults.maybe_one_of(
        &spot.child("matchPolicy"),
        get(hook, "matchPolicy"),
        &["Equivalent", "Exact"],
    );
    let at = &spot.child("sideEffects");
    if has(hook, "sideEffects") {
        faults.maybe_one_of(at, get(hook, "sideEffects"), &["None", "NoneOnDryRun"]);
    } else {
        faults.required(at, "must specify one of None, NoneOnDryRun");
    }
    if let Some(seconds) = int(hook, "timeoutSeconds").filter(|s| !(1..=30).contains(s)) {
        let message = "the timeout value must be between 1 and 30 seconds";
        faults.invalid(&spot.child("timeoutSeconds"), seconds, message);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector::check(get(hook, field), &spot.child(field), faults);
    }
    faults.maybe_one_of(
        &spot.child("reinvocationPolicy"),
        get(hook, "reinvocationPolicy"),
        &["IfNeeded", "Never"],
    );
    check_client(
        get(hook, "clientConfig"),
        &spot.child("clientConfig"),
        faults,
    );
    check_conditions(hook, &spot.child("matchConditions"), faults);
}

fn check_name(name: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let found = names::dns1123_subdomain(name);
    if name.is_empty() {
        faults.required(spot, "");
    } else if !found.is_empty() {
        faults.invalid(spot, name, &found.join(","));
    } else if name.split('.').count() < 3 {
        let message = "should be a domain with at least three segments separated by dots";
        faults.invalid(spot, name, message);
    }
}

fn check_versions(hook: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let versions: Vec<&str> = texts(hook, "admissionReviewVersions").collect();
    if versions.is_empty() {
        return faults.required(spot, "must specify one of v1, v1beta1");
    }
    for (index, version) in versions.iter().enumerate() {
        if versions[..index].contains(version) {
            faults.invalid(&spot.index(index), *version, "duplicate version");
            continue;
        }
        faults.invalid_each(&spot.index(index), version, names::dns1035_label(version));
    }
    if !versions
        .iter()
        .any(|version| matches!(*version, "v1" | "v1beta1"))
    {
        let shown = get(hook, "admissionReviewVersions").clone();
        faults.invalid(spot, shown, "must include at least one of v1, v1beta1");
    }
}

/// Finds the faults of a rule that says which requests are meant.
pub(crate) fn check_rule(rule: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let at = &spot.child("operations");
    let operations: Vec<&str> = texts(rule, "operations").collect();
    if operations.is_empty() {
        faults.required(at, "");
    }
    if operations.len() > 1 && operations.contains(&"*") {
        let message = "if '*' is present, must not specify other operations";
        faults.invalid(at, get(rule, "operations").clone(), message);
    }
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (index, operation) in operations.iter().enumerate() {
        if !known.contains(operation) {
            faults.unsupported(&at.index(index), *operation, &known);
        }
    }
    for (field, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let at = &spot.child(field);
        let values: Vec<&str> = texts(rule, field).collect();
        if values.is_empty() {
            faults.required(at, "");
        }
        if values.len() > 1 && values.contains(&"*") {
            let message = format!("if '*' is present, must not specify other {what}");
            faults.invalid(at, get(rule, field).clone(), &message);
        }
        for (index, value) in values.iter().enumerate() {
            if field == "apiVersions" && value.is_empty() {
                faults.required(&at.index(index), "");
            }
        }
    }
    check_resources(rule, &spot.child("resources"), faults);
    faults.maybe_one_of(
        &spot.child("scope"),
        get(rule, "scope"),
        &["*", "Cluster", "Namespaced"],
    );
}

fn check_resources(rule: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let all: Vec<&str> = texts(rule, "resources").collect();
    if all.is_empty() {
        faults.required(spot, "");
    }
    let mut plain = false;
    for (index, resource) in all.iter().enumerate() {
        let at = &spot.index(index);
        if resource.is_empty() {
            faults.required(at, "");
            continue;
        }
        let Some((name, sub)) = resource.split_once('/') else {
            plain = *resource != "*";
            continue;
        };
        let before = &all[..index];
        if before.contains(&format!("{name}/*").as_str()) {
            let message = format!("if '{name}/*' is present, must not specify {resource}");
            faults.invalid(at, *resource, &message);
        }
        if before.contains(&format!("*/{sub}").as_str()) {
            let message = format!("if '*/{sub}' is present, must not specify {resource}");
            faults.invalid(at, *resource, &message);
        }
    }
    let shown = get(rule, "resources");
    if all.len() > 1 && all.contains(&"*/*") {
        let message = "if '*/*' is present, must not specify other resources";
        faults.invalid(spot, shown.clone(), message);
    }
    if all.contains(&"*") && plain {
        let message = "if '*' is present, must not specify other resources without subresources";
        faults.invalid(spot, shown.clone(), message);
    }
}

fn check_client(config: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    match (get(config, "url").as_str(), has(config, "service")) {
        (Some(url), false) => check_url(url, &spot.child("url"), faults),
        (None, true) => check_service(get(config, "service"), &spot.child("service"), faults),
        _ => faults.required(spot, "exactly one of url or service is required"),
    }
}

fn check_url(url: &str, spot: &Spot<'_>, faults: &mut Faults) {
    let form = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let authority = before.split('/').next().unwrap_or("");
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let scheme = if url.contains("://") { scheme } else { "" };
    if scheme != "https" {
        let quoted = model::field::go_quote(scheme);
        let message = format!("'https' is the only allowed URL scheme{form}");
        faults.invalid_shown(spot, &quoted, &message);
    }
    if host.is_empty() || scheme.is_empty() {
        let message = format!("host must be specified{form}");
        faults.invalid(spot, "", &message);
    }
    if !user.is_empty() {
        let message = "user information is not permitted in the URL";
        faults.invalid(spot, user, message);
    }
    if !fragment.is_empty() {
        faults.invalid(spot, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        let message = "query parameters are not permitted in the URL";
        faults.invalid(spot, query, message);
    }
}

fn check_service(service: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    for field in ["name", "namespace"] {
        if text(service, field).is_empty() {
            faults.required(&spot.child(field), "");
        }
    }
    if let Some(port) = int(service, "port")
        && !crate::syntax::port_number(port).is_empty()
    {
        let message = format!("port is not valid: {}", crate::syntax::range(1, 65_535));
        faults.invalid(&spot.child("port"), port, &message);
    }
    let Some(path) = get(service, "path").as_str() else {
        return;
    };
    let at = &spot.child("path");
    if path == "/" || path.is_empty() {
        return;
    }
    if path == "//" {
        return faults.invalid(at, path, "segment[0] may not be empty");
    }
    if !path.starts_with('/') {
        faults.invalid(at, path, "must start with a '/'");
    }
    let first = path.chars().next().map_or(0, char::len_utf8);
    let inner = &path[first..];
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (index, step) in inner.split('/').enumerate() {
        if step.is_empty() {
            let message = format!("segment[{index}] may not be empty");
            faults.invalid(at, path, &message);
            continue;
        }
        for fault in names::dns1123_subdomain(step) {
            faults.invalid(at, path, &format!("segment[{index}]: {fault}"));
        }
    }
}

/// Finds the faults of match conditions, their expressions aside.
pub(crate) fn check_conditions(owner: &Value, spot: &Spot<'_>, faults: &mut Faults) {
    let conditions = list(owner, "matchConditions");
    if conditions.len() > 64 {
        faults.too_many(spot, conditions.len(), 64);
    }
    for (index, condition) in conditions.iter().enumerate() {
        let spot = &spot.index(index);
        if text(condition, "expression").trim().is_empty() {
            faults.required(&spot.child("expression"), "");
        }
        let name = text(condition, "name");
        if name.is_empty() {
            faults.required(&spot.child("name"), "");
            continue;
        }
        faults.invalid_each(&spot.child("name"), name, names::qualified_name(name));
        if conditions[..index]
            .iter()
            .any(|other| text(other, "name") == name)
        {
            faults.duplicate(&spot.child("name"), name);
        }
    }
}
