//! What is wrong with a CustomResourceDefinition, in the API server's words.
//!
//! What all versions share counts as a property of the CRD, and is named so in the answer:
//! `spec.validation.openAPIV3Schema` instead of `spec.versions[0].schema.openAPIV3Schema`.

use super::internal::{Shared, show_schema, show_versions};
use super::structural::{flag, list};
use super::version::{column_faults, deprecation_faults, scale_faults, selectable_faults};
use super::{conversion, defaults_fit, openapi, structural, text};
use model::{FieldError, Path, Value, json, names};

/// Compiles the validation rules of a schema that stands at a path, and gives what is wrong.
pub type RuleCheck<'f> = &'f dyn Fn(&Value, &Path) -> Vec<FieldError>;

/// What is wrong with a new CRD; `rules` compiles the validation rules of a schema.
///
/// The CRD comes with its defaults and its initial status.
pub fn check_crd(crd: &Value, rules: RuleCheck<'_>) -> Vec<FieldError> {
    let mut faults = name_faults(crd);
    faults.extend(Spec::new(crd, rules).check());
    faults.extend(status_faults(crd));
    faults.extend(approval_faults(crd));
    faults.extend(preserve_faults(crd));
    faults
}

/// What is wrong with a CRD that replaces another.
///
/// Group and plural never change; scope and kind do not once the CRD is established.
pub fn check_crd_update(new: &Value, old: &Value, rules: RuleCheck<'_>) -> Vec<FieldError> {
    let mut faults = Spec::new(new, rules).check();
    let mut immutable = |keys: &[&str]| {
        let full: Vec<&str> = ["spec"].iter().chain(keys).copied().collect();
        let (new, old) = (text(new, &full), text(old, &full));
        if new != old {
            let at = keys.iter().fold(Path::new("spec"), |p, key| p.child(key));
            faults.push(FieldError::invalid(&at, &json!(new), "field is immutable"));
        }
    };
    if is_established(old) {
        immutable(&["scope"]);
        immutable(&["names", "kind"]);
    }
    immutable(&["group"]);
    immutable(&["names", "plural"]);
    faults.extend(status_faults(new));
    let approval = |crd| text(crd, &["metadata", "annotations", APPROVED]).to_owned();
    if approval(new) != approval(old) {
        faults.extend(approval_faults(new));
    }
    if old.pointer("/spec/preserveUnknownFields") != Some(&json!(true)) {
        faults.extend(preserve_faults(new));
    }
    faults
}

/// Whether a CRD serves its kind.
pub fn is_established(crd: &Value) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|c| text(c, &["type"]) == "Established" && text(c, &["status"]) == "True")
}

fn name_faults(crd: &Value) -> Vec<FieldError> {
    let name = text(crd, &["metadata", "name"]);
    let at = Path::new("metadata").child("name");
    if name.is_empty() {
        let detail = "name or generateName is required";
        return vec![FieldError::required(&at, detail)];
    }
    let mut whys = names::dns1123_subdomain(name);
    let plural = text(crd, &["spec", "names", "plural"]);
    let group = text(crd, &["spec", "group"]);
    if name != format!("{plural}.{group}") {
        whys.push("must be spec.names.plural+\".\"+spec.group".to_owned());
    }
    whys.iter()
        .map(|why| FieldError::invalid(&at, &json!(name), why))
        .collect()
}

