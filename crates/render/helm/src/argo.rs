//! Argo CD's parameters of a Helm source as layers of values.
//!
//! ```text
//! values.yaml < valueFiles in order < values | valuesObject < fileParameters, parameters
//! ```

use crate::values::Layer;
use crate::{Flavour, HelmError};
use model::tree::EntryKind;
use model::{SourceTree, Value};
use pattern::Glob;
use std::collections::{BTreeMap, BTreeSet};

/// How many files a pattern of value files may look at.
pub const GLOB_FILES_MAX: usize = 20_000;

/// The parameters of a Helm source that are values, variables filled in already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Files of values, later ones win: relative to the chart, from the root with `/`, from
    /// another source with `$ref/`, or an address.
    pub value_files: Vec<String>,
    /// Whether files that are not there are left out.
    pub ignore_missing_value_files: bool,
    /// Values as YAML.
    pub values: String,
    /// Values as an object; it wins over `values`.
    pub values_object: Option<Value>,
    /// Single values.
    pub parameters: Vec<Parameter>,
    /// Single values that are the content of a file: name and path.
    pub file_parameters: Vec<(String, String)>,
}

/// One value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its path, as in `image.tag`.
    pub name: String,
    /// The value.
    pub value: String,
    /// Whether it is a string whatever it looks like.
    pub force_string: bool,
}

/// Where value files are looked for.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The chart's repository.
    pub tree: &'a SourceTree,
    /// The chart's directory in it.
    pub chart: &'a str,
    /// Other sources by their `ref`.
    pub references: &'a BTreeMap<String, SourceTree>,
    /// The contents of remote files, by address; what is not here was not allowed.
    pub remote: &'a BTreeMap<String, Result<String, String>>,
}

/// The layers of values, in order, and the names of the value files that were used.
pub fn layers(
    parameters: &Parameters,
    sources: &Sources<'_>,
    flavour: Flavour,
) -> Result<(Vec<Layer>, Vec<String>), HelmError> {
    let mut layers = Vec::new();
    let mut names = Vec::new();
    for (name, text) in value_files(parameters, sources)? {
        names.push(name.clone());
        layers.push(Layer::File { name, text });
    }
    if let Some(text) = own_values(parameters) {
        let name = "spec.source.helm.values".to_owned();
        names.push(name.clone());
        layers.push(Layer::File { name, text });
    }
    // Helm reads a flag's last word; Argo CD gives each name once.
    for (name, value, force_string) in once(&parameters.parameters) {
        let line = format!("{name}={}", escape_commas(value));
        layers.push(if force_string {
            Layer::Text(line)
        } else {
            Layer::Set(line)
        });
    }
    for (name, path) in &parameters.file_parameters {
        let content = sources.read(path).map(|(_, text)| text);
        layers.push(Layer::Files {
            line: format!("{name}={}", escape_commas(path)),
            contents: vec![(path.clone(), content)],
        });
    }
    // Flags that cannot be read are told with their name now, not when they are merged.
    crate::values::merge(&layers, flavour)?;
    Ok((layers, names))
}

fn own_values(parameters: &Parameters) -> Option<String> {
    match &parameters.values_object {
        Some(object) if !object.is_null() => Some(yaml::to_string(object)),
        _ => (!parameters.values.is_empty()).then(|| parameters.values.clone()),
    }
}

fn once(parameters: &[Parameter]) -> Vec<(&str, &str, bool)> {
    let mut found: Vec<(&str, &str, bool)> = Vec::new();
    for Parameter {
        name,
        value,
        force_string,
    } in parameters
    {
        found.retain(|(known, _, force)| known != name || force != force_string);
        found.push((name, value, *force_string));
    }
    found
}

// A comma would begin the next value, except in a list.
fn escape_commas(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    let mut escaped = String::new();
    let mut last = '\0';
    for c in value.chars() {
        if c == ',' && last != '\\' {
            escaped.push('\\');
        }
        escaped.push(c);
        last = c;
    }
    escaped
}

