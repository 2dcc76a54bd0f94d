//! Generators and transformers: those that the fields of a kustomization stand for, and built-in
//! ones that files configure.

use crate::affix::{self, End};
use crate::config::Config;
use crate::decode::{self, Decode, Fields};
use crate::error::KustomizeError;
use crate::fault::Fault;
use crate::fieldspec::{self, FieldSpec};
use crate::generate::{self, Made};
use crate::kustomization::{
    GeneratorArgs, HelmChart, HelmGlobals, Image, ObjectMeta, Patch, Replacement, ReplacementField,
    Replica, Selector, Words,
};
use crate::metadata::{self, Configured};
use crate::namespace::{Setting, Subjects};
use crate::resource::{self, Resource};
use crate::selector::Matcher;
use crate::target::{Accumulated, Target, objects, register, settings};
use crate::work::{Author, List, Result, Work};
use crate::{helm, images, labels, namespace, patch, read, replacement, replicas, values, write};
use model::{Origin, Value};

/// Resources that a generator made, who asked for them, and what the output may say about it.
pub(crate) type Generated = (List, Author, Option<Configured>);

/// One transformer.
pub(crate) struct Step {
    action: Action,
    pub(crate) author: Author,
    configured: Option<Configured>,
}

enum Action {
    OldMerges(List),
    Patch(patch::Loaded),
    Namespace(Setting),
    Affix(End, String, Vec<FieldSpec>),
    Affixes(String, String, Vec<FieldSpec>),
    Words(Words, Vec<FieldSpec>),
    Json(Value, Selector),
    Replicas(Replica, Vec<FieldSpec>),
    Image(Image, Vec<FieldSpec>),
    Replacements(Vec<Replacement>),
    Values(String, Vec<values::Place>),
    Hash,
}

impl Step {
    /// Runs the transformer over all resources.
    pub(crate) fn run(self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        let author = &self.author;
        let list = all.list.clone();
        match &self.action {
            Action::OldMerges(patches) => {
                for &at in patches {
                    patch::apply_old_merge(work, all, at, author)?;
                }
            }
            Action::Patch(loaded) => patch::apply(work, all, loaded)?,
            Action::Namespace(setting) => namespace::set(work, &list, setting, author)?,
            Action::Affix(end, text, specs) => affix::add(work, &list, text, *end, specs, author)?,
            Action::Affixes(prefix, suffix, specs) => {
                affix::add(work, &list, prefix, End::Prefix, specs, author)?;
                affix::add(work, &list, suffix, End::Suffix, specs, author)?;
            }
            Action::Words(words, specs) => labels::set(work, &list, words, specs, author)?,
            Action::Json(operations, selector) => {
                let matcher = Matcher::new(selector).map_err(|fault| author.blame(fault))?;
                let selected = matcher.select(work, &list);
                patch::json(work, &selected, operations, author, false)?;
            }
            Action::Replicas(replica, specs) => replicas::set(work, &list, replica, specs, author)?,
            Action::Image(image, specs) => images::set(work, &list, image, specs, author)?,
            Action::Replacements(list_of) => {
                for one in list_of {
                    replacement::apply(work, &list, one, author)?;
                }
            }
            Action::Values(value, places) => values::add(work, &list, value, places, author)?,
            Action::Hash => {
                generate::add_hashes(work, &list).map_err(|fault| author.blame(fault))?
            }
        }
        all.names = None;
        if let Some(configured) = &self.configured {
            metadata::note_transformer(work, &all.list, configured)
                .map_err(|fault| author.blame(fault))?;
        }
        all.list.retain(|at| !work.is_gone(*at));
        Ok(())
    }
}

