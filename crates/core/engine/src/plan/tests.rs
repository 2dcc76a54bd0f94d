use super::*;
use crate::annotation::{HELM_HOOK, HOOK, SYNC_OPTIONS, SYNC_WAVE};
use expect_test::{Expect, expect};
use model::json;

/// Reads lines as `Deployment/web wave=1 live`, plans them, and prints the plan.
fn check_plan(input: &str, options: &[&str], expected: &Expect) {
    let mut pairs = Vec::new();
    let mut hooks = Vec::new();
    for line in input.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let object = read(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        if hook::role(&object) == Role::Resource {
            let gone = words.contains(&"gone");
            let live = words.contains(&"live") || gone;
            pairs.push(Pair {
                target: (!gone).then(|| object.clone()),
                live: live.then(|| object.clone()),
                modified: words.contains(&"changed"),
                own: true,
            });
        } else {
            hooks.push((object, None));
        }
    }
    let rules = Rules {
        destination: "shop".into(),
        revision: "0123456789abcdef".into(),
        started_at: 1_700_000_000,
        options: options.iter().map(|o| (*o).to_owned()).collect(),
        ..Rules::default()
    };
    expected.assert_eq(&show(&plan(&pairs, &hooks, &rules)));
}

fn read(line: &str) -> Value {
    let mut words = line.split_whitespace();
    let (kind, name) = words
        .next()
        .and_then(|w| w.split_once('/'))
        .expect("Kind/name");
    let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
    let version = if group.is_empty() {
        "v1".to_owned()
    } else {
        format!("{group}/v1")
    };
    let mut annotations = model::Map::new();
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        let key = match key {
            "wave" => SYNC_WAVE,
            "hook" => HOOK,
            "helm" => HELM_HOOK,
            "options" => SYNC_OPTIONS,
            _ => continue,
        };
        annotations.insert(key.into(), value.into());
    }
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "annotations": annotations}});
    if kind == "CustomResourceDefinition" {
        let (plural, group) = name.split_once('.').expect("plural.group");
        let mut kind = plural.trim_end_matches('s').to_owned();
        kind[..1].make_ascii_uppercase();
        object["spec"] = json!({"group": group, "names": {"kind": kind}});
    }
    if let Some(base) = name.strip_suffix('*') {
        object["metadata"]["generateName"] = base.into();
        object["metadata"]
            .as_object_mut()
            .expect("an object")
            .remove("name");
    }
    object
}

fn show(plan: &Plan) -> String {
    let line = |task: &Task| {
        let Task {
            slot, deed, key, ..
        } = task;
        format!(
            "{:9} {:3} {:6} {}/{}\n",
            slot.phase.word(),
            slot.wave,
            deed.word(),
            key.kind,
            key.name
        )
    };
    plan.tasks.iter().map(line).collect()
}

