//! Amounts as people read them.

/// `3500` millicores as `3.5`.
pub(super) fn cpu(milli: i64) -> String {
    decimal(milli, 1000)
}

/// Bytes in the largest binary unit of which there is at least one, with at most two digits after the point.
pub(super) fn bytes(amount: i64) -> String {
    const UNITS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut unit = 0;
    while unit + 1 < UNITS.len() && amount.unsigned_abs() >> (10 * (unit + 1)) > 0 {
        unit += 1;
    }
    // The units end at Ei, 2^60.
    let scaled = (i128::from(amount) * 100) >> (10 * unit);
    format!("{}{}", decimal(i64::try_from(scaled).unwrap_or(i64::MAX), 100), UNITS.get(unit).unwrap_or(&""))
}

/// A number of fractions of 1, without trailing zeros.
fn decimal(amount: i64, per_unit: i64) -> String {
    let sign = if amount < 0 { "-" } else { "" };
    let per_unit = per_unit.unsigned_abs();
    let (whole, rest) = (amount.unsigned_abs() / per_unit, amount.unsigned_abs() % per_unit);
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    let width = per_unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{sign}{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::{bytes, cpu};

    #[test]
    fn amounts_read_well() {
        assert_eq!([cpu(4000), cpu(3500), cpu(50), cpu(-1250)], ["4", "3.5", "0.05", "-1.25"]);
        assert_eq!([bytes(0), bytes(1023), bytes(1 << 30), bytes(3 << 29)], ["0", "1023", "1Gi", "1.5Gi"]);
        assert_eq!(bytes(i64::MAX), "7.99Ei");
    }
}
