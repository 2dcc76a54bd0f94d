//! The variables a container sees, and why it cannot have them.

use crate::spec::Container;
use crate::world::World;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use model::{Quantity, Value, meta};
use std::collections::BTreeMap;

/// Variables by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// Whose variables, and what its Pod knows of itself.
pub(crate) struct Scene<'a> {
    pub(crate) world: &'a dyn World,
    pub(crate) pod: &'a Value,
    pub(crate) ip: &'a str,
    pub(crate) host_ip: &'a str,
}

/// The declared variables of a container; the error is why it cannot be created.
pub(crate) fn declared(
    scene: &Scene<'_>,
    container: &Container<'_>,
    services: &Variables,
) -> Result<Variables, String> {
    let mut known = Variables::new();
    for source in meta::entries(container.value, "/envFrom") {
        let prefix = meta::text_at(source, "/prefix");
        for (field, resource) in [("configMapRef", "configmaps"), ("secretRef", "secrets")] {
            let Some(reference) = source.get(field) else {
                continue;
            };
            if let Some(entries) = content(scene, resource, reference, "/name")? {
                known.extend(
                    entries
                        .into_iter()
                        .map(|(k, v)| (format!("{prefix}{k}"), v)),
                );
            }
        }
    }
    for variable in meta::entries(container.value, "/env") {
        let name = meta::text_at(variable, "/name");
        let text = meta::text_at(variable, "/value");
        let value = match variable.get("valueFrom") {
            _ if !text.is_empty() => Some(expand(text, &known, services)),
            Some(source) => sourced(scene, container, source)?,
            None => Some(String::new()),
        };
        if let Some(value) = value {
            known.insert(name.to_owned(), value);
        }
    }
    Ok(known)
}

fn sourced(
    scene: &Scene<'_>,
    container: &Container<'_>,
    source: &Value,
) -> Result<Option<String>, String> {
    for (field, resource, word) in [
        ("configMapKeyRef", "configmaps", "ConfigMap"),
        ("secretKeyRef", "secrets", "Secret"),
    ] {
        let Some(reference) = source.get(field) else {
            continue;
        };
        let Some(mut entries) = content(scene, resource, reference, "/name")? else {
            return Ok(None);
        };
        let key = meta::text_at(reference, "/key");
        let value = entries.remove(key);
        if value.is_none() && !optional(reference) {
            return Err(format!(
                "couldn't find key {key} in {word} {}/{}",
                meta::namespace(scene.pod),
                meta::text_at(reference, "/name")
            ));
        }
        return Ok(value);
    }
    if let Some(path) = source
        .pointer("/fieldRef/fieldPath")
        .and_then(Value::as_str)
    {
        return field(scene, path).map(Some);
    }
    if let Some(reference) = source.get("resourceFieldRef") {
        return Ok(Some(resource(scene, container, reference)));
    }
    Ok(Some(String::new()))
}

pub(crate) fn optional(reference: &Value) -> bool {
    reference.get("optional").and_then(Value::as_bool) == Some(true)
}

/// What a Secret or ConfigMap holds; nothing when it is missing and may be.
pub(crate) fn content(
    scene: &Scene<'_>,
    resource: &str,
    reference: &Value,
    name: &str,
) -> Result<Option<Variables>, String> {
    let name = meta::text_at(reference, name);
    let namespace = meta::namespace(scene.pod);
    let Some(object) = scene.world.object("", resource, namespace, name) else {
        if optional(reference) {
            return Ok(None);
        }
        let word = resource.trim_end_matches('s');
        return Err(format!("{word} {name:?} not found"));
    };
    let mut entries = Variables::new();
    for field in ["data", "binaryData"] {
        let encoded = resource == "secrets" || field == "binaryData";
        let Some(data) = object.get(field).and_then(Value::as_object) else {
            continue;
        };
        for (key, value) in data {
            let text = value.as_str().unwrap_or("");
            let value = if encoded {
                let bytes = STANDARD.decode(text).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            } else {
                text.to_owned()
            };
            entries.insert(key.clone(), value);
        }
    }
    Ok(Some(entries))
}

/// What the downward API gives for a path of the Pod.
pub(crate) fn field(scene: &Scene<'_>, path: &str) -> Result<String, String> {
    let pod = scene.pod;
    let value = match path {
        "metadata.name" => meta::name(pod).to_owned(),
        "metadata.namespace" => meta::namespace(pod).to_owned(),
        "metadata.uid" => meta::uid(pod).to_owned(),
        "spec.nodeName" => meta::text_at(pod, "/spec/nodeName").to_owned(),
        "spec.serviceAccountName" => meta::text_at(pod, "/spec/serviceAccountName").to_owned(),
        "status.podIP" | "status.podIPs" => scene.ip.to_owned(),
        "status.hostIP" | "status.hostIPs" => scene.host_ip.to_owned(),
        "metadata.labels" | "metadata.annotations" => listed(pod, path),
        _ => {
            let subscript = path
                .strip_suffix("']")
                .and_then(|p| p.split_once("['"))
                .filter(|(map, _)| matches!(*map, "metadata.labels" | "metadata.annotations"));
            let Some((map, key)) = subscript else {
                return Err(format!("unsupported fieldPath: {path}"));
            };
            let map = pod.pointer(&format!("/{}", map.replace('.', "/")));
            let value = map.and_then(|m| m.get(key)).and_then(Value::as_str);
            value.unwrap_or("").to_owned()
        }
    };
    Ok(value)
}

