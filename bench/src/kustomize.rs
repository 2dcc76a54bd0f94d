//! Overlays of 10 and of 1,000 objects: the real `kustomize build`, `tiphys kustomize build`, and our
//! library in this process.

use crate::error::BenchError;
use crate::report::{Measure, Row, Table};
use kustomize::{NoWorld, Options};
use model::SourceTree;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct KustomizeArgs {
    /// The real kustomize
    #[arg(long)]
    real: PathBuf,
    /// The tiphys program; without it only the library is measured
    #[arg(long)]
    tiphys: Option<PathBuf>,
    /// Runs of each; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
}

/// Measures overlays side by side.
pub(crate) fn run(arguments: &KustomizeArgs) -> Result<Table, BenchError> {
    let folder = std::env::temp_dir().join(format!("kustomize-bench-{}", std::process::id()));
    let (mut real, mut ours) = (Vec::new(), Vec::new());
    for objects in [10, 1000] {
        let root = folder.join(objects.to_string());
        write(&root, objects)?;
        let overlay = root.join("overlay");
        let runs = if objects > 100 {
            arguments.runs.min(3)
        } else {
            arguments.runs
        };
        let there = median(runs, || process(&arguments.real, &["build"], &overlay))?;
        let here = median(runs * 4, || library(&root))?;
        let what = format!("kustomize, {objects} objects, library");
        real.push(Row::new(&what, Measure::Time(there)));
        ours.push(Row::new(&what, Measure::Time(here)));
        if let Some(tiphys) = &arguments.tiphys {
            let here = median(runs, || process(tiphys, &["kustomize", "build"], &overlay))?;
            let what = format!("kustomize, {objects} objects, process");
            real.push(Row::new(&what, Measure::Time(there)));
            ours.push(Row::new(&what, Measure::Time(here)));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok(Table::pair(real, ours))
}

fn median(
    runs: u32,
    mut run: impl FnMut() -> Result<(), BenchError>,
) -> Result<Duration, BenchError> {
    let mut times = Vec::new();
    for _ in 0..runs.max(1) {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

fn process(program: &Path, words: &[&str], directory: &Path) -> Result<(), BenchError> {
    let status = Command::new(program)
        .args(words)
        .arg(directory)
        .stdout(Stdio::null())
        .status();
    let status = status.map_err(|source| BenchError::File {
        path: program.to_owned(),
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(BenchError::config(format!(
            "`{}` refused the overlay",
            program.display()
        )))
    }
}

// From the files on disk to the text, origins and all.
fn library(root: &Path) -> Result<(), BenchError> {
    let refuse = |why: String| BenchError::Config { why };
    let tree = files::DirectoryTree::open(root).map_err(|error| refuse(error.to_string()))?;
    let tree = SourceTree::new(tree);
    let built = kustomize::build(&tree, "overlay", &Options::default(), &NoWorld);
    let text = built.map_err(|error| refuse(error.to_string()))?.to_yaml();
    std::hint::black_box(text);
    Ok(())
}

fn write(root: &Path, objects: usize) -> Result<(), BenchError> {
    let mut base = String::from("resources:\n");
    let put = |path: PathBuf, text: &str| {
        let fault = |source| BenchError::File {
            path: path.clone(),
            source,
        };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(fault)?;
        }
        std::fs::write(&path, text).map_err(fault)
    };
    for number in 0..objects.div_ceil(2) {
        let _ = writeln!(base, "- app-{number}.yaml");
        put(root.join(format!("base/app-{number}.yaml")), &app(number))?;
    }
    put(root.join("base/kustomization.yaml"), &base)?;
    put(root.join("overlay/kustomization.yaml"), OVERLAY)
}

const OVERLAY: &str = "resources: [../base]
namePrefix: prod-
namespace: production
labels:
- pairs: {env: prod}
  includeSelectors: true
commonAnnotations: {team: core}
images:
- {name: nginx, newTag: '1.27'}
configMapGenerator:
- name: settings
  literals: [mode=prod]
patches:
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec:
      template:
        spec:
          containers:
          - name: main
            resources: {limits: {memory: 128Mi}}
replicas:
- {name: app-1, count: 3}
";

// A Deployment and its Service.
fn app(number: usize) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number}
  labels: {{app: app-{number}}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: app-{number}}}
  template:
    metadata:
      labels: {{app: app-{number}}}
    spec:
      containers:
      - name: main
        image: nginx:1.25
        ports:
        - containerPort: 8080
        env:
        - name: MODE
          valueFrom:
            configMapKeyRef: {{name: settings, key: mode}}
---
apiVersion: v1
kind: Service
metadata:
  name: app-{number}
spec:
  selector: {{app: app-{number}}}
  ports:
  - port: 80
    targetPort: 8080
"
    )
}
