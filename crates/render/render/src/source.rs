//! Where manifests come from and with which parameters: Argo CD's `ApplicationSource`, as plain data.

use crate::fields::{self, FieldError, Fields};
use model::Value;
use std::collections::BTreeMap;
use std::fmt;

/// One source of an application.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// The repository.
    pub repo_url: String,
    /// The directory in the repository.
    pub path: String,
    /// Branch, tag, commit, version or range; empty means HEAD.
    pub target_revision: String,
    /// The chart's name, when the repository is one of charts.
    pub chart: String,
    /// The name under which other sources use the files, as in `$values/prod.yaml`.
    pub reference: String,
    /// What people call it.
    pub name: String,
    /// Only tags that begin so are looked at, when the revision is a range.
    pub tag_prefix: String,
    /// Parameters of Helm.
    pub helm: Option<Helm>,
    /// Parameters of Kustomize.
    pub kustomize: Option<Kustomize>,
    /// Parameters of plain directories.
    pub directory: Option<Directory>,
    /// Parameters of a plugin.
    pub plugin: Option<Plugin>,
}

/// What renders a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceType {
    /// A chart.
    Helm,
    /// A kustomization.
    Kustomize,
    /// Files of manifests.
    Directory,
    /// A config management plugin.
    Plugin,
}

/// Parameters of Helm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Helm {
    /// Files of values, later ones win.
    pub value_files: Vec<String>,
    /// Values on the command line, as `--set` or `--set-string`.
    pub parameters: Vec<HelmParameter>,
    /// Values whose text is a file's content.
    pub file_parameters: Vec<FileParameter>,
    /// The release; empty means the application's name.
    pub release_name: String,
    /// Values as a text of YAML.
    pub values: String,
    /// Values as an object; wins over `values`.
    pub values_object: Option<Value>,
    /// `v3`, `v4` or empty.
    pub version: String,
    /// Credentials are sent to every host that a chart repository names.
    pub pass_credentials: bool,
    /// Value files that do not exist are left out.
    pub ignore_missing_value_files: bool,
    /// The `crds` directory is left out.
    pub skip_crds: bool,
    /// Test hooks are left out.
    pub skip_tests: bool,
    /// `values.schema.json` is not looked at.
    pub skip_schema_validation: bool,
    /// The release's namespace; empty means the destination's.
    pub namespace: String,
    /// The cluster's version; empty means that of the real one.
    pub kube_version: String,
    /// The cluster's APIs; empty means those of the real one.
    pub api_versions: Vec<String>,
}

/// One value on Helm's command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelmParameter {
    /// The path of the value, as in `image.tag`.
    pub name: String,
    /// The value.
    pub value: String,
    /// It is a string, whatever it looks like.
    pub force_string: bool,
}

/// One value that is a file's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileParameter {
    /// The path of the value.
    pub name: String,
    /// The file.
    pub path: String,
}

/// Parameters of Kustomize.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kustomize {
    /// Put in front of names.
    pub name_prefix: String,
    /// Put behind names.
    pub name_suffix: String,
    /// Images, as `[old=]new[:tag][@digest]`.
    pub images: Vec<String>,
    /// Replica counts.
    pub replicas: Vec<KustomizeReplica>,
    /// Labels for all objects.
    pub common_labels: BTreeMap<String, String>,
    /// Annotations for all objects.
    pub common_annotations: BTreeMap<String, String>,
    /// Variables in annotations are filled in.
    pub common_annotations_envsubst: bool,
    /// Labels of the kustomization may be overwritten.
    pub force_common_labels: bool,
    /// Annotations of the kustomization may be overwritten.
    pub force_common_annotations: bool,
    /// Labels stay out of selectors.
    pub label_without_selector: bool,
    /// Labels go into templates too.
    pub label_include_templates: bool,
    /// The namespace for all objects.
    pub namespace: String,
    /// Patches that come last.
    pub patches: Vec<KustomizePatch>,
    /// Components that come last.
    pub components: Vec<String>,
    /// Components that do not exist are left out.
    pub ignore_missing_components: bool,
    /// The version of Kustomize.
    pub version: String,
    /// The cluster's version, for charts.
    pub kube_version: String,
    /// The cluster's APIs, for charts.
    pub api_versions: Vec<String>,
}

/// How many replicas an object has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizeReplica {
    /// The object's name.
    pub name: String,
    /// How many, as written: a number or a text of one.
    pub count: String,
}

/// One patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizePatch {
    /// The file with the patch.
    pub path: String,
    /// The patch itself.
    pub patch: String,
    /// What it is for.
    pub target: Option<KustomizeTarget>,
    /// `allowNameChange` and the like.
    pub options: BTreeMap<String, bool>,
}

