//! What is acknowledged stays, whatever happens to the process, the machine or the file.

use super::*;
use crate::{Change, Key};
use model::json;
use std::fs;
use std::sync::mpsc;

mod power;

/// A directory of its own for every test, gone afterwards.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let name = format!("store-{test}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("store.redb")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(name: &str, content: &str) -> Change {
    Change::Put {
        key: Key::new("configmaps", "default", name),
        body: json!({"data": {"content": content}, "metadata": {"name": name}}),
    }
}

fn delete(name: &str) -> Change {
    Change::Delete {
        key: Key::new("configmaps", "default", name),
        last: json!({"metadata": {"name": name}}),
    }
}

fn write(disk: &Disk, memory: &mut Memory, changes: Vec<Change>) -> Version {
    let committed = memory.commit(changes);
    let version = disk.append(&committed);
    disk.wait(version).expect("written");
    version
}

/// All objects as `name@version=content`.
fn show(memory: &Memory) -> String {
    let items = memory.list("configmaps", None).map(|(_, name, object)| {
        let content = object.value()["data"]["content"].to_string();
        format!("{name}@{}={content}", object.version())
    });
    items.collect::<Vec<_>>().join(" ")
}

fn error(place: &Place) -> String {
    let error = Disk::open(&place.0)
        .map(|_| ())
        .expect_err("must be refused");
    error
        .to_string()
        .replace(&place.0.display().to_string(), "DIR")
}

