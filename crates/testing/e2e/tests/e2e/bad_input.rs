//! Bad requests are refused as a real API server refuses them, and hurt nobody.

use e2e::{Sandbox, hostile};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What a real API server answers; written by the example `ask_real`.
const REAL: &str = include_str!("../../data/hostile.txt");
/// Where we answer differently, and why.
const DIFFERENT: &str = include_str!("../../data/hostile_different.txt");
/// Most memory the program may ever take while it is asked all this.
const PEAK_MAX_KIB: u64 = 700 << 10;
/// What may stay behind afterwards: what was stored, and what the allocator keeps.
const GROWTH_MAX_KIB: u64 = 300 << 10;
/// How long one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 15 } else { 3 });

fn table(text: &str) -> BTreeMap<String, (String, String)> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            let mut word = || words.next().unwrap_or_default();
            (word(), (word(), word()))
        })
        .collect()
}

#[test]
fn bad_requests_are_refused_as_by_a_real_server() {
    let (real, different) = (table(REAL), table(DIFFERENT));
    let mut sandbox = Sandbox::start();
    let client = sandbox.client();
    hostile::prepare(&client);
    let cases = hostile::cases();
    let mut faults = String::new();
    let before = sandbox.resident_kib();
    let mut slowest = (Duration::ZERO, String::new());
    for case in &cases {
        let name = &case.name;
        hostile::restore(&client);
        let begin = Instant::now();
        let answer = hostile::ask(&client, case);
        let took = begin.elapsed();
        let found = match answer {
            Ok((status, reason)) => (status.to_string(), reason),
            Err(_) => ("0".to_owned(), "none".to_owned()),
        };
        match different.get(name).or_else(|| real.get(name)) {
            Some(expected) if *expected == found => {}
            expected => writeln!(faults, "{name}: {found:?}, expected {expected:?}").unwrap(),
        }
        if different.get(name) == real.get(name) {
            writeln!(
                faults,
                "{name}: no longer different, remove it from the list"
            )
            .unwrap();
        }
        if took > ANSWER_MAX {
            writeln!(faults, "{name}: took {took:?}").unwrap();
        }
        slowest = slowest.max((took, name.clone()));
        let ready = client.get("/readyz").map(|r| r.status);
        assert!(
            matches!(ready, Ok(200)),
            "after {name}: {ready:?}: {}",
            sandbox.words()
        );
        let peak = sandbox.resident_peak_kib();
        assert!(peak < PEAK_MAX_KIB, "after {name}: {peak} KiB");
        sandbox.assert_sound();
    }
    for name in different.keys().chain(real.keys()) {
        assert!(cases.iter().any(|c| c.name == *name), "no case `{name}`");
    }
    let (after, peak) = (sandbox.resident_kib(), sandbox.resident_peak_kib());
    println!(
        "{} cases, slowest {slowest:?}, memory {before} -> {after} KiB, peak {peak} KiB",
        cases.len()
    );
    assert!(faults.is_empty(), "\n{faults}");
    assert!(after < before + GROWTH_MAX_KIB, "{before} -> {after} KiB");
}

#[test]
fn bad_requests_from_many_sides_at_once_hurt_nobody() {
    let mut sandbox = Sandbox::start();
    hostile::prepare(&sandbox.client());
    let cases = hostile::cases();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (client, cases) = (sandbox.client(), &cases);
            scope.spawn(move || {
                for case in cases.iter().skip(worker).step_by(4) {
                    // The answers are another test's matter: here only the server's health counts.
                    let _ = hostile::ask(&client, case);
                }
            });
        }
        let client = sandbox.client();
        let mut worst = Duration::ZERO;
        for _ in 0..40 {
            let begin = Instant::now();
            let ready = client.get("/readyz").map(|r| r.status);
            assert!(matches!(ready, Ok(200)), "{ready:?}");
            worst = worst.max(begin.elapsed());
            std::thread::sleep(Duration::from_millis(25));
        }
        println!("slowest readyz under fire: {worst:?}");
    });
    sandbox.assert_sound();
    let peak = sandbox.resident_peak_kib();
    println!("peak {peak} KiB");
    assert!(peak < 2 * PEAK_MAX_KIB, "{peak} KiB");
}

#[test]
fn the_same_bad_requests_again_take_no_more_memory() {
    let sandbox = Sandbox::start();
    let client = sandbox.client();
    hostile::prepare(&client);
    let mut cases = hostile::cases();
    cases.truncate(60);
    let mut round = || {
        for case in &cases {
            let _ = hostile::ask(&client, case);
        }
        sandbox.resident_kib()
    };
    let (first, second, third) = (round(), round(), round());
    println!("memory after each round: {first}, {second}, {third} KiB");
    assert!(third < first + (60 << 10), "{first}, {second}, {third} KiB");
}

#[test]
fn a_flood_of_big_bodies_does_not_stay_in_memory() {
    let sandbox = Sandbox::start();
    let before = sandbox.resident_kib();
    let filling = "x".repeat(2 << 20);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (client, filling) = (sandbox.client(), &filling);
            scope.spawn(move || {
                for _ in 0..15 {
                    let body = serde_json::json!({"metadata": {"name": "Not Good"}, "data": {"a": filling}});
                    let request = testkit::Request::new("POST", crate::objects::MAPS).json(&body);
                    assert_eq!(client.send(&request).unwrap().status, 422);
                }
            });
        }
    });
    let (after, peak) = (sandbox.resident_kib(), sandbox.resident_peak_kib());
    println!("memory {before} -> {after} KiB, peak {peak} KiB");
    assert!(after < before + GROWTH_MAX_KIB, "{before} -> {after} KiB");
}
