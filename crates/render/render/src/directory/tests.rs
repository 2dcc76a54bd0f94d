use crate::{Context, Directory, Rendered, Source, SourceType, render};
use model::{MemoryTree, SourceTree, Value};

fn object(kind: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

fn go(tree: MemoryTree, directory: Directory) -> Result<Rendered, crate::RenderError> {
    let source = Source {
        path: "app".into(),
        directory: Some(directory),
        ..Source::default()
    };
    render(&SourceTree::new(tree), &source, &Context::default())
}

// One line per manifest, or the finding.
fn check(tree: MemoryTree, directory: Directory, expected: &str) {
    let answer = match go(tree, directory) {
        Ok(rendered) => rendered
            .manifests
            .iter()
            .map(|manifest| {
                let text = |pointer| {
                    manifest
                        .object
                        .pointer(pointer)
                        .and_then(Value::as_str)
                        .unwrap_or("")
                };
                format!(
                    "{}/{} {}#{}:{}",
                    text("/kind"),
                    text("/metadata/name"),
                    manifest.origin.file,
                    manifest.origin.document,
                    manifest.origin.line
                )
            })
            .collect::<Vec<_>>()
            .join("\n"),
        Err(error) => {
            let finding = error.finding();
            let place = finding
                .evidence
                .first()
                .and_then(|e| e.place.clone())
                .unwrap_or_default();
            let fix = finding
                .fix
                .first()
                .map(|fix| fix.title.clone())
                .unwrap_or_default();
            format!(
                "{} {} at {}:{} ({fix})",
                finding.code, finding.summary, place.line, place.column
            )
        }
    };
    assert_eq!(answer, expected);
}

#[test]
fn files_are_read_in_order_and_lists_taken_apart() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: p}\n";
    let tree = MemoryTree::new()
        .file("app/b.yml", object("Service", "b"))
        .file(
            "app/a.yaml",
            format!(
                "# first\n---\n{}---\n---\n{}",
                object("ConfigMap", "a"),
                object("Secret", "s")
            ),
        )
        .file(
            "app/c.json",
            "{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}",
        )
        .file("app/d.yaml", list)
        .file("app/notes.txt", "x: [")
        .file("app/sub/e.yaml", object("Service", "e"))
        .file("app/skip.yaml", "# +argocd:skip-file-rendering\nkind: [")
        .file("app/values.yaml", "a: 1\n")
        .file("other/f.yaml", object("Service", "f"));
    check(
        tree.clone(),
        Directory::default(),
        "ConfigMap/a app/a.yaml#0:3\nSecret/s app/a.yaml#2:9\nService/b app/b.yml#0:1\nPod/c app/c.json#0:1\nPod/p app/d.yaml#0:4",
    );
    check(
        tree.clone(),
        Directory {
            recurse: true,
            exclude: "{a.yaml,*.json}".into(),
            include: "*.y*ml".into(),
            ..Directory::default()
        },
        "Service/b app/b.yml#0:1\nPod/p app/d.yaml#0:4\nService/e app/sub/e.yaml#0:1",
    );
    let rendered = go(tree, Directory::default()).unwrap();
    assert_eq!(rendered.source_type, SourceType::Directory);
    assert_eq!(
        rendered.warnings[0].summary,
        "`app/values.yaml` is no manifest and was left out"
    );
    assert!(!rendered.reads.contains(&"other/f.yaml".to_owned()));
    let line = rendered.manifests[0].origin.line_of("/metadata/name");
    assert_eq!(line, 6);
}

