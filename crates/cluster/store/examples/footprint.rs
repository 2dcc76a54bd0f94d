//! Prints what 100,000 ConfigMaps of 1 KiB cost: resident bytes per object and time per call.
//!
//! `cargo run --release -p store --example footprint -- text|random [DIRECTORY]`: with a directory the
//! store is also written there, and read back at the end. One sort of data a run, since memory
//! that was freed before would not count.

use model::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use store::{Change, Disk, Key, Limits, Memory};

const OBJECTS: u64 = 100_000;
const CHUNK: u64 = 50;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let fill = match arguments.next().as_deref() {
        Some("text") => text as fn(u64) -> String,
        Some("random") => random,
        _ => {
            eprintln!("say `text` or `random`");
            std::process::exit(2);
        }
    };
    measure(fill, arguments.next().as_deref().map(Path::new));
}

fn measure(fill: fn(u64) -> String, place: Option<&Path>) {
    let (disk, mut memory) = match place {
        Some(place) => {
            let (disk, memory) = Disk::open(place).expect("the directory is ours");
            (Some(disk), memory)
        }
        None => (None, Memory::new()),
    };
    // The first call sets up compression; it must not count as an object.
    memory.commit(vec![put(OBJECTS, fill)]);
    let before = resident();
    let mut chunks = Vec::new();
    for chunk in 0..OBJECTS / CHUNK {
        let changes: Vec<Change> = (0..CHUNK).map(|n| put(chunk * CHUNK + n, fill)).collect();
        let start = Instant::now();
        for change in changes {
            let committed = memory.commit(vec![change]);
            if let Some(disk) = &disk {
                disk.append(&committed);
            }
            memory.compact(Limits::default());
        }
        chunks.push(start.elapsed());
    }
    if let Some(disk) = disk {
        disk.wait(memory.version()).expect("the disk has space");
        disk.close().expect("the disk has space");
    }
    let per_object = resident().saturating_sub(before) / OBJECTS;
    let history = memory.history_bytes() as u64 / OBJECTS;
    println!("{per_object} bytes resident per object, {history} of them for history");
    show("commit", chunks);
    read(&memory);
    if let Some(place) = place {
        let start = Instant::now();
        let (_disk, again) = Disk::open(place).expect("it was closed");
        println!(
            "  open   {:?} for {}",
            start.elapsed(),
            again.count("configmaps", None)
        );
    }
}

/// A busy machine only ever makes things slower, so the best and the median say most.
fn show(what: &str, mut chunks: Vec<Duration>) {
    chunks.sort_unstable();
    let [best, median] = [chunks[0], chunks[chunks.len() / 2]].map(|time| time / CHUNK as u32);
    println!("  {what}: best {best:?}, median {median:?}");
}

fn read(memory: &Memory) {
    let mut texts = Vec::new();
    let mut trees = Vec::new();
    let mut finds = Vec::new();
    for chunk in 0..OBJECTS / CHUNK {
        let names: Vec<String> = (0..CHUNK).map(|n| name(chunk * CHUNK + n)).collect();
        let start = Instant::now();
        let objects = names
            .iter()
            .map(|name| memory.get_parts("configmaps", "default", name));
        let objects: Vec<_> = objects.map(|object| object.expect("made above")).collect();
        finds.push(start.elapsed());
        let start = Instant::now();
        for object in &objects {
            black_box(object.json());
        }
        texts.push(start.elapsed());
        let start = Instant::now();
        for object in &objects {
            black_box(object.value());
        }
        trees.push(start.elapsed());
    }
    show("get", finds);
    show("json", texts);
    show("value", trees);
    let packed: usize = memory
        .list("configmaps", None)
        .map(|(_, _, o)| o.size())
        .sum();
    let plain: usize = memory
        .list("configmaps", None)
        .map(|(_, _, o)| o.json_len())
        .sum();
    let ratio = packed as f64 / plain as f64;
    println!(
        "  packed {} of {} bytes ({ratio:.2})",
        packed as u64 / OBJECTS,
        plain as u64 / OBJECTS
    );
}

fn put(n: u64, fill: fn(u64) -> String) -> Change {
    Change::Put {
        key: Key::new("configmaps", "default", name(n)),
        body: object(n, fill(n)),
    }
}

fn name(n: u64) -> String {
    format!("object-{n:06}")
}

fn object(n: u64, payload: String) -> Value {
    let mut dice = Dice(n ^ 0x5eed);
    let (a, b) = (dice.roll(), dice.roll());
    json!({
        "apiVersion": "v1",
        "data": {"payload": payload},
        "kind": "ConfigMap",
        "metadata": {
            "creationTimestamp": "2026-11-20T08:15:42Z",
            "managedFields": [{
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {".": {}, "f:payload": {}}},
                "manager": "footprint",
                "operation": "Update",
                "time": "2026-11-20T08:15:42Z",
            }],
            "name": name(n),
            "namespace": "default",
            "uid": format!("{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}", a as u32, a >> 48, (a >> 32) & 0xfff, b >> 52, b & 0xffff_ffff_ffff),
        },
    })
}

/// 1 KiB of the sort of text that configuration is.
fn text(n: u64) -> String {
    let mut dice = Dice(n);
    let mut out = String::new();
    while out.len() < 1024 {
        let word = [
            "timeout",
            "endpoint",
            "replicas",
            "log.level",
            "cache.size",
            "feature",
        ];
        let key = word[(dice.roll() % 6) as usize];
        out.push_str(&format!(
            "{key}.{}={}\n",
            dice.roll() % 100,
            dice.roll() % 10_000
        ));
    }
    out.truncate(1024);
    out
}

/// 1 KiB that cannot be compressed below three quarters.
fn random(n: u64) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut dice = Dice(n);
    (0..1024)
        .map(|_| char::from(LETTERS[(dice.roll() >> 58) as usize]))
        .collect()
}

/// Numbers that look random and are the same in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