/// Runs the generators that the fields of a kustomization stand for.
pub(crate) fn generate_own(work: &mut Work<'_>, target: &Target) -> Result<Vec<Generated>> {
    let mut generated = Vec::new();
    let kustomization = &target.kustomization;
    for (made, list, field) in [
        (
            Made::ConfigMap,
            &kustomization.config_maps,
            "configMapGenerator",
        ),
        (Made::Secret, &kustomization.secrets, "secretGenerator"),
    ] {
        for (index, args) in list.iter().enumerate() {
            let author = target.author_at(work, field, &[field, &index.to_string()]);
            let mut args = args.clone();
            if let Some(global) = &kustomization.generator_options {
                args.options = Some(args.options.unwrap_or_default().with_global(global));
            }
            let list = make(work, target, &args, made, &author)?;
            let kind = if made == Made::ConfigMap {
                "ConfigMapGenerator"
            } else {
                "SecretGenerator"
            };
            generated.push((list, author, builtin(target, kind)));
        }
    }
    let globals = kustomization.helm_globals.clone().unwrap_or_default();
    for (index, chart) in kustomization.helm_charts.iter().enumerate() {
        let author = target.author_at(work, "helmCharts", &["helmCharts", &index.to_string()]);
        let mut chart = chart.clone();
        if chart.namespace.is_empty() {
            chart.namespace = if kustomization.namespace.is_empty() {
                target.helm_namespace.clone()
            } else {
                kustomization.namespace.clone()
            };
        }
        let list = helm::inflate(work, &target.loader, &chart, &globals, &author)?;
        generated.push((list, author, builtin(target, "HelmChartInflationGenerator")));
    }
    Ok(generated)
}

fn builtin(target: &Target, kind: &str) -> Option<Configured> {
    let origin = target.origin.as_ref()?;
    Some(Configured::builtin(origin, &target.file_name, kind))
}

fn make(
    work: &mut Work<'_>,
    target: &Target,
    args: &GeneratorArgs,
    made: Made,
    author: &Author,
) -> Result<List> {
    let root = generate::make(work, &target.loader, args, made, author)?;
    let at = work.add(Resource {
        root: Some(root),
        origin: Origin::new(author.at.file.clone(), 0, author.at.line),
        ..Resource::default()
    });
    work.touch(at, author, Vec::new());
    Ok(vec![at])
}

