//! A kustomization file: its fields, what is old in it, what is wrong with it.

use crate::decode::{Decode, Fault, Fields};
use crate::fieldspec::FieldSpec;
use crate::id::{Gvk, ResId};
use model::Value;
use std::collections::BTreeMap;

pub(crate) type Words = BTreeMap<String, String>;

/// The names that a kustomization file may have.
pub(crate) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

const VERSION: &str = "kustomize.config.k8s.io/v1beta1";
const COMPONENT_VERSION: &str = "kustomize.config.k8s.io/v1alpha1";
pub(crate) const COMPONENT: &str = "Component";

/// Everything that a kustomization file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kustomization {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) openapi: Words,
    pub(crate) name_prefix: String,
    pub(crate) name_suffix: String,
    pub(crate) namespace: String,
    pub(crate) common_labels: Option<Words>,
    pub(crate) labels: Vec<Label>,
    pub(crate) common_annotations: Words,
    pub(crate) patches_strategic_merge: Option<Vec<String>>,
    pub(crate) patches_json6902: Option<Vec<Patch>>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) images: Vec<Image>,
    pub(crate) image_tags: Option<Vec<Image>>,
    pub(crate) replacements: Vec<ReplacementField>,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) vars: Option<Vec<Var>>,
    pub(crate) sort_options: Option<SortOptions>,
    pub(crate) resources: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) crds: Vec<String>,
    pub(crate) bases: Option<Vec<String>>,
    pub(crate) config_maps: Vec<GeneratorArgs>,
    pub(crate) secrets: Vec<GeneratorArgs>,
    pub(crate) helm_globals: Option<HelmGlobals>,
    pub(crate) helm_charts: Vec<HelmChart>,
    pub(crate) generator_options: Option<GeneratorOptions>,
    pub(crate) configurations: Vec<String>,
    pub(crate) generators: Vec<String>,
    pub(crate) transformers: Vec<String>,
    pub(crate) validators: Vec<String>,
    pub(crate) build_metadata: Vec<String>,
    /// Nothing is said in it.
    pub(crate) empty: bool,
}

const NAMES: &[&str] = &[
    "apiVersion",
    "kind",
    "metadata",
    "openapi",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "commonAnnotations",
    "patchesStrategicMerge",
    "patchesJson6902",
    "patches",
    "images",
    "imageTags",
    "replacements",
    "replicas",
    "vars",
    "sortOptions",
    "resources",
    "components",
    "crds",
    "bases",
    "configMapGenerator",
    "secretGenerator",
    "helmGlobals",
    "helmCharts",
    "helmChartInflationGenerator",
    "generatorOptions",
    "configurations",
    "generators",
    "transformers",
    "validators",
    "buildMetadata",
];

