//! Rules of the store, as text in and text out.

use super::*;
use model::json;

/// Plays `+ns/name=content` and `-ns/name` as one commit and shows what it did.
fn commit(memory: &mut Memory, changes: &str) -> String {
    let changes = changes.split_whitespace().map(|word| {
        let (sign, rest) = word.split_at(1);
        let (place, content) = rest.split_once('=').unwrap_or((rest, ""));
        let (namespace, name) = place.split_once('/').expect("ns/name");
        let key = Key::new("configmaps", namespace, name);
        let body = json!({"data": content});
        match sign {
            "+" => Change::Put { key, body },
            _ => Change::Delete { key, last: body },
        }
    });
    let done = memory.commit(changes.collect());
    let events: Vec<String> = done.events.iter().map(show).collect();
    format!("{:?} {}", done.versions, events.join(" "))
}

fn show(event: &Event) -> String {
    let data = |object: &Stored| object.value()["data"].to_string();
    let previous = event.previous.as_ref().map_or("-".to_owned(), data);
    format!(
        "{:?}@{}:{}/{}={previous}>{}",
        event.kind,
        event.version,
        event.key.namespace,
        event.key.name,
        data(&event.object)
    )
}

fn names(memory: &Memory) -> String {
    let names = memory
        .list("configmaps", None)
        .map(|(ns, name, _)| format!("{ns}/{name}"));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_change_has_its_version_and_event() {
    let mut memory = Memory::new();
    assert_eq!(
        commit(&mut memory, "+a/x=1 +a/x=2 -a/x"),
        r#"[2, 3, 4] Added@2:a/x=->"1" Modified@3:a/x="1">"2" Deleted@4:a/x="2">"""#
    );
    assert_eq!(commit(&mut memory, "+a/x=3"), r#"[5] Added@5:a/x=->"3""#);
}

#[test]
fn removing_nothing_changes_nothing() {
    let mut memory = Memory::new();
    assert_eq!(
        commit(&mut memory, "-a/x +a/y=1 -a/x"),
        r#"[1, 2, 2] Added@2:a/y=->"1""#
    );
    assert_eq!(memory.version(), 2);
}

#[test]
fn lists_are_in_the_order_of_etcd_keys() {
    let mut memory = Memory::new();
    commit(
        &mut memory,
        "+b/x= +a/y= +a/x.z= +a/x-z= +a/x= +a-b/x= +a.b/x=",
    );
    assert_eq!(names(&memory), "a-b/x a.b/x a/x a/x-z a/x.z a/y b/x");
}

#[test]
fn a_page_may_start_after_what_is_gone() {
    let mut memory = Memory::new();
    commit(&mut memory, "+a/x= +b/x= +c/x=");
    let page = |after| {
        let page = memory
            .list_at("configmaps", None, 4, Some(after), 1)
            .expect("kept");
        (page.items[0].namespace.to_string(), page.more)
    };
    assert_eq!(page(("a", "y")), ("b".to_owned(), true));
    assert_eq!(page(("aa", "x")), ("b".to_owned(), true));
    assert_eq!(page(("b", "x")), ("c".to_owned(), false));
}

#[test]
fn one_busy_resource_does_not_end_the_watches_of_another() {
    let mut memory = Memory::new();
    commit(&mut memory, "+a/x=1");
    for n in 0..50 {
        let key = Key::new("leases", "a", "lease");
        memory.commit(vec![Change::Put {
            key,
            body: json!({"data": n}),
        }]);
    }
    memory.compact(Limits {
        events_max: 10,
        ..Limits::default()
    });
    assert_eq!(
        memory.events_after("configmaps", 1, 9).map(|e| e.len()),
        Ok(1)
    );
    let refused = memory.events_after("leases", 1, 9).map(|e| e.len());
    assert_eq!(
        refused,
        Err(Compacted {
            asked: 1,
            oldest: 42
        })
    );
}

#[test]
fn removed_objects_leave_nothing_behind() {
    let mut memory = Memory::new();
    for n in 0..100 {
        commit(&mut memory, &format!("+ns{n}/x= -ns{n}/x"));
    }
    memory.compact(Limits {
        events_max: 0,
        bytes_max: 0,
    });
    assert!(memory.resources["configmaps"].spaces(None).is_empty());
    assert_eq!((memory.history_bytes(), memory.resources().count()), (0, 0));
}
