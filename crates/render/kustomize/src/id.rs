//! How resources are named: group, version, kind, name, namespace.

use std::fmt;

/// The namespace that objects without one are in.
const DEFAULT: &str = "default";
/// Stands for the namespace of objects that cannot have one.
pub(crate) const NOWHERE: &str = "_non_namespaceable_";

/// Group, version and kind; an empty part of a selector selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Gvk {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl Gvk {
    pub(crate) fn of(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.group.is_empty() && self.version.is_empty() && self.kind.is_empty()
    }

    /// Whether a selector's parts, where it has some, are these.
    pub(crate) fn is_selected(&self, selector: &Self) -> bool {
        let fits = |own: &str, wanted: &str| wanted.is_empty() || own == wanted;
        fits(&self.group, &selector.group)
            && fits(&self.version, &selector.version)
            && fits(&self.kind, &selector.kind)
    }

    /// The text that kinds are sorted by.
    pub(crate) fn sort_text(&self) -> String {
        let or = |text: &str, other: &str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.to_owned()
            }
        };
        format!(
            "{}_{}_{}",
            or(&self.group, "~G"),
            or(&self.version, "~V"),
            or(&self.kind, "~K")
        )
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &str, other: &'static str| {
            if text.is_empty() {
                other.to_owned()
            } else {
                text.to_owned()
            }
        };
        write!(
            f,
            "{}.{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]")
        )
    }
}

/// The name of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ResId {
    pub(crate) gvk: Gvk,
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// Known to be of a kind without namespaces.
    pub(crate) cluster: bool,
}

impl ResId {
    /// The namespace that it is really in.
    pub(crate) fn effective(&self) -> &str {
        if self.cluster {
            NOWHERE
        } else if self.namespace.is_empty() {
            DEFAULT
        } else {
            &self.namespace
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gvk.is_empty() && self.name.is_empty() && self.namespace.is_empty()
    }

    /// The same object: names that are written differently may mean one.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk && self.effective() == other.effective()
    }

    pub(crate) fn is_selected_by(&self, selector: &Self) -> bool {
        (selector.name.is_empty() || selector.name == self.name)
            && (selector.namespace.is_empty() || selector.effective() == self.effective())
            && self.gvk.is_selected(&selector.gvk)
    }

    /// What makes it unique among the resources of a build.
    pub(crate) fn key(&self) -> (Gvk, String, String) {
        (
            self.gvk.clone(),
            self.name.clone(),
            self.effective().to_owned(),
        )
    }

    /// `apps/v1 Deployment web in ns`, for people.
    pub(crate) fn words(&self) -> String {
        let version = self.gvk.api_version();
        let place = match self.namespace.as_str() {
            "" | NOWHERE => String::new(),
            namespace => format!(" in namespace {namespace}"),
        };
        let version = if version.is_empty() {
            version
        } else {
            format!("{version} ")
        };
        format!("{version}{} {}{place}", self.gvk.kind, self.name)
    }
}

impl fmt::Display for ResId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() {
            "[noName]"
        } else {
            &self.name
        };
        let namespace = if self.namespace.is_empty() {
            "[noNs]"
        } else {
            &self.namespace
        };
        write!(f, "{}/{name}.{namespace}", self.gvk)
    }
}