// Value files in order with their contents; patterns are filled in, doubles left out.
fn value_files(
    parameters: &Parameters,
    sources: &Sources<'_>,
) -> Result<Vec<(String, String)>, HelmError> {
    let explicit: BTreeSet<String> = parameters
        .value_files
        .iter()
        .filter(|file| !is_pattern(file))
        .filter_map(|file| sources.locate(file).ok().map(|(_, path)| path))
        .collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for file in &parameters.value_files {
        if is_pattern(file) && !is_address(file) {
            let matched = sources.glob(file)?;
            if matched.is_empty() && !parameters.ignore_missing_value_files {
                let message = format!("values file glob \"{file}\" matched no files");
                return Err(HelmError::values(message, file, 0));
            }
            for (tree, path) in matched {
                if !explicit.contains(&path) && seen.insert(path.clone()) {
                    let text =
                        read(&tree, &path).map_err(|why| HelmError::values(why, &path, 0))?;
                    found.push((path, text));
                }
            }
            continue;
        }
        match sources.read(file) {
            Ok((path, text)) => {
                if seen.insert(path.clone()) {
                    found.push((path, text));
                }
            }
            Err(_) if parameters.ignore_missing_value_files && sources.is_missing(file) => {}
            Err(why) => return Err(HelmError::values(why, file, 0)),
        }
    }
    Ok(found)
}

fn is_pattern(file: &str) -> bool {
    file.contains(['*', '?', '['])
}

fn is_address(file: &str) -> bool {
    file.contains("://")
}

fn read(tree: &SourceTree, path: &str) -> Result<String, String> {
    let bytes = tree.read(path).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Sources<'_> {
    // The tree and the clean path a value file's name means.
    fn locate(&self, file: &str) -> Result<(&SourceTree, String), String> {
        let outside = || format!("file '{file}' resolved to outside repository root");
        if let Some(rest) = file.strip_prefix('$') {
            let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
            let tree = self.references.get(name).ok_or_else(|| {
                format!("source referenced \"${name}\", but no source has a 'ref' field defined")
            })?;
            let path = model::tree::clean("", path).ok_or_else(outside)?;
            return Ok((tree, path));
        }
        let path = match file.strip_prefix('/') {
            Some(from_root) => model::tree::clean("", from_root),
            None => model::tree::clean(self.chart, file),
        };
        Ok((self.tree, path.ok_or_else(outside)?))
    }

    fn read(&self, file: &str) -> Result<(String, String), String> {
        if is_address(file) {
            let known = self.remote.get(file).cloned();
            let text = known.unwrap_or_else(|| Err(format!("the address `{file}` is not allowed")));
            return text.map(|text| (file.to_owned(), text));
        }
        let (tree, path) = self.locate(file)?;
        let text = read(tree, &path)?;
        Ok((path, text))
    }

    fn is_missing(&self, file: &str) -> bool {
        !is_address(file)
            && self
                .locate(file)
                .is_ok_and(|(tree, path)| matches!(tree.kind(&path), Ok(None)))
    }

    // The files a pattern matches, sorted.
    fn glob(&self, pattern: &str) -> Result<Vec<(SourceTree, String)>, HelmError> {
        let fault = |why: String| HelmError::values(why, pattern, 0);
        let (tree, path) = self.locate(pattern).map_err(fault)?;
        let glob = Glob::doublestar(&path).map_err(|error| fault(error.to_string()))?;
        let fixed = path.find(['*', '?', '[']).unwrap_or(path.len());
        let start = path[..fixed]
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory);
        let mut files = Vec::new();
        walk(tree, start, &mut files).map_err(fault)?;
        files.sort();
        let matched = files.into_iter().filter(|file| glob.matches(file));
        Ok(matched.map(|file| (tree.clone(), file)).collect())
    }
}

