//! What templates see as `.`: `.Values`, `.Chart`, `.Release`, `.Capabilities`, `.Files`.

use crate::capabilities::Capabilities;
use crate::chart::{Chart, Dependency};
use crate::files::Files;
use crate::render::Release;
use crate::tree::{ChartTree, NodeId};
use crate::{Flavour, gopath};
use gotemplate::{Answer, Element, List, Map, Method, Named, Struct, Type, Value};
use std::rc::Rc;

/// A template ready to be run.
pub(crate) struct Ready {
    /// Its name, as in `web/charts/redis/templates/a.yaml`.
    pub(crate) name: String,
    pub(crate) chart: NodeId,
    /// Its place among the chart's templates.
    pub(crate) index: usize,
    /// The chart's `.`.
    pub(crate) dot: Map,
    /// The directory `.Template.BasePath` names.
    pub(crate) base_path: String,
}

/// Builds the scopes of all charts, and lists their templates.
pub(crate) struct Scopes<'a> {
    pub(crate) tree: &'a ChartTree,
    pub(crate) flavour: Flavour,
    pub(crate) release: Value,
    pub(crate) capabilities: Value,
    pub(crate) templates: Vec<Ready>,
    /// The type of `.` and `.Template`.
    pub(crate) values_type: Rc<Named>,
}

impl Scopes<'_> {
    /// Adds a chart and those inside it; gives the chart's scope.
    pub(crate) fn chart(&mut self, id: NodeId, values: &Map) -> Map {
        let node = self.tree.node(id);
        let subcharts = Map::default();
        let scope = Map::default();
        scope.set("Chart", chart_value(self.tree, id, self.flavour));
        scope.set("Files", Files::of(&node.chart, self.flavour));
        scope.set("Release", self.release.clone());
        scope.set("Capabilities", self.capabilities.clone());
        scope.set("Values", Value::Map(as_values(values, self.flavour)));
        scope.set("Subcharts", Value::Map(subcharts.clone()));
        for child in &node.dependencies {
            let name = &self.tree.node(*child).name;
            // Helm takes the name for a path: a chart with a dot in its name has no values.
            let inner = crate::tree::table(values, name).unwrap_or_default();
            let child_scope = self.chart(*child, &inner);
            subcharts.set(name.as_str(), Value::Map(child_scope));
        }
        self.list(id, &scope);
        scope
    }

    fn list(&mut self, id: NodeId, scope: &Map) {
        let node = self.tree.node(id);
        let path = self.tree.full_path(id);
        let dot = scope.under(&self.values_type);
        for (index, file) in node.chart.templates.iter().enumerate() {
            if node.chart.is_library() && !gopath::base(&file.name).starts_with('_') {
                continue;
            }
            self.templates.push(Ready {
                name: gopath::join(&path, &file.name),
                chart: id,
                index,
                dot: dot.clone(),
                base_path: gopath::join(&path, "templates"),
            });
        }
    }
}

/// Helm's type of values; nobody calls methods of `.` itself.
pub(crate) fn values_type(flavour: Flavour) -> Rc<Named> {
    Rc::new(Named {
        name: format!("{}.Values", package(flavour)),
        methods: Vec::new(),
    })
}

// The same table as Helm's type of values, with its methods.
fn as_values(map: &Map, flavour: Flavour) -> Map {
    let method = |name: &'static str, params: Vec<Type>, call: fn(&Map, &str) -> Answer| {
        let map = map.clone();
        Method::new(name, params, move |arguments| {
            let argument = arguments.first().and_then(Value::as_text);
            let argument = argument.map(|text| text.lossy().into_owned());
            call(&map, &argument.unwrap_or_default())
        })
    };
    let named = Rc::new(Named {
        name: format!("{}.Values", package(flavour)),
        methods: vec![
            method("AsMap", Vec::new(), |map, _| Ok(Value::Map(map.clone()))),
            method("YAML", Vec::new(), |map, _| {
                let plain = crate::values::coalesce::plain_map(map);
                Ok(Value::from(yaml::to_string(&model::Value::Object(plain))))
            }),
            method("Table", vec![Type::String], |map, path| {
                let found = crate::tree::table(map, path);
                found
                    .map(Value::Map)
                    .map_err(|part| format!("{part:?} is not a table"))
            }),
            method("PathValue", vec![Type::String], |map, path| {
                let key = path.rsplit('.').next().unwrap_or(path);
                crate::tree::path_value(map, path).ok_or_else(|| format!("{key:?} is not a value"))
            }),
        ],
    });
    map.under(&named)
}

fn package(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::V3 => "chartutil",
        Flavour::V4 => "common",
    }
}

/// `.Template` of a file.
pub(crate) fn template_value(ready: &Ready, named: &Rc<Named>) -> Value {
    let map = Map::default();
    map.set("Name", Value::from(ready.name.as_str()));
    map.set("BasePath", Value::from(ready.base_path.as_str()));
    Value::Map(map.under(named))
}

