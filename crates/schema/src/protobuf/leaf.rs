//! Values that are one thing in JSON and a small message in protobuf: times, durations, numbers or text.

use jiff::Timestamp;
use serde_json::Value;

use super::DecodeError;
use super::wire::{Reader, put_bytes, put_number};

/// Go's zero time, the first second of the year 1, which JSON shows as null and protobuf as an empty message.
const ZERO_TIME: i64 = -62_135_596_800;

/// Writes the fields of a time; nothing for the zero time. `micro`: to the microsecond, else to the second.
pub(super) fn put_time(out: &mut Vec<u8>, value: &Value, micro: bool) {
    let Some(time) = value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return };
    let (mut seconds, mut nanos) = (time.as_second(), i64::from(time.subsec_nanosecond()));
    if nanos < 0 {
        (seconds, nanos) = (seconds - 1, nanos + 1_000_000_000);
    }
    if (seconds, nanos) == (ZERO_TIME, 0) {
        return;
    }
    put_number(out, 1, seconds);
    put_number(out, 2, if micro { nanos / 1000 * 1000 } else { 0 });
}

/// A time from its message.
pub(super) fn time(bytes: &[u8], micro: bool) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0i64, 0i32);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.next()? {
        match number {
            1 => seconds = wire.varint("Seconds")?.cast_signed(),
            2 => nanos = wire.varint("Nanos")? as i32,
            _ => {}
        }
    }
    let nanos = if micro { nanos / 1000 * 1000 } else { 0 };
    if (seconds, nanos) == (ZERO_TIME, 0) {
        return Ok(Value::Null);
    }
    let out_of_range = || DecodeError(format!("time {seconds} is out of range"));
    let time = Timestamp::from_second(seconds).map_err(|_| out_of_range())?;
    let time = time.checked_add(jiff::SignedDuration::from_nanos(nanos.into())).map_err(|_| out_of_range())?;
    // JSON has four digits for the year.
    if !(ZERO_TIME..253_402_300_800).contains(&time.as_second()) {
        return Err(out_of_range());
    }
    Ok(Value::String(if micro { format!("{time:.6}") } else { time.to_string() }))
}

/// Writes the fields of a number or text.
pub(super) fn put_int_or_string(out: &mut Vec<u8>, value: &Value) {
    let text = value.as_str();
    put_number(out, 1, i64::from(text.is_some()));
    put_number(out, 2, value.as_i64().unwrap_or(0));
    put_bytes(out, 3, text.unwrap_or("").as_bytes());
}

/// A number or text from its message.
pub(super) fn int_or_string(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut is_text, mut number, mut text) = (false, 0i32, String::new());
    let mut reader = Reader::new(bytes);
    while let Some((field, wire)) = reader.next()? {
        match field {
            1 => is_text = wire.varint("Type")? != 0,
            2 => number = wire.varint("IntVal")? as i32,
            3 => text = wire.text("StrVal")?,
            _ => {}
        }
    }
    Ok(if is_text { Value::String(text) } else { Value::from(number) })
}

/// The nanoseconds of a duration as Go writes it (`1h2m3.5s`); what is none counts as zero.
pub(super) fn nanos(text: &str) -> i64 {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut total = 0i128;
    while !rest.is_empty() && rest != "0" {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let scale: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return 0,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(0) };
        let fraction = &fraction[..fraction.len().min(18)];
        let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().unwrap_or(0) };
        let tens = 10i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
        total = total.saturating_add(whole.saturating_mul(scale)).saturating_add(part * scale / tens);
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).unwrap_or(0)
}

/// A duration as Go writes it.
pub(super) fn duration(nanos: i64) -> String {
    let size = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    if size == 0 {
        return "0s".into();
    }
    let decimal = |n: u64, unit: u64, digits: usize| {
        let fraction = format!("{:0digits$}", n % unit);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() || unit == 1 { (n / unit).to_string() } else { format!("{}.{fraction}", n / unit) }
    };
    if size < 1_000_000_000 {
        let (unit, digits, name) = match size {
            0..1_000 => (1, 0, "ns"),
            1_000..1_000_000 => (1_000, 3, "µs"),
            _ => (1_000_000, 6, "ms"),
        };
        return format!("{sign}{}{name}", decimal(size, unit, digits));
    }
    let seconds = decimal(size % 60_000_000_000, 1_000_000_000, 9);
    let minutes = size / 60_000_000_000;
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}
