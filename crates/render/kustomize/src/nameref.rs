//! Names of resources in other resources, brought up to date once all names are known.

use crate::error::KustomizeError;
use crate::fault::{Fault, Outcome};
use crate::fieldspec::{self, FieldSpec, Trail};
use crate::id::{Gvk, NOWHERE, ResId};
use crate::node::{Arena, Kind, Node, NodeId};
use crate::resource;
use crate::target::Accumulated;
use crate::work::{Author, Result, Work};
use std::collections::{HashMap, HashSet};

// What matters of a resource that others may refer to.
struct Candidate {
    root: NodeId,
    current: ResId,
    previous: Vec<ResId>,
    original_namespace: String,
}

struct Referrals {
    all: Vec<Candidate>,
    // Candidates by each name that they had.
    by_name: HashMap<String, Vec<usize>>,
}

/// Updates all references.
pub(crate) fn fix(work: &mut Work<'_>, all: &Accumulated, author: &Author) -> Result {
    let Some(config) = all.config.clone() else {
        return Ok(());
    };
    let referrals = collect(work, &all.list);
    let mut filters: HashMap<Gvk, Vec<(&FieldSpec, &Gvk)>> = HashMap::new();
    for &at in &all.list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let gvk = work.original_id(at).gvk;
        let chosen = filters.entry(gvk.clone()).or_insert_with(|| {
            let pairs = config.name_reference.iter().flat_map(|reference| {
                let fits = |spec: &&FieldSpec| gvk.is_selected(&spec.gvk);
                reference
                    .referrers
                    .iter()
                    .filter(fits)
                    .map(|spec| (spec, &reference.gvk))
            });
            pairs.collect()
        });
        if chosen.is_empty() {
            continue;
        }
        let mut referrer = Referrer {
            root,
            id: work.id(at),
            spots: role_binding_namespaces(&work.arena, root),
            referrals: &referrals,
            touched: Vec::new(),
        };
        for (spec, target) in chosen.iter() {
            let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
                referrer.set(arena, id, spec, target, trail)
            };
            let done = fieldspec::apply_to(&mut work.arena, root, spec, None, &mut set);
            done.map_err(|fault| refused(work, at, spec, fault))?;
        }
        let touched = std::mem::take(&mut referrer.touched);
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
    }
    Ok(())
}

fn refused(work: &Work<'_>, at: usize, spec: &FieldSpec, fault: Fault) -> KustomizeError {
    KustomizeError::Step {
        at: work.spot(at),
        step: "nameReference".into(),
        message: format!(
            "updating name reference in '{}' field of {}: {fault}",
            spec.path,
            work.id(at).words()
        ),
    }
}

fn collect(work: &Work<'_>, list: &[usize]) -> Referrals {
    let mut referrals = Referrals {
        all: Vec::with_capacity(list.len()),
        by_name: HashMap::new(),
    };
    for &at in list {
        let Some(root) = work.root(at) else {
            continue;
        };
        let previous = work.previous_ids(at);
        let number = referrals.all.len();
        let mut seen = HashSet::new();
        for id in &previous {
            if seen.insert(id.name.as_str()) {
                referrals
                    .by_name
                    .entry(id.name.clone())
                    .or_default()
                    .push(number);
            }
        }
        let original_namespace = work.original_id(at).effective().to_owned();
        referrals.all.push(Candidate {
            root,
            current: work.id(at),
            previous,
            original_namespace,
        });
    }
    referrals
}

// Namespaces of the accounts that a role binding speaks of.
fn role_binding_namespaces(arena: &Arena, root: NodeId) -> HashSet<String> {
    let mut found = HashSet::new();
    if resource::kind(arena, root) != "RoleBinding" {
        return found;
    }
    let Some(subjects) = arena.field(root, "subjects") else {
        return found;
    };
    for &subject in arena.content(subjects) {
        let text = |name: &str| {
            arena
                .field(subject, name)
                .map(|id| arena.get(id).value.to_string())
        };
        if let (Some(namespace), Some("ServiceAccount")) =
            (text("namespace"), text("kind").as_deref())
        {
            found.insert(namespace);
        }
    }
    found
}

struct Referrer<'a> {
    root: NodeId,
    id: ResId,
    spots: HashSet<String>,
    referrals: &'a Referrals,
    touched: Vec<String>,
}

