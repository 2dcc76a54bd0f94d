//! Formats that Kubernetes gives names to: `format.dns1123Label().validate(self.name)`.

use super::Answer;
use crate::value::{Library, Val};
use model::names;

const NAMES: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Answer<'a> {
    let named = |wanted: &str| NAMES.iter().find(|n| **n == wanted).copied();
    let made = |name| Val::library(Library::Format(name));
    match (name, args) {
        ("format.named", [Val::Text(wanted)]) => Some(Ok(match named(wanted) {
            Some(name) => Val::some(made(name)),
            None => Val::Optional(None),
        })),
        ("validate", [Val::Library(library), Val::Text(text)]) => match &**library {
            Library::Format(format) => Some(Ok(faults(format, text))),
            _ => None,
        },
        (name, []) => {
            let wanted = name.strip_prefix("format.")?;
            named(wanted).map(|name| Ok(made(name)))
        }
        _ => None,
    }
}

fn faults<'a>(format: &str, text: &str) -> Val<'a> {
    let prefix = || {
        text.strip_suffix('-')
            .map_or(text.to_owned(), |t| format!("{t}a"))
    };
    let faults = match format {
        "dns1123Label" => names::dns1123_label(text),
        "dns1123Subdomain" => names::dns1123_subdomain(text),
        "dns1035Label" => names::dns1035_label(text),
        "qualifiedName" => names::qualified_name(text),
        "dns1123LabelPrefix" => names::dns1123_label(&prefix()),
        "dns1123SubdomainPrefix" => names::dns1123_subdomain(&prefix()),
        "dns1035LabelPrefix" => names::dns1035_label(&prefix()),
        "labelValue" => names::label_value(text),
        other => match schema::format_check(other) {
            Some(fits) if !fits(text) => vec![match other {
                "uri" => "invalid URI".to_owned(),
                "uuid" => "does not match the UUID format".to_owned(),
                "byte" => "invalid base64".to_owned(),
                "date" => "invalid date".to_owned(),
                _ => "invalid datetime".to_owned(),
            }],
            _ => Vec::new(),
        },
    };
    if faults.is_empty() {
        return Val::Optional(None);
    }
    Val::some(Val::list(faults.into_iter().map(Val::text).collect()))
}
