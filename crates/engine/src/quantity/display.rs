//! The canonical form: no fraction, the largest suffix that keeps the number whole.

use std::fmt;

use super::{Notation, Quantity, pow10, reduced};

impl fmt::Display for Quantity {
    /// Writes the canonical form. The API server echoes some texts that are not canonical (`+5`, `1.500`) until the
    /// number is changed; that is not kept here. As upstream, a number too large for the suffixes is written without
    /// one (`1000E` as `1`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.notation == Notation::Binary
            && let Some((mantissa, suffix)) = self.binary()
        {
            return write!(f, "{mantissa}{}", BINARY_SUFFIXES.get(suffix).unwrap_or(&""));
        }
        let (mantissa, exponent) = reduced(self.mantissa, self.exponent);
        let zeros = exponent.rem_euclid(3);
        let exponent = exponent - zeros;
        write!(f, "{mantissa}{}", &"00"[..zeros as usize])?;
        if self.notation == Notation::Exponent {
            if exponent != 0 { write!(f, "e{exponent}") } else { Ok(()) }
        } else {
            f.write_str(decimal_suffix(exponent))
        }
    }
}

const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    /// The mantissa and the power of 1024 of a number that is to be printed so: whole and not below 1024.
    fn binary(&self) -> Option<(i128, usize)> {
        let limit = Self::from_units(1024);
        if *self < limit && *self > -limit {
            return None;
        }
        let (mut mantissa, mut fives) = (self.mantissa, 0);
        if self.exponent >= 0 {
            fives = self.exponent as u32;
        } else {
            let divisor = pow10(-i64::from(self.exponent))?;
            if mantissa % divisor != 0 {
                return None;
            }
            mantissa /= divisor;
        }
        // 10^n is 2^n × 5^n: counting the twos before multiplying keeps large numbers within reach.
        let odd_part = mantissa >> mantissa.trailing_zeros();
        let twos = mantissa.trailing_zeros().checked_add(fives)?;
        let mantissa = odd_part.checked_mul(5i128.checked_pow(fives)?)?.checked_mul(1 << (twos % 10))?;
        Some((mantissa, twos as usize / 10))
    }
}

fn decimal_suffix(exponent: i64) -> &'static str {
    match exponent {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}
