//! Lists and watches under many writers: every change once, in order, whatever reconnects.

use crate::objects::{MAPS, json, version};
use e2e::{Folder, Sandbox, Watch};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use testkit::{Client, Request};

const WRITERS: usize = 4;
const WRITES: usize = 150;
/// A connection is dropped after this many events.
const PATIENCE: usize = 37;

/// What happened to one name: kind of event and, where the writer was told, its version.
type History = Vec<(String, Option<u64>)>;

// Every third write removes the object again.
fn write(client: &Client, writer: usize) -> BTreeMap<String, History> {
    let mut written: BTreeMap<String, History> = BTreeMap::new();
    for turn in 0..WRITES {
        let name = format!("w{writer}-{}", turn / 3 % 5);
        let path = format!("{MAPS}/{name}");
        let text = json!({"metadata": {"name": name}, "data": {"turn": turn.to_string()}});
        let (kind, request) = match turn % 3 {
            0 => ("ADDED", Request::new("POST", MAPS).json(&text)),
            1 => ("MODIFIED", Request::new("PUT", &path).json(&text)),
            _ => ("DELETED", Request::new("DELETE", &path)),
        };
        let answer = client.send(&request).unwrap();
        assert!(answer.status < 300, "{}", answer.text());
        let told = (kind != "DELETED").then(|| version(&answer.json().unwrap()));
        written
            .entry(name)
            .or_default()
            .push((kind.to_owned(), told));
    }
    written
}

// Follows until it has seen the end marker, with a new connection every few events.
fn follow(sandbox: &Sandbox, mut from: u64) -> Vec<(String, String, u64)> {
    let mut seen = Vec::new();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < until, "the end never came");
        let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={from}");
        let mut watch = Watch::open(&sandbox.access, &path).unwrap();
        for _ in 0..PATIENCE {
            let Some(event) = watch.next(Duration::from_secs(5)) else {
                break;
            };
            assert_ne!(event.kind, "ERROR", "{event:?}");
            from = event.version();
            if event.kind == "BOOKMARK" {
                continue;
            }
            let name = event.name().to_owned();
            if name == "the-end" {
                return seen;
            }
            if name.starts_with('w') {
                seen.push((event.kind, name, from));
            }
        }
    }
}

fn storm(sandbox: &Sandbox) {
    let client = sandbox.client();
    let from = version(&json(&client, MAPS));
    let (written, watched) = std::thread::scope(|scope| {
        let watchers: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| follow(sandbox, from)))
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let client = sandbox.client();
                scope.spawn(move || write(&client, writer))
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|w| w.join().unwrap()).collect();
        let end = Request::new("POST", MAPS).json(&json!({"metadata": {"name": "the-end"}}));
        assert_eq!(client.send(&end).unwrap().status, 201);
        let watched: Vec<_> = watchers.into_iter().map(|w| w.join().unwrap()).collect();
        (written, watched)
    });
    for seen in watched {
        let versions: Vec<u64> = seen.iter().map(|(_, _, v)| *v).collect();
        assert!(versions.is_sorted_by(|a, b| a < b), "out of order or twice");
        assert_eq!(seen.len(), WRITERS * WRITES);
        let mut by_name: BTreeMap<String, Vec<(String, u64)>> = BTreeMap::new();
        for (kind, name, version) in seen {
            by_name.entry(name).or_default().push((kind, version));
        }
        for (name, history) in written.iter().flatten() {
            let shown = &by_name[name];
            assert_eq!(shown.len(), history.len(), "{name}");
            for ((kind, version), (expected, told)) in shown.iter().zip(history) {
                assert_eq!(kind, expected, "{name}");
                assert!(
                    told.is_none_or(|t| t == *version),
                    "{name}: {version} instead of {told:?}"
                );
            }
        }
    }
}

#[test]
fn in_memory_every_change_is_shown_once_and_in_order() {
    storm(&Sandbox::start());
}

#[test]
fn on_disk_every_change_is_shown_once_and_in_order() {
    let folder = Folder::new();
    storm(&Sandbox::start_at(folder.path()));
}

/// A list and the watch from its version together miss nothing, at whatever moment it is taken.
#[test]
fn lists_and_watches_fit_together() {
    let sandbox = Sandbox::start();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&sandbox.client(), 0));
        let client = sandbox.client();
        while !writer.is_finished() {
            let list = json(&client, MAPS);
            let at = version(&list);
            let mut state: BTreeMap<String, u64> = list["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|o| {
                    (
                        o["metadata"]["name"].as_str().unwrap().to_owned(),
                        version(o),
                    )
                })
                .collect();
            assert!(state.values().all(|v| *v <= at));
            let path = format!("{MAPS}?watch=1&resourceVersion={at}");
            let mut watch = Watch::open(&sandbox.access, &path).unwrap();
            for _ in 0..9 {
                let Some(event) = watch.next(Duration::from_secs(2)) else {
                    break;
                };
                let name = event.name().to_owned();
                assert!(event.version() > at, "{event:?}");
                match event.kind.as_str() {
                    "ADDED" => assert_eq!(state.insert(name, event.version()), None, "{event:?}"),
                    "MODIFIED" => {
                        assert!(state.insert(name, event.version()).is_some(), "{event:?}");
                    }
                    _ => assert!(state.remove(&name).is_some(), "{event:?}"),
                }
            }
        }
    });
}
