//! `kill -9` in the middle of writes: what was acknowledged is there afterwards, and whole.
//!
//! A few rounds are part of every run; a hundred, the acceptance, with
//! `TIPHYS_CRASH_ROUNDS=100 cargo test -p e2e crash -- --nocapture`. `TIPHYS_CRASH_SEED` repeats
//! the moments of a run.

use crate::objects::{MAPS, json, merge_request, path, version};
use e2e::{Folder, Sandbox, Watch};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::{Client, Request};

const WRITERS: usize = 6;
const NAMES: u64 = 12;

/// What one object is known to be: the text all of its fields derive from, uid and version.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    text: String,
    uid: String,
    version: u64,
}

/// What one writer knows after a crash.
#[derive(Debug, Default)]
struct Knowledge {
    /// The last acknowledged state of each name; `None` for a delete.
    acknowledged: BTreeMap<String, Option<Kept>>,
    /// The write without an answer: its name and the text it would leave, `None` for a delete.
    open: Option<(String, Option<String>)>,
    writes: u64,
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    let value = std::env::var(name).ok().and_then(|v| v.parse().ok());
    value.unwrap_or(otherwise)
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn body(name: &str, text: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"text": text}},
           "data": {"first": text, "filling": text.repeat(20), "last": text}})
}

fn read(object: &Value) -> Kept {
    let text = object["data"]["first"].as_str().unwrap().to_owned();
    assert_eq!(object["data"]["last"], text, "torn: {object}");
    assert_eq!(object["data"]["filling"], text.repeat(20), "torn: {object}");
    assert_eq!(object["metadata"]["labels"]["text"], text, "torn: {object}");
    Kept {
        text,
        uid: object["metadata"]["uid"].as_str().unwrap().to_owned(),
        version: version(object),
    }
}

// Writes until the server is gone.
fn write(client: &Client, writer: usize, mut dice: Dice, knowledge: &mut Knowledge) {
    loop {
        let name = format!("w{writer}-{}", dice.roll(NAMES));
        let there = matches!(knowledge.acknowledged.get(&name), Some(Some(_)));
        let text = format!("t{}", dice.roll(u64::MAX));
        let (request, leaves) = match (there, dice.roll(4)) {
            (false, _) => (
                Request::new("POST", MAPS).json(&body(&name, &text)),
                Some(text),
            ),
            (true, 0) => (Request::new("DELETE", &path(&name)), None),
            (true, 1) => (
                Request::new("PUT", &path(&name)).json(&body(&name, &text)),
                Some(text),
            ),
            (true, _) => (merge_request(&name, &body(&name, &text)), Some(text)),
        };
        knowledge.open = Some((name.clone(), leaves.clone()));
        let Ok(answer) = client.send_within(&request, Duration::from_secs(20)) else {
            return;
        };
        if !answer.complete {
            return;
        }
        assert!(
            answer.status < 300,
            "{} {}: {}",
            request.method,
            request.path,
            answer.text()
        );
        knowledge.open = None;
        knowledge.writes += 1;
        let kept = leaves.map(|_| read(&answer.json().unwrap()));
        knowledge.acknowledged.insert(name, kept);
    }
}

// What a watcher was shown, newest version per name.
fn observe(sandbox: &Sandbox, from: u64, stop: &AtomicBool) -> BTreeMap<String, (String, u64)> {
    let mut seen = BTreeMap::new();
    let path = format!("{MAPS}?watch=1&resourceVersion={from}");
    let Ok(mut watch) = Watch::open(&sandbox.access, &path) else {
        return seen;
    };
    while !watch.ended() {
        match watch.next(Duration::from_millis(200)) {
            Some(event) => {
                assert_ne!(event.kind, "ERROR", "{event:?}");
                seen.insert(
                    event.name().to_owned(),
                    (event.kind.clone(), event.version()),
                );
            }
            None if stop.load(Ordering::SeqCst) => break,
            None => {}
        }
    }
    seen
}

