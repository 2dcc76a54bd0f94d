//! `cargo xtask demo`: what the embedded cluster does today, in half a minute and without a cluster.

use crate::sandbox::{Profile, Sandbox};
use crate::{Outcome, root};
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;
use testkit::{Client, Request};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const APPLY: &str = "application/apply-patch+yaml";

pub(crate) fn run() -> Outcome {
    let start = Instant::now();
    let sandbox = Sandbox::start(Profile::Debug)?;
    let client = Client::new(
        &sandbox.target.url,
        &sandbox.target.ca_pem,
        Some(&sandbox.target.admin_token),
    )?;
    let demo = Demo { client };
    say(&format!(
        "a Kubernetes API server runs at {}",
        sandbox.target.url
    ));
    demo.show("/version")?;

    say("Git says: a namespace, settings, a Deployment and its Service (server-side apply)");
    demo.apply("argo", "/api/v1/namespaces/shop", &namespace())?;
    demo.apply(
        "argo",
        "/api/v1/namespaces/shop/configmaps/settings",
        &settings("blue"),
    )?;
    demo.apply(
        "argo",
        "/apis/apps/v1/namespaces/shop/deployments/web",
        &deployment(2),
    )?;
    demo.apply("argo", "/api/v1/namespaces/shop/services/web", &service())?;
    demo.table("/apis/apps/v1/namespaces/shop/deployments")?;
    demo.table("/api/v1/namespaces/shop/services")?;

    say("somebody else owns a field now: applying it again is a conflict that names the owner");
    demo.apply(
        "autoscaler",
        "/apis/apps/v1/namespaces/shop/deployments/web?force=true",
        &replicas(5),
    )?;
    demo.apply(
        "argo",
        "/apis/apps/v1/namespaces/shop/deployments/web",
        &deployment(2),
    )?;

    say("a field that cannot change, and a typo: refused in the words of the real server");
    let mut other = deployment(2);
    other["spec"]["selector"]["matchLabels"]["app"] = json!("other");
    demo.apply(
        "argo",
        "/apis/apps/v1/namespaces/shop/deployments/web?force=true",
        &other,
    )?;
    let mut typo = deployment(2);
    typo["metadata"]["name"] = json!("typo");
    typo["spec"]["replcias"] = json!(2);
    demo.post(
        "/apis/apps/v1/namespaces/shop/deployments?fieldValidation=Strict",
        &typo,
    )?;

    say("a kind of our own, with defaults and a rule");
    demo.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &definition(),
    )?;
    demo.until_served("/apis/demo.tiphys.dev/v1/namespaces/shop/voyages")?;
    demo.post(
        "/apis/demo.tiphys.dev/v1/namespaces/shop/voyages",
        &voyage("colchis", 50),
    )?;
    demo.post(
        "/apis/demo.tiphys.dev/v1/namespaces/shop/voyages",
        &voyage("iolcos", 500),
    )?;
    demo.table("/apis/demo.tiphys.dev/v1/namespaces/shop/voyages")?;

    say(
        "an Application from files to a healthy cluster: a hook, three waves, and what each waits for",
    );
    sync()?;

    println!(
        "\ndone in {:.1} s. Try it yourself:",
        start.elapsed().as_secs_f64()
    );
    println!("  cargo run --package cli -- app sync -f xtask/demo/app.yaml --embedded");
    println!("  cargo run --package cli -- sandbox start --kubeconfig ./sandbox.kubeconfig");
    println!("  kubectl --kubeconfig ./sandbox.kubeconfig get namespaces");
    Ok(())
}

// The program itself, on a cluster of its own in which workloads run.
fn sync() -> Outcome {
    let status = Command::new(crate::sandbox::program(Profile::Debug))
        .args(["app", "sync", "-f"])
        .arg(root().join("xtask/demo/app.yaml"))
        .arg("--embedded")
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err("the sync of the demo's Application failed".into())
    }
}

fn say(text: &str) {
    println!("\n== {text}");
}