impl Kustomization {
    /// Reads a kustomization; old fields are moved to where they belong now.
    pub(crate) fn read(value: &Value) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, "")?;
        fields.spelled(NAMES);
        let mut k = Self {
            api_version: fields.text("apiVersion")?,
            kind: fields.text("kind")?,
            openapi: fields.option("openapi")?.unwrap_or_default(),
            name_prefix: fields.text("namePrefix")?,
            name_suffix: fields.text("nameSuffix")?,
            namespace: fields.text("namespace")?,
            common_labels: fields.option("commonLabels")?,
            labels: fields.list("labels")?.unwrap_or_default(),
            common_annotations: fields.option("commonAnnotations")?.unwrap_or_default(),
            patches_strategic_merge: fields.list("patchesStrategicMerge")?,
            patches_json6902: fields.list("patchesJson6902")?,
            patches: fields.list("patches")?.unwrap_or_default(),
            images: fields.list("images")?.unwrap_or_default(),
            image_tags: fields.list("imageTags")?,
            replacements: fields.list("replacements")?.unwrap_or_default(),
            replicas: fields.list("replicas")?.unwrap_or_default(),
            vars: fields.list("vars")?,
            sort_options: fields.option("sortOptions")?,
            resources: fields.list("resources")?.unwrap_or_default(),
            components: fields.list("components")?.unwrap_or_default(),
            crds: fields.list("crds")?.unwrap_or_default(),
            bases: fields.list("bases")?,
            config_maps: fields.list("configMapGenerator")?.unwrap_or_default(),
            secrets: fields
                .list::<SecretArgs>("secretGenerator")?
                .unwrap_or_default()
                .into_iter()
                .map(|s| s.0)
                .collect(),
            helm_globals: fields.option("helmGlobals")?,
            helm_charts: fields.list("helmCharts")?.unwrap_or_default(),
            generator_options: fields.option("generatorOptions")?,
            configurations: fields.list("configurations")?.unwrap_or_default(),
            generators: fields.list("generators")?.unwrap_or_default(),
            transformers: fields.list("transformers")?.unwrap_or_default(),
            validators: fields.list("validators")?.unwrap_or_default(),
            build_metadata: fields.list("buildMetadata")?.unwrap_or_default(),
            empty: is_empty(value),
        };
        fields.option::<ObjectMeta>("metadata")?;
        let old_charts: Vec<OldChart> = fields
            .list("helmChartInflationGenerator")?
            .unwrap_or_default();
        fields.end()?;
        k.absorb_old_charts(old_charts);
        Ok(k)
    }

    fn absorb_old_charts(&mut self, old: Vec<OldChart>) {
        let mut globals = HelmGlobals::default();
        for old in old {
            if !old.globals.config_home.is_empty() {
                globals.config_home = old.globals.config_home;
            }
            if !old.globals.chart_home.is_empty() {
                globals.chart_home = old.globals.chart_home;
            }
            self.helm_charts.push(old.chart);
        }
        let said = !globals.chart_home.is_empty() || !globals.config_home.is_empty();
        if self.helm_globals.is_none() && said {
            self.helm_globals = Some(globals);
        }
    }

    /// What the real program prints about fields that are going away.
    pub(crate) fn deprecations(&self) -> Vec<String> {
        const FIX: &str = "Run 'kustomize edit fix' to update your Kustomization automatically.";
        let fields = [
            (self.bases.is_some(), "bases", "resources", ""),
            (self.common_labels.is_some(), "commonLabels", "labels", ""),
            (self.image_tags.is_some(), "imageTags", "images", ""),
            (
                self.patches_json6902.is_some(),
                "patchesJson6902",
                "patches",
                "",
            ),
            (
                self.patches_strategic_merge.is_some(),
                "patchesStrategicMerge",
                "patches",
                "",
            ),
            (
                self.vars.is_some(),
                "vars",
                "replacements",
                "[EXPERIMENTAL] ",
            ),
        ];
        let line = |(_, old, new, how): &(bool, &str, &str, &str)| {
            format!("# Warning: '{old}' is deprecated. Please use '{new}' instead. {how}{FIX}")
        };
        fields.iter().filter(|(used, ..)| *used).map(line).collect()
    }

    /// Moves old fields to new ones and fills in version and kind.
    pub(crate) fn modernise(&mut self) {
        if self.kind.is_empty() {
            self.kind = "Kustomization".into();
        }
        if self.api_version.is_empty() {
            self.api_version = if self.kind == COMPONENT {
                COMPONENT_VERSION.into()
            } else {
                VERSION.into()
            };
        }
        self.resources.extend(self.bases.take().unwrap_or_default());
        self.images
            .extend(self.image_tags.take().unwrap_or_default());
        for args in self.config_maps.iter_mut().chain(&mut self.secrets) {
            if !args.env.is_empty() {
                args.envs.push(std::mem::take(&mut args.env));
            }
        }
    }

    /// What is wrong with version and kind.
    pub(crate) fn type_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.kind != "Kustomization" && self.kind != COMPONENT {
            faults.push("kind should be Kustomization or Component".to_owned());
        }
        let wanted = if self.kind == COMPONENT {
            COMPONENT_VERSION
        } else {
            VERSION
        };
        if self.api_version != wanted {
            faults.push(format!("apiVersion for {} should be {wanted}", self.kind));
        }
        faults
    }

    pub(crate) fn asks_for(&self, metadata: &str) -> bool {
        self.build_metadata.iter().any(|word| word == metadata)
    }
}

// An empty list is something where the field is one that stays.
fn is_empty(value: &Value) -> bool {
    const MOVED: [&str; 3] = ["bases", "imagetags", "helmchartinflationgenerator"];
    let Some(map) = value.as_object() else {
        return true;
    };
    map.iter().all(|(key, value)| {
        let key = key.to_ascii_lowercase();
        match value {
            Value::Null => true,
            _ if key == "apiversion" || key == "kind" => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) if MOVED.contains(&key.as_str()) => list.is_empty(),
            _ => false,
        }
    })
}

