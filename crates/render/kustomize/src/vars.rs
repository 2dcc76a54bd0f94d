//! Variables: `$(NAME)` in arguments, values and annotations, filled from fields of resources.

use crate::error::KustomizeError;
use crate::fault::{Fault, Outcome};
use crate::fieldspec::{self, Trail};
use crate::kustomization::Var;
use crate::node::{Arena, Kind, Node, NodeId, Style, Tag};
use crate::replacement;
use crate::resmap;
use crate::target::Accumulated;
use crate::work::{Author, Result, Work};
use std::collections::{BTreeMap, BTreeSet};

/// Ties a variable to the resource that it takes its value from.
pub(crate) fn declare(
    work: &mut Work<'_>,
    all: &mut Accumulated,
    var: Var,
    author: &Author,
) -> Result {
    let mut wanted = var.target.clone();
    wanted.cluster = work
        .schemas
        .is_cluster_scoped(&wanted.gvk.api_version(), &wanted.gvk.kind);
    // Without a namespace the name is looked for in all of them. What is known of a kind's scope
    // is not known of this name in the real program.
    let anywhere = wanted.namespace.is_empty();
    wanted.cluster = false;
    let found: Vec<usize> = all
        .list
        .iter()
        .copied()
        .filter(|at| {
            work.all_ids(*at).iter().any(|id| {
                if anywhere {
                    id.name == wanted.name && id.gvk == wanted.gvk
                } else {
                    wanted.same(id)
                }
            })
        })
        .collect();
    if found.len() > 1 {
        return Err(KustomizeError::NoTarget {
            at: author.at.clone(),
            what: "vars".into(),
            wanted: wanted.words(),
            why: format!(
                "found {} resId matches for var {} (unable to disambiguate)",
                found.len(),
                var.name
            ),
            nearest: found.iter().map(|at| work.id(*at).words()).collect(),
        });
    }
    if let [at] = found[..] {
        work.resources[at].vars.push(var.name.clone());
    }
    if all.vars.contains_key(&var.name) {
        let fault = Fault::text(format!("var '{}' already encountered", var.name));
        return Err(author.blame(fault));
    }
    all.vars.insert(var.name.clone(), var);
    Ok(())
}

#[derive(Clone, Debug)]
enum Filling {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    // Something that has no place in a string.
    Structure,
}

impl Filling {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(n) => n.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Float(f) => json::number::float(*f),
            Self::Structure => String::new(),
        }
    }
}

/// Fills all variables in.
pub(crate) fn resolve(work: &mut Work<'_>, all: &Accumulated, author: &Author) -> Result {
    if all.vars.is_empty() {
        return Ok(());
    }
    let mut fillings = BTreeMap::new();
    for (name, var) in &all.vars {
        fillings.insert(name.clone(), filling(work, all, var, author)?);
    }
    let config = all.config.clone().unwrap_or_default();
    let mut used = BTreeSet::new();
    for &at in &all.list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let mut touched = Vec::new();
        for spec in &config.var_reference {
            let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                fill(arena, id, &fillings, &mut used, trail, &mut touched)
            };
            fieldspec::apply(&mut work.arena, root, spec, None, &mut set)
                .map_err(|fault| author.blame(fault))?;
        }
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
    }
    let unused: Vec<&str> = fillings
        .keys()
        .map(String::as_str)
        .filter(|name| !used.contains(*name))
        .collect();
    if !unused.is_empty() {
        work.warnings.push(format!(
            "well-defined vars that were never replaced: {}",
            unused.join(",")
        ));
    }
    Ok(())
}

fn filling(work: &Work<'_>, all: &Accumulated, var: &Var, author: &Author) -> Result<Filling> {
    let holder = all
        .list
        .iter()
        .find(|at| work.resources[**at].vars.contains(&var.name));
    let refuse = |why: &str| {
        Err(KustomizeError::NoTarget {
            at: author.at.clone(),
            what: format!("var '{}'", var.name),
            wanted: format!("{} of {}", var.field_path, var.target.words()),
            why: why.to_owned(),
            nearest: resmap::near(work, &all.list, &var.target),
        })
    };
    let Some(root) = holder.and_then(|at| work.root(*at)) else {
        return refuse("cannot be mapped to a field in the set of known resources");
    };
    match value(&work.arena, root, &var.field_path) {
        Some(value) => Ok(value),
        None => refuse("field not found in corresponding resource"),
    }
}

fn value(arena: &Arena, root: NodeId, path: &str) -> Option<Filling> {
    let parts = indexes(replacement::split_path(path));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let id = arena.lookup(root, &parts).ok()??;
    let node = arena.get(id);
    if node.kind != Kind::Scalar {
        return Some(Filling::Structure);
    }
    Some(match node.tag {
        Tag::Int => Filling::Int(node.value.parse().ok()?),
        Tag::Float => Filling::Float(node.value.parse().ok()?),
        Tag::Bool => match &*node.value {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Filling::Bool(true),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Filling::Bool(false),
            _ => return None,
        },
        _ => Filling::Text(node.value.to_string()),
    })
}

