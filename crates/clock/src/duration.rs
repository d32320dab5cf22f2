//! Durations as Go writes them: `15s`, `1m30s`, `1h0m0.5s`.

use std::time::Duration;

/// Reads a duration. There are no negative ones here: nothing that is configured can take less than no time.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is not a duration; write it as 15s, 1m30s or 500ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        seconds += number
            * match &rest[..letters] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                "ns" => 1e-9,
                _ => return Err(wrong()),
            };
        rest = &rest[letters..];
    }
    if text.is_empty() { Err(wrong()) } else { Duration::try_from_secs_f64(seconds).map_err(|_| wrong()) }
}

/// Writes a duration so that Go writes it the same: `10m0s`, `1.5s`, `500ms`.
pub fn format(duration: Duration) -> String {
    let with_fraction = |whole: u64, fraction: u32, digits: usize, unit: &str| {
        let fraction = format!("{fraction:0digits$}");
        match fraction.trim_end_matches('0') {
            "" => format!("{whole}{unit}"),
            fraction => format!("{whole}.{fraction}{unit}"),
        }
    };
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    match (seconds, nanos) {
        (0, 0) => "0s".to_owned(),
        (0, 1..1_000) => format!("{nanos}ns"),
        (0, 1_000..1_000_000) => with_fraction(u64::from(nanos / 1_000), nanos % 1_000, 3, "µs"),
        (0, _) => with_fraction(u64::from(nanos / 1_000_000), nanos % 1_000_000, 6, "ms"),
        _ => {
            let last = with_fraction(seconds % 60, nanos, 9, "s");
            match (seconds / 3600, seconds / 60 % 60) {
                (0, 0) => last,
                (0, minutes) => format!("{minutes}m{last}"),
                (hours, minutes) => format!("{hours}h{minutes}m{last}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{format, parse};
    use std::time::Duration;

    #[test]
    fn gos_durations_are_read() {
        assert_eq!(parse("15s"), Ok(Duration::from_secs(15)));
        assert_eq!(parse("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("12h0m0s"), Ok(Duration::from_secs(43_200)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for wrong in ["", "15", "s", "-1s", "1x", "1s2", "99999999999999999999999999h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for text in ["0s", "15s", "1.5s", "10m0s", "1h0m0.5s", "500ms", "1.25ms", "7µs", "3ns"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
    }
}
