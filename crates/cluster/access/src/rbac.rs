//! The policy, compiled for fast answers.
//!
//! Takes Role, ClusterRole, RoleBinding and ClusterRoleBinding objects one by one as they change,
//! and answers whether a request is allowed. Bindings are indexed by subject, so a decision looks
//! only at the rules of those bindings that name the user or one of the user's groups.

use crate::rule::Rule;
use crate::serviceaccount;
use crate::{MASTERS, RBAC_GROUP};
use model::{User, Value, field::go_quote, meta};
use std::collections::{BTreeMap, BTreeSet};

/// What is asked: one request, as authorization sees it.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// `get`, `list`, … for resources; the lower-case HTTP method for paths.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Plural resource.
    pub resource: &'a str,
    /// Subresource, empty for none.
    pub subresource: &'a str,
    /// Namespace, empty for cluster scope. For Namespace objects themselves it is their name.
    pub namespace: &'a str,
    /// Object name, empty for collections and creates.
    pub name: &'a str,
    /// The URL path when this is no resource request.
    pub path: &'a str,
    /// Whether this is a resource request.
    pub is_resource: bool,
}

impl<'a> Attributes<'a> {
    /// A request for a path that is no resource.
    pub fn path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Self {
            path,
            is_resource: false,
            ..Self::resource(user, verb, "", "", "")
        }
    }

    /// A request for a resource, cluster-wide; set the other fields by update syntax.
    pub fn resource(
        user: &'a User,
        verb: &'a str,
        group: &'a str,
        version: &'a str,
        resource: &'a str,
    ) -> Self {
        Self {
            user,
            verb,
            group,
            version,
            resource,
            subresource: "",
            namespace: "",
            name: "",
            path: "",
            is_resource: true,
        }
    }
}

/// The answer to [`Rbac::authorize`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Allowed, and why.
    Allow(String),
    /// No rule allows it; the reason names roles that could not be found.
    NoOpinion(String),
}

impl Decision {
    /// Whether the request may go on.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    /// The reason, for reviews and refusals.
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow(reason) | Self::NoOpinion(reason) => reason,
        }
    }
}

#[derive(Debug)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
    /// Why a request by this subject is allowed, ready to be told.
    reason: String,
}

#[derive(Debug)]
struct Binding {
    role_kind: String,
    role_name: String,
    subjects: Vec<Subject>,
}

/// Roles and bindings of one namespace, or of the cluster.
#[derive(Debug, Default)]
struct Scope {
    roles: BTreeMap<String, Vec<Rule>>,
    bindings: BTreeMap<String, Binding>,
    by_user: BTreeMap<String, BTreeSet<String>>,
    by_group: BTreeMap<String, BTreeSet<String>>,
}

/// The whole policy.
#[derive(Debug, Default)]
pub struct Rbac {
    cluster: Scope,
    namespaces: BTreeMap<String, Scope>,
}

/// A binding's role that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MissingRole {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl MissingRole {
    fn text(&self) -> String {
        match self.kind.as_str() {
            "Role" | "ClusterRole" => format!(
                "{}.{RBAC_GROUP} {} not found",
                self.kind.to_lowercase(),
                go_quote(&self.name)
            ),
            other => format!("unsupported role reference kind: {}", go_quote(other)),
        }
    }
}

/// Several faults as Go's aggregate error prints them.
pub(crate) fn aggregated(texts: impl IntoIterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.len() {
        1 => seen.swap_remove(0),
        _ => format!("[{}]", seen.join(", ")),
    }
}

