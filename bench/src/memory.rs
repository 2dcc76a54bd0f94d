//! Fills a server and reads what its processes grew by.

use crate::MemoryArgs;
use crate::client::Connection;
use crate::error::BenchError;
use crate::load::{Space, create_many};
use crate::report::{Measure, Row};
use crate::sample::Fill;
use crate::target::Target;
use std::time::Instant;

/// Creates the objects and measures the resident memory before and after.
pub(crate) async fn run(
    target: &Target,
    memory: &MemoryArgs,
    pids: &[u32],
) -> Result<Vec<Row>, BenchError> {
    let mut connection = Connection::open(target).await?;
    let space = Space::make(&mut connection, "memory").await?;
    let before = resident(pids)?;
    let start = Instant::now();
    let fill = if memory.text {
        Fill::Text
    } else {
        Fill::Random
    };
    create_many(target, &space, memory.objects, fill).await?;
    let rate = f64::from(memory.objects) / start.elapsed().as_secs_f64();
    let after = resident(pids)?;
    // A fresh connection: the old one may have been closed for being idle.
    let mut connection = Connection::open(target).await?;
    space.clear(&mut connection).await?;
    let grown = after.saturating_sub(before) / u64::from(memory.objects);
    Ok(vec![
        Row::new("memory before", Measure::Bytes(before)),
        Row::new(
            format!("memory with {} objects", memory.objects),
            Measure::Bytes(after),
        ),
        Row::new("memory per object", Measure::Bytes(grown)),
        Row::new("creation of all of them", Measure::PerSecond(rate)),
    ])
}

/// The resident bytes of all processes together.
fn resident(pids: &[u32]) -> Result<u64, BenchError> {
    let mut sum = 0;
    for pid in pids {
        let path = format!("/proc/{pid}/status");
        let text = std::fs::read_to_string(&path).map_err(|source| BenchError::File {
            path: path.into(),
            source,
        })?;
        sum += resident_in(&text).ok_or_else(|| {
            BenchError::config(format!(
                "process {pid} does not say how much memory it uses"
            ))
        })?;
    }
    Ok(sum)
}

fn resident_in(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_read_from_the_status() {
        assert_eq!(
            resident_in("Name:\tx\nVmRSS:\t   12 kB\nThreads: 1\n"),
            Some(12 * 1024)
        );
        assert_eq!(resident_in("Name:\tkworker\n"), None);
    }
}
