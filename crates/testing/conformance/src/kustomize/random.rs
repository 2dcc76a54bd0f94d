//! Kustomizations that nobody wrote: each seed gives another one, and the same one every time.

use super::case::{Case, Content};
use std::fmt::Write as _;

/// The kustomization of a seed.
pub fn random(seed: u64) -> Case {
    let mut maker = Maker {
        dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        files: Vec::new(),
    };
    let levels = maker.dice.below(3);
    let mut below: Vec<(String, Vec<Object>)> = Vec::new();
    for number in 0..=maker.dice.below(2) {
        let directory = format!("base{number}");
        let objects = maker.base(&directory, number);
        below.push((directory, objects));
    }
    for level in 0..=levels {
        let directory = format!("level{level}");
        let objects = maker.overlay(&directory, &below);
        below = vec![(directory, objects)];
    }
    let directory = below.remove(0).0;
    Case {
        name: format!("seed-{seed}"),
        directory,
        flags: Vec::new(),
        files: maker.files,
    }
}

// What is known of an object that was written.
#[derive(Clone)]
struct Object {
    kind: &'static str,
    version: &'static str,
    name: String,
    // Where its pod is, when it has one.
    pod: Option<&'static [&'static str]>,
}

struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

struct Maker {
    dice: Dice,
    files: Vec<(String, Content)>,
}

const NAMES: &[&str] = &["web", "api", "db", "cache", "job-1", "x.y"];
const KEYS: &[&str] = &["app", "tier", "app.kubernetes.io/name", "a", "zone"];
// Plain scalars that readers take for all kinds of things.
const SCALARS: &[&str] = &[
    "plain",
    "yes",
    "no",
    "on",
    "0644",
    "0o17",
    "1e3",
    "1.0",
    "1.50",
    "true",
    "\"true\"",
    "'5'",
    "~",
    "null",
    "\"\"",
    "2020-01-02",
    "2020-01-02T03:04:05Z",
    "12:30",
    "0x1F",
    "1_000",
    "a b",
    "\"a: b\"",
    "'it''s'",
    "é",
    "\"\\u00e9\\n\"",
    "-1",
    ".5",
    "+1",
    "\"*\"",
    "1e400",
    "123456789012345678901",
    "y",
    "\"=\"",
    "<<",
];
const TEXTS: &[&str] = &[
    "|\n{i}line one\n{i}  line two\n{i}line three\n",
    ">\n{i}folded text that is\n{i}on two lines\n\n{i}and a third\n",
    "|-\n{i}no end\n",
    "|+\n{i}kept\n\n",
    "\"quoted \\\"text\\\" with \\t tab\"\n",
    "a very long plain scalar that goes on and on beyond the eighty columns at which the printer folds it\n",
    "'single: quoted # text'\n",
];

const TEMPLATE: &[&str] = &["spec", "template", "spec"];
const CRON: &[&str] = &["spec", "jobTemplate", "spec", "template", "spec"];
const POD: &[&str] = &["spec"];

impl Maker {
    fn file(&mut self, path: String, text: String) {
        self.files.push((path, Content::Bytes(text.into_bytes())));
    }

