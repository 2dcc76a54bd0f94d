//! A damaged file is refused in words, and never read as something that was not written.

use model::json;
use std::fs;
use std::path::PathBuf;
use store::{Change, Disk, Key, Memory, StoreError};

/// Every object with its key, version and content, in short.
fn show(memory: &Memory) -> Vec<String> {
    let items = memory.resources().flat_map(|resource| {
        let items = memory.list(resource, None);
        items.map(move |(ns, name, object)| {
            let text = String::from_utf8_lossy(&object.json()).into_owned();
            format!("{resource} {ns}/{name} {} {text}", object.version())
        })
    });
    items.collect()
}

fn put(n: usize) -> Change {
    Change::Put {
        key: Key::new("configmaps", "default", format!("n{n}")),
        body: json!({"data": {"content": format!("{n} {}", "x y z".repeat(n))}}),
    }
}

/// Where the database's own checks fail they do so by panicking; opening turns that into an error,
/// and the messages would only clutter the output. The one test here is alone in its process.
#[test]
fn damage_is_noticed() {
    let directory = std::env::temp_dir().join(format!("store-damage-{}", std::process::id()));
    let file: PathBuf = directory.join("store.redb");
    let _ = fs::remove_dir_all(&directory);
    let (disk, mut memory) = Disk::open(&directory).expect("a new store");
    disk.append(&memory.commit((0..60).map(put).collect()));
    disk.put_meta("ca", b"a key").expect("written");
    disk.close().expect("closed");
    let sound = fs::read(&file).expect("readable");
    let before = show(&memory);
    std::panic::set_hook(Box::new(|_| {}));
    let mut faults = Vec::new();
    let mut noticed = 0;
    // Most of a new file is empty; the step is prime to the page size and touches all of a page.
    for at in (0..sound.len().min(400_000)).step_by(997) {
        let mut damaged = sound.clone();
        damaged[at..]
            .iter_mut()
            .take(16)
            .for_each(|byte| *byte ^= 0x5a);
        fs::write(&file, &damaged).expect("written");
        let opened = Disk::open(&directory)
            .and_then(|(disk, memory)| Ok((show(&memory), memory.version(), disk.get_meta("ca")?)));
        match opened {
            Ok((items, version, meta)) => {
                let same = items == before && version == memory.version();
                if !same || meta.as_deref() != Some(b"a key") {
                    faults.push(format!("damage at {at} went unnoticed"));
                }
            }
            Err(
                StoreError::Corrupt { .. } | StoreError::Foreign { .. } | StoreError::Read { .. },
            ) => {
                noticed += 1;
            }
            Err(other) => faults.push(format!("damage at {at} was taken for: {other}")),
        }
    }
    let _ = std::panic::take_hook();
    let _ = fs::remove_dir_all(&directory);
    assert_eq!(faults, Vec::<String>::new());
    assert!(noticed > 10, "only {noticed} hit anything");
}
