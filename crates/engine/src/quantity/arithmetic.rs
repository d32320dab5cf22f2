//! Sums and differences of quantities.
//!
//! The result keeps the notation of the left side, unless that is zero.

use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use super::{Form, Quantity, pow10, reduced};

impl Quantity {
    /// The sum, or `None` where it has more digits than a quantity holds.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let notation = if self.is_zero() { other.notation } else { self.notation };
        let sum = add_small(self, other).or_else(|| add_big(self, other))?;
        Some(Self { notation, ..sum })
    }

    /// The difference, or `None` where it has more digits than a quantity holds.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(-other)
    }

    /// The sum; where it has more digits than a quantity holds, rounded away from zero.
    pub fn saturating_add(self, other: Self) -> Self {
        self.checked_add(other).unwrap_or_else(|| {
            let notation = if self.is_zero() { other.notation } else { self.notation };
            Self { notation, ..add_rounded(self, other) }
        })
    }

    /// The difference; where it has more digits than a quantity holds, rounded away from zero.
    pub fn saturating_sub(self, other: Self) -> Self {
        self.saturating_add(-other)
    }
}

/// The sum in short form, where both are short and their sum is.
fn add_small(a: Quantity, b: Quantity) -> Option<Quantity> {
    if a.form != Form::Small || b.form != Form::Small {
        return None;
    }
    if b.is_zero() {
        return Some(a);
    }
    if a.is_zero() {
        return Some(b);
    }
    let (left, right, exponent) = aligned(a, b)?;
    let fits = |n: i128| i64::try_from(n).is_ok();
    let sum = left.checked_add(right)?;
    (fits(left) && fits(right) && fits(sum)).then_some(Quantity { mantissa: sum, exponent, nominal: exponent, ..a })
}

/// The exact sum in long form.
fn add_big(a: Quantity, b: Quantity) -> Option<Quantity> {
    let sum = |a, b| {
        let (left, right, exponent) = aligned(a, b)?;
        left.checked_add(right).filter(|sum| *sum != i128::MIN).map(|sum| (sum, exponent))
    };
    // Without trailing zeros more sums fit.
    let (mantissa, exponent) = sum(a, b).or_else(|| sum(compact(a), compact(b)))?;
    Some(Quantity::big(mantissa, i64::from(exponent), finer(a, b), a.notation))
}

/// The exponent upstream gives to a sum in long form.
fn finer(a: Quantity, b: Quantity) -> i64 {
    i64::from(a.nominal.min(b.nominal))
}

/// The sum of numbers too far apart: the smaller is rounded away from zero at the last digit that the larger leaves.
fn add_rounded(a: Quantity, b: Quantity) -> Quantity {
    let (large, small) = if magnitude(a) >= magnitude(b) { (a, b) } else { (b, a) };
    let (mut mantissa, mut exponent) = reduced(large.mantissa, large.exponent);
    // One digit is left free for the carry.
    const ROOM: i128 = i128::MAX / 100;
    while mantissa.abs() <= ROOM && exponent > i64::from(small.exponent) {
        mantissa *= 10;
        exponent -= 1;
    }
    while mantissa.abs() > ROOM {
        mantissa = mantissa / 10 + if mantissa % 10 == 0 { 0 } else { mantissa.signum() };
        exponent += 1;
    }
    let down = exponent - i64::from(small.exponent);
    let addend = if down <= 0 {
        // It has no more places than the larger one, so this fits.
        small.mantissa.saturating_mul(pow10(-down).unwrap_or(1))
    } else {
        pow10(down).map_or(small.mantissa.signum(), |divisor| {
            small.mantissa / divisor + if small.mantissa % divisor == 0 { 0 } else { small.mantissa.signum() }
        })
    };
    Quantity::big(mantissa.saturating_add(addend), exponent, finer(a, b).min(exponent), a.notation)
}

/// How many places before the point, for ordering only.
fn magnitude(q: Quantity) -> i64 {
    q.mantissa.unsigned_abs().checked_ilog10().map_or(i64::MIN, |log| i64::from(log) + i64::from(q.exponent))
}

/// Both mantissas at the smaller of the two exponents, where they fit.
fn aligned(a: Quantity, b: Quantity) -> Option<(i128, i128, i32)> {
    let exponent = a.exponent.min(b.exponent);
    let at = |q: Quantity| match q.mantissa {
        0 => Some(0),
        mantissa => mantissa.checked_mul(pow10(i64::from(q.exponent) - i64::from(exponent))?),
    };
    Some((at(a)?, at(b)?, exponent))
}

fn compact(q: Quantity) -> Quantity {
    let (mantissa, exponent) = reduced(q.mantissa, q.exponent);
    // A zero has no exponent of its own: it takes the largest, so that the other side decides.
    let exponent = if mantissa == 0 { i64::from(i32::MAX) } else { exponent };
    i32::try_from(exponent).map_or(q, |exponent| Quantity { mantissa, exponent, ..q })
}

impl Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Quantity {
    type Output = Self;

    fn neg(self) -> Self {
        let mantissa = -self.mantissa;
        // The least 64-bit integer has no opposite of the same form.
        let form = match self.form {
            Form::Small if i64::try_from(mantissa).is_err() => Form::Big,
            form => form,
        };
        Self { mantissa, form, ..self }
    }
}

impl std::iter::Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(quantities: I) -> Self {
        quantities.fold(Self::ZERO, Add::add)
    }
}
