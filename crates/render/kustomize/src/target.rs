//! One kustomization: its file, and what it makes of its bases, resources and generators.

use crate::config::{self, Config, Shared};
use crate::error::{KustomizeError, Spot};
use crate::fault::Fault;
use crate::kustomization::{COMPONENT, FILE_NAMES, Kustomization, Var};
use crate::loader::{Loader, is_url};
use crate::metadata::{self, Configured};
use crate::node::NodeId;
use crate::resource::Resource;
use crate::schema::Schema;
use crate::work::{Author, List, Result, Work};
use crate::{plugin, read, resmap, resource};
use model::Origin;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// How deep bases may lead to bases.
const DEPTH_MAX: usize = 100;

/// A kustomization that was read.
pub(crate) struct Target {
    pub(crate) loader: Rc<Loader>,
    pub(crate) kustomization: Kustomization,
    /// The name of its file, for people and without the directory.
    pub(crate) file: String,
    pub(crate) file_name: String,
    text: Arc<str>,
    // The file once more, with lines.
    nodes: Option<NodeId>,
    /// Where its resources come from, when the output is to say so.
    pub(crate) origin: Option<metadata::Source>,
    /// The namespace that charts get when nothing else is said.
    pub(crate) helm_namespace: String,
    depth: usize,
}

/// What a kustomization and its bases gave so far.
#[derive(Debug, Default)]
pub(crate) struct Accumulated {
    pub(crate) list: List,
    pub(crate) config: Shared,
    pub(crate) vars: BTreeMap<String, Var>,
    /// The names in the list, while they are known.
    pub(crate) names: resmap::Names,
}

impl Target {
    /// Reads the kustomization of a directory; `at` asked for it.
    pub(crate) fn open(work: &mut Work<'_>, loader: Rc<Loader>, at: Option<&Spot>) -> Result<Self> {
        let (file_name, bytes) = find_file(&loader, at)?;
        let path = if loader.root.is_empty() {
            file_name.to_owned()
        } else {
            format!("{}/{file_name}", loader.root)
        };
        let file = loader.shown(&path);
        let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
        let spot = |line, column| Spot {
            file: file.clone(),
            line,
            column,
            text: Arc::clone(&text),
        };
        let value = read::settings(&bytes).map_err(|fault| KustomizeError::Yaml {
            at: spot(fault.line, fault.column),
            message: format!("invalid Kustomization: {}", fault.message),
        })?;
        let source = work.source(&file);
        let nodes = read::parse(&mut work.arena, &text, source, 1)
            .ok()
            .flatten();
        let mut target = Self {
            loader,
            kustomization: Kustomization::default(),
            file: file.clone(),
            file_name: file_name.to_owned(),
            text,
            nodes,
            origin: None,
            helm_namespace: String::new(),
            depth: 0,
        };
        let read = Kustomization::read(&value);
        target.kustomization = read.map_err(|fault| KustomizeError::Settings {
            at: target.pointer_spot(work, &fault.path),
            message: fault.message,
            nearest: fault.nearest,
        })?;
        work.warnings.extend(target.kustomization.deprecations());
        target.kustomization.modernise();
        target.check(work)?;
        Ok(target)
    }

    fn check(&self, work: &Work<'_>) -> Result {
        let refuse = |message: String, path: &[&str]| KustomizeError::Settings {
            at: self.spot(work, path),
            message,
            nearest: None,
        };
        if self.kustomization.empty && work.options.edits.is_empty() {
            return Err(refuse(format!("{} is empty", self.file_name), &[]));
        }
        match self.kustomization.type_faults() {
            faults if faults.is_empty() => Ok(()),
            faults => Err(refuse(faults.join("; "), &["apiVersion"])),
        }
    }

    /// A place in the file.
    pub(crate) fn spot(&self, work: &Work<'_>, path: &[&str]) -> Spot {
        let mut line = 0;
        let mut at = self.nodes;
        for part in path {
            at = at.and_then(|id| work.arena.lookup(id, &[part]).ok().flatten());
            match at {
                Some(id) => line = work.arena.get(id).line as usize,
                None => break,
            }
        }
        Spot {
            file: self.file.clone(),
            line,
            column: 0,
            text: Arc::clone(&self.text),
        }
    }

