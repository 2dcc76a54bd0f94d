//! Files of manifests: which are read, in which order, and what they hold.

use crate::context::Context;
use crate::env;
use crate::error::RenderError;
use crate::manifests;
use crate::source::{Directory, JsonnetVar, Source};
use crate::text::{self, place_of};
use model::tree::EntryKind;
use model::{Finding, Manifest, Severity, SourceTree};
use pattern::Glob;
use yaml::Spot;

/// A file that says this somewhere is left out.
const SKIP_MARKER: &str = "+argocd:skip-file-rendering";
/// How deep directories may nest.
const DEPTH_MAX: usize = 64;
/// How many files a directory source may have.
const FILES_MAX: usize = 50_000;

/// Renders a directory.
pub(crate) fn render(
    tree: &SourceTree,
    directory: &str,
    source: &Source,
    context: &Context,
) -> Result<(Vec<Manifest>, Vec<Finding>), RenderError> {
    let options = source.directory.clone().unwrap_or_default();
    let mut walk = Walk::new(tree, directory, &options, context)?;
    walk.directory(directory, 0)?;
    let mut out = Vec::new();
    let mut warnings = Vec::new();
    for file in walk.files {
        let bytes = tree.read(&file)?;
        walk.size += bytes.len() as u64;
        if walk.size > context.settings.combined_size_max {
            return Err(too_much(context.settings.combined_size_max));
        }
        if contains(&bytes, SKIP_MARKER.as_bytes()) {
            continue;
        }
        if has_ending(&file, "jsonnet") {
            out.extend(jsonnet_file(
                tree, directory, &file, &options, source, context,
            )?);
            continue;
        }
        let content = text::decode(&file, &bytes)?;
        if has_ending(&file, "json") {
            out.extend(json_file(&file, &content)?);
        } else {
            match yaml_file(&file, &content) {
                Ok(manifests) => out.extend(manifests),
                Err(fault) if fault.before == 0 && !looks_like_manifest(&content) => {
                    warnings.extend(skipped(&file, &fault.error));
                }
                Err(fault) => return Err(fault.error),
            }
        }
    }
    Ok((out, warnings))
}

struct Walk<'a> {
    tree: &'a SourceTree,
    base: &'a str,
    options: &'a Directory,
    include: Option<Glob>,
    exclude: Option<Glob>,
    jsonnet: bool,
    files: Vec<String>,
    size: u64,
}

impl<'a> Walk<'a> {
    fn new(
        tree: &'a SourceTree,
        base: &'a str,
        options: &'a Directory,
        context: &Context,
    ) -> Result<Self, RenderError> {
        Ok(Self {
            tree,
            base,
            options,
            include: glob("directory.include", &options.include)?,
            exclude: glob("directory.exclude", &options.exclude)?,
            jsonnet: context.settings.jsonnet,
            files: Vec::new(),
            size: 0,
        })
    }

