//! Reads one large file of manifests with our reader and with others, in one run.
//!
//! Ours gives values and the place of every field; of the others some give values, some only events. All
//! of them get the same text, and what they give is counted so that nothing is left out.

use serde_json::Value;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often each reader reads the text; the best time counts.
const ROUNDS: usize = 7;

/// A reader: its name, what it gives, and how many documents it read.
type Reader = (&'static str, &'static str, fn(&str) -> usize);

fn main() {
    let bytes = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let text = sample(bytes.unwrap_or(5_000_000));
    println!(
        "YAML: {:.1} MB of manifests, best processor time of {ROUNDS}\n",
        text.len() as f64 / 1e6
    );
    println!("| reader | gives | documents | ms | MB/s | time of ours |");
    println!("|---|---|---|---|---|---|");
    let readers: [Reader; 6] = [
        ("ours", "values and places", ours),
        (
            "ours, with a line for every field",
            "values and lines",
            ours_lines,
        ),
        ("serde_yaml_ng 0.10", "values", serde_yaml),
        ("serde-saphyr 2.0", "values", saphyr),
        ("granit-parser 2.1", "events", granit),
        ("saphyr-parser 0.3", "events", saphyr_events),
    ];
    let mut own = Duration::ZERO;
    for (name, gives, read) in readers {
        let (best, count) = measure(read, &text);
        if own.is_zero() {
            own = best;
        }
        let ms = best.as_secs_f64() * 1e3;
        let rate = text.len() as f64 / 1e3 / ms;
        let ratio = best.as_secs_f64() / own.as_secs_f64();
        println!("| {name} | {gives} | {count} | {ms:.1} | {rate:.0} | {ratio:.2}x |");
    }
}

fn measure(read: fn(&str) -> usize, text: &str) -> (Duration, usize) {
    let mut best = Duration::MAX;
    let mut count = 0;
    for _ in 0..ROUNDS {
        let (start, wall) = (on_cpu(), Instant::now());
        count = read(black_box(text));
        let spent = match (start, on_cpu()) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => wall.elapsed(),
        };
        best = best.min(spent);
    }
    (best, count)
}

// How long this thread was on a processor: on a busy machine the clock on the wall measures others.
fn on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn ours(text: &str) -> usize {
    let all = yaml::parse_manifests(text);
    let good = all.iter().filter(|one| one.is_ok()).count();
    black_box(&all);
    good
}

fn ours_lines(text: &str) -> usize {
    let all = yaml::parse_manifests(text);
    let mut good = 0;
    for one in all.iter().flatten() {
        black_box(one.lines(text));
        good += 1;
    }
    good
}

fn serde_yaml(text: &str) -> usize {
    use serde::Deserialize as _;
    let all = serde_yaml_ng::Deserializer::from_str(text);
    all.filter_map(|one| Value::deserialize(one).ok().map(black_box))
        .count()
}

fn saphyr(text: &str) -> usize {
    let all: Result<Vec<Value>, _> = serde_saphyr::from_multiple(text);
    black_box(all.map_or(0, |all| all.len()))
}

fn granit(text: &str) -> usize {
    let events = granit_parser::Parser::new_from_str(text);
    let mut documents = 0;
    for (event, span) in events.flatten() {
        documents += usize::from(matches!(event, granit_parser::Event::DocumentStart(..)));
        black_box((event, span));
    }
    documents
}

fn saphyr_events(text: &str) -> usize {
    let events = saphyr_parser::Parser::new_from_str(text);
    let mut documents = 0;
    for (event, span) in events.flatten() {
        documents += usize::from(matches!(event, saphyr_parser::Event::DocumentStart(..)));
        black_box((event, span));
    }
    documents
}

// Deployments, services, configuration with scripts, and JSON inside YAML, again and again.
fn sample(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4096);
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        let _ = write!(
            text,
            "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  namespace: team-{team}
  labels:
    app.kubernetes.io/name: web
    app.kubernetes.io/instance: \"web-{number}\"
  annotations:
    note: 'it is what it is' # a comment
spec:
  replicas: {replicas}
  selector:
    matchLabels: {{app: web, tier: front}}
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: registry.example/web:1.{number}
        args: [\"--port\", \"8080\", --verbose]
        env:
        - name: MODE
          value: production
        - name: SECRET
          valueFrom:
            secretKeyRef:
              name: web-{number}
              key: password
        ports:
        - containerPort: 8080
          protocol: TCP
        resources:
          limits: {{cpu: 500m, memory: 256Mi}}
          requests:
            cpu: 0.25
            memory: 128Mi
        readinessProbe:
          httpGet:
            path: /healthz
            port: 8080
          periodSeconds: 10
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: script-{number}
data:
  run.sh: |
    #!/bin/sh
    set -e
    for i in 1 2 3; do
      echo \"step $i of {number}\"
    done
  settings.json: '{{\"debug\": false, \"level\": {number}}}'
  description: this is a long plain text that
    goes on over several lines, as descriptions
    of custom resources do
---
apiVersion: v1
kind: Service
metadata:
  name: web-{number}
spec:
  type: ClusterIP
  ports:
  - port: 80
    targetPort: 8080
    name: http
  selector:
    app: web
---
",
            team = number % 17,
            replicas = number % 5 + 1,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_readers_see_the_same_documents() {
        let text = sample(20_000);
        let wanted: Vec<Value> = yaml::parse_manifests(&text)
            .into_iter()
            .map(|one| one.unwrap().value)
            .collect();
        assert!(wanted.len() > 20);
        assert_eq!(ours(&text), serde_yaml(&text));
        assert_eq!(ours(&text), granit(&text));
        assert_eq!(ours(&text), saphyr_events(&text));
        assert_eq!(
            wanted[0]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"],
            8080
        );
    }
}