fn check(
    sandbox: &Sandbox,
    knowledge: &mut [Knowledge],
    seen: &BTreeMap<String, (String, u64)>,
) -> u64 {
    let client = sandbox.client();
    let list = json(&client, MAPS);
    let stored: BTreeMap<String, Kept> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|o| {
            o["metadata"]["name"]
                .as_str()
                .is_some_and(|n| n.starts_with('w'))
        })
        .map(|o| (o["metadata"]["name"].as_str().unwrap().to_owned(), read(o)))
        .collect();
    for one in &mut *knowledge {
        let open = one.open.take();
        let names: Vec<String> = one
            .acknowledged
            .keys()
            .cloned()
            .chain(open.iter().map(|(n, _)| n.clone()))
            .collect();
        for name in names {
            let expected = one.acknowledged.get(&name).cloned().flatten();
            let found = stored.get(&name).cloned();
            let as_opened = open.as_ref().is_some_and(|(n, leaves)| {
                *n == name && *leaves == found.as_ref().map(|f| f.text.clone())
            });
            assert!(
                found == expected || as_opened,
                "{name}: acknowledged {expected:?}, open {open:?}, found {found:?}"
            );
            one.acknowledged.insert(name, found);
        }
    }
    let known = |name: &String| {
        knowledge
            .iter()
            .any(|k| matches!(k.acknowledged.get(name), Some(Some(_))))
    };
    assert!(stored.keys().all(known), "something nobody wrote");
    let reached = version(&list);
    for (name, (kind, version)) in seen {
        assert!(
            *version <= reached,
            "{name} was shown at {version}, the store is at {reached}"
        );
        match stored.get(name) {
            Some(kept) => assert!(
                kept.version >= *version || kind == "DELETED",
                "{name} went back"
            ),
            // Shown and gone: only a delete explains that, and it must have been acknowledged or open.
            None => assert!(
                knowledge
                    .iter()
                    .any(|k| matches!(k.acknowledged.get(name), Some(None)))
            ),
        }
    }
    reached
}

#[test]
fn acknowledged_writes_survive_kill_nine() {
    let rounds = from_environment("TIPHYS_CRASH_ROUNDS", 5);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = from_environment("TIPHYS_CRASH_SEED", clock.unwrap().as_nanos() as u64 | 1);
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let folder = Folder::new();
    let mut knowledge: Vec<Knowledge> = (0..WRITERS).map(|_| Knowledge::default()).collect();
    let (mut reached, begin) = (0, Instant::now());
    let slowest = AtomicU64::new(0);
    let mut sandbox = Sandbox::start_at(folder.path());
    for round in 0..rounds {
        let moment = Duration::from_millis(20 + dice.roll(250));
        let from = version(&json(&sandbox.client(), MAPS));
        assert!(
            from >= reached,
            "round {round}: versions went back from {reached} to {from}"
        );
        let stop = AtomicBool::new(false);
        let pid = sandbox.pid();
        let seen = std::thread::scope(|scope| {
            for (writer, one) in knowledge.iter_mut().enumerate() {
                let client = sandbox.client();
                let dice = Dice(dice.roll(u64::MAX) | 1);
                scope.spawn(move || write(&client, writer, dice, one));
            }
            let watcher = scope.spawn(|| observe(&sandbox, from, &stop));
            std::thread::sleep(moment);
            let killed = std::process::Command::new("kill")
                .args(["-9", &pid.to_string()])
                .status();
            assert!(killed.is_ok_and(|s| s.success()));
            stop.store(true, Ordering::SeqCst);
            watcher.join().unwrap()
        });
        sandbox.kill();
        sandbox = Sandbox::start_at(folder.path());
        slowest.fetch_max(sandbox.ready_after.as_millis() as u64, Ordering::Relaxed);
        reached = check(&sandbox, &mut knowledge, &seen);
    }
    let writes: u64 = knowledge.iter().map(|k| k.writes).sum();
    println!(
        "{rounds} rounds, {writes} acknowledged writes, version {reached}, slowest restart {} ms, {:?}",
        slowest.into_inner(),
        begin.elapsed()
    );
    assert!(writes > rounds, "the writers wrote");
}
