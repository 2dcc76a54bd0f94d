use super::*;
use model::{MemoryTree, Value, json};

fn object(kind: &str, name: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

fn context() -> Context {
    Context {
        app_name: "web".into(),
        namespace: "prod".into(),
        revision: "0123456789abcdef".into(),
        ..Context::default()
    }
}

fn source(value: Value) -> Source {
    Source::read(&value, "spec.source").unwrap()
}

fn shown(answer: Result<Rendered, RenderError>) -> String {
    match answer {
        Ok(rendered) => {
            let text = |manifest: &Manifest, pointer: &str| {
                let found = manifest.object.pointer(pointer).and_then(Value::as_str);
                found.unwrap_or("").to_owned()
            };
            let names = rendered
                .manifests
                .iter()
                .map(|m| format!(" {}/{}", text(m, "/kind"), text(m, "/metadata/name")));
            format!("{}:{}", rendered.source_type, names.collect::<String>())
        }
        Err(error) => format!("{} {error}", error.finding().code),
    }
}

#[test]
fn the_files_say_which_tool_is_meant() {
    let tree = MemoryTree::new()
        .file("plain/a.yaml", object("A", "a"))
        .file(
            "kustom/kustomization.yaml",
            "resources: [a.yaml]\nnamePrefix: x-\n",
        )
        .file("kustom/a.yaml", object("A", "a"))
        .file("kustom/Chart.yaml", "name: c\nversion: 1.0.0\n");
    let check = |value: Value, context: &Context, expected: &str| {
        let tree = SourceTree::new(tree.clone());
        assert_eq!(shown(render(&tree, &source(value), context)), expected);
    };
    check(json!({"path": "plain"}), &context(), "Directory: A/a");
    check(json!({"path": "kustom"}), &context(), "Kustomize: A/x-a");
    check(
        json!({"path": "kustom", "directory": {"include": "a.yaml"}}),
        &context(),
        "Directory: A/a",
    );
    check(
        json!({"path": "kustom", "directory": {}, "helm": {}}),
        &context(),
        "G10 spec.source has the parameters of more than one tool: multiple application sources defined: Helm,Directory",
    );
    let off = Context {
        settings: Settings {
            kustomize: false,
            ..Settings::default()
        },
        ..context()
    };
    check(
        json!({"path": "kustom", "kustomize": {"namePrefix": "q-"}, }),
        &off,
        "Directory: A/a",
    );
    check(
        json!({"path": "/plain"}),
        &context(),
        "G05 /plain: app path is absolute",
    );
    check(
        json!({"path": "../x"}),
        &context(),
        "G05 ../x: app path outside root",
    );
    check(
        json!({"path": "plain/a.yaml"}),
        &context(),
        "G05 plain/a.yaml: app path is not a directory",
    );
    check(
        json!({"path": "plian"}),
        &context(),
        "G05 plian: app path does not exist",
    );
    let error = render(
        &SourceTree::new(tree.clone()),
        &source(json!({"path": "plian"})),
        &context(),
    );
    assert_eq!(error.unwrap_err().finding().fix[0].title, "use `plain`");
}

#[test]
fn overrides_beside_the_files_count() {
    let tree = MemoryTree::new()
        .file("a/kustomization.yaml", "resources: [a.yaml]\n")
        .file("a/a.yaml", object("A", "a"))
        .file(
            "a/.argocd-source.yaml",
            "kustomize:\n  namePrefix: all-\n  nameSuffix: -s\npath: elsewhere\n",
        )
        .file(
            "a/.argocd-source-web.yaml",
            "kustomize:\n  namePrefix: web-\n",
        );
    let go = |tree: MemoryTree, app: &str| {
        let context = Context {
            app_name: app.into(),
            ..context()
        };
        shown(render(
            &SourceTree::new(tree),
            &source(json!({"path": "a"})),
            &context,
        ))
    };
    assert_eq!(go(tree.clone(), "web"), "Kustomize: A/web-a-s");
    assert_eq!(go(tree.clone(), "other"), "Kustomize: A/all-a-s");
    assert_eq!(
        go(
            tree.file("a/.argocd-source.yaml", "kustomize:\n  images: nginx\n"),
            "other"
        ),
        "G10 source.kustomize.images must be a list, not a string"
    );
}

#[test]
fn kustomize_parameters_of_the_application_come_on_top() {
    let tree = MemoryTree::new()
        .file("a/kustomization.yaml", "resources: [a.yaml]\n")
        .file(
            "a/a.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n      - name: c\n        image: nginx:1\n",
        );
    let wanted = json!({"path": "a", "kustomize": {
        "images": ["nginx=nginx:$ARGOCD_APP_REVISION_SHORT"],
        "replicas": [{"name": "a", "count": "3"}],
        "commonAnnotations": {"app": "$ARGOCD_APP_NAME"},
        "patches": [{"target": {"kind": "Deployment"}, "patch": "- op: add\n  path: /spec/paused\n  value: true\n"}],
    }});
    let rendered = render(&SourceTree::new(tree), &source(wanted), &context()).unwrap();
    let object = &rendered.manifests[0].object;
    assert_eq!(
        object["spec"]["template"]["spec"]["containers"][0]["image"],
        "nginx:0123456"
    );
    assert_eq!(object["spec"]["replicas"], 3);
    assert_eq!(object["spec"]["paused"], true);
    assert_eq!(object["metadata"]["annotations"]["app"], "$ARGOCD_APP_NAME");
}

#[test]
fn an_object_that_is_rendered_twice_is_told_with_both_places() {
    let tree = SourceTree::new(
        MemoryTree::new()
            .file("a/1.yaml", object("ConfigMap", "x"))
            .file(
                "a/2.yaml",
                format!(
                    "{}---\n{}  namespace: prod\ndata: {{}}\n",
                    object("Secret", "s"),
                    object("ConfigMap", "x")
                ),
            ),
    );
    let rendered = render(&tree, &source(json!({"path": "a"})), &context()).unwrap();
    let (manifests, warnings) = combine([rendered], "prod");
    assert_eq!(manifests.len(), 2);
    assert!(manifests[1].object.get("data").is_some());
    assert_eq!(
        warnings[0].summary,
        "Resource /ConfigMap/prod/x appeared 2 times among application resources."
    );
    assert_eq!(warnings[0].culprit, "a/1.yaml:1 and a/2.yaml:6");
}

#[test]
fn plugins_are_used_when_named_or_when_they_find_something() {
    let config = json!({
        "kind": "ConfigManagementPlugin", "metadata": {"name": "echo"},
        "spec": {
            "discover": {"fileName": "echo.txt"},
            "generate": {"command": ["sh", "-c", "printf 'apiVersion: v1\\nkind: A\\nmetadata: {name: %s-%s-%s}\\n' $ARGOCD_APP_NAME $ARGOCD_ENV_X $PARAM_P"]},
        },
    });
    let context = Context {
        plugins: vec![plugin::Plugin::read(&config).unwrap()],
        ..context()
    };
    let tree = MemoryTree::new().file("a/echo.txt", "").file("b/x", "");
    let go = |value: Value| {
        shown(render(
            &SourceTree::new(tree.clone()),
            &source(value),
            &context,
        ))
    };
    assert_eq!(go(json!({"path": "a"})), "Plugin: A/web--");
    let named = json!({"path": "a", "plugin": {"name": "echo", "env": [{"name": "X", "value": "$ARGOCD_APP_NAMESPACE"}],
        "parameters": [{"name": "p", "string": "q"}]}});
    assert_eq!(go(named), "Plugin: A/web-prod-q");
    assert_eq!(
        go(json!({"path": "b", "plugin": {"name": "ecko"}})),
        "G10 spec.source.plugin.name `ecko` is no plugin: did you mean `echo`?"
    );
    assert_eq!(go(json!({"path": "b"})), "Directory:");
}

#[test]
fn charts_take_values_from_files_of_other_sources_and_parameters() {
    let tree = MemoryTree::new()
        .file("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
        .file("web/values.yaml", "a: 1\nb: 1\nc: 1\nd: 1\n")
        .file("web/env/prod.yaml", "b: 2\nc: 2\nd: 2\n")
        .file("web/templates/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-{{ .Values.a }}{{ .Values.b }}{{ .Values.c }}{{ .Values.d }}\n  namespace: {{ .Release.Namespace }}\n");
    let other = SourceTree::new(MemoryTree::new().file("v/web.yaml", "c: 3\nd: 3\n"));
    let reference = Reference {
        tree: other,
        repo_url: "x".into(),
        revision: "y".into(),
    };
    let context = Context {
        app_name: "argocd_web".into(),
        refs: [("values".to_owned(), reference)].into(),
        ..context()
    };
    let go = |value: Value| {
        shown(render(
            &SourceTree::new(tree.clone()),
            &source(value),
            &context,
        ))
    };
    let helm = |helm: Value| json!({"path": "web", "helm": helm});
    assert_eq!(go(json!({"path": "web"})), "Helm: ConfigMap/web-1111");
    let files = json!(["env/*.yaml", "$values/v/$ARGOCD_APP_PROJECT_NAMEweb.yaml"]);
    assert_eq!(
        go(helm(
            json!({"valueFiles": ["env/*.yaml", "$values/v/web.yaml"], "valuesObject": {"d": 4}})
        )),
        "Helm: ConfigMap/web-1234"
    );
    assert!(
        go(helm(json!({"valueFiles": files}))).starts_with("G06"),
        "{}",
        go(helm(json!({"valueFiles": files})))
    );
    assert_eq!(
        go(helm(
            json!({"releaseName": "r", "parameters": [{"name": "a", "value": "$ARGOCD_APP_NAMESPACE"}]})
        )),
        "Helm: ConfigMap/r-prod111"
    );
    assert_eq!(
        go(helm(json!({"valueFiles": ["$valeus/x"]}))),
        "G10 spec.source.helm.valueFiles `$valeus/x`: source referenced \"$valeus\", which is not one of the available sources (values)"
    );
    assert_eq!(
        go(helm(json!({"version": "v2"}))),
        "G10 spec.source.helm.version must be `v3` or `v4`, not `v2`"
    );
}
