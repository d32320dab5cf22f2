//! How long ago something was, in the few figures that Kubernetes prints.

use jiff::Timestamp;

use super::view::View;

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// The time at a place, if one stands there that is not Go's zero time.
pub(super) fn time(view: View<'_>) -> Option<Timestamp> {
    parse(view.text())
}

/// The time that a text names, if it is one that is not Go's zero time.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    text.parse::<Timestamp>().ok().filter(|t| t.as_second() != GO_ZERO)
}

/// 0001-01-01T00:00:00Z: what Go has for a time that was never set.
const GO_ZERO: i64 = -62_135_596_800;

/// How long ago, or that it is not known.
pub(super) fn since(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), |t| between(t, now))
}

/// The age of the object.
pub(super) fn age(object: View<'_>, now: Timestamp) -> String {
    since(time(object.at("metadata.creationTimestamp")), now)
}

/// The time from one point to another.
pub(super) fn between(from: Timestamp, to: Timestamp) -> String {
    // Go's durations end after 292 years; what is longer counts as that.
    let nanoseconds = to.as_nanosecond() - from.as_nanosecond();
    human(i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX }))
}

/// A whole number of seconds.
pub(super) fn seconds(count: i64) -> String {
    human(count.saturating_mul(SECOND))
}

/// A duration in nanoseconds with two or three significant figures. Clocks may differ by less than two seconds.
fn human(d: i64) -> String {
    let pair = |large: i64, unit: &str, small: i64, subunit: &str| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{subunit}") }
    };
    let (seconds, minutes, hours) = (d / SECOND, d / MINUTE, d / HOUR);
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 2 * 60 => format!("{seconds}s"),
        () if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        () if minutes < 3 * 60 => format!("{minutes}m"),
        () if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 8 * 24 => pair(days, "d", hours % 24, "h"),
        () if hours < 2 * 365 * 24 => format!("{days}d"),
        () if hours < 8 * 365 * 24 => pair(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_upstream_prints_them() {
        let table = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_199, "7d23h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
            (315_360_000, "10y"),
            (i64::MAX, "292y"),
        ];
        for (count, expected) in table {
            assert_eq!(seconds(count), expected, "{count}s");
        }
    }

    #[test]
    fn gos_zero_time_is_no_time() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(since(parse("0001-01-01T00:00:00Z"), now), "<unknown>");
        assert_eq!(since(parse(""), now), "<unknown>");
        assert_eq!(since(parse("0900-01-01T00:00:00Z"), now), "292y");
    }
}