#[test]
fn hooks_go_first_then_waves_in_order() {
    check_plan(
        "
        Deployment.apps/web  wave=1
        ConfigMap/settings
        Job.batch/migrate    hook=PreSync
        Job.batch/smoke      hook=PostSync wave=10
        Job.batch/undo       hook=SyncFail
        ConfigMap/early      wave=-5
        ",
        &[],
        &expect![[r"
            PreSync     0 run    Job/migrate
            Sync       -5 apply  ConfigMap/early
            Sync        0 apply  ConfigMap/settings
            Sync        1 apply  Deployment/web
            PostSync   10 run    Job/smoke
            SyncFail    0 run    Job/undo
        "]],
    );
}

#[test]
fn kinds_have_an_order_and_custom_ones_go_by_name() {
    check_plan(
        "
        Ingress.networking.k8s.io/web
        Deployment.apps/web
        Service/web
        Secret/db
        Zebra.example.com/b
        Apple.example.com/c
        Zebra.example.com/a
        Namespace/other
        ",
        &[],
        &expect![[r"
            Sync        0 apply  Namespace/other
            Sync        0 apply  Secret/db
            Sync        0 apply  Service/web
            Sync        0 apply  Deployment/web
            Sync        0 apply  Ingress/web
            Sync        0 apply  Zebra/a
            Sync        0 apply  Zebra/b
            Sync        0 apply  Apple/c
        "]],
    );
}

#[test]
fn prune_waves_are_turned_around() {
    check_plan(
        "
        ConfigMap/a wave=1 gone
        ConfigMap/b wave=3 gone
        ConfigMap/c wave=4 gone
        ConfigMap/d wave=3
        ",
        &[],
        &expect![[r"
            Sync        1 prune  ConfigMap/c
            Sync        3 prune  ConfigMap/b
            Sync        3 apply  ConfigMap/d
            Sync        4 prune  ConfigMap/a
        "]],
    );
}

#[test]
fn prune_last_comes_after_all_waves_and_never_before_the_first() {
    check_plan(
        "
        ConfigMap/a wave=-3
        ConfigMap/b wave=-5 gone
        ",
        &["PruneLast=true"],
        &expect![[r"
            Sync       -3 apply  ConfigMap/a
            Sync        1 prune  ConfigMap/b
        "]],
    );
    check_plan(
        "
        ConfigMap/a wave=7
        ConfigMap/b gone options=PruneLast=true
        ConfigMap/c gone
        ",
        &[],
        &expect![[r"
            Sync        0 prune  ConfigMap/c
            Sync        7 apply  ConfigMap/a
            Sync        8 prune  ConfigMap/b
        "]],
    );
}

#[test]
fn a_namespace_moves_before_the_hook_that_lives_in_it() {
    check_plan(
        "
        Namespace/shop
        Job.batch/migrate hook=PreSync wave=-2
        ConfigMap/a
        ",
        &[],
        &expect![[r"
            PreSync    -2 apply  Namespace/shop
            PreSync    -2 run    Job/migrate
            Sync        0 apply  ConfigMap/a
        "]],
    );
}

#[test]
fn a_definition_moves_before_what_it_defines() {
    let input = "
        CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com wave=5
        Widget.example.com/one wave=1
        ConfigMap/a
        ";
    check_plan(
        input,
        &[],
        &expect![[r"
            Sync        0 apply  ConfigMap/a
            Sync        1 apply  CustomResourceDefinition/widgets.example.com
            Sync        1 apply  Widget/one
        "]],
    );
}

#[test]
fn a_kind_that_comes_with_the_sync_may_be_unknown_yet() {
    let crd = read("CustomResourceDefinition.apiextensions.k8s.io/widgets.example.com");
    let pairs: Vec<Pair> = [
        crd,
        read("Widget.example.com/one"),
        read("Gadget.example.com/two"),
    ]
    .into_iter()
    .map(|target| Pair {
        target: Some(target),
        own: true,
        ..Pair::default()
    })
    .collect();
    let plan = plan(&pairs, &[], &Rules::default());
    let may_come: Vec<(&str, bool)> = plan
        .tasks
        .iter()
        .map(|t| (t.key.kind.as_str(), t.kind_may_come))
        .collect();
    assert_eq!(
        may_come,
        [
            ("CustomResourceDefinition", false),
            ("Widget", true),
            ("Gadget", false)
        ]
    );
}

#[test]
fn hooks_without_a_name_get_one() {
    check_plan(
        "Job.batch/migrate-* hook=PreSync,PostSync",
        &[],
        &expect![[r"
            PreSync     0 run    Job/migrate-0123456-presync-1700000000
            PostSync    0 run    Job/migrate-0123456-postsync-1700000000
        "]],
    );
}

#[test]
fn skipped_and_meaningless_hooks_are_no_tasks() {
    check_plan(
        "
        ConfigMap/skipped hook=Skip live
        Pod/test helm=test
        ConfigMap/a
        ",
        &[],
        &expect![[r"
            Sync        0 apply  ConfigMap/a
        "]],
    );
}

#[test]
fn a_selective_sync_touches_what_was_named_and_runs_no_hooks() {
    let pairs: Vec<Pair> = ["ConfigMap/a", "ConfigMap/b"]
        .into_iter()
        .map(|line| Pair {
            target: Some(read(line)),
            own: true,
            ..Pair::default()
        })
        .collect();
    let hooks = [(read("Job.batch/m hook=PreSync"), None)];
    let only = Selector {
        group: String::new(),
        kind: "ConfigMap".into(),
        namespace: String::new(),
        name: "b".into(),
    };
    let rules = Rules {
        only: vec![only],
        ..Rules::default()
    };
    assert_eq!(
        show(&plan(&pairs, &hooks, &rules)),
        "Sync        0 apply  ConfigMap/b\n"
    );
}

#[test]
fn the_order_of_the_input_does_not_matter() {
    let lines = [
        "Service/a",
        "Deployment.apps/a wave=1",
        "Secret/x",
        "Zed.e.com/q",
        "Zed.e.com/p",
        "Secret/gone gone",
    ];
    let pair = |line: &&str| {
        let object = read(line);
        let gone = line.ends_with("gone");
        Pair {
            target: (!gone).then(|| object.clone()),
            live: gone.then_some(object),
            modified: false,
            own: true,
        }
    };
    let forward: Vec<Pair> = lines.iter().map(pair).collect();
    let backward: Vec<Pair> = lines.iter().rev().map(pair).collect();
    let rules = Rules::default();
    assert_eq!(
        show(&plan(&forward, &[], &rules)),
        show(&plan(&backward, &[], &rules))
    );
}

#[test]
fn the_destinations_namespace_is_made_once() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let rules = Rules {
        destination: "shop".into(),
        namespace: Some(namespace),
        ..Rules::default()
    };
    let pair = |line: &str| Pair {
        target: Some(read(line)),
        own: true,
        ..Pair::default()
    };
    assert_eq!(
        show(&plan(&[pair("ConfigMap/a")], &[], &rules)),
        "PreSync     0 apply  Namespace/shop\nSync        0 apply  ConfigMap/a\n"
    );
    assert_eq!(
        show(&plan(
            &[pair("ConfigMap/a"), pair("Namespace/shop")],
            &[],
            &rules
        )),
        "Sync        0 apply  Namespace/shop\nSync        0 apply  ConfigMap/a\n"
    );
}

#[test]
fn what_carries_a_copied_id_is_left_alone() {
    let pair = Pair {
        live: Some(read("ConfigMap/copy")),
        own: false,
        ..Pair::default()
    };
    assert_eq!(plan(&[pair], &[], &Rules::default()).tasks.len(), 0);
}
