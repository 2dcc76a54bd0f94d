//! The objects that are written, and the times that are taken.

use serde_json::json;
use std::time::Duration;

/// A ConfigMap with 1 KiB of data.
pub(crate) fn config_map(name: &str, fill: Fill, seed: u64) -> Vec<u8> {
    let payload = match fill {
        Fill::Random => random(seed),
        Fill::Text => text(seed),
    };
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"payload": payload},
    })
    .to_string()
    .into_bytes()
}

/// What the data looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    /// Letters that do not compress below three quarters.
    Random,
    /// Text as configuration is.
    Text,
}

const SIZE: usize = 1024;

fn random(seed: u64) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut dice = seed;
    (0..SIZE)
        .map(|_| char::from(LETTERS[(roll(&mut dice) % 64) as usize]))
        .collect()
}

fn text(seed: u64) -> String {
    const WORDS: [&str; 8] = [
        "timeout", "endpoint", "replicas", "level", "cache", "feature", "region", "queue",
    ];
    let mut dice = seed;
    let mut out = String::new();
    while out.len() < SIZE {
        let word = WORDS[(roll(&mut dice) % 8) as usize];
        out.push_str(&format!(
            "{word}.{}={}\n",
            roll(&mut dice) % 100,
            roll(&mut dice) % 10_000
        ));
    }
    out.truncate(SIZE);
    out
}

fn roll(dice: &mut u64) -> u64 {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *dice;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 8
}

/// Times of many requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time within which `percent` of the requests were done.
    pub(crate) fn percentile(&mut self, percent: usize) -> Duration {
        self.0.sort_unstable();
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_taken() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), Duration::ZERO);
        for n in (1..=200).rev() {
            times.add(Duration::from_micros(n));
        }
        assert_eq!(times.percentile(50), Duration::from_micros(100));
        assert_eq!(times.percentile(99), Duration::from_micros(198));
        assert_eq!(times.percentile(100), Duration::from_micros(200));
    }

    #[test]
    fn objects_hold_one_kibibyte() {
        for fill in [Fill::Random, Fill::Text] {
            let object = config_map("a", fill, 7);
            let object: serde_json::Value = serde_json::from_slice(&object).expect("JSON");
            assert_eq!(object["data"]["payload"].as_str().map(str::len), Some(1024));
        }
    }
}