fn status_faults(crd: &Value) -> Vec<FieldError> {
    let accepted = crd.pointer("/status/acceptedNames").unwrap_or(&Value::Null);
    let mut faults = names_faults(accepted, &Path::new("status.acceptedNames"));
    let at = Path::new("status.storedVersions");
    let Some(stored) = crd.pointer("/status/storedVersions") else {
        return faults;
    };
    let stored_names = stored.as_array().map_or(&[][..], Vec::as_slice);
    if stored_names.is_empty() {
        let detail = "must have at least one stored version";
        faults.push(FieldError::invalid(&at, stored, detail));
        return faults;
    }
    let versions = crd
        .get("spec")
        .map_or(&[][..], |spec| list(spec, "versions"));
    let mut met: Vec<&Value> = Vec::new();
    for version in versions {
        let name = &version["name"];
        let known = stored_names.contains(name) && !met.contains(&name);
        met.push(name);
        if flag(version, "storage") && !known {
            let detail = format!("must have the storage version {}", text(version, &["name"]));
            faults.push(FieldError::invalid(&at, stored, &detail));
        }
    }
    for (i, name) in stored_names.iter().enumerate() {
        if !versions.iter().any(|v| v["name"] == *name) {
            let name_text = name.as_str().unwrap_or_default();
            let detail = format!(
                "missing from spec.versions; {name_text} was previously a storage version, and \
                 must remain in spec.versions until a storage migration ensures no data remains \
                 persisted in {name_text} and removes {name_text} from status.storedVersions"
            );
            faults.push(FieldError::invalid(&at.index(i), name, &detail));
        }
    }
    faults
}

const APPROVED: &str = "api-approved.kubernetes.io";

// Groups of Kubernetes itself need a note that their API was approved.
fn approval_faults(crd: &Value) -> Vec<FieldError> {
    let group = text(crd, &["spec", "group"]);
    let is_within = |domain: &str| {
        group == domain || group.strip_suffix(domain).is_some_and(|g| g.ends_with('.'))
    };
    if !is_within("k8s.io") && !is_within("kubernetes.io") {
        return Vec::new();
    }
    let at = Path::new("metadata.annotations").key(APPROVED);
    let note = text(crd, &["metadata", "annotations", APPROVED]);
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let opening = format!("protected groups must have approval annotation \"{APPROVED}\"");
    let is_url = note
        .split_once("://")
        .is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty());
    if note.is_empty() {
        vec![FieldError::required(&at, &format!("{opening}, {see}"))]
    } else if note.starts_with("unapproved") || is_url {
        Vec::new()
    } else {
        let detail =
            format!("{opening} with either a URL or a reason starting with \"unapproved\", {see}");
        vec![FieldError::invalid(&at, &json!(note), &detail)]
    }
}

fn preserve_faults(crd: &Value) -> Vec<FieldError> {
    if crd.pointer("/spec/preserveUnknownFields") != Some(&json!(true)) {
        return Vec::new();
    }
    let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
         spec.versions[*].schema instead";
    let at = Path::new("spec.preserveUnknownFields");
    vec![FieldError::invalid(&at, &json!(true), detail)]
}

// The forms of a CRD's names; absent ones are somebody else's matter.
fn names_faults(given: &Value, at: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    for key in ["plural", "singular"] {
        faults.extend(label_fault(text(given, &[key]), &at.child(key)));
    }
    for key in ["kind", "listKind"] {
        let name = text(given, &[key]);
        let whys = names::dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !whys.is_empty() {
            let why = whys.join(",");
            let detail = format!("may have mixed case, but should otherwise match: {why}");
            faults.push(FieldError::invalid(&at.child(key), &json!(name), &detail));
        }
    }
    let each = |key: &str, faults: &mut Vec<FieldError>| {
        for (i, name) in list(given, key).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            let whys = names::dns1035_label(name);
            if !whys.is_empty() {
                let at = at.child(key).index(i);
                faults.push(FieldError::invalid(&at, &json!(name), &whys.join(",")));
            }
        }
    };
    each("shortNames", &mut faults);
    let (kind, list_kind) = (text(given, &["kind"]), text(given, &["listKind"]));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        let at = at.child("listKind");
        faults.push(FieldError::invalid(&at, &json!(list_kind), detail));
    }
    each("categories", &mut faults);
    faults
}

fn label_fault(name: &str, at: &Path) -> Option<FieldError> {
    let whys = names::dns1035_label(name);
    (!name.is_empty() && !whys.is_empty())
        .then(|| FieldError::invalid(at, &json!(name), &whys.join(",")))
}