    fn pointer_spot(&self, work: &Work<'_>, pointer: &str) -> Spot {
        let parts: Vec<String> = pointer
            .split('/')
            .skip(1)
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.spot(work, &parts)
    }

    /// Who asks for a step.
    pub(crate) fn author(&self, by: &str, _: &[&str]) -> Author {
        Author {
            by: by.to_owned(),
            at: Spot {
                file: self.file.clone(),
                line: 0,
                column: 0,
                text: Arc::clone(&self.text),
            },
        }
    }

    /// Who asks for a step, and on which line.
    pub(crate) fn author_at(&self, work: &Work<'_>, by: &str, path: &[&str]) -> Author {
        Author {
            by: by.to_owned(),
            at: self.spot(work, path),
        }
    }

    /// Takes the schema that the kustomization names, when it does.
    pub(crate) fn use_schema(&self, work: &mut Work<'_>) -> Result {
        let openapi = &self.kustomization.openapi;
        let at = self.spot(work, &["openapi"]);
        let refuse = |message: &str| KustomizeError::Settings {
            at: at.clone(),
            message: message.to_owned(),
            nearest: None,
        };
        let version = openapi.get("version");
        if let Some(path) = openapi.get("path") {
            let (bytes, _) = self.loader.load(path, work, &at)?;
            if version.is_some() {
                return Err(refuse(
                    "builtin version and custom schema provided, cannot use both",
                ));
            }
            let document = read::settings(&bytes)
                .map_err(|fault| refuse(&format!("invalid schema file: {}", fault.message)))?;
            work.schemas.use_own(Schema::from_openapi(&document));
            return Ok(());
        }
        match version.map(String::as_str) {
            None | Some("") => Ok(()),
            Some("v1.21.2") => {
                work.schemas.fix_builtin();
                Ok(())
            }
            Some(_) => Err(refuse(
                "the specified OpenAPI version is not built in; v1.21.2 is",
            )),
        }
    }

    /// Everything that the kustomization gives; a component goes on with what its parent has.
    pub(crate) fn accumulate(
        &mut self,
        work: &mut Work<'_>,
        parent: Option<Accumulated>,
    ) -> Result<Accumulated> {
        let mut all = parent.unwrap_or_default();
        let resources = self.kustomization.resources.clone();
        self.add_resources(work, &mut all, &resources, "resources")?;
        self.add_config(work, &mut all)?;
        self.run_generators(work, &mut all)?;
        let components = self.kustomization.components.clone();
        for (index, path) in components.iter().enumerate() {
            let at = self.spot(work, &["components", &index.to_string()]);
            let loader = self.loader.enter(path, work, &at)?;
            self.enter(work, &mut all, loader, path, Some(&at), true)?;
        }
        self.run_transformers(work, &mut all)?;
        self.run_validators(work, &mut all)?;
        self.add_vars(work, &mut all)?;
        Ok(all)
    }

    pub(crate) fn add_resources(
        &mut self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        paths: &[String],
        field: &str,
    ) -> Result {
        for (index, path) in paths.iter().enumerate() {
            let at = self.spot(work, &[field, &index.to_string()]);
            self.add_resource(work, all, path, &at)?;
        }
        Ok(())
    }

    fn add_resource(
        &mut self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        path: &str,
        at: &Spot,
    ) -> Result {
        let as_file = self.add_file(work, all, path, at);
        let Err(error) = as_file else {
            return Ok(());
        };
        // What was a file is not tried as a directory; neither is what is neither.
        let tried = matches!(
            error,
            KustomizeError::Missing { .. }
                | KustomizeError::Remote { .. }
                | KustomizeError::Forbidden { .. }
        );
        let is_directory = !is_url(path) && {
            let resolved = self.loader.resolve(path, work, at);
            resolved.is_ok_and(|path| {
                matches!(
                    self.loader.tree.kind(&path),
                    Ok(Some(model::tree::EntryKind::Directory))
                )
            })
        };
        if !is_directory && (!tried || crate::Remote::parse(path).is_none()) {
            return Err(error);
        }
        let loader = self.loader.enter(path, work, at)?;
        self.enter(work, all, loader, path, Some(at), false)
    }