/// The transformers that the fields of a kustomization stand for, in their order.
pub(crate) fn own_transformers(
    work: &mut Work<'_>,
    target: &Target,
    config: &Config,
) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let k = &target.kustomization;
    let mut push = |action: Action, author: Author, kind: &str| {
        steps.push(Step {
            action,
            author,
            configured: builtin(target, kind),
        });
    };
    let merges = k.patches_strategic_merge.clone().unwrap_or_default();
    if !merges.is_empty() {
        let author = target.author_at(work, "patchesStrategicMerge", &["patchesStrategicMerge"]);
        let list = old_merges(work, target, &merges, &author)?;
        push(
            Action::OldMerges(list),
            author,
            "PatchStrategicMergeTransformer",
        );
    }
    for (index, entry) in k.patches.iter().enumerate() {
        let author = target.author_at(work, "patches", &["patches", &index.to_string()]);
        let mut loaded = patch::load(work, &target.loader, entry, &author)?;
        loaded.author.by = "patch".into();
        push(Action::Patch(loaded), author, "PatchTransformer");
    }
    if !k.namespace.is_empty() {
        let setting = Setting {
            namespace: k.namespace.clone(),
            specs: config.namespace.clone(),
            ..Setting::default()
        };
        let author = target.author_at(work, "namespace", &["namespace"]);
        push(Action::Namespace(setting), author, "NamespaceTransformer");
    }
    for (end, text, specs, field, kind) in [
        (
            End::Prefix,
            &k.name_prefix,
            &config.name_prefix,
            "namePrefix",
            "PrefixTransformer",
        ),
        (
            End::Suffix,
            &k.name_suffix,
            &config.name_suffix,
            "nameSuffix",
            "SuffixTransformer",
        ),
    ] {
        if !text.is_empty() {
            let author = target.author_at(work, field, &[field]);
            push(
                Action::Affix(end, text.clone(), specs.clone()),
                author,
                kind,
            );
        }
    }
    let common = k.common_labels.clone().unwrap_or_default();
    for (index, label) in k.labels.iter().enumerate() {
        let author = target.author_at(work, "labels", &["labels", &index.to_string()]);
        let specs = label_specs(label, config).map_err(|fault| author.blame(fault))?;
        push(
            Action::Words(label.pairs.clone(), specs),
            author,
            "LabelTransformer",
        );
    }
    if !k.labels.is_empty() || !common.is_empty() {
        let author = target.author_at(work, "commonLabels", &["commonLabels"]);
        push(
            Action::Words(common, config.common_labels.clone()),
            author,
            "LabelTransformer",
        );
    }
    if !k.common_annotations.is_empty() {
        let author = target.author_at(work, "commonAnnotations", &["commonAnnotations"]);
        let action = Action::Words(
            k.common_annotations.clone(),
            config.common_annotations.clone(),
        );
        push(action, author, "AnnotationsTransformer");
    }
    for (index, entry) in k.patches_json6902.iter().flatten().enumerate() {
        let author = target.author_at(
            work,
            "patchesJson6902",
            &["patchesJson6902", &index.to_string()],
        );
        let action = json_patch(work, target, entry, &author)?;
        push(action, author, "PatchJson6902Transformer");
    }
    for (index, replica) in k.replicas.iter().enumerate() {
        let author = target.author_at(work, "replicas", &["replicas", &index.to_string()]);
        push(
            Action::Replicas(replica.clone(), config.replicas.clone()),
            author,
            "ReplicaCountTransformer",
        );
    }
    for (index, image) in k.images.iter().enumerate() {
        let author = target.author_at(work, "images", &["images", &index.to_string()]);
        push(
            Action::Image(image.clone(), config.images.clone()),
            author,
            "ImageTagTransformer",
        );
    }
    if !k.replacements.is_empty() {
        let author = target.author_at(work, "replacements", &["replacements"]);
        let list = replacements(work, target, &k.replacements, &author)?;
        push(Action::Replacements(list), author, "ReplacementTransformer");
    }
    Ok(steps)
}

fn label_specs(
    label: &crate::kustomization::Label,
    config: &Config,
) -> crate::fault::Outcome<Vec<FieldSpec>> {
    let mut specs = label.fields.clone();
    let add = |specs: &mut Vec<FieldSpec>, more: &[FieldSpec]| {
        more.iter()
            .try_for_each(|spec| fieldspec::merge_one(specs, spec.clone()))
    };
    add(&mut specs, &config.labels)?;
    if label.include_selectors {
        add(&mut specs, &config.common_labels)?;
        return Ok(specs);
    }
    if label.include_templates {
        add(&mut specs, &config.template_labels)?;
    }
    add(&mut specs, &[FieldSpec::of_all("metadata/labels", true)])?;
    Ok(specs)
}

// Entries are patches themselves, or files of patches.
fn old_merges(
    work: &mut Work<'_>,
    target: &Target,
    entries: &[String],
    author: &Author,
) -> Result<List> {
    let mut list = Vec::new();
    for entry in entries {
        let source = work.source(&target.file);
        match read::objects(&mut work.arena, entry.as_bytes(), source) {
            Ok(documents) => list.extend(register(work, &documents, &target.file, source)),
            Err(_) => {
                let (bytes, file) = target.loader.load(entry, work, &author.at)?;
                list.extend(objects(work, &bytes, &file)?);
            }
        }
    }
    if list.is_empty() {
        return Err(author.blame(Fault::text("patch appears to be empty")));
    }
    Ok(list)
}

