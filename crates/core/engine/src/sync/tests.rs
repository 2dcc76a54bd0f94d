//! A small world that does what a sync asks, at once or after a while, and writes down what happens.

use super::*;
use crate::annotation::{HOOK, HOOK_DELETE_POLICY, SYNC_OPTIONS, SYNC_WAVE};
use crate::plan::{Pair, Rules, plan};
use expect_test::{Expect, expect};
use model::json;
use std::collections::BTreeMap;

/// What becomes of an object once it is applied.
#[derive(Clone, Debug, Default)]
struct Fate {
    /// Healthy after this many seconds; `None` means never.
    ready: Option<i64>,
    /// Degraded after this many seconds.
    fails: Option<i64>,
    /// The server refuses it.
    refused: bool,
    /// A dry run refuses it.
    untriable: bool,
    /// No rule for its health.
    plain: bool,
    suspended: bool,
}

struct World {
    now: Timestamp,
    operation: Operation,
    fates: Vec<Fate>,
    applied: BTreeMap<TaskId, Timestamp>,
    log: String,
    wake: Option<Timestamp>,
}

const START: i64 = 1_700_000_000;

impl World {
    fn new(input: &str, policy: Policy) -> Self {
        let now = Timestamp::from_seconds(START);
        let (mut pairs, mut hooks, mut fates) = (Vec::new(), Vec::new(), BTreeMap::new());
        for line in input.lines().map(str::trim).filter(|l| !l.is_empty()) {
            let (object, words) = read(line);
            fates.insert(meta_name(&object), fate(&words));
            let live = words.contains(&"live") || words.contains(&"gone");
            if hook::role(&object) == crate::Role::Resource {
                pairs.push(Pair {
                    target: (!words.contains(&"gone")).then(|| object.clone()),
                    live: live.then(|| object.clone()),
                    modified: !words.contains(&"same"),
                    own: true,
                });
            } else {
                hooks.push((object.clone(), live.then_some(object)));
            }
        }
        let rules = Rules {
            revision: "abc".into(),
            started_at: START,
            ..Rules::default()
        };
        let operation = Operation::new(plan(&pairs, &hooks, &rules), policy, now);
        let fates = operation
            .tasks
            .iter()
            .map(|p| fates[&p.task.key.name].clone())
            .collect();
        Self {
            now,
            operation,
            fates,
            applied: BTreeMap::new(),
            log: String::new(),
            wake: None,
        }
    }

    fn say(&mut self, what: &str) {
        let at = self.now.seconds() - START;
        self.log.push_str(&format!("{at}s {what}\n"));
    }

    fn send(&mut self, event: Event) {
        let (operation, actions) = step(self.operation.clone(), event, self.now);
        let over = operation.phase.is_over() && !self.operation.phase.is_over();
        self.operation = operation;
        self.wake = None;
        for action in actions {
            self.perform(&action);
        }
        if over {
            let Operation { phase, message, .. } = &self.operation;
            let text = format!("{}: {message}", phase.word());
            self.say(&text);
        }
    }

    fn name(&self, id: TaskId) -> String {
        self.operation.tasks[id].task.key.name.clone()
    }

    fn perform(&mut self, action: &Action) {
        match *action {
            Action::Try(task) => {
                let refused = self.fates[task]
                    .untriable
                    .then(|| format!("{} is invalid", self.name(task)));
                self.send(Event::Tried { task, refused });
            }
            Action::Apply(task) => {
                let name = self.name(task);
                if self.fates[task].refused {
                    self.say(&format!("refuse {name}"));
                    let result = Err(format!("{name} was refused"));
                    self.send(Event::Applied { task, result });
                    return;
                }
                self.say(&format!("apply {name}"));
                self.applied.insert(task, self.now);
                let message = format!("{name} created");
                self.send(Event::Applied {
                    task,
                    result: Ok(Written { message }),
                });
            }
            Action::Delete(task) => {
                let text = format!("delete {}", self.name(task));
                self.say(&text);
                self.applied.remove(&task);
                self.send(Event::Deleted {
                    task,
                    refused: None,
                });
                self.send(Event::Observed {
                    task,
                    seen: Seen::Gone,
                });
            }
            Action::Release(task) => {
                let text = format!("release {}", self.name(task));
                self.say(&text);
            }
            Action::Watch(task) => self.look(task),
            Action::WakeAt(at) => self.wake = Some(self.wake.map_or(at, |w| w.min(at))),
        }
    }