    fn enter(
        &mut self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        loader: Rc<Loader>,
        path: &str,
        at: Option<&Spot>,
        component: bool,
    ) -> Result {
        let mut inner = Self::open(work, loader, at)?;
        inner.depth = self.depth + 1;
        if inner.depth > DEPTH_MAX {
            return Err(KustomizeError::Cycle {
                at: at.cloned().unwrap_or_default(),
                directory: inner.loader.root.clone(),
            });
        }
        inner
            .kustomization
            .build_metadata
            .clone_from(&self.kustomization.build_metadata);
        inner.origin = self.origin.as_ref().map(|origin| origin.append(path));
        inner.helm_namespace = if self.kustomization.namespace.is_empty() {
            self.helm_namespace.clone()
        } else {
            self.kustomization.namespace.clone()
        };
        inner.use_schema(work)?;
        let is_component = inner.kustomization.kind == COMPONENT;
        if component != is_component {
            let message = if component {
                format!(
                    "expected kind 'Component' for path '{path}' but got '{}'",
                    inner.kustomization.kind
                )
            } else {
                format!(
                    "expected kind != 'Component' for path '{path}': list it under `components`"
                )
            };
            return Err(KustomizeError::Settings {
                at: at.cloned().unwrap_or_default(),
                message,
                nearest: None,
            });
        }
        if component {
            let parent = std::mem::take(all);
            *all = inner.accumulate(work, Some(parent))?;
            return Ok(());
        }
        let sub = inner.accumulate(work, None)?;
        self.merge(work, all, sub, at)
    }

    fn merge(
        &self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        sub: Accumulated,
        at: Option<&Spot>,
    ) -> Result {
        let author = Author {
            by: "resources".into(),
            at: at.cloned().unwrap_or_default(),
        };
        resmap::append(work, all, &sub.list)?;
        all.config =
            config::merge(&all.config, &sub.config).map_err(|fault| author.blame(fault))?;
        for (name, var) in sub.vars {
            if all.vars.contains_key(&name) {
                return Err(author.blame(Fault::text(format!("var '{name}' already encountered"))));
            }
            all.vars.insert(name, var);
        }
        Ok(())
    }

    // The objects of one file.
    fn add_file(
        &mut self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        path: &str,
        at: &Spot,
    ) -> Result {
        let (bytes, name) = self.loader.load(path, work, at)?;
        let list = objects(work, &bytes, &name)?;
        if let Some(origin) = &self.origin {
            let note = origin.append(path).note();
            for &resource in &list {
                if let Some(root) = work.root(resource) {
                    let author = self.author("resources", &[]);
                    let mut words = resource::words(&work.arena, root, "annotations");
                    words.insert(resource::ORIGIN.into(), note.clone());
                    resource::annotate(&mut work.arena, root, resource::ORIGIN, &note)
                        .map_err(|fault| author.blame(fault))?;
                }
            }
        }
        // Two of one name in one file are refused too.
        resmap::append(work, &mut Accumulated::default(), &list)?;
        resmap::append(work, all, &list)
    }

    fn add_config(&self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        let mut own: Shared = Some(config::shared_builtin());
        let kustomization = &self.kustomization;
        for (index, path) in kustomization.configurations.iter().enumerate() {
            let author = self.author_at(
                work,
                "configurations",
                &["configurations", &index.to_string()],
            );
            let (bytes, file) = self.loader.load(path, work, &author.at)?;
            let value = settings(&bytes, &file)?;
            let read = Config::read(&value).map_err(|fault| KustomizeError::Settings {
                at: Spot::new(&file, line_of(&bytes, &fault.path)),
                message: fault.message,
                nearest: fault.nearest,
            })?;
            own = config::merge(&own, &Some(Rc::new(read))).map_err(|fault| author.blame(fault))?;
        }
        let author = self.author_at(work, "configurations", &["configurations"]);
        all.config = config::merge(&all.config, &own).map_err(|fault| author.blame(fault))?;
        for (index, path) in kustomization.crds.iter().enumerate() {
            let author = self.author_at(work, "crds", &["crds", &index.to_string()]);
            let (bytes, file) = self.loader.load(path, work, &author.at)?;
            let value = settings(&bytes, &file)?;
            let read = config::from_crds(&value).map_err(|fault| author.blame(fault))?;
            all.config = config::merge(&all.config, &Some(Rc::new(read)))
                .map_err(|fault| author.blame(fault))?;
        }
        Ok(())
    }

