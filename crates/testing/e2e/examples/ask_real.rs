//! Asks a real API server what it answers to the bad requests, and prints the table that
//! `data/hostile.txt` holds: `cargo run -p e2e --example ask_real > crates/testing/e2e/data/hostile.txt`.

use e2e::hostile;
use realkube::{ControlPlane, Options};

fn main() {
    let plane = ControlPlane::start(&Options::with_basic_controllers()).expect("a control plane");
    let client = plane.client().expect("its own certificate is good");
    hostile::prepare(&client);
    println!(
        "# What kube-apiserver v1.36.4 answers to each request of `e2e::hostile`: name, status, reason."
    );
    for case in hostile::cases() {
        match hostile::ask(&client, &case) {
            Ok((status, reason)) => println!("{} {status} {reason}", case.name),
            Err(why) => println!("{} 0 {why}", case.name),
        }
    }
}