    fn look(&mut self, task: TaskId) {
        let Some(since) = self.applied.get(&task).copied() else {
            return;
        };
        let fate = &self.fates[task];
        let age = self.now.seconds() - since.seconds();
        let health = if fate.fails.is_some_and(|at| age >= at) {
            Some(Health::new(HealthStatus::Degraded, "it broke"))
        } else if fate.suspended {
            Some(Health::new(HealthStatus::Suspended, "paused"))
        } else if fate.plain {
            None
        } else if fate.ready.is_some_and(|at| age >= at) {
            Some(Health::new(HealthStatus::Healthy, ""))
        } else {
            Some(Health::new(HealthStatus::Progressing, "not there yet"))
        };
        self.send(Event::Observed {
            task,
            seen: Seen::Live {
                health,
                leaving: false,
            },
        });
    }

    /// Lets seconds pass until it is over, at most so many.
    fn run(&mut self, seconds: i64) {
        self.send(Event::Started);
        for _ in 0..seconds {
            if self.operation.phase.is_over() {
                return;
            }
            self.now = self.now.plus_seconds(1);
            for task in self.applied.keys().copied().collect::<Vec<_>>() {
                self.look(task);
            }
            self.send(Event::Woke);
        }
        if !self.operation.phase.is_over() {
            let message = self.operation.message.clone();
            self.say(&message);
        }
    }
}

fn meta_name(object: &Value) -> String {
    model::meta::name(object).to_owned()
}

fn read(line: &str) -> (Value, Vec<&str>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (kind, name) = words[0].split_once('/').expect("Kind/name");
    let mut annotations = model::Map::new();
    for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
        let key = match key {
            "wave" => SYNC_WAVE,
            "hook" => HOOK,
            "policy" => HOOK_DELETE_POLICY,
            "options" => SYNC_OPTIONS,
            _ => continue,
        };
        annotations.insert(key.into(), value.into());
    }
    let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "annotations": annotations}});
    (object, words)
}

fn fate(words: &[&str]) -> Fate {
    let seconds = |key: &str| {
        let found = words
            .iter()
            .find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        found.and_then(|text| text.parse().ok())
    };
    Fate {
        ready: seconds("ready"),
        fails: seconds("fails"),
        refused: words.contains(&"refused"),
        untriable: words.contains(&"untriable"),
        plain: words.contains(&"plain"),
        suspended: words.contains(&"suspended"),
    }
}

fn quick() -> Policy {
    Policy {
        wave_delay_seconds: 0,
        ..Policy::default()
    }
}

fn check_sync(input: &str, policy: Policy, expected: &Expect) {
    let mut world = World::new(input, policy);
    world.run(200);
    expected.assert_eq(&world.log);
}

