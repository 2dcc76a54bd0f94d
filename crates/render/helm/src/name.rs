//! Names of releases.

use crate::{Flavour, HelmError};
use gotemplate::{Context, Templates, Value};

/// How long a release's name may be: resources append to it.
const NAME_MAX: usize = 53;
const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Refuses what Helm takes for no name of a release.
pub fn check_release_name(name: &str, flavour: Flavour) -> Result<(), HelmError> {
    let part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = part.as_bytes();
        !part.is_empty()
            && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
            && inner(bytes[0])
            && inner(bytes[bytes.len() - 1])
    };
    let why = if name.is_empty() {
        "no name provided".to_owned()
    } else if name.len() > NAME_MAX || !name.split('.').all(part) {
        format!(
            "invalid release name, must match regex {PATTERN} and the length must not be longer than {NAME_MAX}"
        )
    } else {
        return Ok(());
    };
    let lead = match flavour {
        Flavour::V3 => "",
        Flavour::V4 => "release name check failed: ",
    };
    Err(HelmError::values(
        format!("{lead}release name {name:?}: {why}"),
        "",
        0,
    ))
}

/// The name that `--name-template` makes.
pub fn name_from_template(
    text: &str,
    flavour: Flavour,
    context: &mut Context,
) -> Result<String, HelmError> {
    let fault = |message: String| HelmError::values(message, "--name-template", 0);
    let mut templates = Templates::new(flavour.edition());
    templates
        .parse("name-template", text)
        .map_err(|error| fault(error.to_string()))?;
    let output = templates
        .execute("name-template", Value::Invalid, context)
        .map_err(|error| fault(error.to_string()))?;
    Ok(output.text())
}
