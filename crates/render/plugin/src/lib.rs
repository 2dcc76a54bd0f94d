//! Manifests from user-supplied commands: the only renderer that starts a process.

/// A config management plugin, as its `plugin.yaml` declares it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugin {
    /// Its name, with its version behind a dash when it has one.
    pub name: String,
}
