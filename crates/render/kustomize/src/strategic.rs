//! Strategic merge: a patch over an object, lists merged by the keys of the schema.
//!
//! Follows what the real program does to the letter, down to a null that is written out and stays
//! while an empty one goes, and a list whose patched elements move to the front.

use crate::fault::{Fault, Outcome};
use crate::node::{Arena, DEPTH_MAX, Kind, Node, NodeId, Tag};
use crate::schema::{Cursor, Schemas};
use std::collections::BTreeSet;

/// Merges a patch into an object; `None`: the patch deletes it.
pub(crate) fn merge(
    arena: &mut Arena,
    schemas: &Schemas,
    object: NodeId,
    patch: NodeId,
) -> Outcome<Option<NodeId>> {
    let mut walker = Walker {
        arena,
        schemas,
        prepend: true,
    };
    let merged = walker.walk([Some(object), Some(patch)], Cursor::UNKNOWN, 0)?;
    Ok(merged.map(|merged| merged.id))
}

/// Merges plain data: what is new in a list goes to its end.
pub(crate) fn merge_data(
    arena: &mut Arena,
    schemas: &Schemas,
    object: NodeId,
    patch: NodeId,
) -> Outcome<Option<NodeId>> {
    let mut walker = Walker {
        arena,
        schemas,
        prepend: false,
    };
    let merged = walker.walk([Some(object), Some(patch)], Cursor::UNKNOWN, 0)?;
    Ok(merged.map(|merged| merged.id))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directive {
    Merge,
    Replace,
    Delete,
}

// A result; a null that must stay says so.
#[derive(Clone, Copy, Debug)]
struct Merged {
    id: NodeId,
    keep: bool,
}

impl From<NodeId> for Merged {
    fn from(id: NodeId) -> Self {
        Self { id, keep: false }
    }
}

// The object's node and the patch's.
type Sources = [Option<NodeId>; 2];

struct Walker<'a> {
    arena: &'a mut Arena,
    schemas: &'a Schemas,
    prepend: bool,
}

