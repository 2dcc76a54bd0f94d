//! Which fields transformers change: the built-in table, and what `configurations` and `crds` add.

use crate::decode::{self, Decode};
use crate::fault::{Fault, Outcome};
use crate::fieldspec::{self, FieldSpec};
use crate::id::Gvk;
use model::Value;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

mod defaults;

/// Kinds whose names other kinds mention, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NameReference {
    pub(crate) gvk: Gvk,
    pub(crate) referrers: Vec<FieldSpec>,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Config {
    pub(crate) name_prefix: Vec<FieldSpec>,
    pub(crate) name_suffix: Vec<FieldSpec>,
    pub(crate) namespace: Vec<FieldSpec>,
    pub(crate) common_labels: Vec<FieldSpec>,
    pub(crate) labels: Vec<FieldSpec>,
    pub(crate) template_labels: Vec<FieldSpec>,
    pub(crate) common_annotations: Vec<FieldSpec>,
    pub(crate) name_reference: Vec<NameReference>,
    pub(crate) var_reference: Vec<FieldSpec>,
    pub(crate) images: Vec<FieldSpec>,
    pub(crate) replicas: Vec<FieldSpec>,
}

/// A table that many targets may share; none is an empty one.
pub(crate) type Shared = Option<Rc<Config>>;

thread_local! {
    static BUILTIN: Rc<Config> = Rc::new(builtin().clone());
}

fn builtin() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(defaults::config)
}

/// The built-in table.
pub(crate) fn shared_builtin() -> Rc<Config> {
    BUILTIN.with(Rc::clone)
}

/// Both tables; contradictions are refused.
pub(crate) fn merge(first: &Shared, second: &Shared) -> Outcome<Shared> {
    match (first, second) {
        (None, other) | (other, None) => Ok(other.clone()),
        (Some(a), Some(b)) if Rc::ptr_eq(a, b) => Ok(first.clone()),
        (Some(a), Some(b)) => {
            let mut merged = (**a).clone();
            merged.absorb(b)?;
            Ok(Some(Rc::new(merged)))
        }
    }
}

impl Config {
    /// Takes over what another table has more.
    pub(crate) fn absorb(&mut self, other: &Self) -> Outcome {
        let pairs = [
            (&mut self.name_prefix, &other.name_prefix, "NamePrefix"),
            (&mut self.name_suffix, &other.name_suffix, "NameSuffix"),
            (&mut self.namespace, &other.namespace, "NameSpace"),
            (
                &mut self.common_labels,
                &other.common_labels,
                "CommonLabels",
            ),
            (&mut self.labels, &other.labels, "Labels"),
            (
                &mut self.template_labels,
                &other.template_labels,
                "TemplateLabels",
            ),
            (
                &mut self.common_annotations,
                &other.common_annotations,
                "CommonAnnotations",
            ),
            (
                &mut self.var_reference,
                &other.var_reference,
                "VarReference",
            ),
            (&mut self.images, &other.images, "Images"),
            (&mut self.replicas, &other.replicas, "Replicas"),
        ];
        for (own, more, name) in pairs {
            absorb_specs(own, more)
                .map_err(|fault| fault.within(format_args!("failed to merge {name} fieldSpec")))?;
        }
        for reference in &other.name_reference {
            self.add_reference(reference)
                .map_err(|fault| fault.within("failed to merge NameReference fieldSpec"))?;
        }
        self.sort();
        Ok(())
    }

    fn add_reference(&mut self, reference: &NameReference) -> Outcome {
        let mut known = self.name_reference.iter_mut();
        match known.find(|known| known.gvk == reference.gvk) {
            Some(known) => absorb_specs(&mut known.referrers, &reference.referrers),
            None => {
                self.name_reference.push(reference.clone());
                Ok(())
            }
        }
    }

    pub(crate) fn sort(&mut self) {
        let lists = [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.common_annotations,
            &mut self.var_reference,
            &mut self.images,
            &mut self.replicas,
        ];
        for list in lists {
            list.sort_by_cached_key(|spec| rank(&spec.gvk));
        }
        self.name_reference
            .sort_by_cached_key(|reference| rank(&reference.gvk));
    }

    /// Reads a file of `configurations`.
    pub(crate) fn read(value: &Value) -> Result<Self, decode::Fault> {
        let mut config = Self::default();
        let mut fields = decode::Fields::of(value, "")?;
        fields.specs("namePrefix", &mut config.name_prefix)?;
        fields.specs("nameSuffix", &mut config.name_suffix)?;
        fields.specs("namespace", &mut config.namespace)?;
        fields.specs("commonLabels", &mut config.common_labels)?;
        fields.specs("labels", &mut config.labels)?;
        fields.specs("templateLabels", &mut config.template_labels)?;
        fields.specs("commonAnnotations", &mut config.common_annotations)?;
        fields.specs("varReference", &mut config.var_reference)?;
        fields.specs("images", &mut config.images)?;
        fields.specs("replicas", &mut config.replicas)?;
        config.name_reference = fields.list("nameReference")?.unwrap_or_default();
        fields.end()?;
        config.sort();
        Ok(config)
    }
}

