//! Random objects of every kind, against what Go made of them.
//!
//! The cases are printed by `tools/gotypes`: `go run . decode-cases | zstd -19`, and the same for
//! protobuf.

use gotypes::{decode, decode_json, decode_protobuf, store, to_json};
use model::{GroupVersion, GroupVersionKind, Value};

const DECODE: &[u8] = include_bytes!("data/decode.jsonl.zst");
const PROTOBUF: &[u8] = include_bytes!("data/protobuf.jsonl.zst");

fn cases(packed: &[u8]) -> Vec<Value> {
    let text = zstd::bulk::decompress(packed, 64 << 20).expect("cases are zstd");
    let text = String::from_utf8(text).expect("cases are text");
    text.lines()
        .map(|line| json::parse(line.as_bytes()).expect("cases are JSON").value)
        .collect()
}

fn kind_of(body: &str) -> GroupVersionKind {
    let value = json::parse(body.as_bytes()).expect("cases are JSON").value;
    let version = GroupVersion::parse(value["apiVersion"].as_str().unwrap_or_default());
    let version = version.expect("cases name their version");
    let kind = value["kind"].as_str().unwrap_or_default();
    GroupVersionKind::new(version.group, version.version, kind)
}

#[derive(Default)]
struct Report {
    faults: Vec<String>,
}

impl Report {
    fn check(&mut self, body: &str, what: &str, got: &str, wanted: &str) {
        if got != wanted {
            self.faults.push(format!(
                "{what}\n  in     {body}\n  got    {got}\n  wanted {wanted}\n"
            ));
        }
    }

    fn finish(self, count: usize) {
        let shown: String = self.faults.iter().take(12).cloned().collect();
        assert!(
            self.faults.is_empty(),
            "{} of {count} differ\n{shown}",
            self.faults.len()
        );
    }
}

#[test]
fn bodies_decode_as_in_go() {
    let all = cases(DECODE);
    assert!(all.len() > 1000);
    let mut report = Report::default();
    for case in &all {
        let body = case["in"].as_str().unwrap();
        let out = &case["out"];
        let gvk = kind_of(body);
        let wanted_error = out["error"].as_str().unwrap_or_default();
        match decode_json(&gvk, body.as_bytes()) {
            Err(error) => report.check(body, "error", &error.to_string(), wanted_error),
            Ok(_) if !wanted_error.is_empty() => report.check(body, "error", "", wanted_error),
            Ok(decoded) => {
                let strict: Vec<&str> = out["strict"]
                    .as_array()
                    .map(|list| list.iter().filter_map(Value::as_str).collect())
                    .unwrap_or_default();
                report.check(
                    body,
                    "strict",
                    &decoded.strict.join("\n"),
                    &strict.join("\n"),
                );
                let (got, wanted) = (decoded.value.to_string(), out["value"].to_string());
                report.check(body, "value", &got, &wanted);
                let mut again = decoded.value.clone();
                let strict = decode(&gvk, &mut again).unwrap();
                assert!(strict.is_empty(), "{strict:?}");
                report.check(body, "again", &again.to_string(), &wanted);
                let text = to_json(&gvk, &again, json::write::Layout::Compact);
                let back = json::parse(&text).unwrap();
                assert_eq!(back.value, again);
            }
        }
    }
    report.finish(all.len());
}

#[test]
fn protobuf_bodies_mean_what_go_says() {
    let all = cases(PROTOBUF);
    let mut report = Report::default();
    let mut checked = 0;
    for case in &all {
        let body = case["in"].as_str().unwrap();
        let Some(text) = case["out"]["text"].as_str() else {
            continue;
        };
        let (gvk, mut value) = decode_protobuf(&bytes_of(text)).unwrap();
        decode(&gvk, &mut value).unwrap();
        let wanted = case["out"]["value"].to_string();
        report.check(body, "value", &value.to_string(), &wanted);
        checked += 1;
    }
    assert!(checked > 500);
    report.finish(checked);
}

#[test]
fn storing_is_a_round_trip_through_protobuf() {
    let mut report = Report::default();
    let mut checked = 0;
    for case in cases(PROTOBUF) {
        let body = case["in"].as_str().unwrap();
        let gvk = kind_of(body);
        let as_json = gvk.group.starts_with("apiextensions") || gvk.group.starts_with("apireg");
        // Objects inside these name their own kind, which protobuf has no place for; the server
        // fills it in again where it matters.
        let holds_objects =
            gvk.kind.ends_with("List") || matches!(gvk.kind.as_str(), "StatefulSet" | "Eviction");
        if as_json || holds_objects || case["out"]["text"].is_null() {
            continue;
        }
        let mut value = decode_json(&gvk, body.as_bytes()).unwrap().value;
        store(&gvk, &mut value);
        let wanted = case["out"]["value"].to_string();
        report.check(body, "stored", &value.to_string(), &wanted);
        checked += 1;
    }
    assert!(checked > 300);
    report.finish(checked);
}

#[test]
fn broken_protobuf_is_refused_without_panic() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for case in cases(PROTOBUF) {
        let Some(text) = case["out"]["text"].as_str() else {
            continue;
        };
        let whole = bytes_of(text);
        for _ in 0..20 {
            let mut broken = whole.clone();
            for _ in 0..=next() % 4 {
                let at = (next() as usize) % broken.len();
                broken[at] = next() as u8;
            }
            broken.truncate(1 + (next() as usize) % broken.len());
            if let Ok((gvk, mut value)) = decode_protobuf(&broken) {
                let _ = decode(&gvk, &mut value);
            }
        }
    }
}

fn bytes_of(base64: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in base64.bytes().filter(|b| *b != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