/// The spec of a CRD, and what its versions share.
struct Spec<'v> {
    given: &'v Value,
    versions: &'v [Value],
    shared: Shared,
    rules: RuleCheck<'v>,
}

impl<'v> Spec<'v> {
    fn new(crd: &'v Value, rules: RuleCheck<'v>) -> Self {
        let spec = crd.get("spec").unwrap_or(&Value::Null);
        let versions = list(spec, "versions");
        let same = |key: &str| {
            let part = |v: &'v Value| v.get(key).filter(|p| !p.is_null());
            let first = versions.first().and_then(part);
            !versions.is_empty() && versions.iter().all(|v| part(v) == first)
        };
        let shared = Shared {
            schema: same("schema"),
            subresources: same("subresources"),
            columns: same("additionalPrinterColumns"),
            selectable: same("selectableFields"),
        };
        Self {
            given: spec,
            versions,
            shared,
            rules,
        }
    }

    fn check(&self) -> Vec<FieldError> {
        let at = Path::new("spec");
        let mut faults = self.group_and_scope(&at);
        let has_schema = |v: &Value| v.pointer("/schema/openAPIV3Schema").is_some();
        for (i, version) in self.versions.iter().enumerate() {
            if !has_schema(version) {
                let at = at.child("versions").index(i).child("schema");
                faults.push(FieldError::required(&at.child("openAPIV3Schema"), ""));
            }
        }
        for (i, version) in self.versions.iter().enumerate() {
            faults.extend(self.version(version, &at.child("versions").index(i)));
        }
        faults.extend(self.version_list(&at));
        faults.extend(self.names(&at));
        if let Some(first) = self.versions.first() {
            faults.extend(self.shared_parts(first, &at));
        }
        faults.extend(conversion::check(self.given, &at.child("conversion")));
        faults
    }

