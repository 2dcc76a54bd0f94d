//! Which form the answer takes: the `Accept` header against what an endpoint offers.

use crate::query::Query;
use json::write::Layout;
use model::{ApiError, Reason, Value};

/// The text format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
}

/// Another kind that the answer is to be turned into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Convert {
    /// `Table`, `PartialObjectMetadata`, `PartialObjectMetadataList` or `APIGroupDiscoveryList`.
    pub kind: String,
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
}

/// The agreed form of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// Its text format.
    pub format: Format,
    /// Whether it is laid out for people.
    pub pretty: bool,
    /// What it is turned into.
    pub convert: Option<Convert>,
}

impl Media {
    /// Compact JSON as it is, what a request without `Accept` gets.
    pub const JSON: Self = Self {
        format: Format::Json,
        pretty: false,
        convert: None,
    };

    /// The `Content-Type` of the answer.
    pub fn content_type(&self) -> String {
        let plain = match self.format {
            Format::Json => JSON,
            Format::Yaml => YAML,
        };
        match &self.convert {
            Some(c) if c.kind == "APIGroupDiscoveryList" => {
                format!("{plain};g={};v={};as={}", c.group, c.version, c.kind)
            }
            _ => plain.to_owned(),
        }
    }

    /// The kind that the answer is turned into.
    pub fn converts_to(&self) -> Option<&str> {
        self.convert.as_ref().map(|c| c.kind.as_str())
    }
}

/// What sort of endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Single objects of a built-in kind; can be turned into tables and metadata.
    Resource,
    /// Lists and watches of a built-in kind; as [`Self::Resource`].
    Collection,
    /// Custom resources; as [`Self::Resource`], but no router looks at the header first.
    Custom,
    /// `/api` and `/apis`; can be turned into the aggregated discovery document.
    Discovery,
    /// Discovery of one group or version, and whatever else answers JSON and YAML.
    Plain,
    /// `/version` and others that answer JSON alone.
    JsonOnly,
}

impl Endpoint {
    fn allows(self, convert: Option<&Convert>) -> bool {
        let Some(convert) = convert else {
            return true;
        };
        let version = convert.version.as_str();
        match self {
            Self::Resource | Self::Collection | Self::Custom => {
                convert.group == "meta.k8s.io"
                    && matches!(version, "v1" | "v1beta1")
                    && matches!(
                        convert.kind.as_str(),
                        "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"
                    )
            }
            Self::Discovery => {
                convert.group == "apidiscovery.k8s.io"
                    && matches!(version, "v2" | "v2beta1")
                    && convert.kind == "APIGroupDiscoveryList"
            }
            Self::Plain | Self::JsonOnly => false,
        }
    }

    // The media types the router knows; it compares them letter by letter, without parameters.
    fn routed(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Resource | Self::Plain => Some(&[JSON, YAML, PROTOBUF]),
            Self::Collection => Some(&[JSON, YAML, PROTOBUF, JSON_STREAM, PROTOBUF_STREAM]),
            Self::JsonOnly => Some(&[JSON]),
            Self::Custom | Self::Discovery => None,
        }
    }
}

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON_STREAM: &str = "application/json;stream=watch";
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Chooses the form of an answer. `application/vnd.kubernetes.protobuf` is passed over for the
/// next choice, since clients that ask for it name JSON too; where they do not, the answer is 406.
pub fn accept(header: Option<&str>, endpoint: Endpoint) -> Result<Media, ApiError> {
    let header = header.unwrap_or_default();
    if header.is_empty() {
        return Ok(Media::JSON);
    }
    if let Some(known) = endpoint.routed()
        && !is_routed(header, known)
    {
        return Err(unrouted(known));
    }
    for clause in clauses(header) {
        let format = match (clause.kind, clause.subkind) {
            ("application", "json" | "*") | ("*", "*") => Format::Json,
            ("application", "yaml") => Format::Yaml,
            _ => continue,
        };
        if let Some(media) = clause.media(format, endpoint) {
            return Ok(media);
        }
    }
    let message =
        format!("only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}");
    Err(ApiError::new(406, Some(Reason::NotAcceptable), message))
}