#[test]
fn everything_is_there_after_a_restart() {
    let place = Place::new("restart");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    write(
        &disk,
        &mut memory,
        vec![put("a", "1"), put("b", "2"), put("a", "3")],
    );
    let last = write(&disk, &mut memory, vec![put("c", "4"), delete("c")]);
    drop(disk);
    let (_disk, again) = Disk::open(&place.0).expect("an old store");
    assert_eq!(show(&again), r#"a@4="3" b@3="2""#);
    assert_eq!(again.version(), last, "the last change was a removal");
}

#[test]
fn history_begins_anew_after_a_restart() {
    let place = Place::new("history");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    let last = write(&disk, &mut memory, vec![put("a", "1"), put("a", "2")]);
    drop(disk);
    let (_disk, mut again) = Disk::open(&place.0).expect("an old store");
    assert_eq!(
        (again.compacted(), again.compacted_of("pods")),
        (last, last)
    );
    for resource in ["configmaps", "pods"] {
        assert!(again.events_after(resource, last - 1, 9).is_err());
        assert!(again.list_at(resource, None, last - 1, None, 9).is_err());
        assert!(
            again
                .events_after(resource, last, 9)
                .expect("from now on")
                .is_empty()
        );
    }
    again.commit(vec![put("a", "3")]);
    assert_eq!(
        again
            .events_after("configmaps", last, 9)
            .expect("kept")
            .len(),
        1
    );
    let page = again
        .list_at("configmaps", None, last, None, 9)
        .expect("kept");
    assert_eq!(page.items[0].object.value()["data"]["content"], "2");
}

#[test]
fn named_values_are_kept() {
    let place = Place::new("meta");
    let (disk, _) = Disk::open(&place.0).expect("a new store");
    assert_eq!(disk.get_meta("ca").expect("read"), None);
    disk.put_meta("ca", b"key").expect("written");
    disk.put_meta("ca", b"newer key").expect("written");
    disk.close().expect("closed");
    let (disk, _) = Disk::open(&place.0).expect("an old store");
    assert_eq!(
        disk.get_meta("ca").expect("read"),
        Some(b"newer key".to_vec())
    );
}

#[test]
fn listeners_hear_of_every_step() {
    let place = Place::new("listen");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    let (send, receive) = mpsc::channel();
    disk.on_progress(move |progress| {
        let _ = send.send(progress.durable);
    });
    let last = write(&disk, &mut memory, vec![put("a", "1"), put("b", "1")]);
    assert_eq!(receive.recv(), Ok(last));
    assert_eq!(disk.durable(), last);
}

#[test]
fn what_is_queued_is_written_when_the_store_closes() {
    let place = Place::new("close");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    for n in 0..500 {
        disk.append(&memory.commit(vec![put(&format!("n{n}"), "1")]));
    }
    disk.close().expect("closed");
    let (_disk, again) = Disk::open(&place.0).expect("an old store");
    assert_eq!(again.count("configmaps", None), 500);
}

#[test]
fn a_store_in_use_is_not_opened_twice() {
    let place = Place::new("locked");
    let (_disk, _) = Disk::open(&place.0).expect("a new store");
    assert_eq!(
        error(&place),
        "the store in `DIR` is in use by another process; stop that process or choose another directory"
    );
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    for content in ["", "hello", &"SQLite format 3\0".repeat(4000)] {
        let place = Place::new("foreign");
        fs::create_dir_all(&place.0).expect("made");
        fs::write(place.file(), content).expect("written");
        assert_eq!(
            error(&place),
            "`DIR/store.redb` is not a store; move it out of the way or choose another directory"
        );
        assert_eq!(
            fs::read_to_string(place.file()).expect("still there"),
            content
        );
    }
}

#[test]
fn another_database_is_not_taken_for_a_store() {
    let place = Place::new("database");
    fs::create_dir_all(&place.0).expect("made");
    drop(Database::create(place.file()).expect("made"));
    assert!(error(&place).contains("is not a store"));
}

#[test]
fn a_store_of_a_later_program_is_refused() {
    let place = Place::new("newer");
    drop(Disk::open(&place.0).expect("a new store"));
    let database = Database::open(place.file()).expect("ours");
    let transaction = database.begin_write().expect("begun");
    let later = seal::sealed("format", &9_u64.to_le_bytes());
    let mut about = transaction.open_table(file::ABOUT).expect("there");
    about.insert("format", &*later).expect("written");
    drop(about);
    transaction.commit().expect("written");
    drop(database);
    assert_eq!(
        error(&place),
        "the store `DIR/store.redb` has format 9 and this program reads up to 1; use the newer program or choose another directory"
    );
}

#[test]
fn a_body_under_a_wrong_key_is_noticed() {
    let place = Place::new("seal");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    write(&disk, &mut memory, vec![put("a", "1")]);
    let transaction = disk.database.begin_write().expect("begun");
    {
        let mut objects = transaction.open_table(file::OBJECTS).expect("there");
        let body = objects
            .remove(("configmaps", "default", "a"))
            .expect("read");
        let body = body.map(|body| body.value().to_vec()).expect("there");
        let moved = ("configmaps", "default", "b");
        objects.insert(moved, &*body).expect("written");
    }
    transaction.commit().expect("written");
    drop(disk);
    assert_eq!(
        error(&place),
        "the store `DIR/store.redb` is damaged (configmaps default/b does not fit its seal); restore it from a copy, or move it away to start empty"
    );
}

#[test]
fn a_death_during_creation_leaves_no_half_store() {
    let place = Place::new("half");
    fs::create_dir_all(&place.0).expect("made");
    fs::write(place.0.join("store.redb.new"), "half a").expect("written");
    let (_disk, memory) = Disk::open(&place.0).expect("a new store");
    assert_eq!(memory.version(), 1);
}

#[test]
fn bodies_of_an_older_dictionary_are_packed_anew() {
    let place = Place::new("dictionary");
    let (disk, mut memory) = Disk::open(&place.0).expect("a new store");
    write(&disk, &mut memory, vec![put("a", "1"), put("b", "2")]);
    let before = show(&memory);
    let older = b"{\"data\":{\"content\":";
    let transaction = disk.database.begin_write().expect("begun");
    {
        let mut objects = transaction.open_table(file::OBJECTS).expect("there");
        for (ns, name, object) in memory.list("configmaps", None) {
            let text = object.json();
            let mut packer = zstd::bulk::Compressor::with_dictionary(1, older).expect("made");
            let mut bytes = object.as_bytes()[..12].to_vec();
            bytes.extend(packer.compress(&text).expect("packed"));
            bytes.extend(seal::seal(&[b"configmaps", ns.as_bytes(), name.as_bytes()]));
            objects
                .insert(("configmaps", &**ns, &**name), bytes.as_slice())
                .expect("written");
        }
        let mut about = transaction.open_table(file::ABOUT).expect("there");
        about
            .insert("dictionary", &*seal::sealed("dictionary", older))
            .expect("written");
    }
    transaction.commit().expect("written");
    drop(disk);
    for _ in 0..2 {
        let (_disk, again) = Disk::open(&place.0).expect("an older store");
        assert_eq!(show(&again), before);
    }
}