// `ports[0]` is `ports` and `0`.
fn indexes(parts: Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for part in parts {
        let split = part
            .strip_suffix(']')
            .and_then(|inner| inner.rsplit_once('['));
        match split {
            Some((name, index))
                if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) =>
            {
                if !name.is_empty() {
                    found.push(name.to_owned());
                }
                found.push(index.to_owned());
            }
            _ => found.push(part),
        }
    }
    found
}

fn fill(
    arena: &mut Arena,
    id: NodeId,
    fillings: &BTreeMap<String, Filling>,
    used: &mut BTreeSet<String>,
    trail: &Trail,
    touched: &mut Vec<String>,
) -> Outcome {
    if arena.is_null(id) {
        return Ok(());
    }
    let pointer = fieldspec::pointer(trail);
    let mut replace = |arena: &mut Arena, id: NodeId, part: &str| {
        let old = arena.get(id).value.clone();
        let new = replaced(&old, fillings, used);
        if !matches!(&new, Filling::Text(text) if **text == *old) {
            touched.push(format!("{pointer}{part}"));
        }
        update(arena.get_mut(id), &new);
    };
    match arena.kind(id) {
        Kind::Scalar if arena.is_string(id) => {
            replace(arena, id, "");
            Ok(())
        }
        Kind::Scalar => Ok(()),
        Kind::Mapping => {
            for (key, value) in arena.pairs(id) {
                if !arena.is_string(key) {
                    return Err(Fault::text(format!(
                        "invalid map key: value='{}'",
                        arena.get(key).value
                    )));
                }
                if arena.is_string(value) {
                    let part = fieldspec::pointer(&[arena.get(key).value.to_string()]);
                    replace(arena, value, &part);
                }
            }
            Ok(())
        }
        Kind::Sequence => {
            for (index, entry) in arena.content(id).to_vec().into_iter().enumerate() {
                if !arena.is_string(entry) {
                    return Err(Fault::text("invalid value type expect a string"));
                }
                replace(arena, entry, &format!("/{index}"));
            }
            Ok(())
        }
        Kind::Zero => Err(Fault::text("invalid type encountered")),
    }
}

fn update(node: &mut Node, new: &Filling) {
    node.style = Style::Plain;
    node.tagged = false;
    let (text, tag) = match new {
        Filling::Int(n) => (n.to_string(), Tag::Int),
        Filling::Bool(b) => (b.to_string(), Tag::Bool),
        Filling::Float(f) => (format!("{f}"), Tag::Float),
        Filling::Text(text) => (text.clone(), Tag::Str),
        Filling::Structure => return,
    };
    node.value = text.into();
    node.tag = tag;
}

// A text with its variables filled in; one that is nothing but a variable takes its type.
fn replaced(
    text: &str,
    fillings: &BTreeMap<String, Filling>,
    used: &mut BTreeSet<String>,
) -> Filling {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$').filter(|at| at + 1 < rest.len()) {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        match after.as_bytes()[0] {
            b'$' => {
                out.push('$');
                rest = &after[1..];
            }
            b'(' => match after.find(')') {
                Some(end) => {
                    let name = &after[1..end];
                    let found = fillings
                        .get(name)
                        .filter(|found| !matches!(found, Filling::Structure));
                    if found.is_some() {
                        used.insert(name.to_owned());
                    }
                    let whole = text.len() == name.len() + 3;
                    match found {
                        Some(found) if whole => return found.clone(),
                        Some(found) => out.push_str(&found.text()),
                        None => out.push_str(&format!("$({name})")),
                    }
                    rest = &after[end + 1..];
                }
                None => {
                    out.push_str("$(");
                    rest = &after[1..];
                }
            },
            byte => {
                // The byte behind the sign is copied as a character of its own.
                out.push('$');
                out.push(char::from(byte));
                let mut step = 1;
                while !after.is_char_boundary(step) {
                    step += 1;
                }
                if step > 1 {
                    out.pop();
                    out.push_str(&after[..step]);
                }
                rest = &after[step..];
            }
        }
    }
    out.push_str(rest);
    Filling::Text(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let fillings = BTreeMap::from([
            ("A".to_owned(), Filling::Text("x".into())),
            ("N".to_owned(), Filling::Int(5)),
        ]);
        let found = replaced(text, &fillings, &mut BTreeSet::new());
        assert_eq!(format!("{found:?}"), expected);
    }

    #[test]
    fn variables_in_texts() {
        check("a $(A) b", "Text(\"a x b\")");
        check("$(N)", "Int(5)");
        check("$(N)s", "Text(\"5s\")");
        check("$$(A)", "Text(\"$(A)\")");
        check("$(B)", "Text(\"$(B)\")");
        check("$(A", "Text(\"$(A\")");
        check("cost $5", "Text(\"cost $5\")");
        check("end $", "Text(\"end $\")");
    }
}
