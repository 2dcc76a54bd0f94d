//! The checks that request options share.

use model::{ApiError, FieldError, GroupVersionKind, Path, json};

/// The refusal of an options object with the given faults.
pub(crate) fn refuse(kind: &str, faults: &[FieldError]) -> Result<(), ApiError> {
    if faults.is_empty() {
        return Ok(());
    }
    let gvk = GroupVersionKind::new("meta.k8s.io", "", kind);
    Err(ApiError::invalid(&gvk, "", faults))
}

/// `dryRun` may be `All` and nothing else.
pub(crate) fn dry_run(values: &[String], faults: &mut Vec<FieldError>) {
    if values.iter().any(|value| value != "All") {
        faults.push(FieldError::not_supported(
            &Path::new("dryRun"),
            &json!(values),
            &["All"],
        ));
    }
}

/// `fieldValidation` has three words.
pub(crate) fn field_validation(value: &str, faults: &mut Vec<FieldError>) {
    if !matches!(value, "" | "Ignore" | "Warn" | "Strict") {
        faults.push(FieldError::not_supported(
            &Path::new("fieldValidation"),
            &json!(value),
            &["", "Ignore", "Strict", "Warn"],
        ));
    }
}

/// `fieldManager` is short and printable.
pub(crate) fn field_manager(value: &str, faults: &mut Vec<FieldError>) {
    const MAX: usize = 128;
    let path = Path::new("fieldManager");
    if value.len() > MAX {
        faults.push(FieldError::too_long(&path, MAX));
    }
    for (at, c) in value.char_indices() {
        if !is_print(c) {
            let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
            faults.push(FieldError::invalid(&path, &json!(value), &detail));
        }
    }
}

// What Go counts as printable: no controls, no separators but the plain space.
fn is_print(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(
                c,
                '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
                | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{fffb}'
            ))
}