/// What a patch is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizeTarget {
    /// Group.
    pub group: String,
    /// Version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Name, a regular expression.
    pub name: String,
    /// Namespace, a regular expression.
    pub namespace: String,
    /// Labels.
    pub label_selector: String,
    /// Annotations.
    pub annotation_selector: String,
}

/// Parameters of plain directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Directories in it are read too.
    pub recurse: bool,
    /// Variables and libraries of Jsonnet.
    pub jsonnet: Jsonnet,
    /// Files to leave out.
    pub exclude: String,
    /// Files to take; empty means all.
    pub include: String,
    /// Files are taken whatever their ending.
    pub disable_extension_filter: bool,
}

/// Variables and libraries of Jsonnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jsonnet {
    /// External variables.
    pub ext_vars: Vec<JsonnetVar>,
    /// Arguments of the top level function.
    pub tlas: Vec<JsonnetVar>,
    /// Directories to import from, relative to the root of the repository.
    pub libs: Vec<String>,
}

/// One variable of Jsonnet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonnetVar {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The value is code, not text.
    pub code: bool,
}

/// Parameters of a plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugin {
    /// Which plugin; empty means the one whose discovery matches.
    pub name: String,
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// Its parameters.
    pub parameters: Vec<PluginParameter>,
}

/// One parameter of a plugin; each kind may be given or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginParameter {
    /// Its name.
    pub name: String,
    /// A text.
    pub string: Option<String>,
    /// Texts by name; empty is not the same as absent.
    pub map: Option<BTreeMap<String, String>>,
    /// A list of texts; empty is not the same as absent.
    pub array: Option<Vec<String>>,
}