    fn run_generators(&mut self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        for generated in plugin::generate_own(work, self)? {
            self.absorb(work, all, generated)?;
        }
        let generators = self.kustomization.generators.clone();
        let configs = self.plugin_configs(work, &generators, "generators")?;
        for at in configs {
            let generated = plugin::generate(work, self, at)?;
            self.absorb(work, all, generated)?;
        }
        Ok(())
    }

    fn absorb(
        &self,
        work: &mut Work<'_>,
        all: &mut Accumulated,
        (list, author, configured): (List, Author, Option<Configured>),
    ) -> Result {
        if let Some(configured) = configured {
            for &at in &list {
                metadata::set_origin_if_none(work, at, &configured).map_err(|f| author.blame(f))?;
            }
        }
        for at in list {
            resmap::absorb(work, all, at, &author)?;
        }
        Ok(())
    }

    // Objects that configure plugins: written out in the list, or in files and bases.
    pub(crate) fn plugin_configs(
        &mut self,
        work: &mut Work<'_>,
        entries: &[String],
        field: &str,
    ) -> Result<List> {
        let mut all = Accumulated::default();
        let mut paths = Vec::new();
        for entry in entries {
            let source = work.source(&self.file);
            match read::objects(&mut work.arena, entry.as_bytes(), source) {
                Ok(documents) => {
                    let file = self.file.clone();
                    let list = register(work, &documents, &file, source);
                    if let Some(origin) = &self.origin {
                        let note = origin.append(&self.file_name);
                        for &at in &list {
                            metadata::set_origin(work, at, &note.note())
                                .map_err(|fault| self.author(field, &[]).blame(fault))?;
                        }
                    }
                    resmap::append(work, &mut all, &list)?;
                }
                Err(_) => paths.push(entry.clone()),
            }
        }
        self.add_resources(work, &mut all, &paths, field)?;
        Ok(all.list)
    }

    fn run_transformers(&mut self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        let config = all.config.clone().unwrap_or_default();
        let mut steps = plugin::own_transformers(work, self, &config)?;
        let transformers = self.kustomization.transformers.clone();
        for at in self.plugin_configs(work, &transformers, "transformers")? {
            steps.push(plugin::transformer(work, self, at)?);
        }
        for step in steps {
            step.run(work, all)?;
        }
        Ok(())
    }

    fn run_validators(&mut self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        let validators = self.kustomization.validators.clone();
        for at in self.plugin_configs(work, &validators, "validators")? {
            let before: Vec<_> = all.list.iter().map(|at| fingerprint(work, *at)).collect();
            let step = plugin::transformer(work, self, at)?;
            let author = step.author.clone();
            step.run(work, all)?;
            let after: Vec<_> = all.list.iter().map(|at| fingerprint(work, *at)).collect();
            if before != after {
                let fault = Fault::text("validator shouldn't modify the resource map");
                return Err(author.blame(fault));
            }
        }
        Ok(())
    }

    fn add_vars(&self, work: &mut Work<'_>, all: &mut Accumulated) -> Result {
        let vars = self.kustomization.vars.clone().unwrap_or_default();
        for (index, var) in vars.into_iter().enumerate() {
            let author = self.author_at(work, "vars", &["vars", &index.to_string()]);
            crate::vars::declare(work, all, var, &author)?;
        }
        Ok(())
    }
}

