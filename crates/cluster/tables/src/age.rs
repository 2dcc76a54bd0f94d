//! How long something took or how old it is, in two or three figures: `45s`, `5m10s`, `3h`, `2d4h`.

use model::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// Up to which length in seconds which unit is shown, and which smaller one beside it.
const STEPS: [(i64, Unit, Option<Unit>); 9] = [
    (2 * MINUTE, ('s', 1), None),
    (10 * MINUTE, ('m', MINUTE), Some(('s', 1))),
    (3 * HOUR, ('m', MINUTE), None),
    (8 * HOUR, ('h', HOUR), Some(('m', MINUTE))),
    (2 * DAY, ('h', HOUR), None),
    (8 * DAY, ('d', DAY), Some(('h', HOUR))),
    (2 * YEAR, ('d', DAY), None),
    (8 * YEAR, ('y', YEAR), Some(('d', DAY))),
    (i64::MAX, ('y', YEAR), None),
];

type Unit = (char, i64);

/// The age at `now` of what happened at `from`.
pub fn age(from: Timestamp, now: Timestamp) -> String {
    human_duration(now.micros().saturating_sub(from.micros()))
}

/// A length of time given in microseconds. Clocks may differ by less than two seconds; what lies
/// further in the future is `<invalid>`.
pub fn human_duration(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    if seconds < -1 {
        return "<invalid>".into();
    }
    let seconds = seconds.max(0);
    let Some((_, (mark, length), rest)) = STEPS.iter().find(|(limit, ..)| seconds < *limit) else {
        return "<invalid>".into();
    };
    let mut text = format!("{}{mark}", seconds / length);
    if let Some((mark, part)) = rest {
        let left = seconds % length / part;
        if left != 0 {
            text.push_str(&format!("{left}{mark}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_as_kubectl_shows_them() {
        let cases = [
            (-2 * 1000, "<invalid>"),
            (-1999, "0s"),
            (0, "0s"),
            (999, "0s"),
            (119_999, "119s"),
            (120_000, "2m"),
            (310_000, "5m10s"),
            (599_000, "9m59s"),
            (600_000, "10m"),
            (10_799_000, "179m"),
            (10_800_000, "3h"),
            (10_860_000, "3h1m"),
            (8 * HOUR * 1000, "8h"),
            ((2 * DAY - 1) * 1000, "47h"),
            (2 * DAY * 1000, "2d"),
            ((2 * DAY + 3 * HOUR) * 1000, "2d3h"),
            ((8 * DAY + HOUR) * 1000, "8d"),
            ((2 * YEAR - DAY) * 1000, "729d"),
            (2 * YEAR * 1000, "2y"),
            ((2 * YEAR + 5 * DAY) * 1000, "2y5d"),
            ((9 * YEAR + 5 * DAY) * 1000, "9y"),
        ];
        for (millis, text) in cases {
            assert_eq!(human_duration(millis * 1000), text, "{millis} ms");
        }
    }

    #[test]
    fn ages_never_overflow() {
        let edge = Timestamp::from_micros(i64::MIN);
        assert_eq!(age(edge, Timestamp::from_micros(i64::MAX)), "292471y");
    }
}
