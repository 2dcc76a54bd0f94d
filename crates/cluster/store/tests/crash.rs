//! Kills a process that writes, at any moment: what it had acknowledged is there, whole.

#[path = "storm/plan.rs"]
mod plan;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use store::{Disk, Memory, Version};

/// How many times the process is killed, unless `STORE_CRASH_ROUNDS` says otherwise.
const ROUNDS: u64 = 20;

/// The states that were found, by namespace; they must stay as they are in later rounds.
type Found = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn acknowledged_changes_survive_a_kill() {
    let rounds = std::env::var("STORE_CRASH_ROUNDS").ok();
    let rounds = rounds.map_or(ROUNDS, |text| text.parse().expect("a number"));
    let directory = std::env::temp_dir().join(format!("store-crash-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    let mut found = Found::new();
    let mut acknowledged = 0;
    for round in 0..rounds {
        acknowledged += check_round(&directory, round, &mut found);
    }
    let _ = std::fs::remove_dir_all(&directory);
    assert!(
        acknowledged > rounds * 10,
        "only {acknowledged} batches in {rounds} rounds"
    );
}

/// One storm, one kill, one look; gives the number of batches that were acknowledged.
fn check_round(directory: &Path, round: u64, found: &mut Found) -> u64 {
    let lines = storm(directory, round);
    // Batches of each thread that were acknowledged, and the newest version of all.
    let mut steps = [0; plan::THREADS as usize];
    let mut newest = 0;
    for line in &lines {
        let numbers: Vec<u64> = line
            .split(' ')
            .map(|n| n.parse().expect("a number"))
            .collect();
        let (thread, step, version) = (numbers[0] as usize, numbers[1], numbers[2]);
        assert_eq!(step, steps[thread], "threads count their batches");
        steps[thread] += 1;
        newest = newest.max(version);
    }
    let (disk, memory) = Disk::open(directory).expect("a kill does not break a store");
    assert!(
        memory.version() >= newest,
        "round {round}: version went back"
    );
    for (namespace, state) in &*found {
        assert_eq!(
            &objects(&memory, namespace),
            state,
            "round {round}: an older round changed"
        );
    }
    for (thread, steps) in steps.into_iter().enumerate() {
        let thread = thread as u64;
        let namespace = plan::namespace(round, thread);
        let state = objects(&memory, &namespace);
        // The batch after the last acknowledged one may have been written or not, but not half.
        let allowed = [steps, steps + 1].map(|steps| plan::state(round, thread, steps));
        assert!(
            allowed.contains(&state),
            "round {round}, thread {thread}: neither {steps} batches nor one more"
        );
        found.insert(namespace, state);
    }
    disk.close().expect("the disk has space");
    lines.len() as u64
}

/// Lets the process write, kills it, and gives the whole lines it printed.
fn storm(directory: &Path, round: u64) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_store-storm"))
        .arg(directory)
        .arg(round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the storm starts");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut text = String::new();
    // A kill after an unforeseeable number of batches; sometimes before the first.
    let wanted = std::collections::hash_map::RandomState::new();
    let wanted = std::hash::BuildHasher::hash_one(&wanted, round) % 120;
    for _ in 0..wanted {
        if output.read_line(&mut text).expect("readable") == 0 {
            break;
        }
    }
    child.kill().expect("it is ours");
    output.read_to_string(&mut text).expect("readable");
    child.wait().expect("it is ours");
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    text[..whole].lines().map(str::to_owned).collect()
}

/// The objects of a namespace, name to content.
fn objects(memory: &Memory, namespace: &str) -> BTreeMap<String, String> {
    let items = memory
        .list("configmaps", Some(namespace))
        .map(|(_, name, object)| {
            let value = object.value();
            let version: Version = model::meta::resource_version(&value)
                .parse()
                .expect("a number");
            assert_eq!(version, object.version());
            let content = value["data"]["content"]
                .as_str()
                .expect("written by the storm");
            (name.to_string(), content.to_owned())
        });
    items.collect()
}
