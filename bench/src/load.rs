//! Creates, reads and patches ConfigMaps, some at once, and takes the time of each request.

use crate::LoadArgs;
use crate::client::{Connection, Request};
use crate::error::BenchError;
use crate::report::{Measure, Row};
use crate::sample::{Fill, Times, config_map};
use crate::target::Target;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use tokio::task::JoinSet;

/// Requests before the first that counts, so that nothing is done for the first time.
const WARM_UP: u32 = 200;

/// A namespace of our own, and what is in it.
pub(crate) struct Space {
    pub(crate) name: String,
}

impl Space {
    /// Makes a namespace that no other run uses.
    pub(crate) async fn make(connection: &mut Connection, what: &str) -> Result<Self, BenchError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-{what}-{}-{number}", std::process::id());
        let body =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        connection
            .expect(Request::post("/api/v1/namespaces", body.as_bytes()))
            .await?;
        Ok(Self { name })
    }

    /// The path of all ConfigMaps in it.
    pub(crate) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/configmaps", self.name)
    }

    /// Removes everything in it and itself.
    pub(crate) async fn clear(self, connection: &mut Connection) -> Result<(), BenchError> {
        connection.expect(Request::delete(&self.path())).await?;
        let path = format!("/api/v1/namespaces/{}", self.name);
        connection.expect(Request::delete(&path)).await?;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Create,
    Get,
    Patch,
}

impl Verb {
    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Patch => "merge patch",
        }
    }
}

/// Measures all verbs at all concurrencies.
pub(crate) async fn run(target: &Target, load: &LoadArgs) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    let mut connection = Connection::open(target).await?;
    let space = Space::make(&mut connection, "load").await?;
    create_many(target, &space, WARM_UP, Fill::Random).await?;
    for concurrency in &load.concurrency {
        for verb in [Verb::Create, Verb::Get, Verb::Patch] {
            let job = Arc::new(Job {
                verb,
                path: space.path(),
                prefix: format!("c{concurrency}"),
                fill: Fill::Random,
                requests: load.requests,
                next: AtomicU32::new(0),
            });
            let start = Instant::now();
            let mut times = job.run(target, *concurrency).await?;
            let rate = times.len() as f64 / start.elapsed().as_secs_f64();
            let what = format!("{}, {concurrency} at once", verb.word());
            rows.push(Row::new(what.clone(), Measure::PerSecond(rate)));
            for percent in [50, 99] {
                let time = Measure::Time(times.percentile(percent));
                rows.push(Row::new(format!("{what}, p{percent}"), time));
            }
        }
    }
    space.clear(&mut connection).await?;
    Ok(rows)
}

/// Creates many ConfigMaps; used where only their being there counts.
pub(crate) async fn create_many(
    target: &Target,
    space: &Space,
    objects: u32,
    fill: Fill,
) -> Result<(), BenchError> {
    let job = Job {
        verb: Verb::Create,
        path: space.path(),
        prefix: "object".into(),
        fill,
        requests: objects,
        next: AtomicU32::new(0),
    };
    Arc::new(job).run(target, 32).await.map(|_| ())
}

/// A number of requests that workers share.
struct Job {
    verb: Verb,
    path: String,
    prefix: String,
    fill: Fill,
    requests: u32,
    next: AtomicU32,
}

impl Job {
    async fn run(self: Arc<Self>, target: &Target, workers: u32) -> Result<Times, BenchError> {
        let mut set = JoinSet::new();
        for _ in 0..workers {
            let (job, target) = (Arc::clone(&self), target.clone());
            set.spawn(async move { job.work(&target).await });
        }
        let mut times = Times::default();
        while let Some(worker) = set.join_next().await {
            times.extend(worker.expect("workers do not panic")?);
        }
        Ok(times)
    }

    async fn work(&self, target: &Target) -> Result<Times, BenchError> {
        let mut connection = Connection::open(target).await?;
        let mut times = Times::default();
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n >= self.requests {
                return Ok(times);
            }
            let name = format!("{}-{n:06}", self.prefix);
            let object = format!("{}/{name}", self.path);
            let body = match self.verb {
                Verb::Create => config_map(&name, self.fill, u64::from(n)),
                Verb::Get => Vec::new(),
                Verb::Patch => format!(r#"{{"data":{{"step":"{n}"}}}}"#).into_bytes(),
            };
            let request = match self.verb {
                Verb::Create => Request::post(&self.path, &body),
                Verb::Get => Request::get(&object),
                Verb::Patch => Request::merge_patch(&object, &body),
            };
            let start = Instant::now();
            connection.expect(request).await?;
            times.add(start.elapsed());
        }
    }
}
