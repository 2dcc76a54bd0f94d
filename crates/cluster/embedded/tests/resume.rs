//! A cluster that is killed at any point and opened again ends where one that ran through ends.

mod support;

use model::{Value, json};
use std::path::{Path, PathBuf};
use support::{START, World, deployment};

/// A folder that goes when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tiphys-resume-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "migrate"},
        "spec": {
            "backoffLimit": 2, "completions": 3, "parallelism": 2,
            "template": {
                "metadata": {"annotations": {"sandbox.tiphys.dev/app": "exit 0 after 4s"}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "app", "image": "shop/migrate:1"}],
                },
            },
        },
    })
}

fn failing() -> Value {
    let mut job = job();
    job["metadata"]["name"] = "broken".into();
    job["spec"]["completions"] = 1.into();
    job["spec"]["parallelism"] = 1.into();
    job["spec"]["template"]["metadata"]["annotations"]["sandbox.tiphys.dev/app"] =
        "crash 3 after 1s: no".into();
    job
}

fn web(image: &str) -> Value {
    let mut web = deployment("web", 3);
    web["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
    web["spec"]["template"]["metadata"]["annotations"] =
        json!({"sandbox.tiphys.dev/c": "ready after 3s"});
    web
}

/// What came of it, without names and times.
fn outcome(world: &World) -> Value {
    let web = world.get(&format!("{DEPLOYMENTS}/web"));
    let mut sets: Vec<Value> = world
        .list("/apis/apps/v1/namespaces/default/replicasets")
        .iter()
        .map(|s| {
            json!([
                s["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
                s["spec"]["replicas"],
                s["status"]["availableReplicas"],
            ])
        })
        .collect();
    sets.sort_by_key(Value::to_string);
    let of_job = |name: &str| {
        let job = world.get(&format!("{JOBS}/{name}"));
        json!([
            job["status"]["succeeded"],
            job["status"]["failed"],
            job["status"]["active"],
            job["status"]["uncountedTerminatedPods"],
            world.conditions(&format!("{JOBS}/{name}")),
        ])
    };
    let mut phases: Vec<Value> = world
        .list("/api/v1/namespaces/default/pods")
        .iter()
        .map(|p| {
            json!([
                p["metadata"]["generateName"],
                p["status"]["phase"],
                p["metadata"]["finalizers"]
            ])
        })
        .collect();
    phases.sort_by_key(Value::to_string);
    json!({
        "web": [web["status"]["availableReplicas"], web["status"]["updatedReplicas"], web["status"]["unavailableReplicas"]],
        "conditions": world.conditions(&format!("{DEPLOYMENTS}/web")),
        "sets": sets, "migrate": of_job("migrate"), "broken": of_job("broken"), "pods": phases,
    })
}

/// Plays the same story; `kills` says after how many microseconds the cluster dies each time.
fn play(data: Option<&Path>, kills: &[i64]) -> Value {
    let mut world = World::open(data, START);
    world.create(DEPLOYMENTS, &web("nginx:1"));
    world.advance(20);
    world.create(JOBS, &job());
    world.create(JOBS, &failing());
    world.patch(&format!("{DEPLOYMENTS}/web"), &web("nginx:2"));
    let end = world.cluster.now().plus_seconds(180);
    for micros in kills {
        world.advance_micros(*micros);
        let now = world.cluster.now().rfc3339_micros();
        // No farewell: what is stored is all that is left.
        drop(world);
        world = World::open(data, &now);
    }
    let left = end.micros() - world.cluster.now().micros();
    world.advance_micros(left);
    outcome(&world)
}

#[test]
fn a_cluster_resumes_wherever_it_was_killed() {
    let wanted = play(None, &[]);
    assert_eq!(wanted["web"], json!([3, 3, null]), "{wanted:#}");
    assert_eq!(wanted["migrate"][0], 3, "{wanted:#}");
    assert_eq!(wanted["broken"][1], 3, "{wanted:#}");
    let mut seed = 0x5eed_u64;
    for round in 0..3 {
        let folder = Folder::new(&round.to_string());
        let kills: Vec<i64> = (0..5)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 40) as i64 % 9_000_000
            })
            .collect();
        let got = play(Some(&folder.0), &kills);
        assert_eq!(got, wanted, "killed after {kills:?}");
    }
}
