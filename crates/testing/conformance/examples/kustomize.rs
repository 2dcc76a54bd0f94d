//! Compares our Kustomize with a real program: `kustomize PROGRAM [--record] [--seeds FROM TO] [NAME]`.

use conformance::kustomize::{Case, compare, load, random};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = PathBuf::from(arguments.next().ok_or("which program?")?);
    let (mut record, mut seeds, mut name) = (false, None, String::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--record" => record = true,
            "--seeds" => {
                let from: u64 = arguments.next().ok_or("from?")?.parse()?;
                let to: u64 = arguments.next().ok_or("to?")?.parse()?;
                seeds = Some(from..to);
            }
            other => other.clone_into(&mut name),
        }
    }
    let cases: Vec<Case> = match seeds {
        Some(seeds) => seeds.map(random).collect(),
        None => load()?
            .into_iter()
            .filter(|case| case.name.contains(&name))
            .collect(),
    };
    let folder = std::env::temp_dir().join(format!("kustomize-{}", std::process::id()));
    let report = compare(&cases, &program, &folder, record)?;
    print!("{}", report.text());
    println!(
        "{} compared, {} refused by both, {} differ",
        report.compared,
        report.refused,
        report.wrong.len()
    );
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