/// The form of a refusal: what the header asks for where that is plain JSON or YAML, and indented
/// JSON where it is anything else.
pub fn accept_error(header: Option<&str>) -> Media {
    let plain = accept(header, Endpoint::Custom).ok();
    let plain = plain.filter(|media| media.convert.is_none());
    let fallback = || {
        clauses(header.unwrap_or_default())
            .iter()
            .find_map(as_plain)
    };
    plain.or_else(fallback).unwrap_or(Media {
        pretty: true,
        ..Media::JSON
    })
}

fn as_plain(clause: &Clause<'_>) -> Option<Media> {
    let format = match (clause.kind, clause.subkind) {
        ("application", "json" | "*") | ("*", "*") => Format::Json,
        ("application", "yaml") => Format::Yaml,
        _ => return None,
    };
    clause.media(format, Endpoint::Plain)
}

fn is_routed(header: &str, known: &[&str]) -> bool {
    header.split(',').any(|part| {
        let name = part.split_once(';').map_or(part, |(name, _)| name);
        let name = name.trim_matches(' ');
        name == "*/*" || known.contains(&name)
    })
}

fn unrouted(known: &[&str]) -> ApiError {
    let list = known.join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {list}");
    let mut error = ApiError::new(406, Some(Reason::NotAcceptable), message);
    error.with_details = true;
    error
}

struct Clause<'a> {
    kind: &'a str,
    subkind: &'a str,
    quality: f32,
    params: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    fn media(&self, format: Format, endpoint: Endpoint) -> Option<Media> {
        let mut convert: Option<Convert> = None;
        let mut pretty = false;
        for &(name, value) in &self.params {
            match name {
                "as" => value.clone_into(&mut convert.get_or_insert_default().kind),
                "g" => value.clone_into(&mut convert.get_or_insert_default().group),
                "v" => value.clone_into(&mut convert.get_or_insert_default().version),
                "stream" if !matches!(value, "" | "watch") => return None,
                "sv" if !value.is_empty() => return None,
                "pretty" => pretty = value == "1",
                _ => {}
            }
        }
        endpoint.allows(convert.as_ref()).then_some(Media {
            format,
            pretty,
            convert,
        })
    }
}

fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut list: Vec<Clause<'_>> = Vec::new();
    for part in header.split(',') {
        let mut pieces = part.trim_matches(' ').split(';');
        let name = pieces.next().unwrap_or_default();
        let (kind, subkind) = match name.split_once('/') {
            Some((_, rest)) if rest.contains('/') => continue,
            Some((kind, rest)) if !rest.is_empty() => {
                (kind.trim_matches(' '), rest.trim_matches(' '))
            }
            _ if name.trim_matches(['/', ' ']) == "*" => ("*", "*"),
            _ => continue,
        };
        let mut clause = Clause {
            kind,
            subkind,
            quality: 1.0,
            params: Vec::new(),
        };
        for piece in pieces {
            match piece.split_once('=') {
                Some((_, value)) if value.is_empty() || value.contains('=') => {}
                Some((name, value)) if name.trim_matches(' ') == "q" => {
                    clause.quality = value.parse().unwrap_or(0.0);
                }
                Some((name, value)) => {
                    clause
                        .params
                        .push((name.trim_matches(' '), value.trim_matches(' ')));
                }
                None => {}
            }
        }
        // The better clause goes first, the vaguer one last; equals keep their order.
        let mut at = list.len();
        while at > 0 && goes_before(&clause, &list[at - 1]) {
            at -= 1;
        }
        list.insert(at, clause);
    }
    list
}

fn goes_before(a: &Clause<'_>, b: &Clause<'_>) -> bool {
    a.quality > b.quality
        || (a.kind != "*" && b.kind == "*")
        || (a.subkind != "*" && b.subkind == "*")
}