fn json_patch(work: &Work<'_>, target: &Target, entry: &Patch, author: &Author) -> Result<Action> {
    let refuse = |message: String| Err(author.blame(Fault::text(message)));
    let Some(selector) = entry.target.clone() else {
        return refuse("must specify a target".into());
    };
    if selector.id.name.is_empty() {
        return refuse("must specify the target name".into());
    }
    let bytes: Vec<u8> = match (entry.path.is_empty(), entry.patch.is_empty()) {
        (true, true) => return refuse("empty file path and empty jsonOp".into()),
        (false, false) => return refuse("must specify a file path or jsonOp, not both".into()),
        (false, true) => target
            .loader
            .load(&entry.path, work, &author.at)?
            .0
            .to_vec(),
        (true, false) => entry.patch.clone().into_bytes(),
    };
    match patch::operations(&bytes) {
        Ok(operations) if operations.as_array().is_some_and(Vec::is_empty) => {
            refuse("patch appears to be empty".into())
        }
        Ok(operations) => Ok(Action::Json(operations, selector)),
        Err(why) => refuse(why),
    }
}

fn replacements(
    work: &Work<'_>,
    target: &Target,
    entries: &[ReplacementField],
    author: &Author,
) -> Result<Vec<Replacement>> {
    let mut list = Vec::new();
    for entry in entries {
        if entry.path.is_empty() {
            list.push(entry.inline.clone());
            continue;
        }
        let targets = entry
            .inline
            .targets
            .as_ref()
            .is_some_and(|targets| !targets.is_empty());
        if entry.inline.source.is_some() || targets {
            let fault = Fault::text("cannot specify both path and inline replacement");
            return Err(author.blame(fault));
        }
        let (bytes, file) = target.loader.load(&entry.path, work, &author.at)?;
        let value = settings(&bytes, &file)?;
        let read = decode::leniently(|| replacement::read_file(&value));
        list.extend(read.map_err(|fault| wrong(&file, fault))?);
    }
    Ok(list)
}

fn wrong(file: &str, fault: decode::Fault) -> KustomizeError {
    KustomizeError::Settings {
        at: crate::Spot::new(file, 0),
        message: fault.message,
        nearest: fault.nearest,
    }
}

// The settings of a plugin, and who wrote them.
struct Plugin {
    value: Value,
    kind: String,
    author: Author,
    configured: Option<Configured>,
}

fn open(work: &Work<'_>, at: usize, what: &str) -> Result<Plugin> {
    let spot = work.spot(at);
    let Some(root) = work.root(at) else {
        return Err(KustomizeError::Unsupported {
            at: spot,
            what: format!("an empty {what}"),
        });
    };
    let kind = resource::kind(&work.arena, root).to_owned();
    let version = resource::api_version(&work.arena, root);
    let author = Author {
        by: kind.clone(),
        at: spot.clone(),
    };
    if version != "builtin" {
        let annotated = resource::annotation(&work.arena, root, "config.kubernetes.io/function")
            .is_some()
            || resource::annotation(&work.arena, root, "config.k8s.io/function").is_some();
        let how = if annotated {
            "a function in a container or program"
        } else {
            "an external plugin"
        };
        return Err(KustomizeError::Unsupported {
            at: spot,
            what: format!("the {what} {version} {kind}, {how},"),
        });
    }
    let value = write::to_value(&work.arena, root, true).map_err(|fault| author.blame(fault))?;
    Ok(Plugin {
        value,
        kind,
        author,
        configured: Configured::of_config(work, at),
    })
}

/// Runs a generator that a resource configures.
pub(crate) fn generate(work: &mut Work<'_>, target: &Target, at: usize) -> Result<Generated> {
    let plugin = open(work, at, "generator")?;
    let author = plugin.author.clone();
    let bad = |fault: decode::Fault| wrong(&author.at.file, fault);
    let list = match plugin.kind.as_str() {
        "ConfigMapGenerator" | "SecretGenerator" => {
            let args = decode::leniently(|| generator_args(&plugin.value)).map_err(bad)?;
            let made = if plugin.kind == "SecretGenerator" {
                Made::Secret
            } else {
                Made::ConfigMap
            };
            make(work, target, &args, made, &author)?
        }
        "HelmChartInflationGenerator" => {
            let read = decode::leniently(|| {
                let mut fields = Fields::of(&plugin.value, "")?;
                let chart = HelmChart::fields(&mut fields)?;
                Ok((chart, HelmGlobals::decode(&plugin.value, "")?))
            });
            let (chart, globals) = read.map_err(bad)?;
            helm::inflate(work, &target.loader, &chart, &globals, &author)?
        }
        "IAMPolicyGenerator" => iam_policy(work, &plugin)?,
        other => {
            return Err(author.blame(Fault::text(format!(
                "unable to load builtin generator {other}"
            ))));
        }
    };
    Ok((list, author, plugin.configured))
}

