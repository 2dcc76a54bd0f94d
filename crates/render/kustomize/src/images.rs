//! New names, tags and digests of images.

use crate::fault::Outcome;
use crate::fieldspec::{self, FieldSpec, Trail};
use crate::kustomization::Image;
use crate::node::{Arena, Kind, Node, NodeId};
use crate::resource;
use crate::selector;
use crate::work::{Author, Result, Work};
use regex::Regex;

/// Sets an image wherever it stands.
pub(crate) fn set(
    work: &mut Work<'_>,
    list: &[usize],
    image: &Image,
    specs: &[FieldSpec],
    author: &Author,
) -> Result {
    let blame = |fault| author.blame(fault);
    let updater = Updater::new(image).map_err(blame)?;
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        if resource::kind(&work.arena, root) == "CustomResourceDefinition" {
            continue;
        }
        let mut touched = Vec::new();
        let arena = &mut work.arena;
        updater
            .walk(arena, root, &mut Trail::new(), &mut touched)
            .map_err(blame)?;
        for spec in specs {
            let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                updater.update(arena, id, trail, &mut touched)
            };
            fieldspec::apply(arena, root, spec, None, &mut set).map_err(blame)?;
        }
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
    }
    Ok(())
}

struct Updater<'a> {
    image: &'a Image,
    pattern: Regex,
}

impl<'a> Updater<'a> {
    fn new(image: &'a Image) -> Outcome<Self> {
        const REST: &str = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$";
        Ok(Self {
            image,
            pattern: selector::pattern(&format!("^{}{REST}", image.name))?,
        })
    }

    // Lists of containers anywhere in the object.
    fn walk(
        &self,
        arena: &mut Arena,
        id: NodeId,
        trail: &mut Trail,
        touched: &mut Vec<String>,
    ) -> Outcome {
        match arena.kind(id) {
            Kind::Mapping => {
                for (key, value) in arena.pairs(id) {
                    let name = arena.get(key).value.to_string();
                    trail.push(name);
                    self.walk(arena, value, trail, touched)?;
                    let listed = matches!(
                        trail.last().map(String::as_str),
                        Some("containers" | "initContainers")
                    );
                    if listed && arena.kind(value) == Kind::Sequence {
                        self.containers(arena, value, trail, touched)?;
                    }
                    trail.pop();
                }
                Ok(())
            }
            Kind::Sequence => {
                for (index, entry) in arena.content(id).to_vec().into_iter().enumerate() {
                    trail.push(index.to_string());
                    self.walk(arena, entry, trail, touched)?;
                    trail.pop();
                }
                Ok(())
            }
            Kind::Scalar | Kind::Zero => Ok(()),
        }
    }

    fn containers(
        &self,
        arena: &mut Arena,
        list: NodeId,
        trail: &mut Trail,
        touched: &mut Vec<String>,
    ) -> Outcome {
        for (index, entry) in arena.content(list).to_vec().into_iter().enumerate() {
            if let Some(image) = arena.get_field(entry, "image")? {
                trail.extend([index.to_string(), "image".into()]);
                self.update(arena, image, trail, touched)?;
                trail.truncate(trail.len() - 2);
            }
        }
        Ok(())
    }

    fn update(
        &self,
        arena: &mut Arena,
        id: NodeId,
        trail: &[String],
        touched: &mut Vec<String>,
    ) -> Outcome {
        arena.expect(id, Kind::Scalar)?;
        let old = &arena.get(id).value;
        if !self.pattern.is_match(old) {
            return Ok(());
        }
        let new = self.renamed(old);
        if *new != **old {
            touched.push(fieldspec::pointer(trail));
        }
        let node = arena.add(Node::scalar(&new));
        arena.set_scalar(id, node)
    }

    fn renamed(&self, old: &str) -> String {
        let (name, tag, digest) = split(old);
        let image = self.image;
        let name = if image.new_name.is_empty() {
            name
        } else {
            &image.new_name
        };
        let (tag, digest) = match (image.new_tag.as_str(), image.digest.as_str()) {
            ("", "") if image.tag_suffix.is_empty() => (tag.to_owned(), digest),
            ("", "") => (format!("{tag}{}", image.tag_suffix), ""),
            (tag, digest) => (tag.to_owned(), digest),
        };
        let mut text = name.to_owned();
        if !tag.is_empty() {
            text.push_str(&format!(":{tag}"));
        }
        if !digest.is_empty() {
            text.push_str(&format!("@{digest}"));
        }
        text
    }
}

// Name, tag and digest; a port of the registry is no tag.
pub(crate) fn split(image: &str) -> (&str, &str, &str) {
    let start = image.find('/').filter(|at| *at > 0).unwrap_or(0);
    let rest = &image[start..];
    let at = rest.find('@').map(|at| at + start);
    let colon = rest.find(':').map(|at| at + start);
    match (colon, at) {
        (None, None) => (image, "", ""),
        (None, Some(at)) => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) if at < colon => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) => (&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_taken_apart() {
        assert_eq!(split("nginx"), ("nginx", "", ""));
        assert_eq!(split("nginx:1.2"), ("nginx", "1.2", ""));
        assert_eq!(
            split("host:5000/a/b:1@sha256:f"),
            ("host:5000/a/b", "1", "sha256:f")
        );
        assert_eq!(split("a@sha256:f"), ("a", "", "sha256:f"));
    }
}
