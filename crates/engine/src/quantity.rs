//! Kubernetes quantities: `10Gi`, `250m`, `1e3`.
//!
//! A quantity is a decimal number with the notation it was written in. The rules are those of the API server, which
//! keeps a number in one of two ways and lets the difference be seen where numbers get too large for 64 bits; since
//! verdicts depend on it, the difference is kept here too (see `Form`).
//!
//! Up to 38 significant digits are kept. The API server has no such limit; a longer number is rounded away from zero,
//! so that it may come to equal a number of at most 38 digits, but never to pass it.

mod arithmetic;
mod display;
mod order;
mod parse;
mod value;

#[cfg(test)]
mod tests;

pub use parse::QuantityError;

/// A number with a notation. Two quantities are equal when their numbers are, whatever their notations.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The number is `mantissa` × 10^`exponent`. Never `i128::MIN`, so that it can always be negated.
    mantissa: i128,
    exponent: i32,
    /// The exponent that upstream has. It is `exponent`, or less where the mantissa would then not fit ours.
    nominal: i32,
    form: Form,
    notation: Notation,
}

/// How upstream would hold the number. It shows only in [`Quantity::value`] and [`Quantity::milli_value`] of numbers
/// that do not fit 64 bits, and in their rounding of negative fractions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A 64-bit mantissa with a decimal exponent: what short numbers parse to. `mantissa` is then within `i64`.
    Small,
    /// An integer of any length with a decimal exponent.
    Big,
}

/// The suffixes a quantity is printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `Ki` to `Ei`.
    Binary,
    /// `n` to `E`.
    Decimal,
    /// `e3`.
    Exponent,
}

/// The exponent of a nano unit: nothing finer is kept when a quantity is parsed.
const NANO: i32 = -9;

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self::small(0, 0, Notation::Decimal);

    /// So many bytes, printed with binary suffixes.
    pub const fn from_bytes(bytes: i64) -> Self {
        Self::small(bytes, 0, Notation::Binary)
    }

    /// So many units, printed with decimal suffixes.
    pub const fn from_units(units: i64) -> Self {
        Self::small(units, 0, Notation::Decimal)
    }

    /// So many thousandths, printed with decimal suffixes.
    pub const fn from_millis(millis: i64) -> Self {
        Self::small(millis, -3, Notation::Decimal)
    }

    const fn small(mantissa: i64, exponent: i32, notation: Notation) -> Self {
        Self { mantissa: mantissa as i128, exponent, nominal: exponent, form: Form::Small, notation }
    }

    /// A number in long form that upstream holds with the exponent `nominal`, which is at most `exponent`.
    fn big(mantissa: i128, exponent: i64, nominal: i64, notation: Notation) -> Self {
        let raised = pow10(exponent - nominal).and_then(|power| mantissa.checked_mul(power));
        let (mantissa, exponent) = match raised {
            Some(raised) if raised != i128::MIN => (raised, nominal),
            _ if mantissa == 0 => (0, nominal),
            _ => (mantissa, exponent),
        };
        Self { mantissa, exponent: clamp(exponent), nominal: clamp(nominal), form: Form::Big, notation }
    }

    /// Whether the number is zero.
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// −1, 0 or 1.
    pub const fn sign(self) -> i32 {
        self.mantissa.signum() as i32
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

/// 10^`power` where it fits.
fn pow10(power: i64) -> Option<i128> {
    10i128.checked_pow(u32::try_from(power).ok()?)
}

/// The same number without trailing zeros in the mantissa: one pair for one number.
fn reduced(mantissa: i128, exponent: i32) -> (i128, i64) {
    if mantissa == 0 {
        return (0, 0);
    }
    let (mut mantissa, mut exponent) = (mantissa, i64::from(exponent));
    while mantissa % 10 == 0 {
        mantissa /= 10;
        exponent += 1;
    }
    (mantissa, exponent)
}

/// Exponents at the ends of 32 bits are kept there: no such number can be stored or compared upstream.
fn clamp(exponent: i64) -> i32 {
    exponent.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}