struct Demo {
    client: Client,
}

impl Demo {
    fn show(&self, path: &str) -> Outcome {
        let answer = self.client.get(path)?.json().unwrap_or_default();
        println!(
            "   {path}: {}",
            answer["gitVersion"].as_str().unwrap_or("?")
        );
        Ok(())
    }

    fn apply(&self, manager: &str, path: &str, body: &Value) -> Outcome {
        let join = if path.contains('?') { '&' } else { '?' };
        let mut request = Request::new("PATCH", &format!("{path}{join}fieldManager={manager}"));
        request.body = body.to_string().into_bytes();
        self.tell(
            &format!("{manager} applies"),
            request.header("Content-Type", APPLY),
            body,
        )
    }

    fn post(&self, path: &str, body: &Value) -> Outcome {
        self.tell("create", Request::new("POST", path).json(body), body)
    }

    fn tell(&self, what: &str, request: Request, body: &Value) -> Outcome {
        let answer = self.client.send(&request)?;
        let name = format!(
            "{}/{}",
            body["kind"].as_str().unwrap_or(""),
            body["metadata"]["name"].as_str().unwrap_or("")
        );
        let outcome = match answer.status {
            200 => "changed".to_owned(),
            201 => "created".to_owned(),
            code => {
                let status = answer.json().unwrap_or_default();
                format!(
                    "refused ({code}): {}",
                    status["message"].as_str().unwrap_or("")
                )
            }
        };
        println!("   {what} {name}: {outcome}");
        Ok(())
    }

    fn until_served(&self, path: &str) -> Outcome {
        let deadline = Instant::now() + std::time::Duration::from_secs(5);
        while self.client.get(path)?.status != 200 {
            if Instant::now() > deadline {
                return Err(format!("{path} was not served within 5 s").into());
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(())
    }

    fn table(&self, path: &str) -> Outcome {
        let answer = self
            .client
            .send(&Request::new("GET", path).header("Accept", TABLE))?;
        let table = answer.json().unwrap_or_default();
        let columns: Vec<usize> = table["columnDefinitions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, c)| c["priority"] == 0)
            .map(|(i, _)| i)
            .collect();
        let head = columns
            .iter()
            .map(|i| text(&table["columnDefinitions"][*i]["name"]).to_uppercase());
        let mut rows = vec![head.collect::<Vec<_>>()];
        for row in table["rows"].as_array().into_iter().flatten() {
            rows.push(columns.iter().map(|i| text(&row["cells"][*i])).collect());
        }
        print_rows(&rows);
        Ok(())
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn print_rows(rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|i| {
            rows.iter()
                .filter_map(|r| r.get(i))
                .map(String::len)
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        println!("   {}", cells.join("   ").trim_end());
    }
}

fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
}

fn settings(colour: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "shop"},
        "data": {"colour": colour},
    })
}

fn deployment(replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "example.com/web:1.0", "ports": [{"containerPort": 8080}]}]},
            },
        },
    })
}

fn replicas(count: u32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": count},
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    })
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "voyages.demo.tiphys.dev"},
        "spec": {
            "group": "demo.tiphys.dev", "scope": "Namespaced",
            "names": {"plural": "voyages", "kind": "Voyage"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "additionalPrinterColumns": [
                    {"name": "Crew", "type": "integer", "jsonPath": ".spec.crew"},
                    {"name": "Ship", "type": "string", "jsonPath": ".spec.ship"},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "properties": {"crew": {"type": "integer"}, "ship": {"type": "string", "default": "Argo"}},
                    "x-kubernetes-validations": [{"rule": "self.crew <= 100", "message": "the ship holds a hundred"}],
                }}}},
            }],
        },
    })
}

fn voyage(name: &str, crew: u32) -> Value {
    json!({
        "apiVersion": "demo.tiphys.dev/v1", "kind": "Voyage", "metadata": {"name": name},
        "spec": {"crew": crew},
    })
}
