//! The state of one build, and its frame: accumulate, hash, fix names, resolve variables, sort.

use crate::error::{KustomizeError, Spot};
use crate::fault::Fault;
use crate::loader::Loader;
use crate::node::{Arena, NodeId};
use crate::resource::{self, Resource};
use crate::schema::Schemas;
use crate::target::Target;
use crate::{
    Build, Options, World, id::ResId, kustomization, labels, metadata, nameref, sort, vars, write,
};
use model::{Manifest, Origin, SourceTree, Touch};

/// Everything that lives while a kustomization is built.
pub(crate) struct Work<'w> {
    pub(crate) arena: Arena,
    pub(crate) resources: Vec<Resource>,
    pub(crate) schemas: Schemas,
    pub(crate) warnings: Vec<String>,
    /// Names of the files that nodes come from; the first stands for none.
    sources: Vec<String>,
    pub(crate) options: &'w Options,
    pub(crate) world: &'w dyn World,
}

/// Resources in order, by their number.
pub(crate) type List = Vec<usize>;

pub(crate) type Result<T = ()> = std::result::Result<T, KustomizeError>;

/// Who changes resources, for their history.
#[derive(Clone, Debug, Default)]
pub(crate) struct Author {
    pub(crate) by: String,
    pub(crate) at: Spot,
}

impl Author {
    /// The error of a step.
    pub(crate) fn blame(&self, fault: Fault) -> KustomizeError {
        match fault {
            Fault::Placed(error) => *error,
            other => KustomizeError::Step {
                at: self.at.clone(),
                step: self.by.clone(),
                message: other.to_string(),
            },
        }
    }
}

impl Work<'_> {
    /// Names a source of nodes.
    pub(crate) fn source(&mut self, name: &str) -> u32 {
        self.sources.push(name.to_owned());
        self.sources.len() as u32 - 1
    }

    pub(crate) fn source_name(&self, source: u32) -> &str {
        &self.sources[source as usize]
    }

    pub(crate) fn add(&mut self, resource: Resource) -> usize {
        self.resources.push(resource);
        self.resources.len() - 1
    }

    /// The nodes of a resource that was not deleted.
    pub(crate) fn root(&self, at: usize) -> Option<NodeId> {
        self.resources[at].root
    }

    pub(crate) fn id(&self, at: usize) -> ResId {
        match self.root(at) {
            Some(root) => resource::current_id(&self.arena, &self.schemas, root),
            None => ResId::default(),
        }
    }

    pub(crate) fn original_id(&self, at: usize) -> ResId {
        match self.root(at) {
            Some(root) => resource::original_id(&self.arena, &self.schemas, root),
            None => ResId::default(),
        }
    }

    pub(crate) fn previous_ids(&self, at: usize) -> Vec<ResId> {
        let root = self.root(at);
        root.map_or(Vec::new(), |root| resource::previous_ids(&self.arena, root))
    }

    /// Every name that it has or had, the newest last.
    pub(crate) fn all_ids(&self, at: usize) -> Vec<ResId> {
        let mut ids = self.previous_ids(at);
        ids.push(self.id(at));
        ids
    }

    pub(crate) fn is_gone(&self, at: usize) -> bool {
        self.root(at).is_none_or(|root| self.arena.is_empty(root))
    }

    /// Notes who changed which fields of a resource.
    pub(crate) fn touch(&mut self, at: usize, author: &Author, fields: Vec<String>) {
        if self.options.without_origins {
            return;
        }
        let touched = &mut self.resources[at].origin.touched;
        let same = |touch: &Touch| {
            touch.by == author.by && touch.file == author.at.file && touch.line == author.at.line
        };
        if let Some(last) = touched.last_mut().filter(|touch| same(touch)) {
            for field in fields {
                if !last.fields.contains(&field) {
                    last.fields.push(field);
                }
            }
            return;
        }
        touched.push(Touch {
            by: author.by.clone(),
            file: author.at.file.clone(),
            line: author.at.line,
            fields,
        });
    }

    /// Where a resource stands, for messages.
    pub(crate) fn spot(&self, at: usize) -> Spot {
        let origin = &self.resources[at].origin;
        Spot::new(&origin.file, origin.line)
    }

    /// The value of a resource as it is now, for comparing.
    pub(crate) fn value(&self, at: usize) -> Option<model::Value> {
        write::to_value(&self.arena, self.root(at)?, true).ok()
    }
}

/// Builds the kustomization in a directory.
pub(crate) fn run(
    tree: &SourceTree,
    directory: &str,
    options: &Options,
    world: &dyn World,
) -> Result<Build> {
    let mut work = Work {
        arena: Arena::default(),
        resources: Vec::new(),
        schemas: Schemas::new(),
        warnings: Vec::new(),
        sources: vec![String::new()],
        options,
        world,
    };
    build(&mut work, tree, directory)
}

fn build(work: &mut Work<'_>, tree: &SourceTree, directory: &str) -> Result<Build> {
    let loader = Loader::first(tree, directory, work)?;
    let mut target = Target::open(work, loader, None)?;
    options_edits(work, &mut target)?;
    target.use_schema(work)?;
    let tracked = !target.kustomization.build_metadata.is_empty();
    target.origin = tracked.then(metadata::Source::default);
    let mut all = target.accumulate(work, None)?;

    let author = target.author("configMapGenerator", &[]);
    crate::generate::add_hashes(work, &all.list).map_err(|fault| author.blame(fault))?;
    let author = target.author("nameReference", &[]);
    nameref::fix(work, &all, &author)?;
    let author = target.author("vars", &["vars"]);
    vars::resolve(work, &all, &author)?;
    drop_local(work, &mut all.list)?;

    let author = target.author("sortOptions", &["sortOptions"]);
    sort::apply(
        work,
        &mut all.list,
        target.kustomization.sort_options.as_ref(),
    )
    .map_err(|fault| author.blame(fault))?;
    let kustomization = &target.kustomization;
    if work.options.managed_by_label || kustomization.asks_for("managedByLabel") {
        let author = target.author("managedByLabel", &["buildMetadata"]);
        labels::managed_by(work, &all.list, &author)?;
    }
    finish(work, &all.list, kustomization)
}

