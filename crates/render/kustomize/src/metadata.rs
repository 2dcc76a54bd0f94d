//! What the output says about where resources come from: `buildMetadata`.

use crate::fault::Outcome;
use crate::repo::Remote;
use crate::resource;
use crate::scalar;
use crate::work::Work;

/// Where a resource was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) repo: String,
    pub(crate) revision: String,
}

/// What made or changed a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Configured {
    pub(crate) source: Source,
    pub(crate) file: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

impl Source {
    /// The source at a path from here; an address starts anew.
    pub(crate) fn append(&self, path: &str) -> Self {
        let mut source = self.clone();
        let mut path = path.to_owned();
        if let Some(remote) = Remote::parse(&path) {
            path = if remote.path.is_empty() {
                "notCloned".into()
            } else {
                remote.path
            };
            source.repo = remote.repository;
            source.path = String::new();
            source.revision = remote.revision;
        }
        source.path = join(&source.path, &path);
        source
    }

    /// The note that is kept in an annotation.
    pub(crate) fn note(&self) -> String {
        lines(&[
            ("path", &self.path),
            ("repo", &self.repo),
            ("ref", &self.revision),
        ])
    }

    fn read(note: &str) -> Self {
        let value = yaml::parse(note).unwrap_or_default();
        let text = |key: &str| value[key].as_str().unwrap_or("").to_owned();
        Self {
            path: text("path"),
            repo: text("repo"),
            revision: text("ref"),
        }
    }
}

impl Configured {
    /// A transformer or generator of a kustomization file.
    pub(crate) fn builtin(source: &Source, file: &str, kind: &str) -> Self {
        Self {
            source: Source {
                path: String::new(),
                ..source.clone()
            },
            file: join(&source.path, file),
            api_version: "builtin".into(),
            kind: kind.into(),
            ..Self::default()
        }
    }

    /// One that a resource configures, when it is known where that stands.
    pub(crate) fn of_config(work: &Work<'_>, at: usize) -> Option<Self> {
        let root = work.root(at)?;
        let source = Source::read(resource::annotation(&work.arena, root, resource::ORIGIN)?);
        let arena = &work.arena;
        Some(Self {
            file: source.path.clone(),
            source: Source {
                path: String::new(),
                ..source
            },
            api_version: resource::api_version(arena, root).into(),
            kind: resource::kind(arena, root).into(),
            name: resource::name(arena, root).into(),
            namespace: resource::namespace(arena, root).into(),
        })
    }

    fn note(&self) -> String {
        let mut text = lines(&[
            ("repo", &self.source.repo),
            ("ref", &self.source.revision),
            ("configuredIn", &self.file),
        ]);
        let by = lines(&[
            ("apiVersion", &self.api_version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
        ]);
        if !by.is_empty() {
            text.push_str("configuredBy:\n");
            for line in by.lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        text
    }
}

// Fields that are filled, a line each.
fn lines(fields: &[(&str, &str)]) -> String {
    let filled = fields.iter().filter(|(_, value)| !value.is_empty());
    filled
        .map(|(name, value)| format!("{name}: {}\n", quoted(value)))
        .collect()
}

fn quoted(value: &str) -> String {
    let text = yaml::to_string(&model::Value::String(value.to_owned()));
    let text = text.trim_end_matches('\n').to_owned();
    // The newer printer leaves a few words alone that the older one quotes.
    if scalar::resolve(value) == scalar::Scalar::Text
        && text.starts_with('"')
        && text.len() == value.len() + 2
    {
        return text;
    }
    text
}

fn join(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if path.starts_with('/') && directory.is_empty() {
        return format!("/{joined}");
    }
    joined
}

/// Notes where a resource comes from.
pub(crate) fn set_origin(work: &mut Work<'_>, at: usize, note: &str) -> Outcome {
    let Some(root) = work.root(at) else {
        return Ok(());
    };
    let mut words = resource::words(&work.arena, root, "annotations");
    words.insert(resource::ORIGIN.into(), note.to_owned());
    resource::set_words(&mut work.arena, root, "annotations", &words)
}

/// Notes what made a resource, unless that is known.
pub(crate) fn set_origin_if_none(work: &mut Work<'_>, at: usize, by: &Configured) -> Outcome {
    let known = work
        .root(at)
        .is_some_and(|root| resource::annotation(&work.arena, root, resource::ORIGIN).is_some());
    if known {
        Ok(())
    } else {
        set_origin(work, at, &by.note())
    }
}

/// Notes in all resources that a transformer ran over them.
pub(crate) fn note_transformer(work: &mut Work<'_>, list: &[usize], by: &Configured) -> Outcome {
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        if resource::annotation(&work.arena, root, resource::ORIGIN).is_none() {
            set_origin(work, at, &by.note())?;
            continue;
        }
        let mut words = resource::words(&work.arena, root, "annotations");
        let notes = words.entry(resource::TRANSFORMATIONS.into()).or_default();
        if notes.trim() == "[]" {
            notes.clear();
        }
        for (index, line) in by.note().lines().enumerate() {
            let mark = if index == 0 { "- " } else { "  " };
            notes.push_str(&format!("{mark}{line}\n"));
        }
        resource::set_words(&mut work.arena, root, "annotations", &words)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_relative_to_what_is_built() {
        let source = Source::default().append("../base").append("web.yaml");
        assert_eq!(source.note(), "path: ../base/web.yaml\n");
        let remote = source.append("https://example.com/org/repo//apps/web?ref=v1");
        assert_eq!(
            remote.append("web.yaml").note(),
            "path: apps/web/web.yaml\nrepo: https://example.com/org/repo\nref: v1\n"
        );
    }
}
