//! Quantities as whole numbers.

use super::{Form, Quantity, pow10};

impl Quantity {
    /// The number of whole units, rounded up.
    ///
    /// A number beyond 64 bits gives what it gives upstream, which is no useful number: zero (`1e30`) or its
    /// lowest 64 bits. Compare quantities, not values, to be safe from this.
    pub fn value(self) -> i64 {
        self.scaled(0)
    }

    /// The number of thousandths, rounded up. Beyond 64 bits see [`Quantity::value`].
    pub fn milli_value(self) -> i64 {
        self.scaled(-3)
    }

    /// The number in units of 10^`unit`.
    fn scaled(self, unit: i32) -> i64 {
        match self.form {
            Form::Small => scaled_small(self.mantissa, i64::from(self.exponent) - i64::from(unit)),
            Form::Big => self.scaled_big(unit),
        }
    }

    /// Rounds up from the quotient towards zero, so a negative fraction comes out one too high; what does not fit
    /// keeps its lowest 64 bits. Of a negative number those bits are taken before the division.
    fn scaled_big(self, unit: i32) -> i64 {
        let above_nominal = i64::from(self.exponent) - i64::from(self.nominal);
        let nominal_bits = low_bits(self.mantissa).wrapping_mul(wrapping_pow10(above_nominal));
        let down = i64::from(unit) - i64::from(self.nominal);
        if down <= 0 {
            // Upstream raises in floating point, where a power beyond 64 bits turns into the least integer.
            let factor = if down < -18 { i64::MIN } else { wrapping_pow10(-down) };
            return nominal_bits.wrapping_mul(factor);
        }
        let short = above_nominal == 0 && self.mantissa < i128::from(i64::MAX);
        if (short || self.mantissa < 0) && down < 19 {
            return divide_up(nominal_bits, down);
        }
        let shift = i64::from(self.exponent) - i64::from(unit);
        if shift >= 0 {
            return low_bits(self.mantissa).wrapping_mul(wrapping_pow10(shift));
        }
        match pow10(-shift) {
            Some(divisor) => {
                let more = self.mantissa.rem_euclid(divisor) != 0;
                low_bits(self.mantissa.div_euclid(divisor)).wrapping_add(i64::from(more))
            }
            None => i64::from(self.mantissa > 0),
        }
    }
}

/// Rounds away from zero. What does not fit keeps its lowest 64 bits where upstream multiplies in one step, which it
/// does for five powers of ten; for the others it is zero.
fn scaled_small(mantissa: i128, shift: i64) -> i64 {
    if mantissa == 0 {
        return 0;
    }
    if shift < 0 {
        let scaled = pow10(-shift).map_or(mantissa.signum(), |divisor| {
            mantissa / divisor + if mantissa % divisor == 0 { 0 } else { mantissa.signum() }
        });
        return low_bits(scaled);
    }
    let scaled = pow10(shift).and_then(|factor| i64::try_from(mantissa.checked_mul(factor)?).ok());
    match (scaled, shift) {
        (Some(scaled), _) => scaled,
        (None, 1 | 2 | 3 | 6 | 9) => low_bits(mantissa).wrapping_mul(wrapping_pow10(shift)),
        (None, _) => 0,
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
