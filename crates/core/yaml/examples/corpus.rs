//! Prints texts that are manifests with something changed, one JSON string a line, always the same ones for
//! a seed: `cargo run -p yaml --example corpus -- 2000 7`.

#[path = "../src/fast/corpus.rs"]
mod corpus;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let count = arguments.next().and_then(Result::ok).unwrap_or(1000);
    let seed = arguments.next().and_then(Result::ok).unwrap_or(1);
    let mut numbers = corpus::Numbers::new(seed);
    for seed in corpus::SEEDS {
        println!("{}", model::json!(seed));
    }
    for _ in 0..count {
        println!("{}", model::json!(corpus::mutate(&mut numbers)));
    }
}