/// `.Release`.
pub(crate) fn release_value(release: &Release) -> Value {
    Value::map([
        ("Name", Value::from(release.name.as_str())),
        ("Namespace", Value::from(release.namespace.as_str())),
        ("IsUpgrade", Value::Bool(release.is_upgrade)),
        ("IsInstall", Value::Bool(!release.is_upgrade)),
        ("Revision", Value::Int(release.revision)),
        ("Service", Value::from("Helm")),
    ])
}

/// `.Capabilities`.
pub(crate) fn capabilities_value(capabilities: &Capabilities, flavour: Flavour) -> Value {
    let package = package(flavour);
    let kube = &capabilities.kube_version;
    let text = |text: &str| Value::from(text);
    let fields = vec![
        ("Version", text(&kube.version)),
        ("Major", text(&kube.major)),
        ("Minor", text(&kube.minor)),
    ];
    let mut version = Struct::new(format!("{package}.KubeVersion"), fields);
    let (full, normal) = (kube.version.clone(), kube.normalized.clone());
    version.string = Some(normal.as_str().into());
    version.methods = vec![
        Method::new("GitVersion", Vec::new(), move |_| {
            Ok(Value::from(full.as_str()))
        }),
        Method::new("String", Vec::new(), move |_| {
            Ok(Value::from(normal.as_str()))
        }),
    ];
    let served = Rc::new(capabilities.api_versions.clone());
    let items = served.iter().map(|api| text(api)).collect();
    let has = Method::new("Has", vec![Type::String], move |arguments| {
        let wanted = arguments.first().and_then(Value::as_text);
        let found =
            wanted.is_some_and(|wanted| served.iter().any(|api| api.as_bytes() == &**wanted));
        Ok(Value::Bool(found))
    });
    let set = Rc::new(Named {
        name: format!("{package}.VersionSet"),
        methods: vec![has],
    });
    let helm = helm_value(capabilities, flavour);
    let mut all = Struct::new(
        format!("{package}.Capabilities"),
        vec![
            ("KubeVersion", Value::Struct(Rc::new(version))),
            (
                "APIVersions",
                Value::List(List::named(set, Element::String, items)),
            ),
            ("HelmVersion", helm),
        ],
    );
    all.pointer = true;
    Value::Struct(Rc::new(all))
}

fn helm_value(capabilities: &Capabilities, flavour: Flavour) -> Value {
    let helm = &capabilities.helm_version;
    let mut fields = vec![
        ("Version", "version", &helm.version),
        ("GitCommit", "git_commit", &helm.git_commit),
        ("GitTreeState", "git_tree_state", &helm.git_tree_state),
        ("GoVersion", "go_version", &helm.go_version),
    ];
    if flavour == Flavour::V4 {
        let client = (
            "KubeClientVersion",
            "kube_client_version",
            &helm.kube_client_version,
        );
        fields.push(client);
    }
    let filled = fields.iter().filter(|(_, _, text)| !text.is_empty());
    let json =
        filled.map(|(_, key, text)| ((*key).to_owned(), model::Value::String((*text).clone())));
    let json = model::Value::Object(json.collect());
    let fields = fields
        .into_iter()
        .map(|(name, _, text)| (name, Value::from(text.as_str())));
    let mut helm = Struct::new("version.BuildInfo", fields.collect());
    helm.json = Some(json);
    Value::Struct(Rc::new(helm))
}

fn texts(items: &[String]) -> Value {
    Value::List(List::strings(items.iter().map(String::as_str)))
}

// `.Chart`: a struct in Helm 3, where an unknown field is an error, and a map in Helm 4.
fn chart_value(tree: &ChartTree, id: NodeId, flavour: Flavour) -> Value {
    let node = tree.node(id);
    let metadata = &node.chart.metadata;
    let text = |text: &str| Value::from(text);
    let v3 = flavour == Flavour::V3;
    let list = |items: &[String]| match flavour {
        Flavour::V3 => texts(items),
        Flavour::V4 => Value::list(items.iter().map(|item| text(item)).collect()),
    };
    let maintainers = metadata.maintainers.iter().map(|who| {
        let fields = vec![
            ("Name", text(&who.name)),
            ("Email", text(&who.email)),
            ("URL", text(&who.url)),
        ];
        let json = filled(&[
            ("name", &who.name),
            ("email", &who.email),
            ("url", &who.url),
        ]);
        entry(v3, "chart.Maintainer", fields, json)
    });
    let dependencies: Vec<Value> = tree
        .wants(id)
        .map(|want| dependency_value(want, v3))
        .collect();
    let annotations = match &metadata.annotations {
        Some(map) => {
            let entry = |(key, value): (&String, &model::Value)| {
                (key.as_str().into(), crate::values::coalesce::shared(value))
            };
            Map::typed(Element::String, map.iter().map(entry).collect())
        }
        None => Map::nil_of(Element::String),
    };
    let wrap = |name: &str, items: Vec<Value>| {
        let element = if v3 {
            Element::Other(name.into())
        } else {
            Element::Any
        };
        Value::List(List::typed(element, items))
    };
    let fields = vec![
        ("Name", text(&node.name)),
        ("Home", text(&metadata.home)),
        ("Sources", list(&metadata.sources)),
        ("Version", text(&metadata.version)),
        ("Description", text(&metadata.description)),
        ("Keywords", list(&metadata.keywords)),
        (
            "Maintainers",
            wrap("*chart.Maintainer", maintainers.collect()),
        ),
        ("Icon", text(&metadata.icon)),
        ("APIVersion", text(&metadata.api_version)),
        ("Condition", text(&metadata.condition)),
        ("Tags", text(&metadata.tags)),
        ("AppVersion", text(&metadata.app_version)),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Annotations", Value::Map(annotations)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Dependencies", wrap("*chart.Dependency", dependencies)),
        ("Type", text(&metadata.kind)),
        ("IsRoot", Value::Bool(node.parent.is_none())),
    ];
    if !v3 {
        return Value::map(fields);
    }
    let json = chart_json(tree, id, &node.chart);
    let mut chart = Struct::new("struct { chart.Metadata; IsRoot bool }", fields);
    // The embedded struct has a name of its own.
    let inner = Struct::new("chart.Metadata", chart.fields[..17].to_vec());
    chart
        .fields
        .push(("Metadata", Value::Struct(Rc::new(inner))));
    chart.json = Some(json);
    Value::Struct(Rc::new(chart))
}

