//! A cluster in memory and short ways to say a request, for the tests of this crate.

use crate::{Cluster, Operation, Review};
use model::{GroupVersionKind, GroupVersionResource, User, Value, json, meta};
use std::sync::Arc;

/// Objects with the resource they are listed under.
#[derive(Default)]
pub(crate) struct Fake(Vec<(String, String, Arc<Value>)>);

impl Fake {
    /// Adds objects of `group/resource`.
    pub(crate) fn with(mut self, path: &str, objects: &[Value]) -> Self {
        let (group, resource) = path.split_once('/').unwrap_or(("", path));
        for object in objects {
            self.0
                .push((group.into(), resource.into(), Arc::new(object.clone())));
        }
        self
    }
}

impl Cluster for Fake {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let found = self.list(group, resource, None);
        found
            .into_iter()
            .find(|o| meta::namespace(o) == namespace && meta::name(o) == name)
    }

    fn list(&self, group: &str, resource: &str, namespace: Option<&str>) -> Vec<Arc<Value>> {
        let here = |o: &Value| namespace.is_none_or(|ns| meta::namespace(o) == ns);
        let found = self.0.iter();
        let found = found.filter(|(g, r, o)| g == group && r == resource && here(o));
        found.map(|(_, _, o)| Arc::clone(o)).collect()
    }
}

/// What a [`Review`] borrows.
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) gvk: GroupVersionKind,
    pub(crate) gvr: GroupVersionResource,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) object: Value,
    pub(crate) old: Option<Value>,
    pub(crate) user: User,
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
}

impl Request {
    /// A create of an object of `group/version/resource` and the kind the object says.
    pub(crate) fn create(path: &str, namespace: &str, object: Value) -> Self {
        let parts: Vec<&str> = path.split('/').collect();
        let (group, version, resource) = match parts.as_slice() {
            [resource] => ("", "v1", *resource),
            [group, version, resource] => (*group, *version, *resource),
            _ => panic!("resource or group/version/resource"),
        };
        let kind = object
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or("Thing");
        Self {
            operation: Operation::Create,
            gvk: GroupVersionKind::new(group, version, kind),
            gvr: GroupVersionResource::new(group, version, resource),
            subresource: String::new(),
            namespace: namespace.into(),
            object,
            old: None,
            user: User {
                name: "admin".into(),
                ..User::default()
            },
            options: json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}),
            dry_run: false,
        }
    }

    /// An update from `old`.
    pub(crate) fn update(path: &str, namespace: &str, object: Value, old: Value) -> Self {
        Self {
            operation: Operation::Update,
            old: Some(old),
            ..Self::create(path, namespace, object)
        }
    }

    /// A pod with the given spec.
    pub(crate) fn pod(namespace: &str, spec: Value) -> Self {
        let pod =
            json!({"kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": spec});
        Self::create("pods", namespace, pod)
    }

    pub(crate) fn review(&self) -> Review<'_> {
        Review {
            operation: self.operation,
            gvk: &self.gvk,
            gvr: &self.gvr,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: meta::name(&self.object),
            object: (!self.object.is_null()).then_some(&self.object),
            old: self.old.as_ref(),
            user: &self.user,
            dry_run: self.dry_run,
            options: &self.options,
        }
    }
}

/// A [`crate::Host`] that knows a handful of expressions and replaces, adds and removes by patch.
pub(crate) struct Servant;

impl crate::Host for Servant {
    /// `true`, `false`, `path`, `path == 'text'`, `path != 'text'`, `'text' + path`.
    fn evaluate(&self, expression: &str, variables: &[(&str, &Value)]) -> Result<Value, String> {
        let text = expression.trim();
        if text == "true" || text == "false" {
            return Ok(json!(text == "true"));
        }
        let unquoted = |t: &str| t.trim().trim_matches('\'').to_owned();
        if let Some((left, right)) = text.split_once(" == ") {
            return Ok(json!(look_up(left, variables)? == unquoted(right)));
        }
        if let Some((left, right)) = text.split_once(" != ") {
            return Ok(json!(look_up(left, variables)? != unquoted(right)));
        }
        if let Some((left, right)) = text.split_once(" + ") {
            let right = look_up(right, variables)?;
            return Ok(json!(format!(
                "{}{}",
                unquoted(left),
                right.as_str().unwrap_or("")
            )));
        }
        look_up(text, variables)
    }

    fn json_patch(&self, object: &Value, patch: &Value) -> Result<Value, String> {
        let mut object = object.clone();
        for step in patch.as_array().into_iter().flatten() {
            let path = meta::text_at(step, "/path");
            let (parent, field) = path.rsplit_once('/').ok_or("bad path")?;
            let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
            let parent = parent.ok_or_else(|| format!("{path}: missing value"))?;
            parent.insert(field.into(), step["value"].clone());
        }
        Ok(object)
    }

    fn uid(&self, key: &str) -> String {
        format!("uid of {key}")
    }

    fn resource_of(&self, gvk: &GroupVersionKind) -> Option<(GroupVersionResource, bool)> {
        let plural = format!("{}s", gvk.kind.to_lowercase());
        let gvr = GroupVersionResource::new(&gvk.group, &gvk.version, plural);
        match gvk.kind.as_str() {
            "ConfigMap" => Some((gvr, true)),
            "Limit" => Some((gvr, false)),
            _ => None,
        }
    }

    fn equivalents(
        &self,
        gvr: &GroupVersionResource,
        _: &str,
    ) -> Vec<(GroupVersionResource, GroupVersionKind)> {
        let versions: &[&str] = if gvr.group == "autoscaling" {
            &["v2", "v1"]
        } else {
            &["v1"]
        };
        let make = |v: &&str| {
            let gvk = GroupVersionKind::new(&gvr.group, *v, "HorizontalPodAutoscaler");
            (
                GroupVersionResource::new(&gvr.group, *v, &gvr.resource),
                gvk,
            )
        };
        versions.iter().map(make).collect()
    }

    fn convert(&self, object: &Value, to: &GroupVersionKind) -> Result<Value, String> {
        let mut object = object.clone();
        object["apiVersion"] = json!(to.api_version());
        Ok(object)
    }

    fn settle(&self, object: &mut Value) -> Result<(), model::ApiError> {
        object["settled"] = json!(true);
        Ok(())
    }

    fn mutate_again(&self, object: &mut Value) -> Result<(), model::ApiError> {
        object["again"] = json!(true);
        Ok(())
    }
}

fn look_up(path: &str, variables: &[(&str, &Value)]) -> Result<Value, String> {
    let mut parts = path.trim().split('.');
    let root = parts.next().unwrap_or("");
    let found = variables.iter().find(|(name, _)| *name == root);
    let mut value = found
        .ok_or_else(|| format!("undeclared reference to '{root}'"))?
        .1;
    for part in parts {
        value = value
            .get(part)
            .ok_or_else(|| format!("no such key: {part}"))?;
    }
    Ok(value.clone())
}
