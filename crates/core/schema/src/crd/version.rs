//! What a version of a CRD says besides its schema.

use super::field_path::field_path;
use super::structural::{flag, list};
use super::text;
use model::{FieldError, Path, Value, json};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];
const SELECTABLE_MAX: usize = 8;
const WARNING_MAX: usize = 256;

/// What is wrong with the warning of a deprecated version.
pub(super) fn deprecation_faults(version: &Value, at: &Path) -> Vec<FieldError> {
    let Some(warning) = version.get("deprecationWarning").filter(|w| !w.is_null()) else {
        return Vec::new();
    };
    let text = warning.as_str().unwrap_or_default();
    let mut whys = Vec::new();
    if flag(version, "deprecated") {
        if text.len() > WARNING_MAX {
            whys.push(format!("must be <= {WARNING_MAX} characters long"));
        }
        if text.is_empty() {
            whys.push("must not be an empty string".to_owned());
        }
        if let Some((i, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
            whys.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at \
                 index {i}"
            ));
        }
    } else {
        whys.push("can only be set for deprecated versions".to_owned());
    }
    whys.iter()
        .map(|why| FieldError::invalid(at, warning, why))
        .collect()
}

fn simple_path_fault(path: &str, at: &Path) -> Option<FieldError> {
    let detail = "must be a simple json path starting with .";
    (!path.starts_with('.')).then(|| FieldError::invalid(at, &json!(path), detail))
}

/// What is wrong with the scale subresource.
pub(super) fn scale_faults(version: &Value, at: &Path) -> Vec<FieldError> {
    let Some(scale) = version
        .pointer("/subresources/scale")
        .filter(|s| s.is_object())
    else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (key, below) in [
        ("specReplicasPath", &[".spec."][..]),
        ("statusReplicasPath", &[".status."][..]),
        ("labelSelectorPath", &[".spec.", ".status."][..]),
    ] {
        let path = text(scale, &[key]);
        let at = at.child("scale").child(key);
        let detail = match key {
            "specReplicasPath" => "should be a json path under .spec",
            "statusReplicasPath" => "should be a json path under .status",
            _ => "should be a json path under either .spec or .status",
        };
        if path.is_empty() {
            if key != "labelSelectorPath" {
                faults.push(FieldError::required(&at, ""));
            }
        } else if let Some(fault) = simple_path_fault(path, &at) {
            faults.push(fault);
        } else if !below.iter().any(|prefix| path.starts_with(prefix)) {
            faults.push(FieldError::invalid(&at, &json!(path), detail));
        }
    }
    faults
}

/// What is wrong with the columns that lists are printed with.
pub(super) fn column_faults(version: &Value, at: &Path) -> Vec<FieldError> {
    let mut faults = Vec::new();
    for (i, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let at = at.index(i);
        if text(column, &["name"]).is_empty() {
            faults.push(FieldError::required(&at.child("name"), ""));
        }
        let (ty, format) = (text(column, &["type"]), text(column, &["format"]));
        let one_of = format!("must be one of {}", COLUMN_TYPES.join(","));
        if ty.is_empty() {
            faults.push(FieldError::required(&at.child("type"), &one_of));
        } else if !COLUMN_TYPES.contains(&ty) {
            faults.push(FieldError::invalid(&at.child("type"), &json!(ty), &one_of));
        }
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            let at = at.child("format");
            faults.push(FieldError::invalid(&at, &json!(format), &detail));
        }
        let path = text(column, &["jsonPath"]);
        let at = at.child("JSONPath");
        if path.is_empty() {
            faults.push(FieldError::required(&at, ""));
        } else {
            faults.extend(simple_path_fault(path, &at));
        }
    }
    faults
}

/// What is wrong with the fields that lists are filtered by.
pub(super) fn selectable_faults(version: &Value, at: &Path) -> Vec<FieldError> {
    let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (i, field) in list(version, "selectableFields").iter().enumerate() {
        let at = at.index(i).child("jsonPath");
        let path = text(field, &["jsonPath"]);
        let mut invalid =
            |detail: &str| faults.push(FieldError::invalid(&at, &json!(path), detail));
        if path.is_empty() {
            faults.push(FieldError::required(&at, ""));
            continue;
        }
        if path.contains('[') {
            invalid("is an invalid path: array notation is not allowed");
            continue;
        }
        let (found, below) = match field_path(path, schema) {
            Ok(found) => found,
            Err(why) => {
                invalid(&format!("is an invalid path: {why}"));
                continue;
            }
        };
        if found.as_str() == "metadata" || found.as_str().starts_with("metadata.") {
            invalid("must not point to fields in metadata");
        }
        if !matches!(text(below, &["type"]), "string" | "boolean" | "integer") {
            invalid(
                "must point to a field of type string, boolean or integer. Enum string fields \
                 and strings with formats are allowed.",
            );
        }
        if seen.iter().any(|s| s == found.as_str()) {
            faults.push(FieldError::duplicate(&at, &json!(path)));
        } else {
            seen.push(found.as_str().to_owned());
        }
    }
    if seen.len() > SELECTABLE_MAX {
        faults.push(FieldError::too_many(at, seen.len(), SELECTABLE_MAX));
    }
    faults
}