impl Rbac {
    /// Compiles a policy; objects of other kinds are ignored.
    pub fn from_objects<'a>(objects: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut rbac = Self::default();
        for object in objects {
            rbac.upsert(object);
        }
        rbac
    }

    /// Takes in a new or changed object. Returns whether it is one of the four RBAC kinds.
    pub fn upsert(&mut self, object: &Value) -> bool {
        let name = meta::name(object);
        let namespace = meta::namespace(object);
        match object.get("kind").and_then(Value::as_str) {
            Some("ClusterRole") => {
                self.cluster
                    .roles
                    .insert(name.into(), Rule::read_all(object));
            }
            Some("Role") => {
                let scope = self.namespaces.entry(namespace.into()).or_default();
                scope.roles.insert(name.into(), Rule::read_all(object));
            }
            Some("ClusterRoleBinding") => self.cluster.bind(name, "", object),
            Some("RoleBinding") => {
                let scope = self.namespaces.entry(namespace.into()).or_default();
                scope.bind(name, namespace, object);
            }
            _ => return false,
        }
        true
    }

    /// Forgets an object, named by kind, namespace and name.
    pub fn remove(&mut self, kind: &str, namespace: &str, name: &str) {
        let scope = match kind {
            "ClusterRole" | "ClusterRoleBinding" => Some(&mut self.cluster),
            "Role" | "RoleBinding" => self.namespaces.get_mut(namespace),
            _ => None,
        };
        let Some(scope) = scope else { return };
        match kind {
            "ClusterRole" | "Role" => {
                scope.roles.remove(name);
            }
            _ => scope.unbind(name, namespace),
        }
        if scope.roles.is_empty() && scope.bindings.is_empty() {
            self.namespaces.remove(namespace);
        }
    }

    /// Decides one request.
    pub fn authorize(&self, a: &Attributes<'_>) -> Decision {
        if a.user.groups.iter().any(|g| g == MASTERS) {
            return Decision::Allow(String::new());
        }
        let mut missing = BTreeSet::new();
        let scopes = [
            ("", Some(&self.cluster)),
            (a.namespace, self.scope(a.namespace)),
        ];
        for (namespace, scope) in scopes {
            let Some(scope) = scope else { continue };
            for (_, binding) in scope.bindings_of(a.user) {
                match self.rules(&binding.role_kind, &binding.role_name, namespace) {
                    Ok(rules) if rules.iter().any(|rule| rule.allows(a)) => {
                        return Decision::Allow(binding.reason(namespace, a.user));
                    }
                    Ok(_) => {}
                    Err(role) => {
                        missing.insert(role);
                    }
                }
            }
        }
        if missing.is_empty() {
            return Decision::NoOpinion(String::new());
        }
        let texts = missing.iter().map(MissingRole::text);
        Decision::NoOpinion(format!("RBAC: {}", aggregated(texts)))
    }

    /// Every rule that holds for the user in the namespace, and the roles that were not found.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<MissingRole>) {
        let mut rules = Vec::new();
        let mut missing = Vec::new();
        for (namespace, scope) in [
            ("", Some(&self.cluster)),
            (namespace, self.scope(namespace)),
        ] {
            let Some(scope) = scope else { continue };
            let bindings: BTreeMap<&str, &Binding> = scope.bindings_of(user).collect();
            for binding in bindings.values() {
                match self.rules(&binding.role_kind, &binding.role_name, namespace) {
                    Ok(found) => rules.extend(found),
                    Err(role) => missing.push(role),
                }
            }
        }
        (rules, missing)
    }

    /// Every rule that holds for the user in the namespace, and what could not be resolved.
    pub fn rules_of(&self, user: &User, namespace: &str) -> (Vec<&Rule>, String) {
        let (rules, missing) = self.rules_for(user, namespace);
        let error = if missing.is_empty() {
            String::new()
        } else {
            aggregated(missing.iter().map(MissingRole::text))
        };
        (rules, error)
    }

    /// The rules of a role a binding refers to.
    pub(crate) fn rules(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Result<&[Rule], MissingRole> {
        let scope = match kind {
            "ClusterRole" => Some(&self.cluster),
            "Role" => self.scope(namespace),
            _ => None,
        };
        let found = scope.and_then(|s| s.roles.get(name));
        found.map(Vec::as_slice).ok_or_else(|| MissingRole {
            kind: kind.into(),
            name: name.into(),
        })
    }

    fn scope(&self, namespace: &str) -> Option<&Scope> {
        self.namespaces.get(namespace)
    }
}

