//! Which plain scalars Go takes for points in time. They are read as strings all the same, but
//! printed in quotes.

/// Whether the text is a date, or a date and time, in one of the forms Go accepts.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return false;
    }
    let mut rest = Rest(&bytes[5..]);
    let year = text[..4].parse().unwrap_or(0);
    let Some((month, day)) = rest.pair(b'-') else {
        return false;
    };
    if !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) {
        return false;
    }
    match rest.next() {
        None => true,
        Some(b'T' | b't') => rest.clock() && rest.zone(),
        Some(b' ') => rest.clock() && rest.0.is_empty(),
        Some(_) => false,
    }
}

struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    // One or two digits.
    fn number(&mut self) -> Option<u32> {
        let digits = self.0.iter().take(2).take_while(|b| b.is_ascii_digit());
        let digits = digits.count();
        if digits == 0 {
            return None;
        }
        let value = self.0[..digits]
            .iter()
            .fold(0, |n, b| n * 10 + u32::from(b - b'0'));
        self.0 = &self.0[digits..];
        Some(value)
    }

    fn pair(&mut self, between: u8) -> Option<(u32, u32)> {
        let first = self.number()?;
        if self.next()? != between {
            return None;
        }
        Some((first, self.number()?))
    }

    fn clock(&mut self) -> bool {
        let Some((hour, minute)) = self.pair(b':') else {
            return false;
        };
        if self.next() != Some(b':') {
            return false;
        }
        let Some(second) = self.number() else {
            return false;
        };
        if let Some(b'.' | b',') = self.0.first() {
            let digits = self.0[1..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count();
            if digits == 0 {
                return false;
            }
            self.0 = &self.0[1 + digits..];
        }
        hour < 24 && minute < 60 && second < 60
    }

    fn zone(&mut self) -> bool {
        match self.next() {
            Some(b'Z') => self.0.is_empty(),
            Some(b'+' | b'-') => {
                self.0.len() == 5
                    && self
                        .pair(b':')
                        .is_some_and(|(hour, minute)| hour <= 24 && minute < 60)
                    && self.0.is_empty()
            }
            _ => false,
        }
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn dates_and_times_are_recognised() {
        for (text, wanted) in [
            ("2001-01-01", true),
            ("2001-1-1", true),
            ("2001-13-01", false),
            ("2001-02-29", false),
            ("2001-12-14T21:59:43Z", true),
            ("2001-12-14t21:59:43.10-05:00", true),
            ("2001-12-14 21:59:43.10", true),
            ("2001-12-14 21:59:43Z", false),
            ("2001-12-14T21:59:43", false),
            ("20010101", false),
            ("2001-01", false),
        ] {
            assert_eq!(is_timestamp(text), wanted, "{text}");
        }
    }
}
