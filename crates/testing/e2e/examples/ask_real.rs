//! Asks a real API server what it answers to the bad requests, and prints the table that
//! `data/hostile.txt` holds; given names of cases, prints the whole answers to those: `cargo run -p e2e --example ask_real > crates/testing/e2e/data/hostile.txt`.

use e2e::hostile;
use realkube::{ControlPlane, Options};

fn main() {
    let plane = ControlPlane::start(&Options::with_basic_controllers()).expect("a control plane");
    let client = plane.client().expect("its own certificate is good");
    hostile::prepare(&client);
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "# What kube-apiserver v1.36.4 answers to each request of `e2e::hostile`: name, status, reason."
    );
    for case in hostile::cases() {
        hostile::restore(&client);
        if wanted.is_empty() {
            match hostile::ask(&client, &case) {
                Ok((status, reason)) => println!("{} {status} {reason}", case.name),
                Err(_) => println!("{} 0 none", case.name),
            }
        } else if wanted.contains(&case.name) {
            match hostile::answer(&client, &case) {
                Ok(answer) => println!("{} {} {}", case.name, answer.status, answer.text()),
                Err(why) => println!("{} {why}", case.name),
            }
        }
    }
}