impl Scope {
    fn bind(&mut self, name: &str, namespace: &str, object: &Value) {
        self.unbind(name, namespace);
        let binding = Binding::read(name, namespace, object);
        for subject in &binding.subjects {
            if let Some((index, key)) = self.index(subject, namespace) {
                index.entry(key).or_default().insert(name.into());
            }
        }
        self.bindings.insert(name.into(), binding);
    }

    fn unbind(&mut self, name: &str, namespace: &str) {
        let Some(binding) = self.bindings.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            let Some((index, key)) = self.index(subject, namespace) else {
                continue;
            };
            if let Some(names) = index.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&key);
                }
            }
        }
    }

    fn index(
        &mut self,
        subject: &Subject,
        namespace: &str,
    ) -> Option<(&mut BTreeMap<String, BTreeSet<String>>, String)> {
        match subject.kind.as_str() {
            "User" => Some((&mut self.by_user, subject.name.clone())),
            "Group" => Some((&mut self.by_group, subject.name.clone())),
            "ServiceAccount" => {
                let key = subject.account(namespace)?;
                Some((&mut self.by_user, key))
            }
            _ => None,
        }
    }

    fn bindings_of<'a>(&'a self, user: &'a User) -> impl Iterator<Item = (&'a str, &'a Binding)> {
        let groups = user.groups.iter().filter_map(|g| self.by_group.get(g));
        let names = self.by_user.get(&user.name).into_iter().chain(groups);
        names.flatten().filter_map(|name| {
            let binding = self.bindings.get(name)?;
            Some((name.as_str(), binding))
        })
    }
}

impl Subject {
    fn account(&self, namespace: &str) -> Option<String> {
        let namespace = if self.namespace.is_empty() {
            namespace
        } else {
            &self.namespace
        };
        (!namespace.is_empty()).then(|| serviceaccount::username(namespace, &self.name))
    }

    fn applies(&self, user: &User, namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => self.name == user.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => self.account(namespace).as_ref() == Some(&user.name),
            _ => false,
        }
    }

    fn describe(&self, namespace: &str) -> String {
        if self.kind != "ServiceAccount" {
            return format!("{} {}", self.kind, go_quote(&self.name));
        }
        let namespace = if self.namespace.is_empty() {
            namespace
        } else {
            &self.namespace
        };
        format!(
            "{} {}",
            self.kind,
            go_quote(&format!("{}/{namespace}", self.name))
        )
    }
}

impl Binding {
    fn read(name: &str, namespace: &str, object: &Value) -> Self {
        let (role_kind, role_name) = (
            meta::text_at(object, "/roleRef/kind"),
            meta::text_at(object, "/roleRef/name"),
        );
        let shown = if namespace.is_empty() {
            format!("ClusterRoleBinding {}", go_quote(name))
        } else {
            format!("RoleBinding {}", go_quote(&format!("{name}/{namespace}")))
        };
        let allowed_by = format!(
            "RBAC: allowed by {shown} of {role_kind} {} to",
            go_quote(role_name)
        );
        let subject = |s: &Value| {
            let text = |field| {
                s.get(field)
                    .and_then(Value::as_str)
                    .unwrap_or("")
                    .to_owned()
            };
            let mut subject = Subject {
                kind: text("kind"),
                name: text("name"),
                namespace: text("namespace"),
                reason: String::new(),
            };
            subject.reason = format!("{allowed_by} {}", subject.describe(namespace));
            subject
        };
        Self {
            role_kind: role_kind.into(),
            role_name: role_name.into(),
            subjects: meta::entries(object, "/subjects").map(subject).collect(),
        }
    }

    fn reason(&self, namespace: &str, user: &User) -> String {
        let mut subjects = self.subjects.iter();
        let subject = subjects.find(|s| s.applies(user, namespace));
        subject.map(|s| s.reason.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
