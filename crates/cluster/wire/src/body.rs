//! Request bodies: which format they are in, and the object they hold.

use model::{ApiError, Reason};

/// The format of a body that holds an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFormat {
    /// `application/json`, also when nothing is said.
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// The ways to change an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`
    Strategic,
    /// `application/apply-patch+yaml`
    Apply,
}

/// Whether the kind is built in or comes from a definition; the latter takes fewer formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A kind of the API server itself.
    BuiltIn,
    /// A custom resource.
    Custom,
}

/// Reads the `Content-Type` of a body that holds an object; 415 for what we cannot read.
pub fn body_format(content_type: Option<&str>) -> Result<BodyFormat, ApiError> {
    match media_type(content_type.unwrap_or_default()).as_str() {
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        _ => Err(unsupported(
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        )),
    }
}

/// Reads the `Content-Type` of a patch; 415 for what the kind cannot take.
pub fn patch_type(content_type: Option<&str>, origin: Origin) -> Result<PatchType, ApiError> {
    let text = content_type.unwrap_or_default();
    let text = text.split_once(';').map_or(text, |(first, _)| first);
    match (text, origin) {
        ("application/json-patch+json", _) => Ok(PatchType::Json),
        ("application/merge-patch+json", _) => Ok(PatchType::Merge),
        ("application/apply-patch+yaml", _) => Ok(PatchType::Apply),
        ("application/strategic-merge-patch+json", Origin::BuiltIn) => Ok(PatchType::Strategic),
        (_, Origin::BuiltIn) => {
            // The router refuses these before the handler does, in its own words.
            let mut error = ApiError::new(
                415,
                Some(Reason::UnsupportedMediaType),
                "415: Unsupported Media Type",
            );
            error.with_details = true;
            Err(error)
        }
        (_, Origin::Custom) => Err(unsupported(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )),
    }
}

fn media_type(text: &str) -> String {
    let name = text.split_once(';').map_or(text, |(first, _)| first);
    name.trim().to_ascii_lowercase()
}

fn unsupported(accepted: &str) -> ApiError {
    ApiError::new(
        415,
        Some(Reason::UnsupportedMediaType),
        format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_content_type() {
        assert_eq!(body_format(None), Ok(BodyFormat::Json));
        assert_eq!(
            body_format(Some("application/json; charset=utf-8")),
            Ok(BodyFormat::Json)
        );
        assert_eq!(body_format(Some("application/yaml")), Ok(BodyFormat::Yaml));
        assert_eq!(
            body_format(Some("application/x-www-form-urlencoded"))
                .unwrap_err()
                .message,
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
    }

    #[test]
    fn patches_are_told_by_content_type() {
        let strategic = Some("application/strategic-merge-patch+json");
        assert_eq!(
            patch_type(strategic, Origin::BuiltIn),
            Ok(PatchType::Strategic)
        );
        assert_eq!(
            patch_type(strategic, Origin::Custom).unwrap_err().message,
            "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        );
        assert_eq!(
            patch_type(Some("application/json"), Origin::BuiltIn)
                .unwrap_err()
                .message,
            "415: Unsupported Media Type"
        );
        assert_eq!(
            patch_type(
                Some("application/apply-patch+yaml; charset=x"),
                Origin::Custom
            ),
            Ok(PatchType::Apply)
        );
    }
}
