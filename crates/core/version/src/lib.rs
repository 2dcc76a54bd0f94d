//! Versions and ranges of versions as Helm and Argo CD compare them.
