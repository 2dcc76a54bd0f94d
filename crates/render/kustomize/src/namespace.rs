//! The namespace of everything.

use crate::error::KustomizeError;
use crate::fault::{Fault, Outcome};
use crate::fieldspec::{self, Creation, FieldSpec, Trail};
use crate::node::{Arena, Kind, Node, NodeId, Tag};
use crate::resource;
use crate::work::{Author, Result, Work};
use std::collections::HashMap;

/// Which subjects of role bindings get the namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subjects {
    /// Those that are named `default`.
    #[default]
    Default,
    /// All service accounts.
    Accounts,
    None,
}

impl Subjects {
    pub(crate) fn of(word: &str) -> Outcome<Self> {
        match word {
            "" | "defaultOnly" => Ok(Self::Default),
            "allServiceAccounts" => Ok(Self::Accounts),
            "none" => Ok(Self::None),
            other => Err(Fault::text(format!(
                "invalid value \"{other}\" for setRoleBindingSubjects: must be one of \"defaultOnly\", \"none\" or \"allServiceAccounts\""
            ))),
        }
    }
}

/// What is set, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    pub(crate) namespace: String,
    pub(crate) specs: Vec<FieldSpec>,
    pub(crate) unset_only: bool,
    pub(crate) subjects: Subjects,
}

/// Sets the namespace of all resources.
pub(crate) fn set(
    work: &mut Work<'_>,
    list: &[usize],
    setting: &Setting,
    author: &Author,
) -> Result {
    if setting.namespace.is_empty() {
        return Ok(());
    }
    let mut counts: HashMap<_, usize> = HashMap::new();
    for &at in list {
        *counts.entry(work.id(at).key()).or_default() += 1;
    }
    for &at in list {
        if work.is_gone(at) {
            continue;
        }
        let Some(root) = work.root(at) else {
            continue;
        };
        if resource::annotation(&work.arena, root, resource::HELM_GENERATED) == Some("true") {
            continue;
        }
        let before = work.id(at).key();
        let stored = resource::store_id(&mut work.arena, &work.schemas, root);
        let touched = stored.and_then(|()| set_one(work, root, setting));
        let touched = touched.map_err(|fault| author.blame(fault))?;
        if !touched.is_empty() {
            work.touch(at, author, touched);
        }
        let id = work.id(at);
        if let Some(count) = counts.get_mut(&before) {
            *count -= 1;
        }
        let count = counts.entry(id.key()).or_default();
        *count += 1;
        if *count != 1 {
            let first = list
                .iter()
                .find(|other| **other != at && work.id(**other).same(&id));
            return Err(KustomizeError::Duplicate {
                id: id.words(),
                first: first.map_or_else(|| author.at.clone(), |first| work.spot(*first)),
                second: work.spot(at),
            });
        }
    }
    Ok(())
}

/// Sets the namespace of one object; gives the fields that were set.
pub(crate) fn set_one(
    work: &mut Work<'_>,
    root: NodeId,
    setting: &Setting,
) -> Outcome<Vec<String>> {
    let (version, kind) = (
        resource::api_version(&work.arena, root).to_owned(),
        resource::kind(&work.arena, root).to_owned(),
    );
    let cluster = work.schemas.is_cluster_scoped(&version, &kind);
    let mut touched = Vec::new();
    let mut set = |arena: &mut Arena, id: NodeId, trail: &Trail| {
        if set_scalar(arena, id, setting)? {
            touched.push(fieldspec::pointer(trail));
        }
        Ok(())
    };
    let arena = &mut work.arena;
    if !cluster {
        let spec = FieldSpec::of_all("metadata/namespace", true);
        let creation = Creation {
            kind: Kind::Scalar,
            tag: Tag::Empty,
        };
        fieldspec::apply(arena, root, &spec, Some(&creation), &mut set)?;
    }
    let binding = matches!(kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
    if binding {
        set_subjects(arena, root, setting, &mut set)?;
    }
    let creation = Creation {
        kind: Kind::Scalar,
        tag: Tag::Str,
    };
    for spec in &setting.specs {
        let special = spec.path == "metadata/namespace"
            || version != "v1" && spec.path == "metadata/name"
            || binding
                && spec.path == "subjects/namespace"
                && matches!(spec.gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
        if !special {
            fieldspec::apply(arena, root, spec, Some(&creation), &mut set)
                .map_err(|fault| fault.within("namespace transformation failed"))?;
        }
    }
    Ok(touched)
}

fn set_scalar(arena: &mut Arena, id: NodeId, setting: &Setting) -> Outcome<bool> {
    if setting.unset_only && !arena.is_empty(id) {
        let filled = match arena.kind(id) {
            Kind::Scalar => !arena.value(id).is_empty(),
            _ => false,
        };
        if filled {
            return Ok(false);
        }
    }
    let node = arena.add(Node {
        tag: Tag::Str,
        ..Node::scalar(&setting.namespace)
    });
    arena.set_scalar(id, node)?;
    Ok(true)
}

fn set_subjects(
    arena: &mut Arena,
    root: NodeId,
    setting: &Setting,
    set: fieldspec::Setter<'_>,
) -> Outcome {
    let (field, word) = match setting.subjects {
        Subjects::None => return Ok(()),
        Subjects::Default => ("name", "default"),
        Subjects::Accounts => ("kind", "ServiceAccount"),
    };
    let Some(subjects) = arena.lookup(root, &["subjects"])? else {
        return Ok(());
    };
    if arena.is_null(subjects) {
        return Ok(());
    }
    arena.expect(subjects, Kind::Sequence)?;
    for (index, subject) in arena.content(subjects).to_vec().into_iter().enumerate() {
        let Some(value) = arena.get_field(subject, field)? else {
            continue;
        };
        if arena.is_null(value) {
            continue;
        }
        arena.expect(value, Kind::Scalar)?;
        if arena.value(value) == word {
            let namespace = arena.lookup_create(subject, Kind::Scalar, &["namespace"])?;
            let trail = vec!["subjects".into(), index.to_string(), "namespace".into()];
            set(arena, namespace, &trail)?;
        }
    }
    Ok(())
}
