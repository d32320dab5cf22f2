//! Comparing quantities by their numbers.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Quantity, reduced};

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.exponent == other.exponent || self.sign() != other.sign() || self.is_zero() {
            return match self.sign().cmp(&other.sign()) {
                Ordering::Equal => self.mantissa.cmp(&other.mantissa),
                unequal => unequal,
            };
        }
        let magnitudes = magnitude(self, other);
        if self.sign() < 0 { magnitudes.reverse() } else { magnitudes }
    }
}

/// Compares without the signs. Both are not zero.
fn magnitude(a: &Quantity, b: &Quantity) -> Ordering {
    let (left, right) = (a.mantissa.unsigned_abs(), b.mantissa.unsigned_abs());
    let places = |mantissa: u128, q: &Quantity| i64::from(mantissa.ilog10()) + i64::from(q.exponent);
    // Numbers of as many places differ in exponent by less than 39, so the power always fits.
    let raised =
        |mantissa: u128, by: i64| u32::try_from(by).ok().and_then(|by| mantissa.checked_mul(10u128.checked_pow(by)?));
    places(left, a).cmp(&places(right, b)).then_with(|| {
        let by = i64::from(a.exponent) - i64::from(b.exponent);
        if by >= 0 {
            raised(left, by).map_or(Ordering::Greater, |left| left.cmp(&right))
        } else {
            raised(right, -by).map_or(Ordering::Less, |right| left.cmp(&right))
        }
    })
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        reduced(self.mantissa, self.exponent).hash(state);
    }
}
