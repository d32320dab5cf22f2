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
            && let Some(units) = self.binary_units()
        {
            return write_binary(units, f);
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

impl Quantity {
    /// The whole units, where the number is one to print in binary notation: whole and not below 1024.
    fn binary_units(&self) -> Option<i128> {
        let units = if self.exponent >= 0 {
            self.mantissa.checked_mul(pow10(i64::from(self.exponent))?)?
        } else {
            let divisor = pow10(-i64::from(self.exponent))?;
            if self.mantissa % divisor != 0 {
                return None;
            }
            self.mantissa / divisor
        };
        (units.unsigned_abs() >= 1024).then_some(units)
    }
}

fn write_binary(mut units: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut suffix = 0;
    while units % 1024 == 0 {
        units /= 1024;
        suffix += 1;
    }
    const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    write!(f, "{units}{}", SUFFIXES.get(suffix).unwrap_or(&""))
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
