//! What a watch shows over HTTP.

use crate::objects::{MAPS, create, delete, json, merge, named, settle, version};
use e2e::{Event, Sandbox, Watch};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::{Client, Request};

const SOON: Duration = Duration::from_secs(10);

// A cluster that is quiet: whatever is shown is the test's doing.
fn settled() -> Sandbox {
    let sandbox = Sandbox::start();
    settle(&sandbox.client());
    sandbox
}

fn open(sandbox: &Sandbox, query: &str) -> Watch {
    let watch = Watch::open(&sandbox.access, &format!("{MAPS}?watch=1&{query}")).unwrap();
    assert_eq!(watch.status, 200);
    watch
}

fn next(watch: &mut Watch) -> Event {
    watch.next(SOON).expect("an event")
}

fn here(client: &Client) -> u64 {
    version(&json(client, MAPS))
}

fn shown(event: &Event) -> String {
    format!("{} {}", event.kind, event.name())
}

#[test]
fn a_selector_turns_changes_into_coming_and_going() {
    let sandbox = settled();
    let client = sandbox.client();
    let mut watch = open(
        &sandbox,
        &format!("labelSelector=app%3Dx&resourceVersion={}", here(&client)),
    );
    named(&client, "a");
    let joined = merge(&client, "a", &json!({"metadata": {"labels": {"app": "x"}}}));
    let changed = merge(&client, "a", &json!({"data": {"k": "1"}}));
    let left = merge(&client, "a", &json!({"metadata": {"labels": {"app": "y"}}}));
    merge(&client, "a", &json!({"data": {"k": "2"}}));
    let back = merge(&client, "a", &json!({"metadata": {"labels": {"app": "x"}}}));
    delete(&client, "a");
    let expected = [
        ("ADDED", Some(&joined)),
        ("MODIFIED", Some(&changed)),
        ("DELETED", None),
        ("ADDED", Some(&back)),
        ("DELETED", None),
    ];
    let mut versions = Vec::new();
    for (kind, object) in expected {
        let event = next(&mut watch);
        assert_eq!(event.kind, kind, "{event:?}");
        if let Some(object) = object {
            assert_eq!(event.object, *object);
        }
        versions.push(event.version());
    }
    // Leaving shows the version of the change that made it leave, with the old contents.
    assert_eq!(versions[2], version(&left));
    assert!(versions.is_sorted(), "{versions:?}");
    assert!(watch.next(Duration::from_millis(100)).is_none());
}

#[test]
fn a_watch_of_one_name_shows_that_name() {
    let sandbox = settled();
    let client = sandbox.client();
    let mut watch = open(
        &sandbox,
        &format!(
            "fieldSelector=metadata.name%3Dmine&resourceVersion={}",
            here(&client)
        ),
    );
    for name in ["other", "mine", "third"] {
        named(&client, name);
    }
    delete(&client, "other");
    delete(&client, "mine");
    assert_eq!(shown(&next(&mut watch)), "ADDED mine");
    assert_eq!(shown(&next(&mut watch)), "DELETED mine");
    assert!(watch.next(Duration::from_millis(100)).is_none());
}

#[test]
fn a_watch_without_a_version_starts_with_what_is_there() {
    let sandbox = settled();
    let client = sandbox.client();
    named(&client, "a");
    named(&client, "b");
    for query in ["", "resourceVersion=0&"] {
        let mut watch = open(
            &sandbox,
            &format!("{query}fieldSelector=metadata.name%21%3Dkube-root-ca.crt"),
        );
        assert_eq!(shown(&next(&mut watch)), "ADDED a");
        assert_eq!(shown(&next(&mut watch)), "ADDED b");
        let name = format!("later{}", query.len());
        named(&client, &name);
        assert_eq!(shown(&next(&mut watch)), format!("ADDED {name}"));
        delete(&client, &name);
        assert_eq!(shown(&next(&mut watch)), format!("DELETED {name}"));
    }
}