fn generator_args(value: &Value) -> std::result::Result<GeneratorArgs, decode::Fault> {
    let mut fields = Fields::of(value, "")?;
    let mut args = GeneratorArgs::fields(&mut fields)?;
    args.secret_type = fields.text("type")?;
    if let Some(meta) = fields.option::<ObjectMeta>("metadata")? {
        if args.name.is_empty() {
            args.name = meta.name;
        }
        if args.namespace.is_empty() {
            args.namespace = meta.namespace;
        }
    }
    Ok(args)
}

fn iam_policy(work: &mut Work<'_>, plugin: &Plugin) -> Result<List> {
    let value = &plugin.value;
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    if text("/cloud") != "gke" {
        let message = format!("cloud provider {} not supported yet", text("/cloud"));
        return Err(plugin.author.blame(Fault::text(message)));
    }
    let mut yaml = format!(
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  annotations:\n    iam.gke.io/gcp-service-account: {}@{}.iam.gserviceaccount.com\n  name: {}\n",
        text("/serviceAccount/name"),
        text("/serviceAccount/projectId"),
        text("/kubernetesService/name"),
    );
    if !text("/kubernetesService/namespace").is_empty() {
        yaml.push_str(&format!(
            "  namespace: {}\n",
            text("/kubernetesService/namespace")
        ));
    }
    objects(work, yaml.as_bytes(), &plugin.author.at.file)
}

/// The transformer that a resource configures.
pub(crate) fn transformer(work: &mut Work<'_>, target: &Target, at: usize) -> Result<Step> {
    let plugin = open(work, at, "transformer")?;
    let author = plugin.author.clone();
    let action = action(work, target, &plugin)?;
    Ok(Step {
        action,
        author,
        configured: plugin.configured,
    })
}

fn action(work: &mut Work<'_>, target: &Target, plugin: &Plugin) -> Result<Action> {
    let author = &plugin.author;
    let file = author.at.file.clone();
    let read = decode::leniently(|| read_action(plugin));
    let read = read.map_err(|fault| wrong(&file, fault))?;
    match read {
        Read::Ready(action) => Ok(action),
        Read::Patch(entry) => {
            let mut loaded = patch::load(work, &target.loader, &entry, author)?;
            loaded.author.by.clone_from(&plugin.kind);
            Ok(Action::Patch(loaded))
        }
        Read::OldMerges(paths, inline) => {
            let mut entries = paths;
            if !inline.is_empty() {
                entries.push(inline);
            }
            if entries.is_empty() {
                return Err(author.blame(Fault::text("empty file path and empty patch content")));
            }
            Ok(Action::OldMerges(old_merges(
                work, target, &entries, author,
            )?))
        }
        Read::Json(entry) => json_patch(work, target, &entry, author),
        Read::Replacements(entries) => Ok(Action::Replacements(replacements(
            work, target, &entries, author,
        )?)),
        Read::Values(value, mut places, path) => {
            if !path.is_empty() {
                let (bytes, file) = target.loader.load(&path, work, &author.at)?;
                let more = settings(&bytes, &file)?;
                let more = decode::leniently(|| Fields::of(&more, "")?.list("targets"));
                places.extend(
                    more.map_err(|fault| wrong(&file, fault))?
                        .unwrap_or_default(),
                );
            }
            let value = match value.trim() {
                "" => target
                    .loader
                    .root
                    .rsplit('/')
                    .next()
                    .unwrap_or("")
                    .to_owned(),
                value => value.to_owned(),
            };
            if places.is_empty() {
                return Err(author.blame(Fault::text("must specify at least one target")));
            }
            let bad = places
                .iter()
                .find(|place| place.field_path.is_empty() || place.position < 0);
            if bad.is_some() {
                return Err(author.blame(Fault::text("fieldPath cannot be empty")));
            }
            Ok(Action::Values(value, places))
        }
        Read::Refused(message) => Err(author.blame(Fault::text(message))),
    }
}

