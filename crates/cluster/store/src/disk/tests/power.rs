//! A disk that loses power: writes since the last flush may be there, torn, or not at all.

use super::{delete, put, show};
use crate::disk::Disk;
use crate::disk::file::{self, Opened};
use crate::memory::Memory;
use redb::StorageBackend;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// More changes than any number of flushes in a test allows for.
const STEPS_MAX: usize = 1000;

/// Bytes that reached the platter, and writes that may have.
#[derive(Debug, Default)]
struct Platter {
    flushed: Vec<u8>,
    current: Vec<u8>,
    since: Vec<Write>,
    flushes: usize,
    /// After so many flushes the power goes: nothing more succeeds.
    flushes_max: usize,
}

#[derive(Debug)]
enum Write {
    At(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug)]
struct Device(Arc<Mutex<Platter>>);

impl Device {
    fn new(content: Vec<u8>, flushes_max: usize) -> Self {
        Self(Arc::new(Mutex::new(Platter {
            flushed: content.clone(),
            current: content,
            flushes_max,
            ..Platter::default()
        })))
    }

    /// What a reader finds after the power is back: any part of what was not flushed.
    fn after_cut(&self, dice: &mut u64) -> Vec<u8> {
        let platter = self.0.lock().expect("one test");
        let mut content = platter.flushed.clone();
        for write in &platter.since {
            match (write, roll(dice) % 3) {
                (Write::Length(len), 0 | 1) => content.resize(*len, 0),
                (Write::At(at, bytes), 0) => apply(&mut content, *at, bytes),
                // Torn at a sector.
                (Write::At(at, bytes), 1) => {
                    let sectors = bytes.len() / 512;
                    let kept = roll(dice) as usize % (sectors + 1) * 512;
                    apply(&mut content, *at, &bytes[..kept]);
                }
                _ => {}
            }
        }
        content
    }
}

fn apply(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if content.len() < at + bytes.len() {
        content.resize(at + bytes.len(), 0);
    }
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

fn roll(dice: &mut u64) -> u64 {
    *dice = dice
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *dice >> 33
}

impl StorageBackend for Device {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().expect("one test").current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.0.lock().expect("one test");
        let at = offset as usize;
        let bytes = platter.current.get(at..at + out.len());
        out.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut platter = self.0.lock().expect("one test");
        platter.powered()?;
        platter.current.resize(len as usize, 0);
        platter.since.push(Write::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.0.lock().expect("one test");
        platter.flushes += 1;
        platter.powered()?;
        platter.flushed = platter.current.clone();
        platter.since.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.0.lock().expect("one test");
        platter.powered()?;
        apply(&mut platter.current, offset as usize, data);
        platter
            .since
            .push(Write::At(offset as usize, data.to_vec()));
        Ok(())
    }
}

impl Platter {
    fn powered(&self) -> io::Result<()> {
        if self.flushes > self.flushes_max {
            return Err(io::Error::other("no power"));
        }
        Ok(())
    }
}

fn start(device: Device, new: bool) -> (Disk, Memory) {
    let path = Path::new("device").to_owned();
    let database = file::settings().create_with_backend(device).expect("sound");
    if new {
        file::initialise(&database).expect("has power");
    }
    let memory = file::load(&path, &database).expect("every body is whole");
    let opened = Opened {
        path,
        database,
        memory,
        lock: None,
    };
    Disk::start(opened).expect("threads are to be had")
}

/// Cuts the power after some flushes, at any point of the writing; several times per store.
#[test]
fn acknowledged_changes_survive_a_power_cut() {
    let fresh = Device::new(Vec::new(), usize::MAX);
    drop(start(fresh.clone(), true));
    let fresh = fresh.0.lock().expect("one test").current.clone();
    for seed in 1..=40_u64 {
        let mut dice = seed;
        let mut content = fresh.clone();
        for _ in 0..4 {
            let device = Device::new(content, roll(&mut dice) as usize % 40);
            let Some((disk, mut memory)) = try_start(&device) else {
                // The power went while the store was opened; nothing was promised since.
                content = device.after_cut(&mut dice);
                continue;
            };
            let mut acknowledged = (show(&memory), memory.version());
            let mut states = vec![acknowledged.clone()];
            for step in 0.. {
                assert!(step < STEPS_MAX, "seed {seed}: nothing is flushed");
                let name = format!("n{}", roll(&mut dice) % 20);
                let content = format!("{seed} ").repeat(roll(&mut dice) as usize % 300);
                let change = match roll(&mut dice) % 4 {
                    0 => delete(&name),
                    _ => put(&name, &content),
                };
                let version = disk.append(&memory.commit(vec![change]));
                states.push((show(&memory), memory.version()));
                if disk.wait(version).is_err() {
                    break;
                }
                acknowledged = (show(&memory), memory.version());
            }
            drop(disk);
            content = device.after_cut(&mut dice);
            let (disk, after) = start(Device::new(content.clone(), usize::MAX), false);
            let found = (show(&after), after.version());
            assert!(
                found.1 >= acknowledged.1,
                "seed {seed}: a promise was broken"
            );
            assert!(
                states.contains(&found),
                "seed {seed}: a state that never was"
            );
            drop(disk);
        }
    }
}

fn try_start(device: &Device) -> Option<(Disk, Memory)> {
    let path = Path::new("device").to_owned();
    let database = file::settings().create_with_backend(device.clone()).ok()?;
    let memory = file::load(&path, &database).ok()?;
    let opened = Opened {
        path,
        database,
        memory,
        lock: None,
    };
    Disk::start(opened).ok()
}