fn listed(pod: &Value, path: &str) -> String {
    let map = pod.pointer(&format!("/{}", path.replace('.', "/")));
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    let lines: Vec<String> = entries
        .map(|(key, value)| format!("{key}={:?}", value.as_str().unwrap_or("")))
        .collect();
    lines.join("\n")
}

/// A container's request or limit in units of the divisor, rounded up.
pub(crate) fn resource(scene: &Scene<'_>, container: &Container<'_>, reference: &Value) -> String {
    let other = meta::text_at(reference, "/containerName");
    let named = meta::entries(scene.pod, "/spec/containers")
        .find(|c| !other.is_empty() && meta::text_at(c, "/name") == other);
    let spec = named.unwrap_or(container.value);
    let (kind, name) = meta::text_at(reference, "/resource")
        .split_once('.')
        .unwrap_or(("", ""));
    let value = spec
        .pointer("/resources")
        .and_then(|r| r.get(kind))
        .and_then(|list| list.get(name));
    let amount = value
        .and_then(Quantity::from_json)
        .map_or(0, Quantity::milli_value);
    let divisor = reference
        .get("divisor")
        .and_then(Quantity::from_json)
        .map_or(0, Quantity::milli_value);
    let divisor = if divisor == 0 { 1_000 } else { divisor };
    ((amount + divisor - 1) / divisor).to_string()
}

/// `$(NAME)` replaced, `$$(NAME)` left as `$(NAME)`, unknown names left alone.
pub(crate) fn expand(text: &str, known: &Variables, services: &Variables) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(escaped) = after.strip_prefix('$') {
            out.push('$');
            rest = escaped;
            continue;
        }
        let named = after
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'));
        if let Some((name, behind)) = named {
            match known.get(name).or_else(|| services.get(name)) {
                Some(value) => out.push_str(value),
                None => out.push_str(&format!("$({name})")),
            }
            rest = behind;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// `FOO_SERVICE_HOST` and its kin for the Services of the namespace, and for `kubernetes`.
pub(crate) fn service_variables(scene: &Scene<'_>) -> Variables {
    let mut variables = Variables::new();
    let links = scene.pod.pointer("/spec/enableServiceLinks");
    let namespace = meta::namespace(scene.pod);
    if links.and_then(Value::as_bool) != Some(false) {
        for service in scene.world.objects("", "services", namespace) {
            describe(&service, &mut variables);
        }
    }
    if let Some(service) = scene.world.object("", "services", "default", "kubernetes") {
        describe(&service, &mut variables);
    }
    variables
}

fn describe(service: &Value, variables: &mut Variables) {
    let host = meta::text_at(service, "/spec/clusterIP");
    if host.is_empty() || host == "None" {
        return;
    }
    let name = meta::name(service).replace('-', "_").to_uppercase();
    variables.insert(format!("{name}_SERVICE_HOST"), host.to_owned());
    for (at, port) in meta::entries(service, "/spec/ports").enumerate() {
        let number = crate::spec::number(port, "/port", 0);
        let protocol = match meta::text_at(port, "/protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        let scheme = protocol.to_lowercase();
        let url = format!("{scheme}://{host}:{number}");
        if at == 0 {
            variables.insert(format!("{name}_SERVICE_PORT"), number.to_string());
            variables.insert(format!("{name}_PORT"), url.clone());
        }
        let label = meta::text_at(port, "/name");
        if !label.is_empty() {
            let label = label.replace('-', "_").to_uppercase();
            variables.insert(format!("{name}_SERVICE_PORT_{label}"), number.to_string());
        }
        let prefix = format!("{name}_PORT_{number}_{protocol}");
        variables.insert(format!("{prefix}_PROTO"), scheme);
        variables.insert(format!("{prefix}_PORT"), number.to_string());
        variables.insert(format!("{prefix}_ADDR"), host.to_owned());
        variables.insert(prefix, url);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_expand_as_in_kubernetes() {
        let known = Variables::from([("A".into(), "1".into()), ("B".into(), "$(A)".into())]);
        let services = Variables::from([("S".into(), "10.0.0.1".into())]);
        let table = [
            ("x$(A)y", "x1y"),
            ("$(B)", "$(A)"),
            ("$(S)", "10.0.0.1"),
            ("$$(A)", "$(A)"),
            ("$(NO)", "$(NO)"),
            ("$A ${A} $", "$A ${A} $"),
            ("$(A", "$(A"),
        ];
        for (text, expected) in table {
            assert_eq!(expand(text, &known, &services), expected, "{text}");
        }
    }
}