fn entry(v3: bool, name: &str, fields: Vec<(&'static str, Value)>, json: model::Value) -> Value {
    if !v3 {
        return Value::map(fields);
    }
    let mut entry = Struct::new(name, fields);
    entry.pointer = true;
    entry.json = Some(json);
    Value::Struct(Rc::new(entry))
}

fn dependency_value(want: &Dependency, v3: bool) -> Value {
    let imports = want
        .import_values
        .iter()
        .map(crate::values::coalesce::shared)
        .collect();
    let tags = if v3 {
        texts(&want.tags)
    } else {
        Value::list(
            want.tags
                .iter()
                .map(|tag| Value::from(tag.as_str()))
                .collect(),
        )
    };
    let fields = vec![
        ("Name", Value::from(want.name.as_str())),
        ("Version", Value::from(want.version.as_str())),
        ("Repository", Value::from(want.repository.as_str())),
        ("Condition", Value::from(want.condition.as_str())),
        ("Tags", tags),
        ("Enabled", Value::Bool(want.enabled)),
        ("ImportValues", Value::list(imports)),
        ("Alias", Value::from(want.alias.as_str())),
    ];
    entry(v3, "chart.Dependency", fields, dependency_json(want))
}

// The fields that are not empty.
fn filled(fields: &[(&str, &String)]) -> model::Value {
    let filled = fields.iter().filter(|(_, text)| !text.is_empty());
    let entries =
        filled.map(|(key, text)| ((*key).to_owned(), model::Value::String((*text).clone())));
    model::Value::Object(entries.collect())
}

fn dependency_json(want: &Dependency) -> model::Value {
    let mut json = filled(&[
        ("version", &want.version),
        ("condition", &want.condition),
        ("alias", &want.alias),
    ]);
    if let model::Value::Object(map) = &mut json {
        map.insert("name".into(), want.name.clone().into());
        map.insert("repository".into(), want.repository.clone().into());
        if !want.tags.is_empty() {
            map.insert("tags".into(), want.tags.clone().into());
        }
        if want.enabled {
            map.insert("enabled".into(), true.into());
        }
        if !want.import_values.is_empty() {
            map.insert("import-values".into(), want.import_values.clone().into());
        }
    }
    json
}

fn chart_json(tree: &ChartTree, id: NodeId, chart: &Chart) -> model::Value {
    let metadata = &chart.metadata;
    let node = tree.node(id);
    let mut json = filled(&[
        ("name", &node.name),
        ("home", &metadata.home),
        ("version", &metadata.version),
        ("description", &metadata.description),
        ("icon", &metadata.icon),
        ("apiVersion", &metadata.api_version),
        ("condition", &metadata.condition),
        ("tags", &metadata.tags),
        ("appVersion", &metadata.app_version),
        ("kubeVersion", &metadata.kube_version),
        ("type", &metadata.kind),
    ]);
    if let model::Value::Object(map) = &mut json {
        if !metadata.sources.is_empty() {
            map.insert("sources".into(), metadata.sources.clone().into());
        }
        if !metadata.keywords.is_empty() {
            map.insert("keywords".into(), metadata.keywords.clone().into());
        }
        if !metadata.maintainers.is_empty() {
            let who = metadata.maintainers.iter().map(|who| {
                filled(&[
                    ("name", &who.name),
                    ("email", &who.email),
                    ("url", &who.url),
                ])
            });
            map.insert("maintainers".into(), who.collect::<Vec<_>>().into());
        }
        if metadata.deprecated {
            map.insert("deprecated".into(), true.into());
        }
        if let Some(notes) = metadata
            .annotations
            .as_ref()
            .filter(|notes| !notes.is_empty())
        {
            map.insert("annotations".into(), model::Value::Object(notes.clone()));
        }
        let wants: Vec<model::Value> = tree.wants(id).map(dependency_json).collect();
        if !wants.is_empty() {
            map.insert("dependencies".into(), wants.into());
        }
        map.insert("IsRoot".into(), node.parent.is_none().into());
    }
    json
}
