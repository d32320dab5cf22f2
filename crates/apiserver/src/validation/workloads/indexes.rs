//! Lists of indexes such as `1,3-5`, as indexed jobs have them.

use crate::field::go_quoted;

/// The first and last index of a part.
fn interval(part: &str, completions: i64) -> Result<(i64, i64), String> {
    let ends: Vec<&str> = part.split('-').collect();
    let index = |text: &str| {
        let index: i64 =
            parse(text).ok_or_else(|| format!("cannot convert string to integer for index: {}", go_quoted(text)))?;
        if index >= completions {
            return Err(format!("too large index: {}", go_quoted(text)));
        }
        Ok(index)
    };
    match ends.as_slice() {
        [only] => index(only).map(|index| (index, index)),
        [first, last] => {
            let (first, last) = (index(first)?, index(last)?);
            if first >= last {
                return Err(format!("non-increasing order, previous: {first}, current: {last}"));
            }
            Ok((first, last))
        }
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two parts separated by '-'",
            go_quoted(part)
        )),
    }
}

/// A whole number with an optional sign.
fn parse(text: &str) -> Option<i64> {
    text.strip_prefix('+').filter(|rest| !rest.starts_with(['+', '-'])).unwrap_or(text).parse().ok()
}

/// How many indexes there are, or what is wrong.
pub fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for part in text.split(',') {
        let (x, y) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= x) {
            return Err(format!("non-increasing order, previous: {last}, current: {x}"));
        }
        total += y - x + 1;
        last = Some(y);
    }
    Ok(total)
}

/// The first index that is in both lists. Parts that cannot be read are passed over.
pub fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    if completed.is_empty() || failed.is_empty() {
        return None;
    }
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut i, mut j) = (0, 0);
    while let (Some(c), Some(f)) = (completed.get(i), failed.get(j)) {
        if c.0 <= f.1 && f.0 <= c.1 {
            return Some(c.0.max(f.0));
        }
        if c.0 <= f.0 {
            i += 1;
        } else {
            j += 1;
        }
    }
    None
}