// Everything in a resource that a validator might change: a field that is set to what it was counts.
fn fingerprint(
    work: &Work<'_>,
    at: usize,
) -> Vec<(crate::node::Tag, crate::node::Style, Box<str>, u32)> {
    let mut found = Vec::new();
    let mut pending: Vec<NodeId> = work.root(at).into_iter().collect();
    while let Some(id) = pending.pop() {
        let node = work.arena.get(id);
        found.push((node.tag.clone(), node.style, node.value.clone(), node.line));
        pending.extend(&node.content);
    }
    found
}

// The kustomization file of a directory: one of the names, and only one.
fn find_file(loader: &Loader, at: Option<&Spot>) -> Result<(&'static str, Arc<[u8]>)> {
    let mut found: Vec<(&'static str, Arc<[u8]>)> = Vec::new();
    for name in FILE_NAMES {
        let path = if loader.root.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", loader.root)
        };
        if let Ok(bytes) = loader.tree.read(&path) {
            found.push((name, bytes));
        }
    }
    match found.len() {
        0 => Err(KustomizeError::NoKustomization {
            at: at.cloned(),
            directory: loader.root.clone(),
            nearest: near_kustomization(loader),
        }),
        1 => Ok(found.swap_remove(0)),
        _ => Err(KustomizeError::ManyKustomizations {
            directory: loader.root.clone(),
            names: found.iter().map(|(name, _)| (*name).to_owned()).collect(),
        }),
    }
}

// A directory below with a kustomization.
fn near_kustomization(loader: &Loader) -> Option<String> {
    let entries = loader.tree.list(&loader.root).ok()?;
    entries.iter().find_map(|entry| {
        let inner = model::tree::clean(&loader.root, &entry.name)?;
        let has = FILE_NAMES.iter().any(|name| {
            matches!(
                loader.tree.kind(&format!("{inner}/{name}")),
                Ok(Some(model::tree::EntryKind::File))
            )
        });
        has.then_some(inner)
    })
}

/// Reads the objects of a file as resources.
pub(crate) fn objects(work: &mut Work<'_>, bytes: &[u8], file: &str) -> Result<List> {
    let source = work.source(file);
    let documents = read::objects(&mut work.arena, bytes, source)
        .map_err(|fault| unreadable(fault, file, bytes))?;
    Ok(register(work, &documents, file, source))
}

pub(crate) fn unreadable(fault: read::Unreadable, file: &str, bytes: &[u8]) -> KustomizeError {
    let spot = |line, column| Spot {
        file: file.to_owned(),
        line,
        column,
        text: String::from_utf8_lossy(bytes).into(),
    };
    match fault {
        read::Unreadable::Malformed(fault) => KustomizeError::Yaml {
            at: spot(fault.line, fault.column),
            message: fault.message,
        },
        read::Unreadable::NoObject(line, message) => KustomizeError::NotAnObject {
            at: spot(line, 0),
            message,
        },
    }
}

/// Makes resources of documents.
pub(crate) fn register(
    work: &mut Work<'_>,
    documents: &[read::Document],
    file: &str,
    source: u32,
) -> List {
    let entry = |document: &read::Document| {
        let line = work.arena.get(document.root).line as usize;
        work.resources.push(Resource {
            root: Some(document.root),
            vars: Vec::new(),
            origin: Origin::new(file, document.index, line),
            source,
        });
        work.resources.len() - 1
    };
    documents.iter().map(entry).collect()
}

pub(crate) fn settings(bytes: &[u8], file: &str) -> Result<model::Value> {
    read::settings(bytes).map_err(|fault| KustomizeError::Yaml {
        at: Spot {
            file: file.to_owned(),
            line: fault.line,
            column: fault.column,
            text: String::from_utf8_lossy(bytes).into(),
        },
        message: fault.message,
    })
}

// The line of a field in a file of settings.
fn line_of(bytes: &[u8], pointer: &str) -> usize {
    let mut arena = crate::node::Arena::default();
    let text = String::from_utf8_lossy(bytes);
    let Ok(Some(root)) = read::parse(&mut arena, &text, 0, 1) else {
        return 0;
    };
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let found = arena.lookup(root, &parts).ok().flatten();
    found.map_or(0, |id| arena.get(id).line as usize)
}