impl decode::Fields<'_> {
    fn specs(&mut self, name: &str, into: &mut Vec<FieldSpec>) -> Result<(), decode::Fault> {
        *into = self.list(name)?.unwrap_or_default();
        Ok(())
    }
}

impl Decode for FieldSpec {
    fn decode(value: &Value, path: &str) -> Result<Self, decode::Fault> {
        let mut fields = decode::Fields::of(value, path)?;
        let spec = Self {
            gvk: fields.gvk()?,
            path: fields.text("path")?,
            create: fields.flag("create")?,
        };
        fields.end()?;
        Ok(spec)
    }
}

impl Decode for NameReference {
    fn decode(value: &Value, path: &str) -> Result<Self, decode::Fault> {
        let mut fields = decode::Fields::of(value, path)?;
        let reference = Self {
            gvk: fields.gvk()?,
            referrers: fields.list("fieldSpecs")?.unwrap_or_default(),
        };
        fields.end()?;
        Ok(reference)
    }
}

fn absorb_specs(own: &mut Vec<FieldSpec>, more: &[FieldSpec]) -> Outcome {
    more.iter()
        .try_for_each(|spec| fieldspec::merge_one(own, spec.clone()))
}

/// Where a kind stands in the order of installation, then its text.
pub(crate) fn rank(gvk: &Gvk) -> (i32, String) {
    (crate::sort::default_order(&gvk.kind), gvk.sort_text())
}

/// What definitions of custom resources say about their fields.
pub(crate) fn from_crds(document: &Value) -> Outcome<Config> {
    let mut config = Config::default();
    let Some(types) = document.as_object() else {
        return Err(Fault::text(
            "a definition of custom resources must be an object",
        ));
    };
    let types: BTreeMap<&str, &Value> = types.iter().map(|(k, v)| (k.as_str(), v)).collect();
    for (name, definition) in &types {
        let properties = &definition["Schema"]["properties"];
        let is_kind = ["kind", "apiVersion", "metadata"]
            .iter()
            .all(|field| properties.get(field).is_some());
        if is_kind {
            let kind = name.rsplit('.').next().unwrap_or(name);
            let gvk = Gvk::of("", kind);
            crd_fields(&mut config, &gvk, &types, name, &mut Vec::new())?;
        }
    }
    config.sort();
    Ok(config)
}

/// How deep definitions may lead into each other.
const CRD_DEPTH_MAX: usize = 64;

fn crd_fields(
    config: &mut Config,
    gvk: &Gvk,
    types: &BTreeMap<&str, &Value>,
    name: &str,
    path: &mut Vec<String>,
) -> Outcome {
    let Some(definition) = types.get(name) else {
        return Ok(());
    };
    if path.len() > CRD_DEPTH_MAX {
        return Err(Fault::text(format!(
            "the definition `{name}` leads back to itself"
        )));
    }
    let properties = definition["Schema"]["properties"].as_object();
    for (field, property) in properties.into_iter().flatten() {
        path.push(field.clone());
        let text = |key: &str| property[key].as_str();
        let spec = |path: &[String]| FieldSpec::new(gvk.clone(), &path.join("/"), false);
        if text("x-kubernetes-annotation").is_some() {
            fieldspec::merge_one(&mut config.common_annotations, spec(path))?;
        }
        if text("x-kubernetes-label-selector").is_some() {
            fieldspec::merge_one(&mut config.common_labels, spec(path))?;
        }
        if text("x-kubernetes-identity").is_some() {
            fieldspec::merge_one(&mut config.name_prefix, spec(path))?;
        }
        let version = text("x-kubernetes-object-ref-api-version");
        let kind = text("x-kubernetes-object-ref-kind");
        if let (Some(version), Some(kind)) = (version, kind) {
            let key = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            path.push(key.to_owned());
            let reference = NameReference {
                gvk: Gvk {
                    group: String::new(),
                    version: version.into(),
                    kind: kind.into(),
                },
                referrers: vec![spec(path)],
            };
            path.pop();
            config.add_reference(&reference)?;
        }
        if let Some(target) = text("$ref") {
            crd_fields(config, gvk, types, target, path)?;
        }
        path.pop();
    }
    Ok(())
}
