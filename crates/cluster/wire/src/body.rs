//! Request bodies: which format they are in, and the object they hold.

use json::{Kind, Reader, SyntaxError};
use model::{ApiError, GroupVersion, GroupVersionKind, Reason};

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
    let text = content_type.unwrap_or_default();
    match media_type(text).as_str() {
        // Parameters of nothing are not nothing.
        "" if !text.is_empty() => Err(unsupported(ALL_FORMATS)),
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        _ => Err(unsupported(ALL_FORMATS)),
    }
}

const ALL_FORMATS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

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

/// Reads which kind a JSON body says it is, before anything else is decoded; parts that are not
/// given are empty. The error is the server's, ready to be put behind what it could not do.
pub fn interpret(body: &[u8]) -> Result<GroupVersionKind, String> {
    let named = name_kind(body).map_err(|fault| parse_error(&fault.message))?;
    let (api_version, kind) = named.map_err(|message| parse_error(&message))?;
    let version = GroupVersion::parse(&api_version)
        .ok_or_else(|| format!("unexpected GroupVersion string: {api_version}"))?;
    Ok(GroupVersionKind::new(version.group, version.version, kind))
}

fn parse_error(message: &str) -> String {
    format!("couldn't get version/kind; json parse error: {message}")
}

type Named = Result<(String, String), String>;

// Go decodes into a struct of two fields, whose type it prints when the body is no object.
const KIND_STRUCT: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

fn name_kind(body: &[u8]) -> Result<Named, SyntaxError> {
    let mut reader = Reader::new(body);
    let (mut api_version, mut kind) = (String::new(), String::new());
    let mut fault = None;
    match reader.kind()? {
        Kind::Object => {
            reader.open()?;
            let mut first = true;
            while let Some(key) = reader.next_key(&mut first)? {
                let slot = match key.as_ref() {
                    k if k.eq_ignore_ascii_case("apiVersion") => &mut api_version,
                    k if k.eq_ignore_ascii_case("kind") => &mut kind,
                    _ => {
                        reader.skip()?;
                        continue;
                    }
                };
                let name = if key.len() == 4 { "kind" } else { "apiVersion" };
                match reader.kind()? {
                    Kind::String => *slot = reader.string()?.into_owned(),
                    other => {
                        reader.skip()?;
                        if other != Kind::Null {
                            let word = word(other);
                            fault.get_or_insert(format!(
                                "json: cannot unmarshal {word} into Go struct field .{name} of type string"
                            ));
                        }
                    }
                }
            }
        }
        other => {
            reader.skip()?;
            if other != Kind::Null {
                let word = word(other);
                fault = Some(format!(
                    "json: cannot unmarshal {word} into Go value of type {KIND_STRUCT}"
                ));
            }
        }
    }
    reader.end()?;
    Ok(fault.map_or(Ok((api_version, kind)), Err))
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::String => "string",
        Kind::Number => "number",
        Kind::Bool => "bool",
        Kind::Null => "null",
    }
}

/// The start of a body as refusals quote it: text when it opens an object, hex otherwise.
pub fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, dots) = match body.len() {
        0 => return "<empty>".into(),
        1..=SHOWN => (body, ""),
        _ => (&body[..SHOWN], " ..."),
    };
    if body[0] == b'{' {
        return format!("{}{dots}", String::from_utf8_lossy(shown));
    }
    let mut hex = String::with_capacity(SHOWN * 2 + dots.len());
    for byte in shown {
        hex.push_str(&format!("{byte:02x}"));
    }
    hex + dots
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
    fn bodies_say_what_they_are() {
        let gvk = interpret(br#"{"Kind":"Deployment","x":[1],"apiVersion":"apps/v1"}"#).unwrap();
        assert_eq!(gvk, GroupVersionKind::new("apps", "v1", "Deployment"));
        assert_eq!(interpret(b"null").unwrap(), GroupVersionKind::default());
        for (body, wanted) in [
            (
                "",
                "couldn't get version/kind; json parse error: unexpected end of JSON input",
            ),
            (
                r#"{"kind":5}"#,
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
            (
                "[]",
                r#"couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#,
            ),
            (
                r#"{"apiVersion":"a/b/c"}"#,
                "unexpected GroupVersion string: a/b/c",
            ),
        ] {
            assert_eq!(interpret(body.as_bytes()).unwrap_err(), wanted);
        }
    }

    #[test]
    fn bodies_are_quoted_in_part() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"[]"), "5b5d");
        assert_eq!(
            summary(br#"{"kind":"ConfigMap","apiVersion":"x"}"#),
            r#"{"kind":"ConfigMap","apiVersio ..."#
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