#[test]
fn t01_a_wave_waits_for_the_one_before_and_the_last_is_not_awaited() {
    check_sync(
        "
        Deployment/db  wave=0 ready=3
        Deployment/web wave=1
        ",
        quick(),
        &expect![[r"
            0s apply db
            3s apply web
            3s Succeeded: successfully synced (all tasks run)
        "]],
    );
}

#[test]
fn t02_a_degraded_resource_fails_the_operation() {
    check_sync(
        "
        Deployment/db  wave=0 fails=2
        Deployment/web wave=1
        ",
        quick(),
        &expect![[r"
            0s apply db
            2s Failed: one or more synchronization tasks completed unsuccessfully
        "]],
    );
}

#[test]
fn t03_a_suspended_resource_is_awaited_until_the_limit() {
    let limits = Limits {
        operation: None,
        no_progress: Some(60),
        hook: None,
    };
    check_sync(
        "
        Deployment/db  wave=0 suspended
        Deployment/web wave=1
        ",
        Policy { limits, ..quick() },
        &expect![[r"
            0s apply db
            60s Failed: one or more synchronization tasks completed unsuccessfully, reason: waited for /Deployment/db, nothing moved for 1m: paused
        "]],
    );
    let never = Limits {
        operation: None,
        no_progress: None,
        hook: None,
    };
    check_sync(
        "
        Deployment/db  wave=0 suspended
        Deployment/web wave=1
        ",
        Policy {
            limits: never,
            ..quick()
        },
        &expect![[r"
            0s apply db
            200s waiting for healthy state of /Deployment/db
        "]],
    );
}

#[test]
fn t04_a_hook_without_health_is_done_once_it_is_made() {
    let mut world = World::new(
        "ConfigMap/note hook=PreSync plain\nConfigMap/a plain",
        quick(),
    );
    world.run(5);
    expect![[r"
         0s apply note
         0s release note
         0s apply a
         0s Succeeded: successfully synced (all tasks run)
    "]]
    .assert_eq(&world.log);
    assert_eq!(world.operation.tasks[0].message, "note created");
}

#[test]
fn t05_a_failed_operation_removes_hooks_that_say_so_even_those_that_succeeded() {
    check_sync(
        "
        Job/good hook=PreSync wave=0 ready=1 policy=HookFailed
        Job/kept hook=PreSync wave=0 ready=1 policy=HookSucceeded
        Job/bad  hook=PreSync wave=1 fails=2 policy=HookFailed
        ConfigMap/a plain
        ",
        quick(),
        &expect![[r"
            0s apply good
            0s apply kept
            1s release good
            1s release kept
            1s apply bad
            3s release bad
            3s delete good
            3s delete bad
            3s Failed: one or more synchronization tasks completed unsuccessfully
        "]],
    );
}

#[test]
fn t06_hooks_are_kept_until_the_operation_succeeded() {
    check_sync(
        "
        Job/migrate hook=PreSync ready=1 policy=HookSucceeded
        Deployment/web wave=1 ready=2
        Job/smoke hook=PostSync ready=1
        ",
        quick(),
        &expect![[r"
            0s apply migrate
            1s release migrate
            1s apply web
            3s apply smoke
            4s release smoke
            4s delete migrate
            4s Succeeded: successfully synced (no more tasks)
        "]],
    );
}

#[test]
fn t08_the_last_run_of_a_hook_goes_before_the_next() {
    check_sync(
        "Job/migrate hook=PreSync live ready=1",
        quick(),
        &expect![[r"
            0s release migrate
            0s delete migrate
            0s apply migrate
            1s release migrate
            1s Succeeded: successfully synced (no more tasks)
        "]],
    );
}

#[test]
fn t14_a_refused_object_does_not_stop_later_kinds_of_its_wave() {
    check_sync(
        "
        ConfigMap/a refused
        Service/b plain
        Deployment/c ready=1
        ",
        quick(),
        &expect![[r"
            0s refuse a
            0s apply b
            0s apply c
            0s Failed: one or more synchronization tasks completed unsuccessfully, reason: a was refused
        "]],
    );
}

#[test]
fn t15_a_failed_dry_run_writes_nothing_and_runs_no_hook() {
    check_sync(
        "
        ConfigMap/a untriable
        Service/b plain
        Job/undo hook=SyncFail ready=1
        ",
        quick(),
        &expect![[r"
            0s Failed: one or more objects failed to apply (dry run)
        "]],
    );
}

#[test]
fn t16_hooks_for_failure_run_all_at_once() {
    check_sync(
        "
        ConfigMap/a refused
        Job/undo hook=SyncFail wave=5 ready=2
        Job/tell hook=SyncFail wave=1 ready=1
        ",
        quick(),
        &expect![[r"
            0s refuse a
            0s apply tell
            0s apply undo
            1s release tell
            2s release undo
            2s Failed: one or more objects failed to apply, reason: a was refused
        "]],
    );
}

#[test]
fn t17_a_stopped_operation_removes_running_hooks_and_leaves_the_rest() {
    let mut world = World::new("Job/migrate hook=PreSync\nConfigMap/a plain", quick());
    world.run(3);
    world.send(Event::Stopped { by: String::new() });
    expect![[r"
        0s apply migrate
        3s waiting for completion of hook /Job/migrate
        3s release migrate
        3s delete migrate
        3s Failed: Operation terminated
    "]]
    .assert_eq(&world.log);
    assert_eq!(world.operation.tasks[0].message, "Terminated");
}

#[test]
fn t23_a_removal_waits_for_a_word_and_holds_its_wave() {
    let policy = Policy {
        prune: true,
        ..quick()
    };
    let mut world = World::new(
        "ConfigMap/a plain\nConfigMap/old gone options=Prune=confirm",
        policy,
    );
    world.run(3);
    world.send(Event::Approved);
    expect![[r"
         3s waiting for pruning confirmation of /ConfigMap/old
         3s delete old
         3s apply a
         3s Succeeded: successfully synced (all tasks run)
    "]]
    .assert_eq(&world.log);
}

#[test]
fn removals_need_leave() {
    let check = |policy: Policy, line: &str, expected: &str| {
        let mut world = World::new(line, policy);
        world.run(3);
        let task = &world.operation.tasks[0];
        let word = task.outcome.map_or("", Outcome::word);
        assert_eq!(format!("{word}: {}", task.message), expected);
    };
    check(
        quick(),
        "ConfigMap/a gone",
        "PruneSkipped: ignored (requires pruning)",
    );
    let prune = Policy {
        prune: true,
        ..quick()
    };
    check(prune.clone(), "ConfigMap/a gone", "Pruned: pruned");
    check(
        prune.clone(),
        "ConfigMap/a gone options=Prune=false",
        "PruneSkipped: ignored (no prune)",
    );
    let dry = Policy {
        dry_run: true,
        ..prune.clone()
    };
    check(dry, "ConfigMap/a gone", "Pruned: pruned (dry run)");
    let none = Policy {
        prune_by_default: Pruning::Forbidden,
        ..prune
    };
    check(
        none.clone(),
        "ConfigMap/a gone",
        "PruneSkipped: ignored (no prune)",
    );
    check(
        none,
        "ConfigMap/a gone options=Prune=true",
        "Pruned: pruned",
    );
}

#[test]
fn only_what_differs_is_applied_on_request() {
    check_sync(
        "
        ConfigMap/same live same plain
        ConfigMap/changed live plain
        ",
        Policy {
            out_of_sync_only: true,
            ..quick()
        },
        &expect![[r"
            0s apply changed
            0s Succeeded: successfully synced (all tasks run)
        "]],
    );
}

#[test]
fn a_wave_begins_after_its_delay() {
    check_sync(
        "
        ConfigMap/a wave=0 plain
        ConfigMap/b wave=1 plain
        ",
        Policy::default(),
        &expect![[r"
            0s apply a
            2s apply b
            2s Succeeded: successfully synced (all tasks run)
        "]],
    );
}

#[test]
fn a_hook_that_never_ends_ends_the_sync_with_its_last_word() {
    let limits = Limits {
        operation: None,
        no_progress: None,
        hook: Some(90),
    };
    check_sync(
        "Job/migrate hook=PreSync\nConfigMap/a plain",
        Policy { limits, ..quick() },
        &expect![[r"
            0s apply migrate
            90s release migrate
            90s Failed: one or more synchronization tasks completed unsuccessfully, reason: waited for /Job/migrate, the hook did not end within 1m30s: not there yet
        "]],
    );
}

#[test]
fn an_object_that_vanishes_is_not_waited_for() {
    let mut world = World::new("Deployment/db\nDeployment/web wave=1", quick());
    world.run(2);
    world.send(Event::Observed {
        task: 0,
        seen: Seen::Gone,
    });
    assert_eq!(
        world.operation.message,
        "one or more synchronization tasks completed unsuccessfully, reason: Resource /Deployment/db is missing, it might have been deleted"
    );
}

#[test]
fn the_matrix_runs_in_exactly_this_order() {
    check_sync(
        "
        Job/pre-0    hook=PreSync ready=1
        Job/pre-m5   hook=PreSync wave=-5 ready=1
        Job/pre-m2   hook=PreSync wave=-2 ready=1
        Deployment/r5   wave=5 ready=1
        Deployment/rm10 wave=-10 ready=1
        Deployment/rm5  wave=-5 ready=1
        Deployment/r0   ready=1
        Job/post-10  hook=PostSync wave=10 ready=1
        Job/post-1   hook=PostSync wave=1 ready=1
        Job/fail     hook=SyncFail ready=1
        ",
        quick(),
        &expect![[r"
            0s apply pre-m5
            1s release pre-m5
            1s apply pre-m2
            2s release pre-m2
            2s apply pre-0
            3s release pre-0
            3s apply rm10
            4s apply rm5
            5s apply r0
            6s apply r5
            7s apply post-1
            8s release post-1
            8s apply post-10
            9s release post-10
            9s Succeeded: successfully synced (no more tasks)
        "]],
    );
}

#[test]
fn every_event_is_legal_in_every_state() {
    let input = "Job/h hook=PreSync ready=2\nDeployment/d wave=1 ready=2\nConfigMap/old gone\nJob/f hook=SyncFail ready=1";
    let mut seed = 7_u64;
    for _ in 0..500 {
        let mut world = World::new(
            input,
            Policy {
                prune: true,
                ..quick()
            },
        );
        for _ in 0..40 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let task = (seed >> 40) as usize % 6;
            let event = match (seed >> 33) % 8 {
                0 => Event::Started,
                1 => Event::Tried {
                    task,
                    refused: None,
                },
                2 => Event::Applied {
                    task,
                    result: Err("no".into()),
                },
                3 => Event::Deleted {
                    task,
                    refused: Some("no".into()),
                },
                4 => Event::Observed {
                    task,
                    seen: Seen::Gone,
                },
                5 => Event::Woke,
                6 => Event::Approved,
                _ => Event::Observed {
                    task,
                    seen: Seen::Live {
                        health: Some(Health::new(HealthStatus::Healthy, "")),
                        leaving: false,
                    },
                },
            };
            let (next, _) = step(world.operation.clone(), event, world.now);
            world.operation = next;
            world.now = world.now.plus_seconds(1);
        }
    }
}
