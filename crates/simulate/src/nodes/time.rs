//! Moments as the API writes them: in whole seconds, leases in millionths.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// As statuses carry it.
pub(super) fn text(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    whole.to_string()
}

/// As leases carry it.
pub(super) fn micro(at: Timestamp) -> String {
    format!("{}.{:06}Z", text(at).trim_end_matches('Z'), at.subsec_nanosecond() / 1000)
}

/// A moment that somebody wrote.
pub(super) fn read(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// So long after a moment.
pub(super) fn after(at: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    at.checked_add(wait).unwrap_or(Timestamp::MAX)
}

/// How long until then; nothing where it has passed.
pub(super) fn until(then: Timestamp, now: Timestamp) -> Duration {
    if then <= now { Duration::ZERO } else { then.duration_since(now).unsigned_abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_the_api_has_them() {
        let at: Timestamp = "2026-01-01T00:00:01.999123Z".parse().unwrap();
        assert_eq!(text(at), "2026-01-01T00:00:01Z");
        assert_eq!(micro(at), "2026-01-01T00:00:01.999123Z");
        assert_eq!(until(after(at, Duration::from_secs(3)), at), Duration::from_secs(3));
        assert_eq!(until(at, after(at, Duration::from_secs(3))), Duration::ZERO);
    }
}