impl Walker<'_> {
    fn walk(&mut self, sources: Sources, schema: Cursor, depth: usize) -> Outcome<Option<Merged>> {
        if depth > DEPTH_MAX {
            return Err(Fault::text(format!("nests deeper than {DEPTH_MAX} levels")));
        }
        let schema = self.schema_of(sources, schema);
        let mut present = sources.into_iter().flatten();
        let kind = present
            .find(|id| !self.arena.is_null(*id))
            .map_or(Kind::Zero, |id| self.arena.kind(id));
        for id in sources.into_iter().flatten() {
            if kind != Kind::Zero {
                self.arena.expect(id, kind)?;
            }
        }
        match kind {
            Kind::Mapping | Kind::Zero => self.map(sources, schema, depth),
            Kind::Scalar => Ok(sources[1].or(sources[0]).map(Merged::from)),
            Kind::Sequence => {
                if self.schemas.merged_list(schema).is_some() {
                    return self.list(sources, schema, depth);
                }
                Ok(sources[1].or(sources[0]).map(Merged::from))
            }
        }
    }

    // What is not known from above may be known from the object's own type.
    fn schema_of(&self, sources: Sources, schema: Cursor) -> Cursor {
        if !schema.is_unknown() {
            return schema;
        }
        for id in sources.into_iter().flatten() {
            let text = |name: &str| {
                let field = self.arena.filled(id, name);
                field.map(|field| self.arena.value(field))
            };
            if let (Some(version), Some(kind)) = (text("apiVersion"), text("kind")) {
                let found = self.schemas.of_type(version, kind);
                if !found.is_unknown() {
                    return found;
                }
            }
        }
        Cursor::UNKNOWN
    }

    fn map(
        &mut self,
        mut sources: Sources,
        schema: Cursor,
        depth: usize,
    ) -> Outcome<Option<Merged>> {
        let Some(target) = self.map_target(sources)? else {
            return Ok(None);
        };
        sources[0] = Some(target.id);
        for name in self.field_names(sources) {
            let field = |id: Option<NodeId>| id.and_then(|id| self.arena.field(id, &name));
            let values = sources.map(field);
            let inner = self.schemas.field(schema, &name);
            match self.walk(values, inner, depth + 1)? {
                None => self.arena.clear(target.id, &name)?,
                Some(value) if value.keep => {
                    self.arena.set_kept(target.id, &name, value.id)?;
                }
                Some(value) => {
                    self.arena.set(target.id, &name, value.id)?;
                }
            }
        }
        Ok(Some(target))
    }

    fn map_target(&mut self, [object, patch]: Sources) -> Outcome<Option<Merged>> {
        if self.arena.missing_or_null(object) {
            // What is wrong with a directive does not matter where there is nothing to merge.
            if matches!(self.directive(patch), Ok(Directive::Delete)) {
                return Ok(None);
            }
            if let (None, Some(object)) = (patch, object)
                && !self.arena.get(object).value.is_empty()
            {
                let value = self.arena.get(object).value.clone();
                let null = Node {
                    tag: Tag::Null,
                    ..Node::scalar(&value)
                };
                return Ok(Some(Merged {
                    id: self.arena.add(null),
                    keep: true,
                }));
            }
            return Ok(patch.map(Merged::from));
        }
        self.target(object, patch)
    }

    fn target(&mut self, object: Option<NodeId>, patch: Option<NodeId>) -> Outcome<Option<Merged>> {
        if patch.is_some_and(|patch| self.arena.is_null(patch)) {
            return Ok(None);
        }
        Ok(match self.directive(patch)? {
            Directive::Delete => None,
            Directive::Replace => patch.map(Merged::from),
            Directive::Merge => object.map(Merged::from),
        })
    }

    // What `$patch` says; it is taken out.
    fn directive(&mut self, patch: Option<NodeId>) -> Outcome<Directive> {
        const KEY: &str = "$patch";
        let Some(patch) = patch else {
            return Ok(Directive::Merge);
        };
        match self.arena.kind(patch) {
            Kind::Mapping => {
                let Some(node) = self.arena.field(patch, KEY) else {
                    return Ok(Directive::Merge);
                };
                let found = directive_of(&self.arena.get(node).value)?;
                self.arena.clear(patch, KEY)?;
                Ok(found)
            }
            Kind::Sequence => {
                let entries = self.arena.content(patch);
                let entry = entries
                    .iter()
                    .find(|entry| self.arena.field(**entry, KEY).is_some());
                let Some(&entry) = entry else {
                    return Ok(Directive::Merge);
                };
                let value = self.arena.field(entry, KEY);
                let (1, Some(value)) = (self.arena.content(entry).len() / 2, value) else {
                    return Ok(Directive::Merge);
                };
                let word = self.arena.get(value).value.clone();
                let found = directive_of(&word)?;
                self.set_element(patch, None, &[KEY], &[&word])?;
                Ok(found)
            }
            kind => Err(Fault::text(format!(
                "no implemented strategic merge patch strategy for a {}",
                kind.word()
            ))),
        }
    }

    fn field_names(&self, sources: Sources) -> BTreeSet<Box<str>> {
        let mut names = BTreeSet::new();
        for id in sources.into_iter().flatten() {
            if self.arena.kind(id) == Kind::Mapping {
                let keys = self.arena.content(id).iter().step_by(2);
                names.extend(keys.map(|key| self.arena.get(*key).value.clone()));
            }
        }
        names
    }

    fn list(
        &mut self,
        mut sources: Sources,
        schema: Cursor,
        depth: usize,
    ) -> Outcome<Option<Merged>> {
        let [object, patch] = sources;
        let target = if self.arena.missing_or_null(object) {
            patch.map(Merged::from)
        } else {
            self.target(object, patch)?
        };
        let Some(target) = target else {
            return Ok(None);
        };
        sources[0] = Some(target.id);
        let schemas = self.schemas;
        let (keys, element) = schemas
            .merged_list(schema)
            .unwrap_or((Vec::new(), Cursor::UNKNOWN));
        let merge = ListMerge {
            sources,
            element,
            depth,
            target: target.id,
        };
        if keys.is_empty() {
            let values = self.primitive_values(sources);
            return self.elements(&merge, values, &[""]);
        }
        let values = self.element_values(sources, &keys);
        self.elements(&merge, values, &keys)
    }

    // The order in which lists are looked at: the patch's elements come first.
    fn ordered(&self, [object, patch]: Sources) -> [Option<NodeId>; 2] {
        if self.prepend {
            [patch, object]
        } else {
            [object, patch]
        }
    }

    fn element_values(&self, sources: Sources, keys: &[&str]) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        let mut seen: BTreeSet<Vec<String>> = BTreeSet::new();
        for source in self.ordered(sources).into_iter().flatten() {
            for &entry in self.arena.content(source) {
                let value = |key: &&str| {
                    let field = self.arena.filled(entry, key);
                    field.map_or(String::new(), |field| {
                        self.arena.get(field).value.to_string()
                    })
                };
                let values: Vec<String> = keys.iter().map(value).collect();
                if seen.insert(values.clone()) {
                    found.push(values);
                }
            }
        }
        found
    }

    fn primitive_values(&self, sources: Sources) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        let mut seen = BTreeSet::new();
        for source in self.ordered(sources).into_iter().flatten() {
            for &entry in self.arena.content(source) {
                let value = self.arena.get(entry).value.to_string();
                if seen.insert(value.clone()) {
                    found.push(vec![value]);
                }
            }
        }
        found
    }

    fn elements(
        &mut self,
        merge: &ListMerge,
        mut all: Vec<Vec<String>>,
        keys: &[&str],
    ) -> Outcome<Option<Merged>> {
        if keys.len() > 1 {
            merge_values(&mut all);
        }
        let items = self.arena.add(Node::empty(Kind::Sequence));
        let mut used: Vec<&str> = Vec::new();
        for values in &all {
            let (valid, chosen) = valid_keys(&all, values, keys);
            let chosen: Vec<&str> = chosen.iter().map(String::as_str).collect();
            used.clone_from(&valid);
            let sources = self.matching(merge.sources, &valid, &chosen)?;
            let merged = self.walk(sources, merge.element, merge.depth + 1)?;
            let Some(merged) = merged.filter(|merged| !self.is_nothing(merged.id)) else {
                if !valid.is_empty() {
                    self.set_element(merge.target, None, &valid, &chosen)?;
                }
                continue;
            };
            for (key, value) in valid.iter().zip(&chosen) {
                if !value.is_empty() && self.arena.field(merged.id, key).is_none() {
                    let node = self.arena.add(Node::scalar(value));
                    if key.is_empty() {
                        self.arena.set_scalar(merged.id, node)?;
                    } else {
                        self.arena.set(merged.id, key, node)?;
                    }
                }
            }
            self.set_element(items, Some(merged.id), &valid, &chosen)?;
        }
        if all.is_empty() {
            return Ok(Some(merge.target.into()));
        }
        let (into, from) = if self.prepend {
            (items, merge.target)
        } else {
            (merge.target, items)
        };
        self.append(into, from, &used)?;
        Ok(Some(into.into()))
    }

    fn is_nothing(&self, id: NodeId) -> bool {
        let node = self.arena.get(id);
        node.tag == Tag::Null || node.kind == Kind::Mapping && node.content.is_empty()
    }

    // The elements of both lists that have these values.
    fn matching(&self, sources: Sources, keys: &[&str], values: &[&str]) -> Outcome<Sources> {
        let owned: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        let (keys, values) = valid_keys(std::slice::from_ref(&owned), &owned, keys);
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let mut found = [None, None];
        for (place, source) in found.iter_mut().zip(sources) {
            let Some(source) = source else {
                continue;
            };
            if self.arena.kind(source) == Kind::Sequence {
                // Too few values match nothing.
                if keys.len() == values.len() || keys.first().is_some_and(|key| key.is_empty()) {
                    *place = self.arena.element(source, &keys, &values)?;
                }
            }
        }
        Ok(found)
    }

    fn append(&mut self, into: NodeId, from: NodeId, keys: &[&str]) -> Outcome {
        for entry in self.arena.content(from).to_vec() {
            if keys.first().is_none_or(|key| key.is_empty()) {
                let value = self.arena.get(entry).value.to_string();
                self.set_element(into, Some(entry), &[""], &[&value])?;
                continue;
            }
            let mut values = Vec::new();
            for key in keys {
                match self.arena.get_field(entry, key)? {
                    None => self.arena.get_mut(into).content.push(entry),
                    Some(field) => values.push(self.arena.get(field).value.to_string()),
                }
            }
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            if keys.len() > 1 {
                self.set_element(into, None, keys, &values)?;
            }
            self.set_element(into, Some(entry), keys, &values)?;
        }
        Ok(())
    }

    // Puts an element in the place of those whose keys have these values, or at the end; without
    // an element they are taken out.
    fn set_element(
        &mut self,
        list: NodeId,
        element: Option<NodeId>,
        keys: &[&str],
        values: &[&str],
    ) -> Outcome {
        self.arena.expect(list, Kind::Sequence)?;
        let for_maps = keys.first().is_some_and(|key| !key.is_empty())
            && values.first().is_some_and(|value| !value.is_empty());
        let mut content = Vec::with_capacity(self.arena.content(list).len() + 1);
        let mut found_any = false;
        for &entry in self.arena.content(list) {
            if self.is_nothing(entry) {
                continue;
            }
            if for_maps && self.arena.kind(entry) != Kind::Mapping {
                content.push(entry);
                continue;
            }
            if !self.has_values(entry, keys, values)? {
                if !values.is_empty() {
                    content.push(entry);
                }
                continue;
            }
            found_any = true;
            content.extend(element);
        }
        if let Some(element) = element.filter(|element| !self.arena.is_null(*element))
            && !found_any
        {
            content.push(element);
        }
        self.arena.get_mut(list).content = content;
        Ok(())
    }

    fn has_values(&self, entry: NodeId, keys: &[&str], values: &[&str]) -> Outcome<bool> {
        let mut found = false;
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = values.get(at) {
                found = if key.is_empty() {
                    self.arena.expect(entry, Kind::Scalar)?;
                    self.arena.value(entry) == *value
                } else {
                    let field = self.arena.get_field(entry, key)?;
                    // An empty value asks only for the field.
                    field.is_some_and(|f| value.is_empty() || &*self.arena.get(f).value == *value)
                };
            }
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct ListMerge {
    sources: Sources,
    element: Cursor,
    depth: usize,
    target: NodeId,
}

fn directive_of(word: &str) -> Outcome<Directive> {
    match word {
        "delete" => Ok(Directive::Delete),
        "replace" => Ok(Directive::Replace),
        "merge" => Ok(Directive::Merge),
        other => Err(Fault::text(format!("unknown patch strategy '{other}'"))),
    }
}

// The keys that some element has, and the values for them.
fn valid_keys<'k>(
    all: &[Vec<String>],
    values: &[String],
    keys: &[&'k str],
) -> (Vec<&'k str>, Vec<String>) {
    let used = |at: usize| {
        all.iter()
            .any(|values| values.get(at).is_some_and(|v| !v.is_empty()))
    };
    if !(0..keys.len()).any(used) {
        return (keys.to_vec(), values.to_vec());
    }
    let indexes = 0..keys.len();
    let valid = indexes
        .clone()
        .filter(|at| used(*at))
        .map(|at| keys[at])
        .collect();
    let chosen = values
        .iter()
        .enumerate()
        .filter(|(at, value)| !value.is_empty() || used(*at))
        .map(|(_, value)| value.clone())
        .collect();
    (valid, chosen)
}

// Values that agree where both are known are taken together.
fn merge_values(all: &mut [Vec<String>]) {
    for first in 0..all.len() {
        for second in 0..all.len() {
            if let Some(both) = together(&all[first], &all[second]) {
                all[first].clone_from(&both);
                all[second] = both;
            }
        }
    }
}

fn together(first: &[String], second: &[String]) -> Option<Vec<String>> {
    if first.len() != second.len() {
        return None;
    }
    let mut common = false;
    let mut both = Vec::with_capacity(first.len());
    for (a, b) in first.iter().zip(second) {
        if a == b {
            common = true;
            both.push(a.clone());
        } else if !a.is_empty() && !b.is_empty() {
            return None;
        } else {
            both.push(if a.is_empty() { b.clone() } else { a.clone() });
        }
    }
    common.then_some(both)
}
