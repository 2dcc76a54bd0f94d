//! Names of API groups, kinds, resources and single objects.

use std::fmt;

/// An API group and one of its versions; the core group is the empty string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// API group, empty for core.
    pub group: String,
    /// Version, as in `v1`.
    pub version: String,
}

impl GroupVersion {
    /// Names a group version.
    pub fn new(group: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
        }
    }

    /// Reads the `apiVersion` field: `v1` or `apps/v1`. `None` when there is more than one slash.
    pub fn parse(api_version: &str) -> Option<Self> {
        match api_version.split_once('/') {
            None => Some(Self::new("", api_version)),
            Some((group, version)) if !version.contains('/') => Some(Self::new(group, version)),
            Some(_) => None,
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

/// A kind at a version, as manifests name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// API group, empty for core.
    pub group: String,
    /// Version, as in `v1`.
    pub version: String,
    /// Kind, as in `Deployment`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Names a kind.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        kind: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// The group version of the kind.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(&self.group, &self.version)
    }

    /// The `apiVersion` field of an object of this kind.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    /// `Deployment.apps`, or `Pod` in the core group: how error messages name a kind.
    pub fn group_kind(&self) -> String {
        if self.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }
}

/// A resource at a version, as URLs name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// API group, empty for core.
    pub group: String,
    /// Version, as in `v1`.
    pub version: String,
    /// Plural resource name, as in `deployments`.
    pub resource: String,
}

impl GroupVersionResource {
    /// Names a resource.
    pub fn new(
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
        }
    }

    /// `deployments.apps`, or `pods` in the core group.
    pub fn group_resource(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

/// One object, whatever version it is read in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// API group, empty for core.
    pub group: String,
    /// Kind, as in `Deployment`.
    pub kind: String,
    /// Namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_versions_round_trip() {
        for text in ["v1", "apps/v1", "e2e.example.com/v1alpha1"] {
            assert_eq!(GroupVersion::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(GroupVersion::parse("a/b/c"), None);
    }
}