/// `metadata`, which says nothing to the build.
pub(crate) struct ObjectMeta {
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Decode for ObjectMeta {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let meta = Self {
            name: fields.text("name")?,
            namespace: fields.text("namespace")?,
        };
        fields.option::<Words>("labels")?;
        fields.option::<Words>("annotations")?;
        fields.end()?;
        Ok(meta)
    }
}

/// Labels to add, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label {
    pub(crate) pairs: Words,
    pub(crate) include_selectors: bool,
    pub(crate) include_templates: bool,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Decode for Label {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["pairs", "includeSelectors", "includeTemplates", "fields"]);
        let label = Self {
            pairs: fields.option("pairs")?.unwrap_or_default(),
            include_selectors: fields.flag("includeSelectors")?,
            include_templates: fields.flag("includeTemplates")?,
            fields: fields.list("fields")?.unwrap_or_default(),
        };
        fields.end()?;
        Ok(label)
    }
}

/// Which resources.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selector {
    pub(crate) id: ResId,
    pub(crate) annotations: String,
    pub(crate) labels: String,
}

impl Decode for Selector {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["annotationSelector", "labelSelector"]);
        let selector = Self {
            id: fields.id()?,
            annotations: fields.text("annotationSelector")?,
            labels: fields.text("labelSelector")?,
        };
        fields.end()?;
        Ok(selector)
    }
}

/// A patch and what it is for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    pub(crate) path: String,
    pub(crate) patch: String,
    pub(crate) target: Option<Selector>,
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
}

impl Decode for Patch {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let mut patch = Self {
            path: fields.text("path")?,
            patch: fields.text("patch")?,
            target: fields.option("target")?,
            ..Self::default()
        };
        if let Some((path, value)) = fields.take("options") {
            let mut options = Fields::of(value, &path)?;
            options.spelled(&["allowNameChange", "allowKindChange"]);
            patch.allow_name_change = options.flag("allowNameChange")?;
            patch.allow_kind_change = options.flag("allowKindChange")?;
            options.end()?;
        }
        fields.end()?;
        Ok(patch)
    }
}

/// An image and what becomes of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) tag_suffix: String,
    pub(crate) new_tag: String,
    pub(crate) digest: String,
}

impl Decode for Image {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["newName", "tagSuffix", "newTag", "digest", "name"]);
        let image = Self {
            name: fields.text("name")?,
            new_name: fields.text("newName")?,
            tag_suffix: fields.text("tagSuffix")?,
            new_tag: fields.text("newTag")?,
            digest: fields.text("digest")?,
        };
        fields.end()?;
        Ok(image)
    }
}

/// How many replicas a resource has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) count: i64,
}

impl Decode for Replica {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let replica = Self {
            name: fields.text("name")?,
            count: fields.option("count")?.unwrap_or_default(),
        };
        fields.end()?;
        Ok(replica)
    }
}

/// How a part of a field is taken or written.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldOptions {
    pub(crate) delimiter: String,
    pub(crate) index: i64,
    pub(crate) create: bool,
}

impl Decode for FieldOptions {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let options = Self {
            delimiter: fields.text("delimiter")?,
            index: fields.option("index")?.unwrap_or_default(),
            create: fields.flag("create")?,
        };
        fields.text("encoding")?;
        fields.end()?;
        Ok(options)
    }
}

/// Where a value comes from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    pub(crate) id: ResId,
    pub(crate) field_path: String,
    pub(crate) options: Option<FieldOptions>,
}

impl Decode for Source {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["fieldPath"]);
        let source = Self {
            id: fields.id()?,
            field_path: fields.text("fieldPath")?,
            options: fields.option("options")?,
        };
        fields.end()?;
        Ok(source)
    }
}

/// Where a value goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Target {
    pub(crate) select: Option<Selector>,
    pub(crate) reject: Vec<Selector>,
    pub(crate) field_paths: Vec<String>,
    pub(crate) options: Option<FieldOptions>,
}

impl Decode for Target {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["fieldPaths", "select", "reject", "options"]);
        let target = Self {
            select: fields.option("select")?,
            reject: fields.list("reject")?.unwrap_or_default(),
            field_paths: fields.list("fieldPaths")?.unwrap_or_default(),
            options: fields.option("options")?,
        };
        fields.end()?;
        Ok(target)
    }
}

/// A value that is copied from one place to others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replacement {
    pub(crate) source: Option<Source>,
    pub(crate) source_value: Option<String>,
    pub(crate) targets: Option<Vec<Target>>,
}

/// A replacement, or the file that holds some.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplacementField {
    pub(crate) inline: Replacement,
    pub(crate) path: String,
}

