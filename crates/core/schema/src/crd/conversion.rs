//! How a CRD converts between its versions.

use super::text;
use model::{FieldError, Path, Value, json, names};

/// What is wrong with `spec.conversion`.
pub(super) fn check(spec: &Value, at: &Path) -> Vec<FieldError> {
    let Some(conversion) = spec.get("conversion").filter(|c| c.is_object()) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    let strategy = text(conversion, &["strategy"]);
    let known = ["None", "Webhook"];
    let strategy_at = at.child("strategy");
    if strategy.is_empty() {
        faults.push(FieldError::required(&strategy_at, ""));
    } else if !known.contains(&strategy) {
        let fault = FieldError::not_supported(&strategy_at, &json!(strategy), &known);
        faults.push(fault);
    }
    let config = conversion.pointer("/webhook/clientConfig");
    let config = config.filter(|c| c.is_object());
    let reviews = conversion.pointer("/webhook/conversionReviewVersions");
    let reviews = reviews
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    let config_at = at.child("webhookClientConfig");
    let reviews_at = at.child("conversionReviewVersions");
    if strategy == "Webhook" {
        match config {
            None => {
                let detail = "required when strategy is set to Webhook";
                faults.push(FieldError::required(&config_at, detail));
            }
            Some(config) => faults.extend(client_faults(config, &config_at)),
        }
        faults.extend(review_faults(reviews, &reviews_at));
        return faults;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if config.is_some() {
        faults.push(FieldError::forbidden(&config_at, detail));
    }
    if !reviews.is_empty() {
        faults.push(FieldError::forbidden(&reviews_at, detail));
    }
    faults
}

fn review_faults(versions: &[Value], at: &Path) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(at, "")];
    }
    let mut faults = Vec::new();
    for (i, version) in versions.iter().enumerate() {
        let at = at.index(i);
        if versions[..i].contains(version) {
            faults.push(FieldError::invalid(&at, version, "duplicate version"));
            continue;
        }
        let whys = names::dns1035_label(version.as_str().unwrap_or_default());
        faults.extend(
            whys.iter()
                .map(|why| FieldError::invalid(&at, version, why)),
        );
    }
    let accepted = [json!("v1"), json!("v1beta1")];
    if !versions.iter().any(|v| accepted.contains(v)) {
        let detail = "must include at least one of v1, v1beta1";
        faults.push(FieldError::invalid(at, &json!(versions), detail));
    }
    faults
}

fn client_faults(config: &Value, at: &Path) -> Vec<FieldError> {
    let url = config.get("url").and_then(Value::as_str);
    let service = config.get("service").filter(|s| s.is_object());
    match (url, service) {
        (Some(url), None) => url_faults(url, &at.child("url")),
        (None, Some(service)) => service_faults(service, &at.child("service")),
        _ => {
            let detail = "exactly one of url or service is required";
            vec![FieldError::required(at, detail)]
        }
    }
}

fn url_faults(url: &str, at: &Path) -> Vec<FieldError> {
    let form = "; desired format: https://host[/path]";
    let mut faults = Vec::new();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let mut invalid = |shown: &str, detail: String| {
        faults.push(FieldError::invalid(at, &json!(shown), &detail));
    };
    if scheme != "https" {
        invalid(
            scheme,
            format!("'https' is the only allowed URL scheme{form}"),
        );
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = if scheme.is_empty() { "" } else { &rest[..end] };
    let (user, host) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, host)| (Some(user), host));
    if host.is_empty() {
        invalid(host, format!("host must be specified{form}"));
    }
    if let Some(user) = user {
        let detail = "user information is not permitted in the URL";
        invalid(user, detail.to_owned());
    }
    let (before, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    if !fragment.is_empty() {
        let detail = "fragments are not permitted in the URL";
        invalid(fragment, detail.to_owned());
    }
    let query = before.split_once('?').map_or("", |(_, query)| query);
    if !query.is_empty() {
        let detail = "query parameters are not permitted in the URL";
        invalid(query, detail.to_owned());
    }
    faults
}

fn service_faults(service: &Value, at: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    // The server reports these two under each other's name.
    for (key, named) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, &[key]).is_empty() {
            faults.push(FieldError::required(&at.child(named), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        faults.push(FieldError::invalid(&at.child("port"), &json!(port), detail));
    }
    let path = text(service, &["path"]);
    let path_at = at.child("path");
    let mut invalid = |detail: String| {
        faults.push(FieldError::invalid(&path_at, &json!(path), &detail));
    };
    if path.is_empty() || path == "/" {
        return faults;
    }
    if path == "//" {
        invalid("segment[0] may not be empty".into());
        return faults;
    }
    if !path.starts_with('/') {
        invalid("must start with a '/'".into());
    }
    let steps = path.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (i, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            invalid(format!("segment[{i}] may not be empty"));
            continue;
        }
        for why in names::dns1123_subdomain(step) {
            invalid(format!("segment[{i}]: {why}"));
        }
    }
    faults
}