#[test]
fn what_is_broken_says_where_and_what_to_write() {
    let one = |content: &str| MemoryTree::new().file("app/a.yaml", content);
    check(
        one("apiVersion: v1\nkind: A\nmetadata:\n  name: a: b\n"),
        Directory::default(),
        "G09 app/a.yaml:4: mapping values are not allowed in this context at 4:10 (quote the value: `name: \"a: b\"`)",
    );
    check(
        one("apiVersion: v1\nkind: A\nmetadata:\n\tname: a\n"),
        Directory::default(),
        "G09 app/a.yaml:4: found character that cannot start any token at 4:1 (indent with spaces: YAML takes no tabs)",
    );
    check(
        one("apiVersion: v1\nkind: A\nmetadata:\n  name: {{ .Values.name }}\n"),
        Directory::default(),
        "G10 app/a.yaml:4: it is a template, not a manifest: `{{` is filled in by Helm only at 4:9 (point `path` at the chart, or exclude the file with `directory.exclude`)",
    );
    check(
        one("apiVersion: v1\nkind: A\nmetadata:\n  labels: {}\n"),
        Directory::default(),
        "G10 app/a.yaml:3: `metadata.name` is missing at 3:1 (add `name:` below `metadata:`)",
    );
    check(
        one(&format!(
            "{}---\nkind: A\nmetadata: {{name: b}}\n",
            object("A", "a")
        )),
        Directory::default(),
        "G10 app/a.yaml:6: Object 'apiVersion' is missing at 6:1 (add it, as in `apiVersion: v1`, or exclude the file with `directory.exclude`)",
    );
    check(
        one("apiVersion: v1\nkind: A\nmetadata:\n  name: 1.10 # version\n"),
        Directory::default(),
        "G10 app/a.yaml:4: `metadata.name` must be a string at 4:3 (quote it: `name: \"1.10\"`)",
    );
    check(
        one("apiVersion: v1\nkind: A\nkind: B\nmetadata: {name: a}\n"),
        Directory::default(),
        "G09 app/a.yaml:3: key \"kind\" already set in map on line 2 at 3:1 (remove one of the two)",
    );
    check(
        MemoryTree::new().file("app/a.yaml", b"a: \xff\n"),
        Directory::default(),
        "G09 app/a.yaml:1: byte 3 is 0xff, which is not UTF-8 at 1:4 (save the file as UTF-8, or exclude it with `directory.exclude`)",
    );
    check(
        MemoryTree::new().file("app/a.json", "{} {}"),
        Directory::default(),
        "G10 app/a.json:1: Found multiple objects in \"app/a.json\". Only single objects are allowed in JSON files. at 1:4 (put each object into a file of its own, or use a `List`)",
    );
    check(
        MemoryTree::new().file("app/a.json", "{\n\"a\": }"),
        Directory::default(),
        "G09 app/a.json:2: expected value at 2:6 ()",
    );
    check(
        one(&object("A", "a")),
        Directory {
            include: "{a".into(),
            ..Directory::default()
        },
        "G10 directory.include: `{a` is no pattern: a `{` is not closed at 0:0 (close every `{` and `[`, and write `\\` before those that are meant)",
    );
}

#[test]
fn links_lead_to_files_of_the_tree_only() {
    let tree = MemoryTree::new()
        .file("shared/a.yaml", object("A", "a"))
        .link("app/a.yaml", "../shared/a.yaml");
    check(tree.clone(), Directory::default(), "A/a app/a.yaml#0:1");
    check(
        tree.link("app/b.yaml", "../../etc/passwd"),
        Directory::default(),
        "G05 `app/b.yaml` leads out of the repository, to `../../etc/passwd` at 0:0 (let the link lead to a file of this repository, or put the file itself in its place)",
    );
}

#[test]
fn jsonnet_files_are_evaluated() {
    let code = "local lib = import 'lib.libsonnet';\nfunction(n) [lib(n), lib('$ARGOCD_APP_NAME')]";
    let tree = MemoryTree::new()
        .file(
            "vendor/lib.libsonnet",
            "function(n) {apiVersion: 'v1', kind: 'A', metadata: {name: n}}",
        )
        .file("app/a.jsonnet", code);
    let mut directory = Directory::default();
    directory.jsonnet.libs = vec!["vendor".into()];
    directory.jsonnet.tlas = vec![crate::JsonnetVar {
        name: "n".into(),
        value: "x".into(),
        code: false,
    }];
    check(
        tree,
        directory,
        "A/x app/a.jsonnet#0:0\nA/$ARGOCD_APP_NAME app/a.jsonnet#1:0",
    );
}
