//! Writes to a store from several threads until it is killed, and says what was acknowledged.
//!
//! `store-storm DIRECTORY ROUND` prints one line `THREAD STEP VERSION` per acknowledged batch. The crash test
//! starts it, kills it and looks at what it left.

#[path = "../../tests/storm/plan.rs"]
mod plan;

use model::json;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use store::{Change, Disk, Key, Memory};

/// Batches per thread at most: it ends even if nobody kills it.
const STEPS_MAX: u64 = 100_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (directory, round) = (arguments.next(), arguments.next());
    let (Some(directory), Some(Ok(round))) = (directory, round.map(|text| text.parse())) else {
        eprintln!("usage: store-storm DIRECTORY ROUND");
        std::process::exit(2);
    };
    let (disk, memory) = match Disk::open(&PathBuf::from(directory)) {
        Ok(opened) => opened,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let store = Arc::new((Mutex::new(memory), disk));
    std::thread::scope(|scope| {
        for thread in 0..plan::THREADS {
            let store = Arc::clone(&store);
            scope.spawn(move || storm(&store.0, &store.1, round, thread));
        }
    });
}

fn storm(memory: &Mutex<Memory>, disk: &Disk, round: u64, thread: u64) {
    for step in 0..STEPS_MAX {
        let changes = plan::batch(round, thread, step);
        let changes = changes.into_iter().map(|(name, content)| {
            let key = Key::new("configmaps", plan::namespace(round, thread), name);
            match content {
                Some(content) => Change::Put {
                    key,
                    body: json!({"data": {"content": content}}),
                },
                None => Change::Delete {
                    key,
                    last: json!({}),
                },
            }
        });
        let version = {
            let mut memory = memory
                .lock()
                .expect("no thread panics while it holds the lock");
            let committed = memory.commit(changes.collect());
            disk.append(&committed)
        };
        if let Err(error) = disk.wait(version) {
            eprintln!("{error}");
            return;
        }
        // One write per line, so that a kill leaves whole lines and perhaps half of the last.
        let line = format!("{thread} {step} {version}\n");
        if std::io::stdout().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}