fn options_edits(work: &mut Work<'_>, target: &mut Target) -> Result {
    let options = work.options;
    crate::edits::apply(&options.edits, target)
}

// Resources that are only there for the build.
fn drop_local(work: &mut Work<'_>, list: &mut List) -> Result {
    for &at in &*list {
        if let Some(root) = work.root(at).filter(|_| !work.is_gone(at)) {
            crate::read::check_meta(&work.arena, root).map_err(|message| {
                KustomizeError::NotAnObject {
                    at: work.spot(at),
                    message,
                }
            })?;
        }
    }
    list.retain(|&at| {
        let local = work.root(at).is_some_and(|root| {
            let mark = resource::annotation(&work.arena, root, resource::LOCAL);
            mark.is_some_and(|mark| mark != "false")
        });
        !local && !work.is_gone(at)
    });
    Ok(())
}

fn finish(
    work: &mut Work<'_>,
    list: &List,
    kustomization: &kustomization::Kustomization,
) -> Result<Build> {
    let mut manifests = Vec::with_capacity(list.len());
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let author = Author {
            by: "output".into(),
            at: work.spot(at),
        };
        clean(work, root, kustomization).map_err(|fault| author.blame(fault))?;
        let mut object =
            write::to_value(&work.arena, root, true).map_err(|fault| author.blame(fault))?;
        if has_control(&object) {
            let fault = Fault::text("yaml: control characters are not allowed");
            return Err(author.blame(fault));
        }
        unbreak(&mut object);
        let origin = origin(work, at, root);
        manifests.push(Manifest { object, origin });
    }
    Ok(Build {
        manifests,
        warnings: std::mem::take(&mut work.warnings),
    })
}

// Characters that the output could not be read with.
fn has_control(value: &model::Value) -> bool {
    let bad = |text: &str| {
        text.bytes().any(|b| b == 0x7f || b == 0xc2 || b == 0xef)
            && text
                .chars()
                .any(|c| c >= '\u{7f}' && crate::read::is_forbidden(c))
    };
    match value {
        model::Value::String(text) => bad(text),
        model::Value::Array(list) => list.iter().any(has_control),
        model::Value::Object(map) => map
            .iter()
            .any(|(key, value)| bad(key) || has_control(value)),
        _ => false,
    }
}

// On its way out the object is JSON that is read as YAML: there a next-line character is a break,
// which is folded into a space.
fn unbreak(value: &mut model::Value) {
    match value {
        model::Value::String(text) if text.contains('\u{85}') => *text = without_next_line(text),
        model::Value::Array(list) => list.iter_mut().for_each(unbreak),
        model::Value::Object(map) => map.values_mut().for_each(unbreak),
        _ => {}
    }
}

fn without_next_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{85}') {
        out.push_str(rest[..at].trim_end_matches(' '));
        let tail = rest[at..].trim_start_matches(['\u{85}', ' ']);
        let run = &rest[at..rest.len() - tail.len()];
        match run.matches('\u{85}').count() {
            1 => out.push(' '),
            more => out.push_str(&"\n".repeat(more - 1)),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn clean(
    work: &mut Work<'_>,
    root: NodeId,
    kustomization: &kustomization::Kustomization,
) -> crate::fault::Outcome {
    let arena = &mut work.arena;
    resource::remove_notes(arena, root)?;
    for (asked, key) in [
        ("originAnnotations", resource::ORIGIN),
        ("transformerAnnotations", resource::TRANSFORMATIONS),
    ] {
        if !kustomization.asks_for(asked) {
            let mut words = resource::words(arena, root, "annotations");
            words.remove(key);
            resource::set_words(arena, root, "annotations", &words)?;
        }
    }
    Ok(())
}

fn origin(work: &mut Work<'_>, at: usize, root: NodeId) -> Origin {
    let mut origin = std::mem::take(&mut work.resources[at].origin);
    if !work.options.without_origins {
        let source = work.resources[at].source;
        let mut trail = String::new();
        lines(&work.arena, root, source, &mut trail, &mut origin.lines);
        origin.lines.sort();
    }
    origin
}

// The lines of the fields that come from the file of the resource itself.
fn lines(
    arena: &Arena,
    id: NodeId,
    source: u32,
    trail: &mut String,
    into: &mut Vec<(String, usize)>,
) {
    let node = arena.get(id);
    if node.source == source && node.line > 0 && !trail.is_empty() {
        into.push((trail.clone(), node.line as usize));
    }
    let length = trail.len();
    if node.kind == crate::node::Kind::Mapping {
        for (key, value) in arena.pairs(id) {
            trail.push('/');
            trail.push_str(&arena.get(key).value.replace('~', "~0").replace('/', "~1"));
            lines(arena, value, source, trail, into);
            trail.truncate(length);
        }
    } else {
        for (index, entry) in node.content.iter().enumerate() {
            trail.push_str(&format!("/{index}"));
            lines(arena, *entry, source, trail, into);
            trail.truncate(length);
        }
    }
}