/// Whether a request wants its answer laid out for people: `?pretty`, or a browser's or curl's
/// user agent.
pub fn is_pretty(query: &Query, user_agent: &str) -> bool {
    match query.get("pretty") {
        Some(value) if !value.is_empty() => {
            matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")
        }
        _ => ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|name| user_agent.starts_with(name)),
    }
}

/// Prints an answer's body.
pub fn write(media: &Media, value: &Value) -> Vec<u8> {
    match (media.format, media.pretty) {
        (Format::Yaml, _) => yaml::to_string(value).into_bytes(),
        (Format::Json, true) => json::write::to_vec(value, Layout::Pretty),
        (Format::Json, false) => {
            let mut out = json::write::to_vec(value, Layout::Compact);
            out.push(b'\n');
            out
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    fn shown(header: &str, endpoint: Endpoint) -> String {
        match accept(Some(header), endpoint) {
            Ok(media) => format!(
                "{:?} {}{}",
                media.format,
                media.converts_to().unwrap_or("-"),
                if media.pretty { " pretty" } else { "" }
            ),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn the_first_offer_that_fits_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (header, wanted) in [
            ("", "Json -"),
            ("*/*", "Json -"),
            ("application/*", "406"),
            ("*", "406"),
            ("application/yaml", "Yaml -"),
            ("application/json;pretty=1", "Json - pretty"),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                "Json -",
            ),
            ("application/vnd.kubernetes.protobuf", "406"),
            ("text/csv", "406"),
            ("text/html, */*;q=0.8", "Json -"),
            ("application/json;q=0.5, application/yaml", "Yaml -"),
            ("*/*, application/yaml", "Yaml -"),
            (table, "Json Table"),
            (
                "application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/yaml",
                "Yaml -",
            ),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                "Json PartialObjectMetadataList",
            ),
        ] {
            assert_eq!(shown(header, Endpoint::Resource), wanted, "{header}");
        }
        assert_eq!(shown(table, Endpoint::Plain), "Json -");
        assert_eq!(shown("application/*", Endpoint::Custom), "Json -");
        assert_eq!(shown("application/yaml", Endpoint::JsonOnly), "406");
    }

    #[test]
    fn refusals_name_what_is_served() {
        let refusal = |header: &str, endpoint| accept(Some(header), endpoint).unwrap_err().message;
        assert_eq!(
            refusal("text/csv", Endpoint::Resource),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
        assert_eq!(
            refusal(
                "application/json;as=Nonsense;v=v1;g=meta.k8s.io",
                Endpoint::Collection
            ),
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
    }

    #[test]
    fn errors_take_the_plain_form_or_are_indented() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert!(accept_error(Some(table)).pretty);
        assert!(accept_error(Some("text/csv")).pretty);
        assert!(!accept_error(Some(&format!("{table},application/json"))).pretty);
        assert_eq!(accept_error(Some("application/yaml")).format, Format::Yaml);
        assert_eq!(accept_error(None), Media::JSON);
    }

    #[test]
    fn discovery_documents_name_themselves() {
        let header =
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        let media = accept(Some(header), Endpoint::Discovery).unwrap();
        assert_eq!(
            media.content_type(),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        );
    }

    #[test]
    fn people_get_indented_text() {
        assert!(is_pretty(&Query::parse(""), "curl/8.5"));
        assert!(!is_pretty(&Query::parse("pretty=false"), "curl/8.5"));
        assert!(is_pretty(&Query::parse("pretty=true"), "kubectl"));
        let pretty = Media {
            pretty: true,
            ..Media::JSON
        };
        assert_eq!(write(&pretty, &json!({"a": 1})), b"{\n  \"a\": 1\n}");
        assert_eq!(write(&Media::JSON, &json!({"a": 1})), b"{\"a\":1}\n");
    }
}
