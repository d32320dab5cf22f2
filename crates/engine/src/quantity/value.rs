//! Quantities as whole numbers.

use super::{Form, NANO, Quantity, pow10};

impl Quantity {
    /// The number of whole units, rounded up.
    ///
    /// A number beyond 64 bits gives what it gives upstream, which is no useful number: zero where upstream keeps the
    /// number short (`1e30`), the lowest bits where it does not. Compare quantities, not values, to be safe from this.
    pub fn value(self) -> i64 {
        self.scaled(0)
    }

    /// The number of thousandths, rounded up. Beyond 64 bits see [`Quantity::value`].
    pub fn milli_value(self) -> i64 {
        self.scaled(-3)
    }

    /// The number in units of 10^`unit`.
    fn scaled(self, unit: i32) -> i64 {
        let shift = i64::from(self.exponent) - i64::from(unit);
        match self.form {
            Form::Small => scaled_small(self.mantissa, shift),
            Form::Big => scaled_big(self.mantissa, shift),
            Form::BigNanos => self.scaled_nanos(shift, i64::from(unit) - i64::from(NANO)),
        }
    }

    /// As [`scaled_big`] of the number in nanos, which does not fit the mantissa.
    fn scaled_nanos(self, shift: i64, down: i64) -> i64 {
        if self.mantissa < 0 {
            let raise = i64::from(self.exponent) - i64::from(NANO);
            return divide_up(low_bits(self.mantissa).wrapping_mul(wrapping_pow10(raise)), down);
        }
        if shift >= 0 {
            return low_bits(self.mantissa).wrapping_mul(wrapping_pow10(shift));
        }
        pow10(-shift).map_or(1, |divisor| {
            low_bits(self.mantissa / divisor).wrapping_add(i64::from(self.mantissa % divisor != 0))
        })
    }
}

/// Rounds away from zero; what does not fit is zero.
fn scaled_small(mantissa: i128, shift: i64) -> i64 {
    if mantissa == 0 {
        return 0;
    }
    let scaled = if shift >= 0 {
        pow10(shift).and_then(|factor| mantissa.checked_mul(factor)).unwrap_or(0)
    } else {
        match pow10(-shift) {
            Some(divisor) => mantissa / divisor + if mantissa % divisor == 0 { 0 } else { mantissa.signum() },
            None => mantissa.signum(),
        }
    };
    i64::try_from(scaled).unwrap_or(0)
}

/// Rounds up from the quotient towards zero, so a negative fraction comes out one too high; what does not fit keeps
/// its lowest 64 bits. Of a negative number those bits are taken before the division.
fn scaled_big(mantissa: i128, shift: i64) -> i64 {
    if shift >= 0 {
        // Upstream raises in floating point, where a power beyond 64 bits turns into the least integer.
        let factor = if shift > 18 { i64::MIN } else { wrapping_pow10(shift) };
        return low_bits(mantissa).wrapping_mul(factor);
    }
    let down = -shift;
    if mantissa < i128::from(i64::MAX) && down < 19 {
        return divide_up(low_bits(mantissa), down);
    }
    match pow10(down) {
        Some(divisor) => {
            low_bits(mantissa.div_euclid(divisor)).wrapping_add(i64::from(mantissa.rem_euclid(divisor) != 0))
        }
        None => i64::from(mantissa > 0),
    }
}

/// `number` / 10^`power`, of which the remainder counts as one more.
fn divide_up(number: i64, power: i64) -> i64 {
    match pow10(power).and_then(|divisor| i64::try_from(divisor).ok()) {
        Some(divisor) => (number / divisor).wrapping_add(i64::from(number % divisor != 0)),
        None => i64::from(number != 0),
    }
}

fn low_bits(number: i128) -> i64 {
    number as i64
}

fn wrapping_pow10(power: i64) -> i64 {
    10i64.wrapping_pow(u32::try_from(power).unwrap_or(u32::MAX))
}