enum Read {
    Ready(Action),
    Patch(Patch),
    OldMerges(Vec<String>, String),
    Json(Patch),
    Replacements(Vec<ReplacementField>),
    Values(String, Vec<values::Place>, String),
    Refused(String),
}

fn read_action(plugin: &Plugin) -> std::result::Result<Read, decode::Fault> {
    let mut fields = Fields::of(&plugin.value, "")?;
    let mut specs = || fields.list::<FieldSpec>("fieldSpecs");
    Ok(match plugin.kind.as_str() {
        "LabelTransformer" => {
            let specs = specs()?.unwrap_or_default();
            Read::Ready(Action::Words(
                fields.option("labels")?.unwrap_or_default(),
                specs,
            ))
        }
        "AnnotationsTransformer" => {
            let specs = specs()?.unwrap_or_default();
            Read::Ready(Action::Words(
                fields.option("annotations")?.unwrap_or_default(),
                specs,
            ))
        }
        "PrefixTransformer" | "SuffixTransformer" | "PrefixSuffixTransformer" => {
            let Some(specs) = specs()? else {
                return Ok(Read::Refused("fieldSpecs is not expected to be nil".into()));
            };
            let (prefix, suffix) = (fields.text("prefix")?, fields.text("suffix")?);
            Read::Ready(match plugin.kind.as_str() {
                "PrefixTransformer" => Action::Affix(End::Prefix, prefix, specs),
                "SuffixTransformer" => Action::Affix(End::Suffix, suffix, specs),
                _ => Action::Affixes(prefix, suffix, specs),
            })
        }
        "NamespaceTransformer" => {
            let specs = specs()?.unwrap_or_default();
            let meta = fields.option::<ObjectMeta>("metadata")?;
            let subjects = match Subjects::of(&fields.text("setRoleBindingSubjects")?) {
                Ok(subjects) => subjects,
                Err(fault) => return Ok(Read::Refused(fault.to_string())),
            };
            Read::Ready(Action::Namespace(Setting {
                namespace: meta.map(|meta| meta.namespace).unwrap_or_default(),
                specs,
                unset_only: fields.flag("unsetOnly")?,
                subjects,
            }))
        }
        "ImageTagTransformer" => {
            let specs = specs()?.unwrap_or_default();
            Read::Ready(Action::Image(
                fields.option("imageTag")?.unwrap_or_default(),
                specs,
            ))
        }
        "ReplicaCountTransformer" => {
            let specs = specs()?.unwrap_or_default();
            Read::Ready(Action::Replicas(
                fields.option("replica")?.unwrap_or_default(),
                specs,
            ))
        }
        "PatchTransformer" => Read::Patch(Patch::decode(&plugin.value, "")?),
        "PatchStrategicMergeTransformer" => Read::OldMerges(
            fields.list("paths")?.unwrap_or_default(),
            fields.text("patches")?,
        ),
        "PatchJson6902Transformer" => Read::Json(Patch {
            path: fields.text("path")?,
            patch: fields.text("jsonOp")?,
            target: fields.option("target")?,
            ..Patch::default()
        }),
        "ReplacementTransformer" => {
            Read::Replacements(fields.list("replacements")?.unwrap_or_default())
        }
        "ValueAddTransformer" => Read::Values(
            fields.text("value")?,
            fields.list("targets")?.unwrap_or_default(),
            fields.text("targetFilePath")?,
        ),
        "HashTransformer" => Read::Ready(Action::Hash),
        other => Read::Refused(format!("unable to load builtin transformer {other}")),
    })
}