fn walk(tree: &SourceTree, directory: &str, files: &mut Vec<String>) -> Result<(), String> {
    let Ok(entries) = tree.list(directory) else {
        return Ok(());
    };
    for entry in entries {
        if files.len() > GLOB_FILES_MAX {
            return Err(format!(
                "there are more than {GLOB_FILES_MAX} files to look at"
            ));
        }
        let path = model::tree::clean(directory, &entry.name).unwrap_or_default();
        match entry.kind {
            EntryKind::Directory => walk(tree, &path, files)?,
            EntryKind::File | EntryKind::Link => {
                if matches!(tree.kind(&path), Ok(Some(EntryKind::File))) {
                    files.push(path);
                }
            }
            EntryKind::Submodule => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::MemoryTree;

    fn check(parameters: &Parameters, expected: &str) {
        let tree = SourceTree::new(
            MemoryTree::new()
                .file("apps/web/Chart.yaml", "")
                .file("apps/web/values-a.yaml", "a: 1\nfrom: a")
                .file("apps/web/env/b.yaml", "b: 1\nfrom: b")
                .file("apps/web/env/c.yaml", "c: 1\nfrom: c")
                .file("shared.yaml", "shared: true\nfrom: shared")
                .file("apps/web/cert.pem", "PEM"),
        );
        let other = SourceTree::new(MemoryTree::new().file("x.yaml", "other: true"));
        let references = BTreeMap::from([("o".to_owned(), other)]);
        let remote = BTreeMap::from([("https://h/v.yaml".to_owned(), Ok("remote: 1".to_owned()))]);
        let sources = Sources {
            tree: &tree,
            chart: "apps/web",
            references: &references,
            remote: &remote,
        };
        let answer = layers(parameters, &sources, Flavour::V3)
            .and_then(|(layers, names)| {
                let values = crate::values::merge(&layers, Flavour::V3)?;
                Ok(format!("{} | {}", Value::Object(values), names.join(" ")))
            })
            .unwrap_or_else(|error| error.to_string());
        assert_eq!(answer, expected);
    }

    fn files(files: &[&str]) -> Parameters {
        Parameters {
            value_files: files.iter().map(|file| (*file).to_owned()).collect(),
            ..Parameters::default()
        }
    }

    #[test]
    fn value_files_come_from_everywhere() {
        check(
            &files(&[
                "values-a.yaml",
                "/shared.yaml",
                "$o/x.yaml",
                "https://h/v.yaml",
            ]),
            r#"{"a":1.0,"from":"shared","other":true,"remote":1.0,"shared":true} | apps/web/values-a.yaml shared.yaml x.yaml https://h/v.yaml"#,
        );
        check(
            &files(&["../../../x"]),
            "file '../../../x' resolved to outside repository root",
        );
        check(
            &files(&["none.yaml"]),
            "`apps/web/none.yaml` does not exist",
        );
        check(
            &files(&["$p/x.yaml"]),
            "source referenced \"$p\", but no source has a 'ref' field defined",
        );
        check(
            &Parameters {
                ignore_missing_value_files: true,
                ..files(&["none.yaml", "no*.yaml"])
            },
            "{} | ",
        );
    }

    #[test]
    fn patterns_are_filled_in_and_explicit_files_keep_their_place() {
        check(
            &files(&["env/*.yaml"]),
            r#"{"b":1.0,"c":1.0,"from":"c"} | apps/web/env/b.yaml apps/web/env/c.yaml"#,
        );
        check(
            &files(&["**/*.yaml", "env/b.yaml"]),
            r#"{"a":1.0,"b":1.0,"c":1.0,"from":"b"} | apps/web/Chart.yaml apps/web/env/c.yaml apps/web/values-a.yaml apps/web/env/b.yaml"#,
        );
        check(
            &files(&["no*.yaml"]),
            "values file glob \"no*.yaml\" matched no files",
        );
    }

    #[test]
    fn parameters_win_over_values_and_values_over_files() {
        let parameter = |name: &str, value: &str, force_string| Parameter {
            name: name.into(),
            value: value.into(),
            force_string,
        };
        check(
            &Parameters {
                values: "from: text\nt: 1".into(),
                values_object: Some(model::json!({"from": "object", "n": 1})),
                parameters: vec![
                    parameter("p", "1", false),
                    parameter("p", "2", false),
                    parameter("s", "3", true),
                    parameter("list", "{a,b}", false),
                    parameter("comma", "a,b", false),
                ],
                file_parameters: vec![("pem".into(), "cert.pem".into())],
                ..files(&["values-a.yaml"])
            },
            r#"{"a":1.0,"comma":"a,b","from":"object","list":["a","b"],"n":1.0,"p":2,"pem":"PEM","s":"3"} | apps/web/values-a.yaml spec.source.helm.values"#,
        );
    }
}
