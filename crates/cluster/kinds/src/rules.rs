//! One table row per built-in kind: which functions and plain facts make it special.

use crate::fault::Faults;
use crate::{Endpoint, Fresh, ScaleInfo};
use model::{GroupVersionKind, Value, names};

/// What is special about one kind. [`PLAIN`] is a kind without anything special.
pub(crate) struct Rules {
    /// Fills defaults, at the given version.
    pub(crate) default: fn(&mut Value, &str),
    /// Changes a new object before it is validated; status and generation are done already.
    pub(crate) create: fn(&mut Value, &Fresh<'_>),
    /// Changes an update before it is validated; status, spec and generation are done already
    /// except that the generation is compared afterwards.
    pub(crate) update: fn(&mut Value, &Value, Endpoint, &Fresh<'_>),
    /// Finds the faults of a new object.
    pub(crate) check: fn(&Value, &mut Faults),
    /// Finds the faults of an update.
    pub(crate) check_update: fn(&Value, &Value, Endpoint, &mut Faults),
    /// Adds warnings.
    pub(crate) warn: fn(&Value, Option<&Value>, &mut Vec<String>),
    /// Field selector labels beyond name and namespace.
    pub(crate) select: fn(&Value) -> Vec<(&'static str, String)>,
    /// The rule for names.
    pub(crate) name: Name,
    /// The status of a new object as JSON text, for kinds that have one.
    pub(crate) status: Option<&'static str>,
    /// Which fields move the generation; none for kinds without generation.
    pub(crate) generation: &'static [&'static str],
    /// What the status endpoint keeps of the metadata.
    pub(crate) status_keeps: Keeps,
    /// Whether a PUT of a missing object creates it.
    pub(crate) create_on_update: bool,
    /// Whether a PUT may leave out the resource version.
    pub(crate) unconditional: bool,
    /// Where replicas are, for kinds with a scale endpoint.
    pub(crate) scale: Option<ScaleInfo>,
}

/// What a status update keeps of the old metadata.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Nothing: metadata can be changed there.
    Nothing,
    /// The labels.
    Labels,
    /// The owners and the deletion time, as pods do.
    Owners,
    /// All of it but the managed fields.
    All,
}

/// Rules for names.
#[derive(Clone, Copy)]
pub(crate) enum Name {
    /// RFC 1123 subdomain.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// RFC 1035 label.
    Label1035,
    /// URL path segment.
    Segment,
    /// A rule of the kind's own; the flag says that the text is only a prefix.
    Own(fn(&str, bool) -> Vec<String>),
}

impl Name {
    /// What is wrong with a name, or with the prefix of one.
    pub(crate) fn faults(self, name: &str, prefix: bool) -> Vec<String> {
        let masked;
        let text = if prefix && name.len() > 1 && name.ends_with('-') {
            masked = format!("{}a", &name[..floor(name, name.len() - 2)]);
            masked.as_str()
        } else {
            name
        };
        match self {
            Self::Subdomain => names::dns1123_subdomain(text),
            Self::Label => names::dns1123_label(text),
            Self::Label1035 => names::dns1035_label(text),
            Self::Segment => segment(name, prefix),
            Self::Own(rule) => rule(name, prefix),
        }
    }
}

fn floor(text: &str, mut index: usize) -> usize {
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// What keeps a text from being a path segment, or the start of one.
pub(crate) fn segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix && matches!(name, "." | "..") {
        return Vec::new();
    }
    names::path_segment(name)
}

fn nothing(_: &Value) -> Vec<(&'static str, String)> {
    Vec::new()
}

/// A kind without anything special.
pub(crate) const PLAIN: Rules = Rules {
    default: |_, _| {},
    create: |_, _| {},
    update: |_, _, _, _| {},
    check: |_, _| {},
    check_update: |_, _, _, _| {},
    warn: |_, _, _| {},
    select: nothing,
    name: Name::Subdomain,
    status: None,
    generation: &[],
    status_keeps: Keeps::Nothing,
    create_on_update: false,
    unconditional: true,
    scale: None,
};

static PLAIN_ROW: Rules = PLAIN;

/// The row of a kind; [`PLAIN`] for kinds that are not built in.
pub(crate) fn of(gvk: &GroupVersionKind) -> &'static Rules {
    match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "ConfigMap") => &crate::config::CONFIG_MAP,
        _ => &PLAIN_ROW,
    }
}
