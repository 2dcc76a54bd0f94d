//! Many watchers on one namespace: how long after a write was acknowledged do they hear of it?

use crate::WatchArgs;
use crate::client::{Connection, Request};
use crate::error::BenchError;
use crate::load::Space;
use crate::report::{Measure, Row};
use crate::sample::{Fill, Times, config_map};
use crate::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;

/// Handshakes at once.
const CONNECTING_MAX: usize = 32;
/// How long a write may take to reach everyone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the watchers tell the writer.
struct Shared {
    /// Deliveries so far, over all watchers.
    heard: AtomicU64,
    watchers: u64,
    all_heard: Notify,
    connecting: Semaphore,
}

/// Starts the watchers, writes, and measures.
pub(crate) async fn run(target: &Target, args: &WatchArgs) -> Result<Vec<Row>, BenchError> {
    let mut connection = Connection::open(target).await?;
    let space = Space::make(&mut connection, "watch").await?;
    let list = connection.expect(Request::get(&space.path())).await?;
    let list: serde_json::Value =
        serde_json::from_slice(&list).map_err(|_| BenchError::config("the list is not JSON"))?;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap_or("0");
    let path = format!("{}?watch=1&resourceVersion={version}", space.path());
    let shared = Arc::new(Shared {
        heard: AtomicU64::new(0),
        watchers: u64::from(args.watchers),
        all_heard: Notify::new(),
        connecting: Semaphore::new(CONNECTING_MAX),
    });
    let mut set = JoinSet::new();
    let (ready, _) = watch::channel(0_u32);
    for _ in 0..args.watchers {
        let (target, path, shared) = (target.clone(), path.clone(), Arc::clone(&shared));
        let (ready, events) = (ready.clone(), args.events);
        set.spawn(async move { follow(&target, &path, &shared, &ready, events).await });
    }
    let mut connected = ready.subscribe();
    let all = args.watchers;
    tokio::select! {
        _ = connected.wait_for(|count| *count == all) => {}
        Some(ended) = set.join_next() => {
            ended.expect("watchers do not panic")?;
            return Err(BenchError::config("a watch ended before the first write"));
        }
    }
    let acknowledged = write(&mut connection, &space, &shared, args.events).await?;
    let mut each = Times::default();
    let mut last = vec![Duration::ZERO; acknowledged.len()];
    while let Some(watcher) = set.join_next().await {
        let heard = watcher.expect("watchers do not panic")?;
        for (event, (heard, acknowledged)) in heard.iter().zip(&acknowledged).enumerate() {
            // A watcher may hear of a write before the writer does.
            let late = heard.saturating_duration_since(*acknowledged);
            each.add(late);
            last[event] = last[event].max(late);
        }
    }
    space.clear(&mut connection).await?;
    let mut slowest = Times::default();
    for late in last {
        slowest.add(late);
    }
    let mut rows = Vec::new();
    for (who, times) in [("each", &mut each), ("the last", &mut slowest)] {
        for percent in [50, 99] {
            let what = format!("{} watchers, {who} hears, p{percent}", args.watchers);
            rows.push(Row::new(what, Measure::Time(times.percentile(percent))));
        }
    }
    Ok(rows)
}

/// Writes one object after the other, each when everyone has heard of the one before.
async fn write(
    connection: &mut Connection,
    space: &Space,
    shared: &Shared,
    events: u32,
) -> Result<Vec<Instant>, BenchError> {
    let path = space.path();
    let mut acknowledged = Vec::new();
    for event in 0..events {
        let object = config_map(&format!("event-{event:06}"), Fill::Random, u64::from(event));
        connection.expect(Request::post(&path, &object)).await?;
        acknowledged.push(Instant::now());
        let wanted = shared.watchers * u64::from(event + 1);
        let everyone = async {
            while shared.heard.load(Ordering::Acquire) < wanted {
                shared.all_heard.notified().await;
            }
        };
        if tokio::time::timeout(PATIENCE, everyone).await.is_err() {
            return Err(BenchError::Unheard {
                missing: wanted - shared.heard.load(Ordering::Acquire),
                watchers: shared.watchers,
                event,
            });
        }
    }
    Ok(acknowledged)
}

/// One watcher: gives the moment at which it heard of each write, in order.
async fn follow(
    target: &Target,
    path: &str,
    shared: &Shared,
    ready: &watch::Sender<u32>,
    events: u32,
) -> Result<Vec<Instant>, BenchError> {
    let mut connection = {
        let _permit = shared.connecting.acquire().await;
        let mut connection = Connection::open(target).await?;
        connection.watch(path).await?;
        connection
    };
    ready.send_modify(|count| *count += 1);
    let mut heard = Vec::with_capacity(events as usize);
    let mut text = Vec::new();
    while heard.len() < events as usize {
        if !connection.part(&mut text).await? {
            return Err(BenchError::config("a watch ended too early"));
        }
        let now = Instant::now();
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line = text.drain(..=end).collect::<Vec<u8>>();
            if is_the_clusters_own(&line) {
                continue;
            }
            check(&line, heard.len())?;
            heard.push(now);
            let total = shared.heard.fetch_add(1, Ordering::AcqRel) + 1;
            if total.is_multiple_of(shared.watchers) {
                shared.all_heard.notify_one();
            }
        }
    }
    Ok(heard)
}

// A cluster with controllers puts its certificate into every new namespace.
fn is_the_clusters_own(line: &[u8]) -> bool {
    String::from_utf8_lossy(line).contains("\"kube-root-ca.crt\"")
}

/// Every watcher must see every write, once and in order.
fn check(line: &[u8], event: usize) -> Result<(), BenchError> {
    let text = String::from_utf8_lossy(line);
    let name = format!("\"event-{event:06}\"");
    if text.contains(&name) && text.contains("\"ADDED\"") {
        return Ok(());
    }
    let start: String = text.chars().take(200).collect();
    Err(BenchError::config(format!(
        "instead of write {event} a watcher saw {start}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_expected_in_order() {
        let line = br#"{"type":"ADDED","object":{"metadata":{"name":"event-000001"}}}"#;
        assert!(check(line, 1).is_ok());
        assert!(check(line, 0).is_err());
        assert!(check(br#"{"type":"BOOKMARK"}"#, 0).is_err());
    }
}
