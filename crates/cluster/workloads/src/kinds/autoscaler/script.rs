//! The load of a target over time: `40%, 180% after 30s, 20% after 10m`.

use model::Timestamp;

/// Loads and when they begin, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Script {
    steps: Vec<(Timestamp, i64)>,
}

impl Script {
    /// Reads a script; `None` when it is not one.
    pub(super) fn parse(text: &str, begin: Timestamp) -> Option<Self> {
        let mut steps = Vec::new();
        for part in text.split([',', ';']) {
            let mut words = part.split_whitespace();
            let load = words.next()?.trim_end_matches('%').parse::<i64>().ok()?;
            let after = match (words.next(), words.next()) {
                (None, _) => 0,
                (Some("after" | "at"), Some(time)) => seconds(time)?,
                _ => return None,
            };
            steps.push((begin.plus_seconds(after), load.max(0)));
        }
        steps.sort_by_key(|(at, _)| *at);
        Some(Self { steps })
    }

    /// The load at a time.
    pub(super) fn load(&self, at: Timestamp) -> i64 {
        let begun = self.steps.iter().rev().find(|(start, _)| *start <= at);
        begun.map_or(0, |(_, load)| *load)
    }

    /// The most Pods that the load asked for between two times.
    pub(super) fn highest(&self, from: Timestamp, to: Timestamp, goal: i64) -> i64 {
        let within = self.steps.iter().filter(|(at, _)| *at > from && *at <= to);
        let loads = within.map(|(_, load)| *load).chain([self.load(from)]);
        loads
            .map(|load| (load + goal - 1).div_euclid(goal))
            .max()
            .unwrap_or(0)
    }
}

// `90s`, `5m`, `1h30m`.
fn seconds(text: &str) -> Option<i64> {
    let mut total = 0;
    let mut number = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' => number.push(c),
            'h' | 'm' | 's' => {
                let unit = match c {
                    'h' => 3600,
                    'm' => 60,
                    _ => 1,
                };
                total += std::mem::take(&mut number).parse::<i64>().ok()? * unit;
            }
            _ => return None,
        }
    }
    number.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_follow_the_script() {
        let begin = Timestamp::from_seconds(0);
        let script = Script::parse("40%, 180% after 30s, 20% after 10m", begin).unwrap();
        let loads: Vec<i64> = [0, 29, 30, 599, 600]
            .iter()
            .map(|s| script.load(Timestamp::from_seconds(*s)))
            .collect();
        assert_eq!(loads, [40, 40, 180, 180, 20]);
        let at = Timestamp::from_seconds(700);
        assert_eq!(script.highest(at.plus_seconds(-300), at, 50), 4);
        assert_eq!(Script::parse("soon", begin), None);
    }
}
