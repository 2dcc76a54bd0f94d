//! Schedules: `*/5 8-18 * * mon-fri`, `@daily`, with or without a time zone.

use model::Timestamp;

/// When something is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    any_day: bool,
    any_weekday: bool,
    /// Fixed distance in seconds, for `@every`.
    every: Option<i64>,
    offset: i64,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A schedule that names no day within this many days never comes.
const DAYS_MAX: i64 = 366 * 8;

impl Schedule {
    /// Reads a schedule. Zones are `UTC` and its like, and fixed ones such as `Etc/GMT-2`.
    pub(super) fn parse(text: &str, zone: &str) -> Result<Self, String> {
        let mut text = text.trim();
        let mut zone = zone.to_owned();
        for prefix in ["TZ=", "CRON_TZ="] {
            if let Some(rest) = text.strip_prefix(prefix) {
                let (named, rest) = rest.split_once(' ').ok_or("missing fields")?;
                zone = named.to_owned();
                text = rest.trim();
            }
        }
        let offset = offset_of(&zone)?;
        if let Some(every) = text.strip_prefix("@every ") {
            let seconds =
                duration(every).ok_or_else(|| format!("failed to parse duration {text}"))?;
            return Ok(Self {
                every: Some(seconds.max(1)),
                ..Self::fields("* * * * *", offset)?
            });
        }
        let text = match text {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        Self::fields(text, offset)
    }

    fn fields(text: &str, offset: i64) -> Result<Self, String> {
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = parts.as_slice() else {
            return Err(format!(
                "expected exactly 5 fields, found {}: {parts:?}",
                parts.len()
            ));
        };
        let any = |part: &str| part.starts_with('*') || part.starts_with('?');
        Ok(Self {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            weekdays: field(weekdays, 0, 7, &WEEKDAYS).map(|set| set | (set >> 7 & 1))?,
            any_day: any(days),
            any_weekday: any(weekdays),
            every: None,
            offset,
        })
    }

    /// The first time after a moment.
    pub(super) fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        if let Some(every) = self.every {
            return Some(Timestamp::from_seconds(moment.seconds() + every));
        }
        let local = moment.seconds() + self.offset;
        let first = local.div_euclid(60) + 1;
        let (today, from) = (first.div_euclid(1440), first.rem_euclid(1440));
        (today..today + DAYS_MAX).find_map(|day| {
            let start = if day == today { from } else { 0 };
            let minute = self
                .is_day(day)
                .then(|| self.minute_from(start))
                .flatten()?;
            Some(Timestamp::from_seconds(
                (day * 1440 + minute) * 60 - self.offset,
            ))
        })
    }

    fn minute_from(&self, start: i64) -> Option<i64> {
        (start..1440).find(|m| self.hours >> (m / 60) & 1 == 1 && self.minutes >> (m % 60) & 1 == 1)
    }

    fn is_day(&self, day: i64) -> bool {
        let date = Timestamp::from_seconds(day * 86_400).rfc3339();
        let number = |range: std::ops::Range<usize>| date[range].parse::<u64>().unwrap_or(0);
        let (month, of_month) = (number(5..7), number(8..10));
        let weekday = (day + 4).rem_euclid(7);
        let dom = self.days >> of_month & 1 == 1;
        let dow = self.weekdays >> weekday & 1 == 1;
        // With both given, either will do.
        let fits = if self.any_day || self.any_weekday {
            dom && dow
        } else {
            dom || dow
        };
        self.months >> month & 1 == 1 && fits
    }
}

fn field(text: &str, low: u32, high: u32, names: &[&str]) -> Result<u64, String> {
    let mut set = 0u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().map_err(|_| bad(step))?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (low, high.min(if high == 7 { 6 } else { high })),
            Some((a, b)) => (value(a, names, low)?, value(b, names, low)?),
            None => {
                let one = value(range, names, low)?;
                (one, if part.contains('/') { high } else { one })
            }
        };
        if first < low {
            return Err(format!(
                "beginning of range ({first}) below minimum ({low}): {part}"
            ));
        }
        if last > high {
            return Err(format!(
                "end of range ({last}) above maximum ({high}): {part}"
            ));
        }
        if first > last {
            return Err(format!(
                "beginning of range ({first}) beyond end of range ({last}): {part}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {part}"));
        }
        for n in (first..=last).step_by(step) {
            set |= 1 << n;
        }
    }
    Ok(set)
}

fn value(text: &str, names: &[&str], low: u32) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    if let Some(i) = names.iter().position(|n| *n == lower) {
        return Ok(i as u32 + low.min(1));
    }
    text.parse().map_err(|_| bad(text))
}

fn bad(text: &str) -> String {
    format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
}

// Seconds east of Greenwich.
fn offset_of(zone: &str) -> Result<i64, String> {
    match zone {
        "" | "UTC" | "Etc/UTC" | "Etc/GMT" | "GMT" | "Etc/Universal" | "Etc/Zulu" | "Zulu" => Ok(0),
        other => {
            let hours = other
                .strip_prefix("Etc/GMT")
                .and_then(|h| h.parse::<i64>().ok());
            // The sign of these zones is turned around.
            hours
                .filter(|h| (-14..=12).contains(h))
                .map(|h| -h * 3600)
                .ok_or_else(|| format!("unknown time zone {other}"))
        }
    }
}

fn duration(text: &str) -> Option<i64> {
    let mut seconds = 0;
    let mut number = String::new();
    for c in text.trim().chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let unit = match c {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        seconds += number.parse::<i64>().ok()? * unit;
        number.clear();
    }
    (number.is_empty() && seconds > 0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(text: &str, from: &str) -> String {
        let schedule = Schedule::parse(text, "").unwrap();
        let from = Timestamp::parse(from).unwrap();
        schedule
            .after(from)
            .map_or_else(|| "never".into(), Timestamp::rfc3339)
    }

    #[test]
    fn the_next_time_is_found() {
        let from = "2026-11-16T08:02:30Z"; // a Monday
        for (text, wanted) in [
            ("* * * * *", "2026-11-16T08:03:00Z"),
            ("*/5 * * * *", "2026-11-16T08:05:00Z"),
            ("0 8 * * *", "2026-11-17T08:00:00Z"),
            ("30 6 1 * *", "2026-12-01T06:30:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
            ("15 9 * * mon-fri", "2026-11-16T09:15:00Z"),
            ("0 0 * * 7", "2026-11-22T00:00:00Z"),
            ("0 0 13 * fri", "2026-11-20T00:00:00Z"),
            ("@hourly", "2026-11-16T09:00:00Z"),
            ("0 0 31 2 *", "never"),
        ] {
            assert_eq!(next(text, from), wanted, "{text}");
        }
    }

    #[test]
    fn zones_move_the_day() {
        let schedule = Schedule::parse("0 0 * * *", "Etc/GMT-2").unwrap();
        let from = Timestamp::parse("2026-11-16T08:00:00Z").unwrap();
        assert_eq!(
            schedule.after(from).unwrap().rfc3339(),
            "2026-11-16T22:00:00Z"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "* * * *",
            "61 * * * *",
            "a * * * *",
            "5-3 * * * *",
            "*/0 * * * *",
        ] {
            assert!(Schedule::parse(text, "").is_err(), "{text}");
        }
    }
}
