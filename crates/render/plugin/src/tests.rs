use super::*;
use model::{MemoryTree, json};

fn tree() -> SourceTree {
    SourceTree::new(
        MemoryTree::new()
            .file("app/values.txt", "hello")
            .file("app/deep/x.cue", "x")
            .file("other/y", "y"),
    )
}

fn plugin(spec: Value) -> Plugin {
    Plugin::read(&json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "ConfigManagementPlugin",
        "metadata": {"name": "mine"}, "spec": spec,
    }))
    .unwrap()
}

fn run_in(directory: &str) -> Run {
    Run {
        time_max: Duration::from_secs(20),
        ..Run::new(directory, vec![("ARGOCD_APP_NAME".into(), "web".into())])
    }
}

#[test]
fn init_and_generate_run_in_a_copy_of_the_files() {
    let mine = plugin(json!({
        "version": "v1",
        "init": {"command": ["sh", "-c", "echo more > made"]},
        "generate": {"command": ["sh", "-c"], "args": ["cat values.txt made ../other/y; echo $ARGOCD_APP_NAME $SECRET"]},
    }));
    assert_eq!(mine.full_name(), "mine-v1");
    let out = mine.generate(&tree(), &run_in("app")).unwrap();
    assert_eq!(out, "hellomore\nyweb\n");
}

#[test]
fn a_failure_says_which_command_and_what_it_said() {
    let mine = plugin(json!({"generate": {"command": ["sh", "-c", "echo why >&2; exit 3"]}}));
    let error = mine.generate(&tree(), &run_in("app")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin `mine` failed in generate: `sh -c echo why >&2; exit 3` ended with exit status: 3"
    );
    let finding = error.finding();
    assert_eq!(
        (finding.code, finding.evidence[0].says.as_str()),
        ("G13", "why")
    );
    let mine = plugin(json!({"generate": {"command": ["tiphys-no-such-program"]}}));
    let error = mine.generate(&tree(), &run_in("app")).unwrap_err();
    assert!(
        error.to_string().contains("could not be started"),
        "{error}"
    );
}

#[test]
fn time_and_output_are_limited_and_nothing_survives() {
    let mine = plugin(json!({"generate": {"command": ["sh", "-c", "sleep 300 & wait"]}}));
    let run = Run {
        time_max: Duration::from_millis(200),
        ..run_in("app")
    };
    let error = mine.generate(&tree(), &run).unwrap_err();
    assert!(matches!(error.failure, Failure::Timeout { .. }), "{error}");
    assert_eq!(error.finding().code, "G11");
    let mine = plugin(json!({"generate": {"command": ["sh", "-c", "yes"]}}));
    let run = Run {
        output_max: 10_000,
        ..run_in("app")
    };
    let error = mine.generate(&tree(), &run).unwrap_err();
    assert!(matches!(error.failure, Failure::Output(_)), "{error}");
}

#[test]
fn sources_are_recognised() {
    let found = |discover: Value| {
        let mine = plugin(json!({"generate": {"command": ["true"]}, "discover": discover}));
        mine.matches(&tree(), &run_in("app")).unwrap()
    };
    assert!(found(json!({"fileName": "./values.*"})));
    assert!(!found(json!({"fileName": "*.cue"})));
    assert!(found(json!({"find": {"glob": "**/*.cue"}})));
    assert!(!found(json!({"find": {"glob": "**/*.none"}})));
    assert!(found(
        json!({"find": {"command": ["sh", "-c", "ls values.txt"]}})
    ));
    assert!(!found(json!({"find": {"command": ["sh", "-c", "exit 1"]}})));
    assert!(!found(json!({"find": {"command": ["true"]}})));
    assert!(!found(json!({})));
}

#[test]
fn parameters_become_variables() {
    let parameters = [
        Parameter {
            name: "image-tag".into(),
            string: Some("v1".into()),
            ..Parameter::default()
        },
        Parameter {
            name: "sets".into(),
            map: Some([("a.b".to_owned(), "1".to_owned())].into()),
            array: Some(vec!["x".into(), "y".into()]),
            ..Parameter::default()
        },
    ];
    let shown: Vec<String> = parameter_variables(&parameters)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        shown,
        [
            "ARGOCD_APP_PARAMETERS=[{\"name\":\"image-tag\",\"string\":\"v1\"},{\"array\":[\"x\",\"y\"],\"map\":{\"a.b\":\"1\"},\"name\":\"sets\"}]",
            "PARAM_IMAGE_TAG=v1",
            "PARAM_SETS_A_B=1",
            "PARAM_SETS_0=x",
            "PARAM_SETS_1=y",
        ]
    );
}

#[test]
fn a_plugin_that_is_not_right_names_the_field() {
    let broken = |value: Value| Plugin::read(&value).unwrap_err().to_string();
    assert_eq!(
        broken(json!({"kind": "X"})),
        "kind must be `ConfigManagementPlugin`"
    );
    let named = |spec: Value| json!({"kind": "ConfigManagementPlugin", "metadata": {"name": "a"}, "spec": spec});
    assert_eq!(
        broken(named(json!({}))),
        "spec.generate is required: write the command that prints manifests"
    );
    assert_eq!(
        broken(named(json!({"generate": {"command": ["a", 1]}}))),
        "spec.generate.command.1 must be a string"
    );
}
