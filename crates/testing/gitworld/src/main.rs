//! `git-scenarios`: our Git against real servers on this machine, failure by failure.
//!
//! Prints one line per scenario and ends with an error when one fails. A program that is missing
//! is a failure too: nothing is passed over in silence.

mod scenarios;

use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    if let (Ok(url), Ok(cache)) = (
        std::env::var("GITWORLD_FETCH"),
        std::env::var("GITWORLD_CACHE"),
    ) {
        return scenarios::fetch(&url, cache);
    }
    let only: Vec<String> = std::env::args().skip(1).collect();
    let mut failed = 0;
    let mut count = 0;
    for (name, scenario) in scenarios::all() {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        count += 1;
        let began = Instant::now();
        match scenario() {
            Ok(()) => println!("   ok    {name} ({} ms)", began.elapsed().as_millis()),
            Err(why) => {
                failed += 1;
                println!(
                    "   WRONG {name}\n         {}",
                    why.replace('\n', "\n         ")
                );
            }
        }
    }
    println!(
        "   {} of {count} Git scenarios are as they should be",
        count - failed
    );
    if failed > 0 || count == 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