    fn scalar(&mut self) -> &'static str {
        self.dice.pick(SCALARS)
    }

    fn text(&mut self, indent: usize) -> String {
        self.dice.pick(TEXTS).replace("{i}", &" ".repeat(indent))
    }

    fn base(&mut self, directory: &str, number: usize) -> Vec<Object> {
        let mut objects: Vec<Object> = Vec::new();
        let mut listed = String::new();
        for file in 0..=self.dice.below(3) {
            let mut text = String::new();
            for _ in 0..=self.dice.below(3) {
                let (object, yaml) = self.object(number);
                let twice = objects
                    .iter()
                    .any(|o| o.kind == object.kind && o.name == object.name);
                if twice && !self.dice.chance(2) {
                    continue;
                }
                if !text.is_empty() {
                    text.push_str(
                        self.dice
                            .pick(&["---\n", "---\n# a comment\n", "--- # why\n"]),
                    );
                }
                text.push_str(&yaml);
                objects.push(object);
            }
            let _ = writeln!(listed, "- file{file}.yaml");
            self.file(format!("{directory}/file{file}.yaml"), text);
        }
        let mut text = format!("resources:\n{listed}");
        self.generators(&mut text, directory, &mut objects, false);
        self.settings(&mut text, directory, &objects);
        self.file(format!("{directory}/kustomization.yaml"), text);
        objects
    }

    fn overlay(&mut self, directory: &str, below: &[(String, Vec<Object>)]) -> Vec<Object> {
        let mut objects: Vec<Object> = Vec::new();
        let mut text = String::from("resources:\n");
        for (path, more) in below {
            let _ = writeln!(text, "- ../{path}");
            objects.extend(more.iter().cloned());
        }
        if self.dice.chance(30) {
            let (object, yaml) = self.object(9);
            self.file(format!("{directory}/extra.yaml"), yaml);
            text.push_str("- extra.yaml\n");
            objects.push(object);
        }
        if self.dice.chance(25) {
            let path = format!("{directory}-component");
            let mut component =
                String::from("apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n");
            self.settings(&mut component, &path, &objects);
            self.patches(&mut component, &path, &objects);
            self.file(format!("{path}/kustomization.yaml"), component);
            let _ = writeln!(text, "components:\n- ../{path}");
        }
        self.generators(&mut text, directory, &mut objects, true);
        self.settings(&mut text, directory, &objects);
        self.patches(&mut text, directory, &objects);
        if self.dice.chance(25) {
            self.replacements(&mut text, &objects);
        }
        self.file(format!("{directory}/kustomization.yaml"), text);
        objects
    }

    fn labels(&mut self, indent: usize) -> String {
        let mut text = String::new();
        let mut used: Vec<&str> = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let key = self.dice.pick(KEYS);
            if !used.contains(&key) {
                used.push(key);
                let value = self.dice.pick(&["web", "\"1\"", "x-y", "\"true\"", "prod"]);
                let _ = writeln!(text, "{}{key}: {value}", " ".repeat(indent));
            }
        }
        text
    }

    fn object(&mut self, number: usize) -> (Object, String) {
        let name = format!("{}{number}", self.dice.pick(NAMES));
        let kinds: &[(&str, &str, Option<&[&str]>)] = &[
            ("apps/v1", "Deployment", Some(TEMPLATE)),
            ("apps/v1", "Deployment", Some(TEMPLATE)),
            ("apps/v1", "StatefulSet", Some(TEMPLATE)),
            ("apps/v1", "DaemonSet", Some(TEMPLATE)),
            ("batch/v1", "Job", Some(TEMPLATE)),
            ("batch/v1", "CronJob", Some(CRON)),
            ("v1", "Pod", Some(POD)),
            ("v1", "Service", None),
            ("v1", "ConfigMap", None),
            ("v1", "Secret", None),
            ("v1", "ServiceAccount", None),
            ("networking.k8s.io/v1", "Ingress", None),
            ("autoscaling/v2", "HorizontalPodAutoscaler", None),
            ("rbac.authorization.k8s.io/v1", "RoleBinding", None),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", None),
            ("example.com/v1", "Widget", None),
            ("v1", "Namespace", None),
        ];
        let (version, kind, pod) = self.dice.pick(kinds);
        let mut text = format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        if self.dice.chance(20) {
            text.push_str("  namespace: ns1\n");
        }
        if self.dice.chance(50) {
            let _ = write!(text, "  labels:\n{}", self.labels(4));
        }
        if self.dice.chance(30) {
            let value = self.scalar();
            let _ = writeln!(
                text,
                "  annotations:\n    note: {value} # said\n    other: \"x\""
            );
        }
        match (kind, pod) {
            (_, Some(path)) => text.push_str(&self.workload(kind, path)),
            _ => text.push_str(&self.plain(kind)),
        }
        (
            Object {
                kind,
                version,
                name,
                pod,
            },
            text,
        )
    }

    fn workload(&mut self, kind: &str, path: &[&str]) -> String {
        let mut text = String::new();
        let mut indent = 0;
        for (at, part) in path.iter().enumerate() {
            let _ = writeln!(text, "{}{part}:", " ".repeat(indent));
            indent += 2;
            if at == 0 && matches!(kind, "Deployment" | "StatefulSet") {
                if self.dice.chance(60) {
                    let replicas = self.dice.pick(&["1", "3", "\"2\""]);
                    let _ = writeln!(text, "  replicas: {replicas}");
                }
                text.push_str("  selector:\n    matchLabels:\n      app: web\n");
            }
            if *part == "template" && self.dice.chance(60) {
                let _ = writeln!(
                    text,
                    "{0}metadata:\n{0}  labels:\n{0}    app: web",
                    " ".repeat(indent)
                );
            }
        }
        let i = " ".repeat(indent);
        if self.dice.chance(40) {
            let account = self.dice.pick(NAMES);
            let _ = writeln!(text, "{i}serviceAccountName: {account}0");
        }
        let _ = writeln!(text, "{i}containers:");
        for container in 0..=self.dice.below(2) {
            let image = self.dice.pick(&[
                "nginx",
                "nginx:1.2",
                "reg.io:5000/a/b:v1@sha256:abc",
                "busybox@sha256:ff",
            ]);
            let _ = writeln!(text, "{i}- name: c{container}\n{i}  image: {image}");
            if self.dice.chance(40) {
                let _ = writeln!(
                    text,
                    "{i}  args: [\"--a\", '{}', $(VAR)]",
                    self.dice.below(9)
                );
            }
            if self.dice.chance(50) {
                let _ = writeln!(text, "{i}  ports:\n{i}  - containerPort: 80");
                if self.dice.chance(50) {
                    let _ = writeln!(
                        text,
                        "{i}    protocol: TCP\n{i}  - containerPort: 80\n{i}    protocol: UDP"
                    );
                }
            }
            if self.dice.chance(50) {
                let value = self.scalar();
                let source = self.dice.pick(NAMES);
                let _ = writeln!(
                    text,
                    "{i}  env:\n{i}  - name: A\n{i}    value: {value}\n{i}  - name: B\n{i}    valueFrom:\n{i}      configMapKeyRef:\n{i}        name: {source}0\n{i}        key: k"
                );
            }
            if self.dice.chance(40) {
                let source = self.dice.pick(NAMES);
                let _ = writeln!(
                    text,
                    "{i}  envFrom:\n{i}  - secretRef:\n{i}      name: {source}0\n{i}  - configMapRef: {{name: gen}}"
                );
            }
        }
        if self.dice.chance(40) {
            let _ = writeln!(
                text,
                "{i}volumes:\n{i}- name: v\n{i}  configMap:\n{i}    name: gen\n{i}    defaultMode: 0644\n{i}- name: w\n{i}  emptyDir: {{}}"
            );
        }
        text
    }

    fn plain(&mut self, kind: &str) -> String {
        let other = self.dice.pick(NAMES);
        match kind {
            "Service" => "spec:\n  selector:\n    app: web\n  ports:\n  - port: 80\n    targetPort: http\n  - {port: 443, protocol: TCP, name: tls}\n".into(),
            "ConfigMap" => {
                let text = self.text(4);
                let value = self.scalar();
                format!("data:\n  file: {text}  value: {value}\n")
            }
            "Secret" => "type: Opaque\nstringData:\n  a: b\n".into(),
            "ServiceAccount" => "imagePullSecrets:\n- name: pull\n".into(),
            "Ingress" => format!(
                "spec:\n  rules:\n  - host: a.b\n    http:\n      paths:\n      - path: /\n        backend:\n          service:\n            name: {other}0\n            port: {{number: 80}}\n  tls:\n  - secretName: {other}0\n"
            ),
            "HorizontalPodAutoscaler" => format!(
                "spec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: {other}0\n  maxReplicas: 5\n"
            ),
            "RoleBinding" => format!(
                "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: {other}0\nsubjects:\n- kind: ServiceAccount\n  name: {other}0\n- kind: ServiceAccount\n  name: default\n  namespace: other\n"
            ),
            "ClusterRole" => format!("rules:\n- apiGroups: ['']\n  resources: [configmaps]\n  resourceNames: [{other}0]\n  verbs: [\"get\"]\n"),
            "Widget" => {
                let (a, b) = (self.scalar(), self.scalar());
                let text = self.text(6);
                format!(
                    "spec:\n  a: {a}\n  list: [1, {{b: {}}}, two]\n  deep:\n    b: {b}\n    text: {text}  items:\n  - name: one\n    v: 1\n  - name: two\n    v: 2\n",
                    self.dice.below(5)
                )
            }
            _ => String::new(),
        }
    }

    fn generators(
        &mut self,
        text: &mut String,
        directory: &str,
        objects: &mut Vec<Object>,
        over: bool,
    ) {
        if !self.dice.chance(40) {
            return;
        }
        let known = objects
            .iter()
            .any(|object| object.name == "gen" && object.kind == "ConfigMap");
        let behavior = match (over && known, self.dice.below(2)) {
            (false, _) => "",
            (true, 0) => "  behavior: merge\n",
            (true, _) => "  behavior: replace\n",
        };
        let value = self.dice.pick(&["x", "'1'", "\"q\"", "a=b", ""]);
        let _ = writeln!(
            text,
            "configMapGenerator:\n- name: gen\n{behavior}  literals:\n  - a={value}\n  - b{}=2",
            self.dice.below(3)
        );
        if self.dice.chance(50) {
            let _ = writeln!(text, "  files:\n  - data.txt\n  - k=data.txt");
            let body = self
                .dice
                .pick(&["one\ntwo\n", "", "no end", "  spaces  \n\n", "é <&>\n"]);
            self.file(format!("{directory}/data.txt"), body.to_owned());
        }
        if self.dice.chance(30) {
            text.push_str("  envs: [e.env]\n");
            self.file(format!("{directory}/e.env"), "# c\nX=1\n Y = 2\nZ\n".into());
        }
        if self.dice.chance(20) {
            text.push_str(
                "generatorOptions:\n  labels: {gen: \"yes\"}\n  disableNameSuffixHash: true\n",
            );
        }
        if !known {
            objects.push(Object {
                kind: "ConfigMap",
                version: "v1",
                name: "gen".into(),
                pod: None,
            });
        }
    }

    fn settings(&mut self, text: &mut String, _: &str, objects: &[Object]) {
        if self.dice.chance(30) {
            let prefix = self.dice.pick(&["p-", "dev-", "1"]);
            let _ = writeln!(text, "namePrefix: {prefix}",);
            if prefix == "1" {
                let length = text.len() - "namePrefix: 1\n".len();
                text.truncate(length);
                text.push_str("namePrefix: \"1\"\n");
            }
        }
        if self.dice.chance(20) {
            text.push_str("nameSuffix: -s\n");
        }
        if self.dice.chance(30) {
            let namespace = self.dice.pick(&["ns2", "prod"]);
            let _ = writeln!(text, "namespace: {namespace}");
        }
        if self.dice.chance(25) {
            let selectors = self.dice.pick(&[
                "includeSelectors: true",
                "includeTemplates: true",
                "includeSelectors: false",
            ]);
            let _ = writeln!(
                text,
                "labels:\n- pairs:\n{}  {selectors}",
                self.labels(4).trim_end_matches('\n').to_owned() + "\n"
            );
        }
        if self.dice.chance(15) {
            let _ = write!(text, "commonLabels:\n{}", self.labels(2));
        }
        if self.dice.chance(20) {
            text.push_str("commonAnnotations:\n  by: \"1\"\n  why: long words that say why\n");
        }
        if self.dice.chance(25) {
            let change = self.dice.pick(&[
                "newTag: v9",
                "newName: other/nginx",
                "digest: sha256:123",
                "tagSuffix: -x",
                "newTag: \"5\"",
            ]);
            let _ = writeln!(
                text,
                "images:\n- name: nginx\n  {change}\n- name: reg.io:5000/a/b\n  newName: mine\n  newTag: t"
            );
        }
        let scaled = objects.iter().find(|object| object.kind == "Deployment");
        if let Some(object) = scaled.filter(|_| self.dice.chance(25)) {
            let _ = writeln!(
                text,
                "replicas:\n- name: {}\n  count: {}",
                object.name,
                self.dice.below(9)
            );
        }
    }

    fn patches(&mut self, text: &mut String, directory: &str, objects: &[Object]) {
        if objects.is_empty() || !self.dice.chance(60) {
            return;
        }
        text.push_str("patches:\n");
        for number in 0..=self.dice.below(2) {
            let object = objects[self.dice.below(objects.len())].clone();
            match self.dice.below(4) {
                0 => {
                    let patch = self.merge(&object);
                    self.file(format!("{directory}/patch{number}.yaml"), patch);
                    let _ = writeln!(text, "- path: patch{number}.yaml");
                }
                1 => {
                    let patch = self.merge(&object);
                    let _ = writeln!(text, "- patch: |\n{}", indented(&patch, 4));
                }
                2 => {
                    let patch = self.merge(&object);
                    let _ = writeln!(
                        text,
                        "- target:\n    kind: {}\n  patch: |\n{}",
                        object.kind,
                        indented(&patch, 4)
                    );
                }
                _ => {
                    let operations = self.operations(&object);
                    let _ = writeln!(
                        text,
                        "- target:\n    kind: {}\n    name: {}.*\n  patch: |\n{}",
                        object.kind,
                        object.name,
                        indented(&operations, 4)
                    );
                }
            }
        }
    }

    fn merge(&mut self, object: &Object) -> String {
        let Object {
            kind,
            version,
            name,
            ..
        } = object;
        let mut text = format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}\n");
        match self.dice.below(5) {
            0 => {
                let value = self.scalar();
                let _ = writeln!(text, "  annotations:\n    note: {value}\n    new: {value}");
            }
            1 => {
                let value = self.dice.pick(&["other", "null", "\"9\""]);
                let _ = writeln!(text, "  labels:\n    app: {value}");
            }
            _ => {}
        }
        if self.dice.chance(5) {
            text.push_str("$patch: delete\n");
            return text;
        }
        let Some(path) = object.pod else {
            let more = match *kind {
                "ConfigMap" => self.dice.pick(&[
                    "data:\n  value: patched\n",
                    "data:\n  value: 5\n",
                    "data: null\n",
                    "data:\n  $patch: replace\n  only: x\n",
                ]),
                "Service" => self.dice.pick(&[
                    "spec:\n  ports:\n  - port: 80\n    targetPort: 8080\n",
                    "spec:\n  ports:\n  - port: 9\n    name: nine\n",
                    "spec:\n  ports:\n  - port: 443\n    $patch: delete\n",
                    "spec:\n  ports:\n  - $patch: replace\n  - port: 1\n",
                    "spec:\n  type: NodePort\n  selector: null\n",
                ]),
                "Widget" => self.dice.pick(&[
                    "spec:\n  a: 5\n  list: [x]\n",
                    "spec:\n  deep:\n    b: \"5\"\n    c: yes\n",
                    "spec:\n  items:\n  - name: two\n    v: 9\n",
                    "spec:\n  deep: null\n  a: null\n",
                ]),
                _ => "",
            };
            text.push_str(more);
            return text;
        };
        let mut indent = 0;
        for part in path {
            let _ = writeln!(text, "{}{part}:", " ".repeat(indent));
            indent += 2;
        }
        let more = self.dice.pick(&[
            "containers:\n- name: c0\n  image: patched:1\n",
            "containers:\n- name: c1\n  env:\n  - name: A\n    value: patched\n  - name: NEW\n    value: \"1\"\n",
            "containers:\n- name: side\n  image: side\n",
            "containers:\n- name: c0\n  ports:\n  - containerPort: 80\n    name: http\n",
            "containers:\n- name: c0\n  ports:\n  - containerPort: 81\n    protocol: TCP\n",
            "containers:\n- name: c1\n  $patch: delete\n",
            "containers:\n- $patch: replace\n- name: only\n  image: only\n",
            "containers:\n- name: c0\n  args: null\n  env: null\n",
            "containers:\n- name: c0\n  args: [x, y]\n",
            "volumes:\n- name: w\n  emptyDir: null\n  hostPath:\n    path: /x\n- name: z\n  emptyDir: {}\n",
            "nodeSelector:\n  a: b\n  $patch: replace\n",
            "initContainers:\n- name: i\n  image: nginx:3\n",
            "terminationGracePeriodSeconds: 5\nserviceAccountName: \"7\"\n",
        ]);
        text.push_str(&indented(more, indent));
        text.push('\n');
        text
    }

    fn operations(&mut self, object: &Object) -> String {
        let value = self.scalar();
        let pod = object.pod.map(|path| format!("/{}", path.join("/")));
        let mut text = match self.dice.below(4) {
            0 => format!("- op: add\n  path: /metadata/annotations/j~1k\n  value: {value}\n"),
            1 => "- op: add\n  path: /metadata/labels\n  value: {a: b}\n".to_owned(),
            2 => "- {op: replace, path: /metadata/name, value: renamed}\n".to_owned(),
            _ => {
                format!("- op: add\n  path: /extra\n  value: [1, {{b: {value}}}, 10000000, 1.5]\n")
            }
        };
        if let Some(pod) = pod.filter(|_| self.dice.chance(60)) {
            text.push_str(&match self.dice.below(4) {
                0 => format!("- op: replace\n  path: {pod}/containers/0/image\n  value: json:1\n"),
                1 => format!(
                    "- op: add\n  path: {pod}/containers/-\n  value: {{name: j, image: j}}\n"
                ),
                2 => format!("- op: remove\n  path: {pod}/containers/0\n"),
                _ => format!("- op: test\n  path: {pod}/containers/0/name\n  value: c0\n"),
            });
        }
        text
    }

    fn replacements(&mut self, text: &mut String, objects: &[Object]) {
        let source = objects[self.dice.below(objects.len())].clone();
        let target = objects[self.dice.below(objects.len())].clone();
        let field = self
            .dice
            .pick(&["metadata.name", "kind", "apiVersion", "metadata.labels.app"]);
        let (paths, create) = match target.pod {
            Some(pod) => {
                let pod = pod.join(".");
                (
                    self.dice
                        .pick(&[
                            "[name=c0].image",
                            "*.image",
                            "0.name",
                            "[name=c0].env.[name=A].value",
                        ])
                        .to_owned(),
                    format!("{pod}.containers."),
                )
            }
            None => ("metadata.annotations.copied".to_owned(), String::new()),
        };
        let options = self.dice.pick(&[
            "",
            "    options: {create: true}\n",
            "    options: {delimiter: ':', index: 1}\n",
            "    options: {delimiter: '-', index: -1, create: true}\n",
        ]);
        let _ = write!(
            text,
            "replacements:\n- source:\n    kind: {}\n    name: {}\n    fieldPath: {field}\n  targets:\n  - select:\n      kind: {}\n    fieldPaths:\n    - {create}{paths}\n{options}",
            source.kind, source.name, target.kind
        );
    }
}

fn indented(text: &str, indent: usize) -> String {
    let lines = text.lines().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{}{line}", " ".repeat(indent))
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
