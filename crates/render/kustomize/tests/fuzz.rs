//! Kustomizations that are broken in every way: whatever the bytes, there is an answer, soon, and no panic.
//!
//! Starts from kustomizations that use everything and damages them; `FUZZ_RUNS` asks for more.

use kustomize::{NoWorld, Options};
use model::{MemoryTree, SourceTree};
use std::time::{Duration, Instant};

const KUSTOMIZATION: &str = "resources: [base, w.yaml]
components: [comp]
namePrefix: p-
namespace: ns
labels: [{pairs: {a: b}, includeSelectors: true}]
commonAnnotations: {x: 'y'}
images: [{name: nginx, newTag: v2}]
replicas: [{name: web, count: 2}]
configMapGenerator: [{name: cfg, literals: [a=b], files: [w.yaml]}]
patches:
- path: patch.yaml
- target: {kind: W.*}
  patch: |-
    - {op: add, path: /spec/x, value: [1, {a: b}]}
replacements:
- source: {kind: Deployment, fieldPath: metadata.name}
  targets:
  - select: {kind: Widget}
    fieldPaths: [spec.data.a.b, 'spec.list.[name=a].v', spec.list.*.v]
    options: {create: true, delimiter: '-', index: 1}
vars: [{name: V, objref: {kind: Deployment, apiVersion: apps/v1, name: web}}]
transformers:
- |-
  apiVersion: builtin
  kind: ValueAddTransformer
  metadata: {name: v}
  value: x
  targets: [{fieldPath: metadata/annotations/p, filePathPosition: 1}]
sortOptions: {order: legacy}
buildMetadata: [originAnnotations, transformerAnnotations]
";

const BASE: &str = "apiVersion: apps/v1
kind: Deployment
metadata: &m
  name: web
  labels: {app: web}
spec:
  replicas: \"1\"
  template:
    spec:
      containers:
      - name: a
        image: nginx:1
        args: [$(V), 'x']
        ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: cfg, key: a}}}
      - name: b
        image: b
---
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]
";

const WIDGET: &str = "apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec:
  <<: {merged: 1}
  data: '{\"a\": {\"b\": 1}}'
  list: [{name: a, v: 1}, {name: b, v: 2}]
  text: >
    folded
      text
  date: 2020-01-02
";

const PATCH: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: null}
spec:
  template:
    spec:
      containers:
      - {name: a, $patch: delete}
      - name: b
        ports: [{containerPort: 1}, {$patch: replace}]
      volumes: [{name: v, emptyDir: {}}]
";

const COMPONENT: &str = "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
nameSuffix: -s
configMapGenerator: [{name: cfg, behavior: merge, literals: [c=d]}]
";

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    // Damages a text: bytes, tokens, lines, pieces of another text.
    fn damage(&mut self, text: &str, other: &str) -> Vec<u8> {
        const TOKENS: [&str; 24] = [
            ":",
            "- ",
            "\n",
            "  ",
            "{",
            "}",
            "[",
            "]",
            "\"",
            "'",
            "|",
            ">",
            "&a ",
            "*a",
            "<<: *a",
            "!!int ",
            "null",
            "~",
            "$patch: delete",
            "\t",
            "---\n",
            "\u{85}",
            "9999999999999999999999",
            "#",
        ];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] = self.below(256) as u8,
                1 => {
                    let token = TOKENS[self.below(TOKENS.len())];
                    bytes.splice(at..at, token.bytes());
                }
                2 => {
                    let end = (at + self.below(20)).min(bytes.len());
                    bytes.drain(at..end);
                }
                3 => {
                    let end = (at + self.below(60)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, piece);
                }
                4 => {
                    let lines: Vec<&str> = other.lines().collect();
                    let line = format!("{}\n", lines[self.below(lines.len())]);
                    bytes.splice(at..at, line.bytes());
                }
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    }
}

#[test]
fn damaged_kustomizations_never_hang_or_panic() {
    let runs: u64 = std::env::var("FUZZ_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok())
        .unwrap_or(1500);
    let files = [
        ("kustomization.yaml", KUSTOMIZATION),
        ("base/web.yaml", BASE),
        ("w.yaml", WIDGET),
        ("patch.yaml", PATCH),
        ("comp/kustomization.yaml", COMPONENT),
    ];
    let mut built = 0;
    for seed in 0..runs {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let victim = dice.below(files.len() + 1);
        let mut tree = MemoryTree::new().file("base/kustomization.yaml", "resources: [web.yaml]\n");
        for (index, (path, text)) in files.iter().enumerate() {
            tree = if index == victim {
                let other = files[dice.below(files.len())].1;
                tree.file(path, dice.damage(text, other))
            } else {
                tree.file(path, text)
            };
        }
        let start = Instant::now();
        let answer = kustomize::build(&SourceTree::new(tree), "", &Options::default(), &NoWorld);
        let text = answer.map(|build| build.to_yaml()).map_err(|error| {
            let _ = error.finding();
            error.to_string()
        });
        built += u64::from(text.is_ok());
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "seed {seed} took {:?}",
            start.elapsed()
        );
    }
    assert!(
        built > runs / 10,
        "only {built} of {runs} were built at all"
    );
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = String::from(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n",
    );
    for level in 1..12 {
        let entries = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{entries}]\n"));
    }
    let tree = MemoryTree::new()
        .file("kustomization.yaml", "resources: [a.yaml]\n")
        .file("a.yaml", text);
    let error = kustomize::build(&SourceTree::new(tree), "", &Options::default(), &NoWorld);
    let error = error.expect_err("it is refused").to_string();
    assert!(error.contains("excessive aliasing"), "{error}");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!(
        "apiVersion: v1\nkind: X\nmetadata: {{name: x}}\ns: {}{}\n",
        "[".repeat(5000),
        "]".repeat(5000)
    );
    let tree = MemoryTree::new()
        .file("kustomization.yaml", "resources: [a.yaml]\n")
        .file("a.yaml", deep);
    assert!(kustomize::build(&SourceTree::new(tree), "", &Options::default(), &NoWorld).is_err());
}
