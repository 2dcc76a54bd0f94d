//! A source as the object it was read from; what is empty is left out.

use crate::source::{Directory, Helm, Jsonnet, JsonnetVar, Kustomize, Plugin, Source};
use model::{Map, Value, json};
use std::collections::BTreeMap;

impl Source {
    /// The source as it stands in an Application.
    pub fn to_value(&self) -> Value {
        let mut out = Out::default();
        out.text("repoURL", &self.repo_url);
        out.text("path", &self.path);
        out.text("targetRevision", &self.target_revision);
        out.text("chart", &self.chart);
        out.text("ref", &self.reference);
        out.text("name", &self.name);
        out.text("tagPrefix", &self.tag_prefix);
        out.set("helm", self.helm.as_ref().map(helm));
        out.set("kustomize", self.kustomize.as_ref().map(kustomize));
        out.set("directory", self.directory.as_ref().map(directory));
        out.set("plugin", self.plugin.as_ref().map(plugin));
        out.done()
    }
}

#[derive(Default)]
struct Out(Map<String, Value>);

impl Out {
    fn set(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.0.insert(name.into(), value);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.set(name, (!text.is_empty()).then(|| text.into()));
    }

    fn flag(&mut self, name: &str, flag: bool) {
        self.set(name, flag.then_some(Value::Bool(true)));
    }

    fn texts(&mut self, name: &str, texts: &[String]) {
        self.list(name, texts, |text| text.as_str().into());
    }

    fn list<T>(&mut self, name: &str, list: &[T], write: impl Fn(&T) -> Value) {
        let entries = || Value::Array(list.iter().map(write).collect());
        self.set(name, (!list.is_empty()).then(entries));
    }

    fn map<T: Clone + Into<Value>>(&mut self, name: &str, map: &BTreeMap<String, T>) {
        let entries = map.iter().map(|(k, v)| (k.clone(), v.clone().into()));
        self.set(
            name,
            (!map.is_empty()).then(|| Value::Object(entries.collect())),
        );
    }

    fn done(self) -> Value {
        Value::Object(self.0)
    }
}

fn helm(helm: &Helm) -> Value {
    let mut out = Out::default();
    out.texts("valueFiles", &helm.value_files);
    out.list("parameters", &helm.parameters, |parameter| {
        let mut out = Out::default();
        out.text("name", &parameter.name);
        out.text("value", &parameter.value);
        out.flag("forceString", parameter.force_string);
        out.done()
    });
    out.list(
        "fileParameters",
        &helm.file_parameters,
        |file| json!({"name": file.name, "path": file.path}),
    );
    out.text("releaseName", &helm.release_name);
    out.text("values", &helm.values);
    out.set("valuesObject", helm.values_object.clone());
    out.text("version", &helm.version);
    out.flag("passCredentials", helm.pass_credentials);
    out.flag("ignoreMissingValueFiles", helm.ignore_missing_value_files);
    out.flag("skipCrds", helm.skip_crds);
    out.flag("skipTests", helm.skip_tests);
    out.flag("skipSchemaValidation", helm.skip_schema_validation);
    out.text("namespace", &helm.namespace);
    out.text("kubeVersion", &helm.kube_version);
    out.texts("apiVersions", &helm.api_versions);
    out.done()
}

fn kustomize(kustomize: &Kustomize) -> Value {
    let mut out = Out::default();
    out.text("namePrefix", &kustomize.name_prefix);
    out.text("nameSuffix", &kustomize.name_suffix);
    out.texts("images", &kustomize.images);
    out.list("replicas", &kustomize.replicas, |replica| {
        let number = replica.count.parse::<i64>().map(Value::from);
        json!({"name": replica.name, "count": number.unwrap_or_else(|_| replica.count.as_str().into())})
    });
    out.map("commonLabels", &kustomize.common_labels);
    out.map("commonAnnotations", &kustomize.common_annotations);
    out.flag(
        "commonAnnotationsEnvsubst",
        kustomize.common_annotations_envsubst,
    );
    out.flag("forceCommonLabels", kustomize.force_common_labels);
    out.flag("forceCommonAnnotations", kustomize.force_common_annotations);
    out.flag("labelWithoutSelector", kustomize.label_without_selector);
    out.flag("labelIncludeTemplates", kustomize.label_include_templates);
    out.text("namespace", &kustomize.namespace);
    out.list("patches", &kustomize.patches, |patch| {
        let mut out = Out::default();
        out.text("path", &patch.path);
        out.text("patch", &patch.patch);
        out.set("target", patch.target.as_ref().map(target));
        out.map("options", &patch.options);
        out.done()
    });
    out.texts("components", &kustomize.components);
    out.flag(
        "ignoreMissingComponents",
        kustomize.ignore_missing_components,
    );
    out.text("version", &kustomize.version);
    out.text("kubeVersion", &kustomize.kube_version);
    out.texts("apiVersions", &kustomize.api_versions);
    out.done()
}

fn target(target: &crate::source::KustomizeTarget) -> Value {
    let mut out = Out::default();
    out.text("group", &target.group);
    out.text("version", &target.version);
    out.text("kind", &target.kind);
    out.text("name", &target.name);
    out.text("namespace", &target.namespace);
    out.text("labelSelector", &target.label_selector);
    out.text("annotationSelector", &target.annotation_selector);
    out.done()
}

fn directory(directory: &Directory) -> Value {
    let mut out = Out::default();
    out.flag("recurse", directory.recurse);
    let set = directory.jsonnet != Jsonnet::default();
    out.set("jsonnet", set.then(|| jsonnet(&directory.jsonnet)));
    out.text("exclude", &directory.exclude);
    out.text("include", &directory.include);
    out.flag("disableExtensionFilter", directory.disable_extension_filter);
    out.done()
}

fn jsonnet(jsonnet: &Jsonnet) -> Value {
    let variable = |variable: &JsonnetVar| {
        let mut out = Out::default();
        out.text("name", &variable.name);
        out.text("value", &variable.value);
        out.flag("code", variable.code);
        out.done()
    };
    let mut out = Out::default();
    out.list("extVars", &jsonnet.ext_vars, variable);
    out.list("tlas", &jsonnet.tlas, variable);
    out.texts("libs", &jsonnet.libs);
    out.done()
}

fn plugin(plugin: &Plugin) -> Value {
    let mut out = Out::default();
    out.text("name", &plugin.name);
    out.list(
        "env",
        &plugin.env,
        |(name, value)| json!({"name": name, "value": value}),
    );
    out.list("parameters", &plugin.parameters, |parameter| {
        let mut out = Out::default();
        out.text("name", &parameter.name);
        out.set("string", parameter.string.clone().map(Value::String));
        out.set("map", parameter.map.as_ref().map(|map| json!(map)));
        out.set("array", parameter.array.as_ref().map(|list| json!(list)));
        out.done()
    });
    out.done()
}
