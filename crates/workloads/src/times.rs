//! Times as objects carry them: whole seconds in UTC.

use std::time::Duration;

use jiff::Timestamp;

pub use crate::pods::moment as written;

/// A time as it was written; `None` where it cannot be read.
pub fn read(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// A time with an offset in seconds, at the edge of the calendar where it would be beyond.
pub fn plus(time: Timestamp, seconds: i64) -> Timestamp {
    let edge = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    time.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(edge)
}

/// How long it is from `now` until `then`; `None` where that is over.
pub fn until(then: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = then.duration_since(now);
    if left.is_positive() { Some(left.unsigned_abs()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_seconds_and_waits_are_not() {
        let now: Timestamp = "2026-01-01T00:00:00.6Z".parse().unwrap();
        assert_eq!(written(now), "2026-01-01T00:00:00Z");
        let then = plus(read("2026-01-01T00:00:00Z").unwrap(), 2);
        assert_eq!(until(then, now), Some(Duration::from_millis(1400)));
        assert_eq!(until(now, then), None);
        assert_eq!(read("yesterday"), None);
    }
}