    // Names in their order, directories at their place.
    fn directory(&mut self, path: &str, depth: usize) -> Result<(), RenderError> {
        if depth > DEPTH_MAX {
            return Err(RenderError::Limit {
                problem: format!("`{path}` lies deeper than {DEPTH_MAX} directories"),
                setting: "switch `directory.recurse` off".into(),
            });
        }
        for entry in self.tree.list(path)? {
            let at = text::join(path, &entry.name);
            match entry.kind {
                EntryKind::Directory if self.options.recurse => self.directory(&at, depth + 1)?,
                EntryKind::Directory | EntryKind::Submodule => {}
                EntryKind::File => self.file(at)?,
                EntryKind::Link => {
                    if self.wanted(&at) && self.tree.kind(&at)? == Some(EntryKind::File) {
                        self.file(at)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: String) -> Result<(), RenderError> {
        if !self.wanted(&path) {
            return Ok(());
        }
        if self.files.len() >= FILES_MAX {
            return Err(RenderError::Limit {
                problem: format!("the source has more than {FILES_MAX} files"),
                setting: "narrow it with `directory.include`".into(),
            });
        }
        self.files.push(path);
        Ok(())
    }

    fn wanted(&self, path: &str) -> bool {
        let relative = path
            .strip_prefix(self.base)
            .map_or(path, |rest| rest.trim_start_matches('/'));
        let known = ["yaml", "yml", "json"].iter().any(|e| has_ending(path, e))
            || (has_ending(path, "jsonnet") && self.jsonnet);
        (known || self.options.disable_extension_filter)
            && !self
                .exclude
                .as_ref()
                .is_some_and(|glob| glob.matches(relative))
            && self
                .include
                .as_ref()
                .is_none_or(|glob| glob.matches(relative))
    }
}

fn glob(field: &str, pattern: &str) -> Result<Option<Glob>, RenderError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    Glob::free(pattern)
        .map(Some)
        .map_err(|fault| RenderError::Pattern {
            field: field.into(),
            pattern: pattern.into(),
            problem: fault.problem,
        })
}

fn has_ending(path: &str, ending: &str) -> bool {
    path.strip_suffix(ending)
        .is_some_and(|rest| rest.ends_with('.'))
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn too_much(max: u64) -> RenderError {
    RenderError::Limit {
        problem: format!("exceeded max combined manifest file size: more than {max} bytes"),
        setting: "leave files out with `directory.exclude`, or split the application".into(),
    }
}

fn looks_like_manifest(text: &str) -> bool {
    ["apiVersion:", "kind:", "metadata:"]
        .iter()
        .all(|word| text.contains(word))
}

// A file that is no manifest at all is passed over, but not in silence.
fn skipped(file: &str, error: &RenderError) -> Option<Finding> {
    let name = file.rsplit('/').next().unwrap_or(file);
    if name.starts_with(".argocd-source") {
        return None;
    }
    Some(Finding {
        severity: Severity::Info,
        summary: format!("`{file}` is no manifest and was left out"),
        ..error.finding()
    })
}

struct FileFault {
    error: RenderError,
    // How many manifests of the file were fine.
    before: usize,
}

fn yaml_file(file: &str, content: &str) -> Result<Vec<Manifest>, FileFault> {
    let mut out = Vec::new();
    for document in yaml::parse_manifests(content) {
        let before = out.len();
        let fault = |error| FileFault { error, before };
        let located =
            document.map_err(|yaml_fault| fault(text::syntax(file, content, &yaml_fault)))?;
        manifests::take(file, content, located, &mut out).map_err(fault)?;
    }
    Ok(out)
}

fn json_file(file: &str, content: &str) -> Result<Vec<Manifest>, RenderError> {
    let mut stream = serde_json::Deserializer::from_str(content).into_iter::<model::Value>();
    let first = match stream.next() {
        None => return Ok(Vec::new()),
        Some(Ok(value)) => value,
        Some(Err(fault)) => return Err(json_fault(file, content, &fault)),
    };
    let end = stream.byte_offset();
    let rest = content[end..].trim_start();
    if first.is_array() || !rest.is_empty() {
        let at = content.len() - rest.len();
        let spot = yaml::spot_at(content, if first.is_array() { 0 } else { at });
        return Err(RenderError::NotAManifest {
            place: place_of(file, content, spot),
            document: usize::from(!first.is_array()),
            problem: format!(
                "Found multiple objects in {file:?}. Only single objects are allowed in JSON files."
            ),
            hint: "put each object into a file of its own, or use a `List`".into(),
        });
    }
    let mut out = Vec::new();
    // The same text read as YAML knows where its fields stand.
    let located = match yaml::parse_manifests(content).into_iter().next() {
        Some(Ok(located)) => yaml::Located {
            value: first,
            ..located
        },
        Some(Err(fault)) => return Err(text::syntax(file, content, &fault)),
        None => return Ok(out),
    };
    manifests::take(file, content, located, &mut out)?;
    Ok(out)
}

fn json_fault(file: &str, content: &str, fault: &serde_json::Error) -> RenderError {
    let spot = Spot {
        line: fault.line().max(1),
        column: fault.column().max(1),
    };
    let said = fault.to_string();
    let problem = said.split(" at line ").next().unwrap_or(&said).to_owned();
    RenderError::Syntax {
        place: place_of(file, content, spot),
        problem,
        other: None,
        hint: String::new(),
    }
}

fn jsonnet_file(
    tree: &SourceTree,
    directory: &str,
    file: &str,
    options: &Directory,
    source: &Source,
    context: &Context,
) -> Result<Vec<Manifest>, RenderError> {
    let environment = env::build_environment(source, context);
    let fill = |variables: &[JsonnetVar]| -> Vec<jsonnet::Variable> {
        let filled = variables.iter().map(|variable| jsonnet::Variable {
            name: variable.name.clone(),
            value: env::substitute(&variable.value, &environment),
            code: variable.code,
        });
        filled.collect()
    };
    let mut library = vec![directory.to_owned()];
    library.extend(options.jsonnet.libs.iter().cloned());
    let request = jsonnet::Request {
        file: file.to_owned(),
        ext_vars: fill(&options.jsonnet.ext_vars),
        tlas: fill(&options.jsonnet.tlas),
        library,
    };
    let value = jsonnet::evaluate(tree, &request).map_err(|fault| RenderError::Syntax {
        place: fault.place,
        problem: fault.problem,
        other: None,
        hint: String::new(),
    })?;
    let list = match value {
        model::Value::Array(list) => list,
        one => vec![one],
    };
    let mut out = Vec::new();
    for (index, object) in list.into_iter().enumerate() {
        manifests::generated(file, index, object, &mut out)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
