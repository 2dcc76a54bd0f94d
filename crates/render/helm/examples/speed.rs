//! How fast charts are rendered, side by side with the real `helm template`.
//!
//! `cargo run --release -p helm --example speed -- /path/to/helm` renders a small chart and an
//! umbrella of a hundred, by the program and by us: once from files, and again with what was parsed.

use helm::{Chart, Flavour, Options, Prepared, Print, load_directory};
use model::{Map, MemoryTree, SourceTree};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "n" . }}
  labels: {{- include "labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    metadata:
      annotations:
        checksum/config: {{ include (print $.Template.BasePath "/configmap.yaml") . | sha256sum }}
    spec:
      containers:
      - name: {{ .Chart.Name }}
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
        env:
        {{- range $k, $v := .Values.env }}
        - {name: {{ $k }}, value: {{ $v | quote }}}
        {{- end }}
        resources: {{- toYaml .Values.resources | nindent 10 }}
"#;
const HELPERS: &str = r#"{{- define "n" }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- define "labels" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
"#;
const VALUES: &str = "replicas: 2\nimage: {repository: registry.local/web, tag: \"\"}\nenv: {A: \"1\", B: two, C: three}\nresources:\n  limits: {cpu: 500m, memory: 256Mi}\nservice: {port: 80}\n";

type Files = Vec<(String, String)>;

fn small(root: &str, name: &str, files: &mut Files) {
    let mut add = |path: &str, text: &str| files.push((format!("{root}{path}"), text.to_owned()));
    add(
        "Chart.yaml",
        &format!("apiVersion: v2\nname: {name}\nversion: 1.2.3\nappVersion: \"9\"\n"),
    );
    add("values.yaml", VALUES);
    add("templates/_helpers.tpl", HELPERS);
    add("templates/deployment.yaml", DEPLOYMENT);
    add(
        "templates/configmap.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include \"n\" . }}\ndata:\n  values: {{ .Values.env | toJson | quote }}\n",
    );
    add(
        "templates/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ include \"n\" . }}\n  labels: {{- include \"labels\" . | nindent 4 }}\nspec:\n  ports:\n  - port: {{ .Values.service.port }}\n",
    );
}

fn umbrella() -> Files {
    let mut files = Files::new();
    let mut chart = "apiVersion: v2\nname: suite\nversion: 1.0.0\ndependencies:\n".to_owned();
    for number in 0..100 {
        let name = format!("part{number:03}");
        chart.push_str(&format!(
            "- {{name: {name}, version: 1.x, repository: \"\", condition: {name}.enabled}}\n"
        ));
        small(&format!("charts/{name}/"), &name, &mut files);
    }
    files.push(("Chart.yaml".into(), chart));
    files.push((
        "values.yaml".into(),
        "global: {domain: example.com, tls: {on: true}}\n".into(),
    ));
    files
}

fn load(files: &Files) -> Chart {
    let tree = files.iter().fold(MemoryTree::new(), |tree, (path, text)| {
        tree.file(path, text)
    });
    load_directory(&SourceTree::new(tree), "", Flavour::V3).expect("the chart is sound")
}

fn render(prepared: &Prepared) -> String {
    let mut context = gotemplate::Context::new((0, 0), Box::new(|bytes| bytes.fill(0)));
    let options = Options::new("rel", "default", Flavour::V3);
    let rendered = prepared
        .render(&Map::new(), &options, &mut context)
        .expect("it renders");
    rendered
        .print(&Print::default(), Flavour::V3)
        .expect("it prints")
}

// The median of some runs.
fn median(runs: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn compare(name: &str, files: &Files, program: &Path) {
    let directory =
        std::env::temp_dir().join(format!("tiphys-speed-{}-{name}", std::process::id()));
    for (path, text) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }
    let helm = |directory: &Path| {
        let run = Command::new(program)
            .args(["template", "rel"])
            .arg(directory)
            .output();
        run.expect("the program starts").stdout
    };
    let prepared = Prepared::new(load(files), Flavour::V3);
    assert_eq!(
        String::from_utf8_lossy(&helm(&directory)),
        render(&prepared),
        "{name} differs"
    );
    let theirs = median(15, || drop(helm(&directory)));
    let cold = median(15, || {
        drop(render(&Prepared::new(load(files), Flavour::V3)));
    });
    let warm = median(31, || drop(render(&prepared)));
    let ratio = |ours: Duration| theirs.as_secs_f64() / ours.as_secs_f64();
    println!(
        "{name}: helm template {theirs:?}, ours cold {cold:?} ({:.0}x), warm {warm:?} ({:.0}x)",
        ratio(cold),
        ratio(warm)
    );
    std::fs::remove_dir_all(&directory).expect("it was made");
}

fn main() {
    let program = std::env::args().nth(1).expect("the path of helm");
    let mut files = Files::new();
    small("", "web", &mut files);
    compare("small", &files, Path::new(&program));
    compare("umbrella of 100", &umbrella(), Path::new(&program));
}
