//! A sync as people see it: the plan, what happens, and how it ended.

use crate::Output;
use crate::commands::app::now;
use engine::plan::{Plan, Task};
use engine::sync::{Operation, Outcome, Progress, TaskState, waiting};
use model::{Timestamp, Value, json, meta};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The plan as a table.
pub(crate) fn plan_table(plan: &Plan) -> String {
    let mut rows = vec![["PHASE", "WAVE", "RESOURCE", "ACTION", "WHY"].map(str::to_owned)];
    rows.extend(plan.tasks.iter().map(|task| {
        [
            task.slot.phase.word().to_owned(),
            task.slot.wave.to_string(),
            resource(task),
            task.deed.word().to_owned(),
            task.why.clone(),
        ]
    }));
    table(&rows)
}

/// The plan as data.
pub(crate) fn plan_json(plan: &Plan) -> Value {
    let task = |task: &Task| {
        json!({
            "phase": task.slot.phase.word(), "wave": task.slot.wave,
            "group": task.key.group, "kind": task.key.kind,
            "namespace": task.key.namespace, "name": task.key.name,
            "action": task.deed.word(), "why": task.why,
        })
    };
    json!({"tasks": plan.tasks.iter().map(task).collect::<Vec<_>>()})
}

fn resource(task: &Task) -> String {
    let key = &task.key;
    let kind = if key.group.is_empty() {
        key.kind.clone()
    } else {
        format!("{}.{}", key.kind, key.group)
    };
    if key.namespace.is_empty() {
        format!("{kind}/{}", key.name)
    } else {
        format!("{kind} {}/{}", key.namespace, key.name)
    }
}

// Columns as wide as their widest cell, two spaces apart.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Follows a sync and prints each thing that changes.
pub(crate) struct Live {
    output: Output,
    dump: PathBuf,
    seen: BTreeMap<usize, (TaskState, String)>,
    said: String,
}

impl Live {
    /// Nothing was seen yet.
    pub(crate) fn new(output: Output, dump: PathBuf) -> Self {
        Self {
            output,
            dump,
            seen: BTreeMap::new(),
            said: String::new(),
        }
    }

    /// The sync is over: how, and what became of each resource.
    pub(crate) fn end(&self, operation: &Operation) {
        match self.output {
            Output::Json => println!("{}", operation_json(operation)),
            Output::Text | Output::Yaml | Output::Name => {
                print!("\n{}", summary(operation));
            }
        }
    }
}

impl live::Progress for Live {
    fn moved(&mut self, operation: &Operation) {
        if self.output == Output::Json {
            return;
        }
        for (id, progress) in operation.tasks.iter().enumerate() {
            let now = (progress.state, progress.message.clone());
            let shown = matches!(
                progress.state,
                TaskState::Running | TaskState::Succeeded | TaskState::Failed | TaskState::Clearing
            );
            if shown && self.seen.get(&id) != Some(&now) {
                println!("{}", line(progress));
                self.seen.insert(id, now);
            }
        }
        if let Some(waiting) = waiting(operation) {
            let text = format!("{} ({})", operation.message, waiting.slot);
            if text != self.said {
                println!("         {text}");
                self.said = text;
            }
        }
    }

    fn removing(&mut self, live: &Value) -> Result<(), String> {
        let kept = kept(live);
        let kind = meta::text_at(live, "/kind").to_lowercase();
        let (namespace, name) = (meta::namespace(live), meta::name(live));
        let file = self.dump.join(format!("{kind}-{namespace}-{name}.yaml"));
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(&self.dump)?;
            std::fs::write(&file, yaml::to_string(&kept))
        };
        write().map_err(|error| {
            format!("not removed: it could not be kept in `{}` first: {error}", file.display())
        })
    }

    fn now(&self) -> Timestamp {
        now()
    }
}

// An object as it can be applied again; what is secret is left out.
fn kept(live: &Value) -> Value {
    let mut object = live.clone();
    let metadata = meta::metadata_mut(&mut object);
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        metadata.remove(field);
    }
    if let Some(map) = object.as_object_mut() {
        map.remove("status");
        if map.get("kind") == Some(&json!("Secret")) {
            map.remove("data");
        }
    }
    object
}

fn line(progress: &Progress) -> String {
    let state = match progress.state {
        TaskState::Running => "…",
        TaskState::Clearing => "removing",
        TaskState::Succeeded => "ok",
        TaskState::Failed => "FAILED",
        TaskState::Pending | TaskState::Trying | TaskState::Asked => "",
    };
    let task = &progress.task;
    format!("{state:8} {:12} {}  {}", task.slot.to_string(), resource(task), progress.message)
}

fn summary(operation: &Operation) -> String {
    let titles = ["GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "HOOK", "MESSAGE"];
    let mut rows = vec![titles.map(str::to_owned)];
    rows.extend(operation.tasks.iter().map(row));
    let seconds = operation
        .finished_at
        .map_or(0, |end| end.seconds() - operation.started_at.seconds());
    format!(
        "{}\n{:20}{}\n{:20}{}s\n{:20}{}\n",
        table(&rows),
        "Phase:",
        operation.phase.word(),
        "Duration:",
        seconds,
        "Message:",
        operation.message
    )
}

fn row(progress: &Progress) -> [String; 8] {
    let key = &progress.task.key;
    let hook = if progress.is_hook() {
        progress.task.slot.phase.word()
    } else {
        ""
    };
    [
        key.group.clone(),
        key.kind.clone(),
        key.namespace.clone(),
        key.name.clone(),
        progress.outcome.map_or("", Outcome::word).to_owned(),
        progress.health.map_or("", engine::HealthStatus::word).to_owned(),
        hook.to_owned(),
        progress.message.clone(),
    ]
}

fn operation_json(operation: &Operation) -> Value {
    let resource = |progress: &Progress| {
        let key = &progress.task.key;
        json!({
            "group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name,
            "syncPhase": progress.task.slot.phase.word(), "wave": progress.task.slot.wave,
            "status": progress.outcome.map(Outcome::word),
            "health": progress.health.map(engine::HealthStatus::word),
            "message": progress.message,
        })
    };
    json!({
        "phase": operation.phase.word(),
        "message": operation.message,
        "startedAt": operation.started_at.rfc3339(),
        "finishedAt": operation.finished_at.map(Timestamp::rfc3339),
        "resources": operation.tasks.iter().map(resource).collect::<Vec<_>>(),
    })
}
