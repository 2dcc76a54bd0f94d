//! The cluster of `--validate`: what it serves, what it holds, and whether it takes our objects.

use base64::Engine as _;
use charts::{Charts, Repository, Secret, Tls};
use gotemplate::{Host, Lookup};
use helm::command;
use helm::{Capabilities, Flavour, KubeVersion, Rendered};
use model::Value;
use std::path::Path;

/// A cluster behind a kubeconfig.
#[derive(Debug)]
pub(super) struct Cluster {
    server: Repository,
    runtime: tokio::runtime::Runtime,
}

impl Cluster {
    pub(super) fn connect(flags: &command::Cluster) -> Result<Self, String> {
        let path = match flags.kubeconfig.as_str() {
            "" => std::env::var("KUBECONFIG")
                .ok()
                .filter(|path| !path.is_empty()),
            path => Some(path.to_owned()),
        };
        let home = || Path::new(&std::env::var("HOME").unwrap_or_default()).join(".kube/config");
        let path = path.map_or_else(home, Into::into);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            format!(
                "Kubernetes cluster unreachable: {}: {error}",
                path.display()
            )
        })?;
        let config = yaml::parse(&text).map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            server: server(
                &config,
                &flags.context,
                path.parent().unwrap_or(Path::new(".")),
            )?,
            runtime,
        })
    }

    fn call(&self, method: &str, path: &str, body: Vec<u8>) -> Result<(u16, Value), String> {
        let url = format!("{}{path}", self.server.url.trim_end_matches('/'));
        let charts = Charts::new(None);
        let call = charts.call(&self.server, method, &url, body);
        let (status, bytes) = self
            .runtime
            .block_on(call)
            .map_err(|error| format!("Kubernetes cluster unreachable: {error}"))?;
        let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok((status, value))
    }

    fn get(&self, path: &str) -> Result<Value, String> {
        match self.call("GET", path, Vec::new())? {
            (200, value) => Ok(value),
            (status, value) => Err(value["message"]
                .as_str()
                .map_or(format!("{status}"), str::to_owned)),
        }
    }

    /// The version and every API: `apps/v1` and `apps/v1/Deployment`.
    pub(super) fn capabilities(&self, flavour: Flavour) -> Result<Capabilities, String> {
        let version = self.get("/version")?;
        let text = |key: &str| version[key].as_str().unwrap_or_default().to_owned();
        let mut capabilities = Capabilities::offline(flavour);
        capabilities.kube_version = KubeVersion {
            version: text("gitVersion"),
            normalized: text("gitVersion"),
            major: text("major"),
            minor: text("minor"),
        };
        let mut served = Vec::new();
        for version in self.group_versions()? {
            let Ok(resources) = self.get(&root_of(&version)) else {
                continue;
            };
            served.push(version.clone());
            for resource in resources["resources"].as_array().into_iter().flatten() {
                let name = resource["name"].as_str().unwrap_or_default();
                let kind = resource["kind"].as_str().unwrap_or_default();
                if !name.contains('/') && !kind.is_empty() {
                    served.push(format!("{version}/{kind}"));
                }
            }
        }
        capabilities.api_versions = served;
        Ok(capabilities)
    }

    fn group_versions(&self) -> Result<Vec<String>, String> {
        let mut versions = vec!["v1".to_owned()];
        for group in self.get("/apis")?["groups"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let all = group["versions"].as_array().into_iter().flatten();
            let names = all.filter_map(|version| version["groupVersion"].as_str());
            versions.extend(names.map(str::to_owned));
        }
        Ok(versions)
    }

    // The path of a kind's objects, and whether they live in namespaces.
    fn resource(&self, api_version: &str, kind: &str) -> Result<Option<(String, bool)>, String> {
        let root = root_of(api_version);
        let (status, list) = self.call("GET", &root, Vec::new())?;
        if status != 200 {
            return Ok(None);
        }
        let resources = list["resources"].as_array().into_iter().flatten();
        let mut fits = resources.filter(|resource| {
            resource["kind"] == kind && !resource["name"].as_str().unwrap_or("/").contains('/')
        });
        Ok(fits.next().map(|resource| {
            let name = resource["name"].as_str().unwrap_or_default();
            (
                name.to_owned(),
                resource["namespaced"].as_bool().unwrap_or(false),
            )
        }))
    }

    /// Whether the cluster would take every object: a dry run of creating each.
    pub(super) fn validate(&self, rendered: &Rendered, namespace: &str) -> Result<(), String> {
        const LEAD: &str = "unable to build kubernetes objects from release manifest";
        for document in rendered.manifests.iter().filter(|d| !d.object.is_null()) {
            let (api_version, kind) = (&document.api_version, &document.kind);
            let Some((resource, namespaced)) = self.resource(api_version, kind)? else {
                return Err(format!(
                    "{LEAD}: resource mapping not found for name: \"{}\" namespace: \"\" from \"\": no matches for kind \"{kind}\" in version \"{api_version}\"\nensure CRDs are installed first",
                    document.name
                ));
            };
            let own = document.object["metadata"]["namespace"].as_str();
            let path = path_of(
                api_version,
                &resource,
                namespaced.then_some(own.unwrap_or(namespace)),
            );
            let path = format!("{path}?dryRun=All&fieldValidation=Strict");
            let body = document.object.to_string().into_bytes();
            match self.call("POST", &path, body)? {
                (200..=299 | 409, _) => {}
                (_, status) => {
                    let message = status["message"].as_str().unwrap_or("refused");
                    return Err(format!(
                        "{LEAD}: error validating \"\": error validating data: {message}"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Host for Cluster {
    fn lookup(&mut self, what: Lookup<'_>) -> Result<Value, String> {
        let Some((resource, namespaced)) = self.resource(what.api_version, what.kind)? else {
            return Err(format!(
                "unable to get apiresource from unstructured: {}, Kind={}",
                what.api_version, what.kind
            ));
        };
        let namespace = (namespaced && !what.namespace.is_empty()).then_some(what.namespace);
        let mut path = path_of(what.api_version, &resource, namespace);
        if !what.name.is_empty() {
            path = format!("{path}/{}", what.name);
        }
        match self.call("GET", &path, Vec::new())? {
            (200, value) => Ok(value),
            (404, _) => Ok(Value::Object(model::Map::new())),
            (_, status) => Err(status["message"].as_str().unwrap_or("refused").to_owned()),
        }
    }
}

fn root_of(api_version: &str) -> String {
    if api_version.contains('/') {
        format!("/apis/{api_version}")
    } else {
        format!("/api/{api_version}")
    }
}

fn path_of(api_version: &str, resource: &str, namespace: Option<&str>) -> String {
    let root = root_of(api_version);
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
        None => format!("{root}/{resource}"),
    }
}

// The entry of a list of named things.
fn named<'a>(config: &'a Value, list: &str, name: &str, inner: &str) -> &'a Value {
    let items = config[list].as_array();
    let found = items
        .into_iter()
        .flatten()
        .find(|item| item["name"] == name);
    found.map_or(&Value::Null, |item| &item[inner])
}

fn server(config: &Value, context: &str, directory: &Path) -> Result<Repository, String> {
    let context = match context {
        "" => config["current-context"].as_str().unwrap_or_default(),
        context => context,
    };
    let chosen = named(config, "contexts", context, "context");
    let cluster = named(
        config,
        "clusters",
        chosen["cluster"].as_str().unwrap_or_default(),
        "cluster",
    );
    let user = named(
        config,
        "users",
        chosen["user"].as_str().unwrap_or_default(),
        "user",
    );
    let url = cluster["server"].as_str().ok_or_else(|| {
        format!("Kubernetes cluster unreachable: the kubeconfig has no server for the context `{context}`")
    })?;
    // A text stands there itself, or in a file.
    let text = |from: &Value, key: &str| -> Result<String, String> {
        if let Some(data) = from[format!("{key}-data")].as_str() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(data);
            let bytes = bytes.map_err(|error| format!("{key}-data: {error}"))?;
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        match from[key].as_str() {
            None => Ok(String::new()),
            Some(path) => std::fs::read_to_string(directory.join(path))
                .map_err(|error| format!("{key} {path}: {error}")),
        }
    };
    let word = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let mut token = word("token");
    if let Some(path) = user["tokenFile"].as_str() {
        let read = std::fs::read_to_string(directory.join(path));
        read.map_err(|error| format!("tokenFile {path}: {error}"))?
            .trim()
            .clone_into(&mut token);
    }
    Ok(Repository {
        url: url.to_owned(),
        username: word("username"),
        password: Secret(word("password")),
        bearer: Secret(token),
        tls: Tls {
            ca: text(cluster, "certificate-authority")?,
            certificate: text(user, "client-certificate")?,
            key: Secret(text(user, "client-key")?),
            insecure: cluster["insecure-skip-tls-verify"]
                .as_bool()
                .unwrap_or(false),
        },
        ..Repository::default()
    })
}