impl Replacement {
    fn fields(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        fields.spelled(&["source", "targets", "sourceValue", "path"]);
        Ok(Self {
            source: fields.option("source")?,
            source_value: fields.option("sourceValue")?,
            targets: fields.list("targets")?,
        })
    }
}

impl Decode for Replacement {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        // A file of its own may hold more than we know.
        Self::fields(&mut Fields::of(value, path)?)
    }
}

impl Decode for ReplacementField {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let field = Self {
            inline: Replacement::fields(&mut fields)?,
            path: fields.text("path")?,
        };
        fields.end()?;
        Ok(field)
    }
}

/// A variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Var {
    pub(crate) name: String,
    pub(crate) target: ResId,
    pub(crate) field_path: String,
}

impl Decode for Var {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let mut var = Self {
            name: fields.text("name")?,
            ..Self::default()
        };
        if let Some((path, value)) = fields.take("objref") {
            let mut target = Fields::of(value, &path)?;
            let api_version = target.text("apiVersion")?;
            var.target = target.id()?;
            target.end()?;
            match api_version.split('/').collect::<Vec<_>>()[..] {
                [group, version] => {
                    var.target.gvk.group = group.into();
                    var.target.gvk.version = version.into();
                }
                [version] if !version.is_empty() => var.target.gvk.version = version.into(),
                _ => {}
            }
        }
        if let Some((path, value)) = fields.take("fieldref") {
            let mut reference = Fields::of(value, &path)?;
            reference.spelled(&["fieldPath"]);
            var.field_path = reference.text("fieldPath")?;
            reference.end()?;
        }
        fields.end()?;
        if var.field_path.is_empty() {
            var.field_path = "metadata.name".into();
        }
        Ok(var)
    }
}

/// The order of the output.
#[derive(Clone, Debug, Default)]
pub(crate) struct SortOptions {
    pub(crate) order: String,
    pub(crate) legacy: Option<(Vec<String>, Vec<String>)>,
}

impl Decode for SortOptions {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&["order", "legacySortOptions"]);
        let mut options = Self {
            order: fields.text("order")?,
            legacy: None,
        };
        if let Some((path, value)) = fields.take("legacySortOptions") {
            let mut legacy = Fields::of(value, &path)?;
            legacy.spelled(&["orderFirst", "orderLast"]);
            let first = legacy.list("orderFirst")?.unwrap_or_default();
            let last = legacy.list("orderLast")?.unwrap_or_default();
            legacy.end()?;
            options.legacy = Some((first, last));
        }
        fields.end()?;
        Ok(options)
    }
}

/// What all generated resources get.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorOptions {
    pub(crate) labels: Words,
    pub(crate) annotations: Words,
    pub(crate) disable_name_suffix_hash: bool,
    pub(crate) immutable: bool,
}

impl GeneratorOptions {
    /// Fills up what is said for one generator with what is said for all.
    pub(crate) fn with_global(mut self, global: &Self) -> Self {
        for (own, more) in [
            (&mut self.labels, &global.labels),
            (&mut self.annotations, &global.annotations),
        ] {
            for (key, value) in more {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        self.disable_name_suffix_hash |= global.disable_name_suffix_hash;
        self.immutable |= global.immutable;
        self
    }
}

impl Decode for GeneratorOptions {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        fields.spelled(&[
            "labels",
            "annotations",
            "disableNameSuffixHash",
            "immutable",
        ]);
        let options = Self {
            labels: fields.option("labels")?.unwrap_or_default(),
            annotations: fields.option("annotations")?.unwrap_or_default(),
            disable_name_suffix_hash: fields.flag("disableNameSuffixHash")?,
            immutable: fields.flag("immutable")?,
        };
        fields.end()?;
        Ok(options)
    }
}

/// A ConfigMap or a Secret to make.
#[derive(Clone, Debug, Default)]
pub(crate) struct GeneratorArgs {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) behavior: String,
    pub(crate) literals: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) envs: Vec<String>,
    pub(crate) env: String,
    pub(crate) options: Option<GeneratorOptions>,
    /// The type of a Secret.
    pub(crate) secret_type: String,
}

impl GeneratorArgs {
    pub(crate) fn fields(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        fields.spelled(&[
            "name",
            "namespace",
            "behavior",
            "literals",
            "files",
            "envs",
            "env",
            "options",
            "type",
        ]);
        Ok(Self {
            name: fields.text("name")?,
            namespace: fields.text("namespace")?,
            behavior: fields.text("behavior")?,
            literals: fields.list("literals")?.unwrap_or_default(),
            files: fields.list("files")?.unwrap_or_default(),
            envs: fields.list("envs")?.unwrap_or_default(),
            env: fields.text("env")?,
            options: fields.option("options")?,
            secret_type: String::new(),
        })
    }
}