impl Referrer<'_> {
    fn set(
        &mut self,
        arena: &mut Arena,
        id: NodeId,
        spec: &FieldSpec,
        target: &Gvk,
        trail: &Trail,
    ) -> Outcome {
        if arena.is_null(id) {
            return Ok(());
        }
        match arena.kind(id) {
            Kind::Scalar => self.set_scalar(arena, id, spec, target, trail),
            Kind::Mapping => self.set_mapping(arena, id, spec, target, trail),
            Kind::Sequence => {
                for (index, entry) in arena.content(id).to_vec().into_iter().enumerate() {
                    if arena.is_null(entry) {
                        continue;
                    }
                    let mut trail = trail.clone();
                    trail.push(index.to_string());
                    match arena.kind(entry) {
                        Kind::Scalar => self.set_scalar(arena, entry, spec, target, &trail)?,
                        Kind::Mapping => self.set_mapping(arena, entry, spec, target, &trail)?,
                        _ => {
                            return Err(Fault::text(
                                "expected to be either a string or a map of string",
                            ));
                        }
                    }
                }
                Ok(())
            }
            Kind::Zero => Err(Fault::text("node must be a scalar, sequence or map")),
        }
    }

    fn set_scalar(
        &mut self,
        arena: &mut Arena,
        id: NodeId,
        spec: &FieldSpec,
        target: &Gvk,
        trail: &Trail,
    ) -> Outcome {
        let old = arena.get(id).value.clone();
        let Some(found) = self.select(arena, &old, spec, target, None)? else {
            return Ok(());
        };
        let name = resource::name(arena, found.root).to_owned();
        if *name == *old {
            return Ok(());
        }
        self.touched.push(fieldspec::pointer(trail));
        let node = arena.add(Node::scalar(&name));
        arena.set_scalar(id, node)
    }

    fn set_mapping(
        &mut self,
        arena: &mut Arena,
        id: NodeId,
        spec: &FieldSpec,
        target: &Gvk,
        trail: &Trail,
    ) -> Outcome {
        let Some(field) = arena.get_field(id, "name")? else {
            return Err(Fault::text("path config error; no 'name' field in node"));
        };
        let old = arena.get(field).value.clone();
        let namespace = arena.get_field(id, "namespace")?;
        let place = match namespace {
            Some(namespace) => Place::Namespace(arena.get(namespace).value.to_string()),
            None => Place::Anywhere,
        };
        let Some(found) = self.select(arena, &old, spec, target, Some(&place))? else {
            return Ok(());
        };
        let name = resource::name(arena, found.root).to_owned();
        let namespace = resource::namespace(arena, found.root).to_owned();
        if *name == *old && namespace.is_empty() {
            return Ok(());
        }
        let base = fieldspec::pointer(trail);
        if *name != *old {
            self.touched.push(format!("{base}/name"));
        }
        let node = arena.add(Node::scalar(&name));
        arena.set(id, "name", node)?;
        if !namespace.is_empty() {
            let node = arena.add(Node::scalar(&namespace));
            arena.set(id, "namespace", node)?;
        }
        Ok(())
    }

    // The resource that a name means, when there is one. A reference with a place of its own also
    // gives the namespace.
    fn select(
        &self,
        arena: &Arena,
        old: &str,
        spec: &FieldSpec,
        target: &Gvk,
        place: Option<&Place>,
    ) -> Outcome<Option<&Candidate>> {
        let Some(named) = self.referrals.by_name.get(old) else {
            return Ok(None);
        };
        let role = self.role(arena, spec);
        let fits = |candidate: &&Candidate| {
            let selected = |gvk: &Gvk| candidate.previous.iter().any(|id| id.gvk.is_selected(gvk));
            self.could_refer(arena, candidate)
                && place.is_none_or(|place| self.is_at(candidate, place))
                && selected(target)
                && role.as_ref().is_none_or(selected)
                && self.in_reach(arena, candidate)
        };
        let mut found: Vec<&Candidate> = named
            .iter()
            .map(|at| &self.referrals.all[*at])
            .filter(fits)
            .collect();
        if let [one] = found[..] {
            return Ok(Some(one));
        }
        found.retain(|candidate| resource::same_affixes(arena, candidate.root, self.root, true));
        if found.len() > 1 {
            found.retain(|candidate| {
                resource::same_affixes(arena, candidate.root, self.root, false)
            });
        }
        let Some(first) = found.first().copied() else {
            return Ok(None);
        };
        let alike = found.iter().all(|other| {
            first.current.name == other.current.name
                && (place.is_none() || first.current.namespace == other.current.namespace)
        });
        if alike {
            return Ok(Some(first));
        }
        let names: Vec<String> = found
            .iter()
            .map(|candidate| candidate.current.words())
            .collect();
        Err(Fault::text(format!(
            "found multiple possible referrals: {}",
            names.join(", ")
        )))
    }

    // What may be referred to at all: the same namespace, or none.
    fn could_refer(&self, arena: &Arena, candidate: &Candidate) -> bool {
        self.id.cluster
            || candidate.current.cluster
            || candidate.current.effective() == self.id.effective()
            || self
                .spots
                .contains(resource::namespace(arena, candidate.root))
    }

    fn in_reach(&self, arena: &Arena, candidate: &Candidate) -> bool {
        self.id.cluster
            || candidate.current.cluster
            || resource::kind(arena, candidate.root) == "ServiceAccount"
            || candidate.current.effective() == self.id.effective()
    }

    // In the namespace that was written, as it was at first, else as it is now.
    fn is_at(&self, candidate: &Candidate, place: &Place) -> bool {
        let Place::Namespace(namespace) = place else {
            return true;
        };
        if namespace == NOWHERE {
            return false;
        }
        let anybody = self.referrals.all.iter().any(|other| {
            other.original_namespace == *namespace
                && (self.id.cluster
                    || other.current.cluster
                    || other.current.effective() == self.id.effective()
                    || self.spots.contains(&other.current.namespace))
        });
        if anybody {
            candidate.original_namespace == *namespace
        } else {
            candidate.current.effective() == *namespace
        }
    }

    // The role that a binding names, where the field is the name of a role.
    fn role(&self, arena: &Arena, spec: &FieldSpec) -> Option<Gvk> {
        if !spec.path.ends_with("roleRef/name") {
            return None;
        }
        let role = arena.field(self.root, "roleRef")?;
        let text = |name: &str| {
            arena
                .field(role, name)
                .map(|id| arena.get(id).value.to_string())
        };
        Some(Gvk {
            group: text("apiGroup")?,
            version: String::new(),
            kind: text("kind")?,
        })
    }
}

enum Place {
    Anywhere,
    Namespace(String),
}
