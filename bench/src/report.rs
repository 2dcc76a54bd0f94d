//! Measurements as Markdown tables.

use std::time::Duration;

/// One measured number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) value: Measure,
}

/// A number with its unit; says which direction is good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measure {
    /// Requests per second: more is better.
    PerSecond(f64),
    /// Less is better.
    Time(Duration),
    /// Bytes: less is better.
    Bytes(u64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, value: Measure) -> Self {
        Self {
            what: what.into(),
            value,
        }
    }
}

impl Measure {
    fn show(self) -> String {
        match self {
            Self::PerSecond(rate) => format!("{rate:.0}/s"),
            Self::Time(time) if time < Duration::from_millis(10) => {
                format!("{} us", time.as_micros())
            }
            Self::Time(time) => format!("{:.1} ms", time.as_secs_f64() * 1000.0),
            Self::Bytes(bytes) if bytes < 10_000 => format!("{bytes} B"),
            Self::Bytes(bytes) if bytes < 10 << 20 => format!("{:.1} KiB", bytes as f64 / 1024.0),
            Self::Bytes(bytes) => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        }
    }

    /// How many times better `other` is.
    fn gain(self, other: Self) -> Option<f64> {
        let ratio = match (self, other) {
            (Self::PerSecond(a), Self::PerSecond(b)) => b / a,
            (Self::Time(a), Self::Time(b)) => a.as_secs_f64() / b.as_secs_f64(),
            (Self::Bytes(a), Self::Bytes(b)) => a as f64 / b as f64,
            _ => return None,
        };
        ratio.is_finite().then_some(ratio)
    }
}

/// Rows of one server, or of two side by side.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    head: &'static str,
    lines: Vec<String>,
}

impl Table {
    /// What one server did.
    pub(crate) fn single(rows: Vec<Row>) -> Self {
        let lines = rows
            .iter()
            .map(|row| format!("| {} | {} |", row.what, row.value.show()));
        Self {
            head: "| measure | value |\n| --- | ---: |\n",
            lines: lines.collect(),
        }
    }

    /// What two servers did, with how many times better the sandbox is. Rows that one side lacks
    /// are left out.
    pub(crate) fn pair(real: Vec<Row>, sandbox: Vec<Row>) -> Self {
        let lines = real.iter().filter_map(|row| {
            let other = sandbox.iter().find(|other| other.what == row.what)?;
            let gain = row.value.gain(other.value);
            let gain = gain.map_or("-".to_owned(), |gain| format!("{gain:.1}x"));
            let (a, b) = (row.value.show(), other.value.show());
            Some(format!("| {} | {a} | {b} | {gain} |", row.what))
        });
        Self {
            head: "| measure | real | sandbox | sandbox is better by |\n| --- | ---: | ---: | ---: |\n",
            lines: lines.collect(),
        }
    }

    /// The table as text.
    pub(crate) fn markdown(&self) -> String {
        let lines = self.lines.iter().flat_map(|line| [line.as_str(), "\n"]);
        std::iter::once(self.head).chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn rows(rate: f64, us: u64, bytes: u64) -> Vec<Row> {
        vec![
            Row::new("create, 32 at once", Measure::PerSecond(rate)),
            Row::new("create, p99", Measure::Time(Duration::from_micros(us))),
            Row::new("memory", Measure::Bytes(bytes)),
        ]
    }

    #[test]
    fn two_servers_stand_side_by_side() {
        let table = Table::pair(rows(900.0, 12_345, 50 << 20), rows(9000.0, 1_234, 1500));
        expect![[r"
            | measure | real | sandbox | sandbox is better by |
            | --- | ---: | ---: | ---: |
            | create, 32 at once | 900/s | 9000/s | 10.0x |
            | create, p99 | 12.3 ms | 1234 us | 10.0x |
            | memory | 50.0 MiB | 1500 B | 34952.5x |
        "]]
        .assert_eq(&table.markdown());
    }

    #[test]
    fn what_one_side_lacks_is_left_out() {
        let mut real = rows(1.0, 0, 1);
        real.truncate(2);
        let table = Table::pair(real, rows(2.0, 0, 1));
        expect![[r"
            | measure | real | sandbox | sandbox is better by |
            | --- | ---: | ---: | ---: |
            | create, 32 at once | 1/s | 2/s | 2.0x |
            | create, p99 | 0 us | 0 us | - |
        "]]
        .assert_eq(&table.markdown());
    }
}