impl SourceType {
    /// The word people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Helm => "Helm",
            Self::Kustomize => "Kustomize",
            Self::Directory => "Directory",
            Self::Plugin => "Plugin",
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Source {
    /// Reads a source of an Application; `field` is where it stands, as in `spec.source`. All
    /// faults are given, not only the first.
    pub fn read(value: &Value, field: &str) -> Result<Self, Vec<FieldError>> {
        fields::whole(value, field, source)
    }

    /// The types whose parameters are set, by the name of their field.
    pub fn explicit(&self) -> Vec<SourceType> {
        let mut set = Vec::new();
        if self.kustomize.is_some() {
            set.push(SourceType::Kustomize);
        }
        if self.helm.is_some() {
            set.push(SourceType::Helm);
        }
        if self.directory.is_some() {
            set.push(SourceType::Directory);
        }
        if self.plugin.is_some() {
            set.push(SourceType::Plugin);
        }
        set
    }

    /// Whether it is there for its files alone: `$name/...` in other sources.
    pub fn only_reference(&self) -> bool {
        !self.reference.is_empty()
            && self.path.is_empty()
            && self.chart.is_empty()
            && !self.repo_url.starts_with("oci://")
    }
}

fn source(at: &mut Fields<'_>) -> Source {
    Source {
        repo_url: at.text("repoURL"),
        path: at.text("path"),
        target_revision: at.text("targetRevision"),
        chart: at.text("chart"),
        reference: at.text("ref"),
        name: at.text("name"),
        tag_prefix: at.text("tagPrefix"),
        helm: at.object("helm", helm),
        kustomize: at.object("kustomize", kustomize),
        directory: at.object("directory", directory),
        plugin: at.object("plugin", plugin),
    }
}

fn helm(at: &mut Fields<'_>) -> Helm {
    Helm {
        value_files: at.texts("valueFiles"),
        parameters: at.list("parameters", |at| HelmParameter {
            name: at.text("name"),
            value: at.text("value"),
            force_string: at.flag("forceString"),
        }),
        file_parameters: at.list("fileParameters", |at| FileParameter {
            name: at.text("name"),
            path: at.text("path"),
        }),
        release_name: at.text("releaseName"),
        values: at.text("values"),
        values_object: at.value("valuesObject"),
        version: at.text("version"),
        pass_credentials: at.flag("passCredentials"),
        ignore_missing_value_files: at.flag("ignoreMissingValueFiles"),
        skip_crds: at.flag("skipCrds"),
        skip_tests: at.flag("skipTests"),
        skip_schema_validation: at.flag("skipSchemaValidation"),
        namespace: at.text("namespace"),
        kube_version: at.text("kubeVersion"),
        api_versions: at.texts("apiVersions"),
    }
}

fn kustomize(at: &mut Fields<'_>) -> Kustomize {
    Kustomize {
        name_prefix: at.text("namePrefix"),
        name_suffix: at.text("nameSuffix"),
        images: at.texts("images"),
        replicas: at.list("replicas", |at| KustomizeReplica {
            name: at.text("name"),
            count: at.number_or_text("count"),
        }),
        common_labels: at.map("commonLabels").unwrap_or_default(),
        common_annotations: at.map("commonAnnotations").unwrap_or_default(),
        common_annotations_envsubst: at.flag("commonAnnotationsEnvsubst"),
        force_common_labels: at.flag("forceCommonLabels"),
        force_common_annotations: at.flag("forceCommonAnnotations"),
        label_without_selector: at.flag("labelWithoutSelector"),
        label_include_templates: at.flag("labelIncludeTemplates"),
        namespace: at.text("namespace"),
        patches: at.list("patches", |at| KustomizePatch {
            path: at.text("path"),
            patch: at.text("patch"),
            target: at.object("target", target),
            options: at.flags("options"),
        }),
        components: at.texts("components"),
        ignore_missing_components: at.flag("ignoreMissingComponents"),
        version: at.text("version"),
        kube_version: at.text("kubeVersion"),
        api_versions: at.texts("apiVersions"),
    }
}

fn target(at: &mut Fields<'_>) -> KustomizeTarget {
    KustomizeTarget {
        group: at.text("group"),
        version: at.text("version"),
        kind: at.text("kind"),
        name: at.text("name"),
        namespace: at.text("namespace"),
        label_selector: at.text("labelSelector"),
        annotation_selector: at.text("annotationSelector"),
    }
}

fn directory(at: &mut Fields<'_>) -> Directory {
    Directory {
        recurse: at.flag("recurse"),
        jsonnet: at
            .object("jsonnet", |at| Jsonnet {
                ext_vars: at.list("extVars", variable),
                tlas: at.list("tlas", variable),
                libs: at.texts("libs"),
            })
            .unwrap_or_default(),
        exclude: at.text("exclude"),
        include: at.text("include"),
        disable_extension_filter: at.flag("disableExtensionFilter"),
    }
}

fn variable(at: &mut Fields<'_>) -> JsonnetVar {
    JsonnetVar {
        name: at.text("name"),
        value: at.text("value"),
        code: at.flag("code"),
    }
}

fn plugin(at: &mut Fields<'_>) -> Plugin {
    Plugin {
        name: at.text("name"),
        env: at.list("env", |at| (at.text("name"), at.text("value"))),
        parameters: at.list("parameters", |at| PluginParameter {
            name: at.text("name"),
            string: at.optional_text("string"),
            map: at.map("map"),
            array: at.optional_texts("array"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::json;

    #[test]
    fn faults_name_the_field_and_what_to_write() {
        let faults = Source::read(
            &json!({
                "repoURL": 1,
                "helm": {"parameters": [{"name": "a", "value": 8080}, {"forceString": "yes"}], "valueFile": []},
                "kustomize": {"replicas": [{"name": "web", "count": true}]},
            }),
            "spec.source",
        )
        .unwrap_err();
        let shown: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "spec.source.repoURL must be a string: write `\"1\"`",
                "spec.source.helm.parameters[0].value must be a string: write `\"8080\"`",
                "spec.source.helm.parameters[1].forceString must be true or false, not a string",
                "spec.source.helm.valueFile is not a field: did you mean `valueFiles`?",
                "spec.source.kustomize.replicas[0].count must be a number, not a boolean",
            ]
        );
    }

    #[test]
    fn what_was_written_is_read_again() {
        let value = json!({
            "repoURL": "https://git.example/a", "path": "web", "targetRevision": "main", "ref": "values",
            "helm": {"valueFiles": ["a.yaml"], "parameters": [{"name": "a", "value": "b", "forceString": true}],
                     "valuesObject": {"a": 1}, "skipCrds": true},
            "kustomize": {"images": ["a=b:1"], "replicas": [{"name": "web", "count": 3}],
                          "patches": [{"patch": "x", "target": {"kind": "Deployment"}, "options": {"allowNameChange": true}}]},
            "directory": {"recurse": true, "jsonnet": {"tlas": [{"name": "a", "value": "1", "code": true}]}},
            "plugin": {"name": "p", "env": [{"name": "A", "value": "b"}], "parameters": [{"name": "l", "array": []}]},
        });
        let source = Source::read(&value, "spec.source").unwrap();
        assert_eq!(source.to_value(), value);
        assert_eq!(source.explicit().len(), 4);
    }
}