#[test]
fn a_streaming_list_ends_with_a_marked_bookmark() {
    let sandbox = settled();
    let client = sandbox.client();
    create(
        &client,
        &json!({"metadata": {"name": "in", "labels": {"app": "x"}}}),
    );
    named(&client, "out");
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = open(&sandbox, &format!("{query}&labelSelector=app%3Dx"));
    assert_eq!(shown(&next(&mut watch)), "ADDED in");
    let mark = next(&mut watch);
    assert_eq!(mark.kind, "BOOKMARK");
    assert_eq!(
        mark.object["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(
        (
            mark.object["kind"].as_str(),
            mark.object["apiVersion"].as_str()
        ),
        (Some("ConfigMap"), Some("v1"))
    );
    assert!(mark.version() >= here(&client));
    create(
        &client,
        &json!({"metadata": {"name": "late", "labels": {"app": "x"}}}),
    );
    assert_eq!(shown(&next(&mut watch)), "ADDED late");

    // A version that is not there yet.
    let answer = client
        .get(&format!("{MAPS}?watch=1&{query}&resourceVersion=999999"))
        .unwrap();
    assert_eq!(answer.status, 504, "{}", answer.text());
}

#[test]
fn a_watch_ends_when_its_time_is_over() {
    let sandbox = settled();
    let begin = Instant::now();
    let mut watch = open(
        &sandbox,
        &format!(
            "timeoutSeconds=1&resourceVersion={}",
            here(&sandbox.client())
        ),
    );
    assert!(watch.next(SOON).is_none());
    let took = begin.elapsed();
    assert!(watch.ended());
    assert!((900..4_000).contains(&took.as_millis()), "{took:?}");
}

#[test]
fn an_endless_time_is_no_trouble() {
    let mut sandbox = settled();
    for seconds in ["9223372036854775807", "-5", "0", "4611686018427387904"] {
        let mut watch = open(
            &sandbox,
            &format!(
                "timeoutSeconds={seconds}&allowWatchBookmarks=true&resourceVersion={}",
                here(&sandbox.client())
            ),
        );
        let name = format!("n{}", seconds.trim_start_matches('-'));
        named(&sandbox.client(), &name);
        assert_eq!(
            shown(&next(&mut watch)),
            format!("ADDED {name}"),
            "timeoutSeconds={seconds}"
        );
        sandbox.assert_sound();
    }
}

#[test]
fn bookmarks_come_to_those_who_ask() {
    let sandbox = settled();
    let client = sandbox.client();
    let from = here(&client);
    let mut with = open(
        &sandbox,
        &format!(
            "allowWatchBookmarks=true&timeoutSeconds=4&fieldSelector=metadata.name%3Dnobody&resourceVersion={from}"
        ),
    );
    let mut without = open(
        &sandbox,
        &format!("timeoutSeconds=4&fieldSelector=metadata.name%3Dnobody&resourceVersion={from}"),
    );
    let last = version(&named(&client, "unseen"));
    let mark = next(&mut with);
    assert_eq!(mark.kind, "BOOKMARK", "{mark:?}");
    assert!(
        mark.version() >= last,
        "a bookmark tells of versions the selector hides: {mark:?}"
    );
    let fields: Vec<&String> = mark.object.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["apiVersion", "kind", "metadata"]);
    // The bookmark is a place to go on from.
    named(&client, "after");
    let mut again = open(&sandbox, &format!("resourceVersion={}", mark.version()));
    assert_eq!(shown(&next(&mut again)), "ADDED after");
    assert!(without.next(SOON).is_none());
}

#[test]
fn a_forgotten_version_is_gone() {
    let sandbox = settled();
    let client = sandbox.client();
    named(&client, "small");
    let page = json(&client, &format!("{MAPS}?limit=1"));
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    let old = here(&client);
    let mut quiet = Watch::open(
        &sandbox.access,
        &format!("/api/v1/namespaces/default/secrets?watch=1&resourceVersion={old}"),
    )
    .unwrap();
    // History is bounded in bytes: large changes push the old ones out.
    create(&client, &json!({"metadata": {"name": "large"}}));
    for round in 0..70 {
        merge(&client, "large", &json!({"data": {"a": noise(round)}}));
    }
    let mut watch = open(&sandbox, &format!("resourceVersion={old}"));
    let status = next(&mut watch);
    assert_eq!(status.kind, "ERROR", "{} {}", status.kind, status.name());
    let status = status.object;
    assert!(watch.next(SOON).is_none());
    assert!(watch.ended(), "nothing follows an error");
    assert_eq!(
        (status["code"].as_u64(), status["reason"].as_str()),
        (Some(410), Some("Expired")),
        "{status}"
    );
    assert_eq!(status["kind"], "Status");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!("too old resource version: {old} (")),
        "{message}"
    );

    // A list that was begun then says how to go on.
    let gone = client
        .get(&format!("{MAPS}?limit=1&continue={token}"))
        .unwrap();
    assert_eq!(gone.status, 410, "{}", gone.text());
    let gone: Value = gone.json().unwrap();
    assert_eq!(gone["reason"], "Expired");
    let next_token = gone["metadata"]["continue"].as_str().unwrap();
    let rest = json(&client, &format!("{MAPS}?limit=1&continue={next_token}"));
    assert_eq!(
        rest["items"].as_array().unwrap().len(),
        1,
        "{}",
        rest["metadata"]
    );

    let peak = sandbox.resident_peak_kib();
    println!("peak {peak} KiB");
    assert!(
        peak < 400 << 10,
        "history takes memory without end: {peak} KiB"
    );

    // Another resource was quiet all the time, and its watch is none the worse.
    let secret = Request::new("POST", "/api/v1/namespaces/default/secrets")
        .json(&json!({"metadata": {"name": "s"}}));
    assert_eq!(client.send(&secret).unwrap().status, 201);
    assert_eq!(shown(&next(&mut quiet)), "ADDED s");
}

#[test]
fn a_version_of_the_future_is_waited_for() {
    let sandbox = settled();
    let client = sandbox.client();
    let mut watch = open(&sandbox, &format!("resourceVersion={}", here(&client) + 2));
    for name in ["a", "b", "c"] {
        named(&client, name);
    }
    // Nothing up to that version is shown; what comes after is.
    let event = next(&mut watch);
    assert_eq!(shown(&event), "ADDED c");
}

// Text that does not compress: what is kept for history is kept compressed.
fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state >> 32) as u8 % 90)
    };
    (0..900_000).map(|_| letter()).collect()
}
