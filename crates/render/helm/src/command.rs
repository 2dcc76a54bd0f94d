//! `helm template` as people type it: flags in, the same bytes out.
//!
//! ```text
//! arguments ── parse ──▶ Template ── run + World ──▶ Outcome { stdout, stderr, code }
//! ```
//!
//! Flags are read as Helm's own parser reads them, so that scripts need no change. Files, charts
//! and clusters come through a [`World`].

mod flags;
mod run;

pub use flags::parse;
pub use run::{Outcome, World, run};

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Names and charts, in order.
    pub arguments: Vec<String>,
    /// Values, in the order they were given.
    pub values: Vec<ValueFlag>,
    /// `--namespace`.
    pub namespace: String,
    /// `--kube-version`.
    pub kube_version: String,
    /// `--api-versions`.
    pub api_versions: Vec<String>,
    /// `--show-only`.
    pub show_only: Vec<String>,
    /// `--output-dir`.
    pub output_dir: String,
    /// `--name-template`.
    pub name_template: String,
    /// `--post-renderer`, which we refuse.
    pub post_renderer: String,
    /// Where the chart is fetched from.
    pub source: Source,
    /// Where the cluster is.
    pub cluster: Cluster,
    /// `--include-crds`.
    pub include_crds: bool,
    /// `--skip-tests`.
    pub skip_tests: bool,
    /// `--no-hooks`.
    pub no_hooks: bool,
    /// `--is-upgrade`.
    pub is_upgrade: bool,
    /// `--validate`, or `--dry-run=server`.
    pub validate: bool,
    /// `--generate-name`.
    pub generate_name: bool,
    /// `--release-name`.
    pub use_release_name: bool,
    /// `--skip-schema-validation`.
    pub skip_schema_validation: bool,
    /// `--debug`.
    pub debug: bool,
    /// `--dependency-update`.
    pub dependency_update: bool,
}

/// Where a chart is fetched from when its name is no path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// `--repo`.
    pub repo: String,
    /// `--version`.
    pub version: String,
    /// `--username`.
    pub username: String,
    /// `--password`.
    pub password: String,
    /// `--ca-file`.
    pub ca_file: String,
    /// `--cert-file`.
    pub cert_file: String,
    /// `--key-file`.
    pub key_file: String,
    /// `--insecure-skip-tls-verify`.
    pub insecure: bool,
    /// `--pass-credentials`.
    pub pass_credentials: bool,
    /// `--plain-http`.
    pub plain_http: bool,
    /// `--devel`.
    pub devel: bool,
}

/// Where the cluster of `--validate` is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `--kubeconfig`.
    pub kubeconfig: String,
    /// `--kube-context`.
    pub context: String,
}

/// One flag that sets values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueFlag {
    /// `--values`.
    File(String),
    /// `--set-json`.
    Json(String),
    /// `--set`.
    Set(String),
    /// `--set-string`.
    Text(String),
    /// `--set-file`.
    Content(String),
    /// `--set-literal`.
    Literal(String),
}
