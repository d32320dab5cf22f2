//! The schedule of a cron job, read as upstream's library reads it.

use crate::field::go_quoted;

/// A column: least and greatest number, and names for them beginning with the least.
struct Column {
    least: u64,
    greatest: u64,
    names: &'static [&'static str],
}

const COLUMNS: [Column; 5] = [
    Column { least: 0, greatest: 59, names: &[] },
    Column { least: 0, greatest: 23, names: &[] },
    Column { least: 1, greatest: 31, names: &[] },
    Column {
        least: 1,
        greatest: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Column { least: 0, greatest: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// What is wrong with a schedule.
pub fn complaint(schedule: &str) -> Option<String> {
    check(schedule).err()
}

fn check(schedule: &str) -> Result<(), String> {
    if schedule.is_empty() {
        return Err("empty spec string".into());
    }
    let mut schedule = schedule;
    if let Some(rest) = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        let Some((zone, rest)) = rest.split_once(' ') else {
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]".into());
        };
        if !super::cron::is_time_zone(zone) {
            return Err(format!("provided bad location {zone}: unknown time zone {zone}"));
        }
        schedule = rest.trim();
    }
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != COLUMNS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, column) in fields.iter().zip(&COLUMNS) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            range(part, column)?;
        }
    }
    Ok(())
}

fn range(part: &str, column: &Column) -> Result<(), String> {
    let steps: Vec<&str> = part.split('/').collect();
    let ends: Vec<&str> = steps.first().copied().unwrap_or_default().split('-').collect();
    let first = ends.first().copied().unwrap_or_default();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (column.least, column.greatest)
    } else {
        let start = number_or_name(first, column)?;
        match ends.as_slice() {
            [_] => (start, start),
            [_, last] => (start, number_or_name(last, column)?),
            _ => return Err(format!("too many hyphens: {part}")),
        }
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = column.greatest;
            }
            step
        }
        _ => return Err(format!("too many slashes: {part}")),
    };
    if start < column.least {
        return Err(format!("beginning of range ({start}) below minimum ({}): {part}", column.least));
    }
    if end > column.greatest {
        return Err(format!("end of range ({end}) above maximum ({}): {part}", column.greatest));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {part}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {part}"));
    }
    Ok(())
}

fn number_or_name(text: &str, column: &Column) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match (0..).zip(column.names).find(|(_, name)| **name == lower) {
        Some((i, _)) => Ok(column.least + i),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let failed =
        |why: &str| Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {}: {why}", go_quoted(text)));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return failed("invalid syntax");
    }
    match text.strip_prefix('+').unwrap_or(text).parse::<i64>() {
        Err(_) => failed("value out of range"),
        Ok(negative) if negative < 0 => Err(format!("negative number ({negative}) not allowed: {text}")),
        Ok(number) => Ok(number.unsigned_abs()),
    }
}

fn descriptor(text: &str) -> Result<(), String> {
    if matches!(text, "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly") {
        return Ok(());
    }
    match text.strip_prefix("@every ") {
        Some(length) => duration(length).map_err(|why| format!("failed to parse duration {text}: {why}")),
        None => Err(format!("unrecognized descriptor: {text}")),
    }
}

/// A duration such as `1h30m`.
fn duration(text: &str) -> Result<(), String> {
    let invalid = || Err(format!("time: invalid duration {}", go_quoted(text)));
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return invalid();
    }
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let whole = rest.len() - after.len();
        let (after, fraction) = match after.strip_prefix('.') {
            Some(behind) => {
                let left = behind.trim_start_matches(|c: char| c.is_ascii_digit());
                (left, behind.len() - left.len())
            }
            None => (after, 0),
        };
        if whole == 0 && fraction == 0 {
            return invalid();
        }
        if rest.get(..whole).is_some_and(|digits| !digits.is_empty() && digits.parse::<i64>().is_err()) {
            return invalid();
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        match unit {
            "" => return Err(format!("time: missing unit in duration {}", go_quoted(text))),
            "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h" => {}
            _ => return Err(format!("time: unknown unit {} in duration {}", go_quoted(unit), go_quoted(text))),
        }
        rest = next;
    }
    Ok(())
}