impl Decode for GeneratorArgs {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let args = Self::fields(&mut fields)?;
        fields.end()?;
        Ok(args)
    }
}

struct SecretArgs(GeneratorArgs);

impl Decode for SecretArgs {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let mut args = GeneratorArgs::fields(&mut fields)?;
        args.secret_type = fields.text("type")?;
        fields.end()?;
        Ok(Self(args))
    }
}

/// Where charts are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct HelmGlobals {
    pub(crate) chart_home: String,
    pub(crate) config_home: String,
}

impl Decode for HelmGlobals {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let globals = Self {
            chart_home: fields.text("chartHome")?,
            config_home: fields.text("configHome")?,
        };
        fields.end()?;
        Ok(globals)
    }
}

/// A chart to inflate.
#[derive(Clone, Debug, Default)]
pub(crate) struct HelmChart {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) repo: String,
    pub(crate) release_name: String,
    pub(crate) namespace: String,
    pub(crate) additional_values_files: Vec<String>,
    pub(crate) values_file: String,
    pub(crate) values_inline: Option<Value>,
    pub(crate) values_merge: String,
    pub(crate) include_crds: bool,
    pub(crate) skip_hooks: bool,
    pub(crate) api_versions: Vec<String>,
    pub(crate) kube_version: String,
    pub(crate) name_template: String,
    pub(crate) skip_tests: bool,
    pub(crate) devel: bool,
}

impl HelmChart {
    pub(crate) fn fields(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        fields.spelled(&[
            "name",
            "version",
            "repo",
            "releaseName",
            "namespace",
            "additionalValuesFiles",
            "valuesFile",
            "valuesInline",
            "valuesMerge",
            "includeCRDs",
            "skipHooks",
            "apiVersions",
            "kubeVersion",
            "nameTemplate",
            "skipTests",
            "debug",
            "devel",
        ]);
        let chart = Self {
            name: fields.text("name")?,
            version: fields.text("version")?,
            repo: fields.text("repo")?,
            release_name: fields.text("releaseName")?,
            namespace: fields.text("namespace")?,
            additional_values_files: fields.list("additionalValuesFiles")?.unwrap_or_default(),
            values_file: fields.text("valuesFile")?,
            values_inline: fields.option("valuesInline")?,
            values_merge: fields.text("valuesMerge")?,
            include_crds: fields.flag("includeCRDs")?,
            skip_hooks: fields.flag("skipHooks")?,
            api_versions: fields.list("apiVersions")?.unwrap_or_default(),
            kube_version: fields.text("kubeVersion")?,
            name_template: fields.text("nameTemplate")?,
            skip_tests: fields.flag("skipTests")?,
            devel: fields.flag("devel")?,
        };
        fields.flag("debug")?;
        Ok(chart)
    }
}

impl Decode for HelmChart {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let chart = Self::fields(&mut fields)?;
        fields.end()?;
        Ok(chart)
    }
}

// A chart as it was asked for long ago.
struct OldChart {
    chart: HelmChart,
    globals: HelmGlobals,
}

impl Decode for OldChart {
    fn decode(value: &Value, path: &str) -> Result<Self, Fault> {
        let mut fields = Fields::of(value, path)?;
        let old = Self {
            chart: HelmChart {
                name: fields.text("chartName")?,
                version: fields.text("chartVersion")?,
                repo: fields.text("chartRepoUrl")?,
                values_file: fields.text("values")?,
                values_inline: fields.option("valuesLocal")?,
                values_merge: fields.text("valuesMerge")?,
                release_name: fields.text("releaseName")?,
                ..HelmChart::default()
            },
            globals: HelmGlobals {
                chart_home: fields.text("chartHome")?,
                config_home: fields.text("helmHome")?,
            },
        };
        for name in ["chartRepoName", "helmBin", "releaseNamespace"] {
            fields.text(name)?;
        }
        fields.list::<String>("extraArgs")?;
        fields.end()?;
        Ok(old)
    }
}

/// The selector of everything of a kind.
pub(crate) fn of_gvk(gvk: Gvk) -> ResId {
    ResId {
        gvk,
        ..ResId::default()
    }
}