    fn group_and_scope(&self, at: &Path) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let group = text(self.given, &["group"]);
        let group_at = at.child("group");
        let whys = names::dns1123_subdomain(group);
        if group.is_empty() {
            faults.push(FieldError::required(&group_at, ""));
        } else if !whys.is_empty() {
            let why = whys.join(",");
            faults.push(FieldError::invalid(&group_at, &json!(group), &why));
        } else if !group.contains('.') {
            let detail = "should be a domain with at least one dot";
            faults.push(FieldError::invalid(&group_at, &json!(group), detail));
        }
        let scope = text(self.given, &["scope"]);
        let scope_at = at.child("scope");
        let scopes = ["Cluster", "Namespaced"];
        if scope.is_empty() {
            faults.push(FieldError::required(&scope_at, ""));
        } else if !scopes.contains(&scope) {
            let fault = FieldError::not_supported(&scope_at, &json!(scope), &scopes);
            faults.push(fault);
        }
        faults
    }

    // What a version has of its own.
    fn version(&self, version: &Value, at: &Path) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let name = text(version, &["name"]);
        let whys = names::dns1035_label(name);
        if !whys.is_empty() {
            let at = at.child("name");
            faults.push(FieldError::invalid(&at, &json!(name), &whys.join(",")));
        }
        faults.extend(deprecation_faults(version, &at.child("deprecationWarning")));
        let status = version.pointer("/subresources/status").is_some();
        if !self.shared.schema {
            faults.extend(self.schema(version, status, &at.child("schema")));
        }
        if !self.shared.subresources {
            faults.extend(scale_faults(version, &at.child("subresources")));
        }
        if !self.shared.columns {
            let at = at.child("additionalPrinterColumns");
            faults.extend(column_faults(version, &at));
        }
        if !self.shared.selectable {
            faults.extend(selectable_faults(version, &at.child("selectableFields")));
        }
        faults
    }

    fn shared_parts(&self, first: &Value, at: &Path) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let mut versions = self.versions.iter();
        let status = versions.any(|v| v.pointer("/subresources/status").is_some());
        if self.shared.schema {
            faults.extend(self.schema(first, status, &at.child("validation")));
        }
        if self.shared.subresources {
            faults.extend(scale_faults(first, &at.child("subresources")));
        }
        if self.shared.columns {
            let at = at.child("additionalPrinterColumns");
            faults.extend(column_faults(first, &at));
        }
        if self.shared.selectable {
            faults.extend(selectable_faults(first, &at.child("selectableFields")));
        }
        faults
    }

    fn version_list(&self, at: &Path) -> Vec<FieldError> {
        let mut faults = Vec::new();
        let at = at.child("versions");
        let mut wrong = |detail: &str| {
            let shown = show_versions(self.versions, self.shared);
            faults.push(FieldError::invalid_shown(&at, shown, detail));
        };
        let name = |v: &Value| text(v, &["name"]).to_owned();
        let mut seen: Vec<String> = self.versions.iter().map(name).collect();
        seen.sort();
        if seen.windows(2).any(|pair| pair[0] == pair[1]) {
            wrong("must contain unique version names");
        }
        if self.versions.iter().filter(|v| flag(v, "storage")).count() != 1 {
            wrong("must have exactly one version marked as storage version");
        }
        // The first version is also known as the version of the CRD.
        let first = self.versions.first().map_or("", |v| text(v, &["name"]));
        faults.extend(label_fault(first, &Path::new("spec.version")));
        faults
    }

    fn names(&self, at: &Path) -> Vec<FieldError> {
        let given = self.given.get("names").unwrap_or(&Value::Null);
        let at = at.child("names");
        let mut faults: Vec<FieldError> = ["plural", "singular", "kind", "listKind"]
            .iter()
            .filter(|key| text(given, &[key]).is_empty())
            .map(|key| FieldError::required(&at.child(key), ""))
            .collect();
        faults.extend(names_faults(given, &at));
        faults
    }

    fn schema(&self, version: &Value, status: bool, at: &Path) -> Vec<FieldError> {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
            return Vec::new();
        };
        let at = at.child("openAPIV3Schema");
        let mut faults = Vec::new();
        if status {
            faults.extend(root_faults(schema, &at));
        }
        if flag(schema, "nullable") {
            let detail = "nullable cannot be true at the root";
            faults.push(FieldError::forbidden(&at.child("nullable"), detail));
        }
        let mut found = structural::check(schema, &at);
        if found.is_empty() {
            found = defaults_fit::check(schema, &at);
        }
        let sound = found.is_empty();
        faults.extend(found);
        let keywords = openapi::check(schema, &at);
        let ask = sound && keywords.is_empty();
        faults.extend(keywords);
        if ask {
            faults.extend((self.rules)(schema, &at));
        }
        faults
    }
}

// With a status subresource, the root may only say what can be checked without the status.
fn root_faults(schema: &Value, at: &Path) -> Option<FieldError> {
    const ALLOWED: &str = "Description Type Format Title Maximum ExclusiveMaximum Minimum \
         ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf \
         Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";
    const REFUSED: [&str; 20] = [
        "nullable",
        "default",
        "enum",
        "maxProperties",
        "minProperties",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "additionalProperties",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
        "$ref",
        "id",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    ];
    let ty = text(schema, &["type"]);
    if !ty.is_empty() && ty != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the \
             status subresource is enabled";
        return Some(FieldError::invalid(&at.child("type"), &json!(ty), detail));
    }
    let used = |key: &&str| {
        let value = schema.get(*key);
        value.is_some_and(|v| !v.is_null() && *v != json!(false))
    };
    REFUSED.iter().any(used).then(|| {
        let detail = format!(
            "only [{ALLOWED}] fields are allowed at the root of the schema if the status \
             subresource is enabled"
        );
        FieldError::invalid_shown(at, show_schema(schema), &detail)
    })
}
