//! A number, or a share of one: `3` or `25%`.

use serde_json::Value;

/// How many that is of `total`. A share is rounded up or down. `None` where it is neither.
pub fn of(value: &Value, total: i64, up: bool) -> Option<i64> {
    value.as_i64().map(within).or_else(|| share(value.as_str()?, total, up))
}

/// A number within what a workload can have: sums of two must not run over.
pub fn within(number: i64) -> i64 {
    number.clamp(i32::MIN.into(), i32::MAX.into())
}

/// How many a share such as `25%` is of `total`.
pub fn share(text: &str, total: i64, up: bool) -> Option<i64> {
    let percent: i64 = text.strip_suffix('%')?.parse().ok()?;
    let share = i128::from(percent) * i128::from(total);
    let rounded = if up { share.saturating_add(99).div_euclid(100) } else { share.div_euclid(100) };
    // No workload has more pods, and sums of two must not run over.
    i64::try_from(rounded.min(i128::from(i32::MAX))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    #[test]
    fn shares_are_rounded_as_asked_for() {
        for (value, total, up, wanted) in [
            (json!(3), 10, true, Some(3)),
            (json!("25%"), 10, true, Some(3)),
            (json!("25%"), 10, false, Some(2)),
            (json!("30%"), 10, true, Some(3)),
            (json!("100%"), 7, false, Some(7)),
            (json!("0%"), 7, true, Some(0)),
            (json!("x%"), 7, true, None),
            (json!("7"), 7, true, None),
            (json!(null), 7, true, None),
            // Larger than what any workload has: sums of two must not run over.
            (json!(i64::MAX), 7, true, Some(i64::from(i32::MAX))),
            (json!(i64::MIN), 7, true, Some(i64::from(i32::MIN))),
            (json!("9999999999999999%"), 7, true, Some(i64::from(i32::MAX))),
        ] {
            assert_eq!(of(&value, total, up), wanted, "{value} of {total}");
        }
    }
}
