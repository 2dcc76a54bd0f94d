//! Archives of every kind of badness: no panic, no endless work, no file out of the chart.

use flate2::Compression;
use flate2::write::GzEncoder;
use helm::load::{CHART_SIZE_MAX, archive_files};
use helm::{Flavour, load_archive};
use proptest::prelude::*;
use std::io::Write;

// One file of a tar archive with a sound header.
fn entry(name: &str, kind: u8, size: u64, data: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn chart() -> Vec<u8> {
    let yaml = b"apiVersion: v2\nname: a\nversion: 1.0.0\n";
    let mut tar = entry("a/Chart.yaml", b'0', yaml.len() as u64, yaml);
    tar.extend(entry("a/templates/x.yaml", b'0', 8, b"kind: A\n"));
    tar.extend([0; 1024]);
    tar
}

fn check(name: &str, kind: u8, expected: &str) {
    let mut tar = entry(name, kind, 1, b"x");
    tar.extend(chart());
    let answer = match archive_files(&gzip(&tar), Flavour::V3) {
        Ok(files) => files
            .iter()
            .map(|(name, _)| name.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(answer, expected);
}

#[test]
fn paths_stay_inside_the_chart() {
    check("a/ok", b'0', "ok Chart.yaml templates/x.yaml");
    check(
        "a/../../x",
        b'0',
        "chart illegally references parent directory",
    );
    check("a//etc/x", b'0', "chart illegally contains absolute paths");
    check(
        "x",
        b'0',
        "chart illegally contains content outside the base directory: \"x\"",
    );
    check(
        "a\\..\\..\\x",
        b'0',
        "chart illegally references parent directory",
    );
    check("a/c:/x", b'0', "chart contains illegally named files");
    check("Chart.yaml/x", b'0', "chart yaml not in base directory");
}

#[test]
fn links_are_empty_files() {
    let link = entry("a/values.schema.json", b'2', 0, b"");
    let mut tar = link;
    tar.extend(chart());
    let files = archive_files(&gzip(&tar), Flavour::V3).expect("it unpacks");
    assert_eq!(
        (files[0].0.as_str(), files[0].1.len()),
        ("values.schema.json", 0)
    );
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let claimed = entry("a/big", b'0', CHART_SIZE_MAX + 1, b"");
    let error = archive_files(&gzip(&claimed), Flavour::V3).expect_err("it is cut off");
    assert_eq!(error.to_string(), "unexpected EOF");
    // A long run of zeros packs a thousandfold.
    let large = vec![0u8; 6 * 1024 * 1024];
    let tar = entry("a/big", b'0', large.len() as u64, &large);
    let error = archive_files(&gzip(&tar), Flavour::V3).expect_err("the file is too large");
    assert!(
        error
            .to_string()
            .contains("is larger than the maximum file size 5242880"),
        "{error}"
    );
}

#[test]
fn what_is_no_archive_is_named() {
    for (bytes, expected) in [
        (&b""[..], "EOF"),
        (b"text", "gzip: invalid header"),
        (&gzip(b"")[..], "no files in chart archive"),
        (&gzip(&[0; 1024])[..], "no files in chart archive"),
        (&gzip(b"short")[..], "unexpected EOF"),
        (&gzip(&[b'x'; 512])[..], "archive/tar: invalid tar header"),
    ] {
        let error = archive_files(bytes, Flavour::V3).expect_err("it is none");
        assert_eq!(error.to_string(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        let _ = load_archive(&bytes, "x.tgz", Flavour::V3);
        let _ = load_archive(&gzip(&bytes), "x.tgz", Flavour::V4);
    }

    #[test]
    fn no_damage_makes_it_panic(changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..24), cut in any::<usize>()) {
        let mut tar = chart();
        let length = tar.len();
        for (at, byte) in changes {
            tar[at % length] = byte;
        }
        let _ = load_archive(&gzip(&tar), "x.tgz", Flavour::V3);
        let packed = gzip(&tar);
        let _ = load_archive(&packed[..cut % packed.len()], "x.tgz", Flavour::V4);
    }
}
