//! Reading a quantity.

use super::{NANO, Notation, Quantity};

/// What is wrong with the text of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum QuantityError {
    /// It is empty or has a character where none of its kind may be.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// It has no digit where one is needed.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// Its suffix is none of the known ones.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The most digits a number may have to be kept as [`super::Form::Small`].
const SMALL_DIGITS: i64 = 18;

/// The most digits that always fit the mantissa.
const MANTISSA_DIGITS: usize = 38;

/// The text, cut up.
struct Parts<'a> {
    negative: bool,
    /// The digits before the point without leading zeros; `0` where there are none.
    whole: &'a str,
    /// The digits after the point.
    fraction: &'a str,
    suffix: &'a str,
    /// Whether the text has a digit at all. `Ki` and `.` are accepted as zero, but only where the number is short.
    has_digit: bool,
}

/// What a suffix multiplies by.
enum Scale {
    Ten(i32),
    Two(u32),
}

impl Quantity {
    /// Reads a quantity as the API server does. Blanks around it are not accepted here; the API server's JSON decoder
    /// trims them before.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let parts = split(text)?;
        let (scale, notation) = suffix(parts.suffix).ok_or(QuantityError::Suffix)?;
        if let Some(quantity) = small(&parts, &scale, notation) {
            return Ok(quantity);
        }
        if !parts.has_digit {
            return Err(QuantityError::Numeric);
        }
        Ok(match scale {
            Scale::Ten(exponent) => decimal(&parts, exponent, notation),
            Scale::Two(bits) => binary(&parts, bits),
        })
    }
}

impl std::str::FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::parse(text)
    }
}

/// The leading run of characters that `accept` takes, and the rest. All that is accepted here is ASCII, so a cut is
/// always at a character's boundary.
fn run(text: &str, accept: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !accept(c)).unwrap_or(text.len()))
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let digit = |c: char| c.is_ascii_digit();
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = run(unsigned, digit);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => run(rest, digit),
        None => ("", rest),
    };
    let (_, rest) = run(suffix, |c| "eEinumkKMGTP".contains(c));
    let (_, rest) = run(rest.strip_prefix(['-', '+']).unwrap_or(rest), digit);
    if !rest.is_empty() {
        return Err(QuantityError::Format);
    }
    let has_digit = !(whole.is_empty() && fraction.is_empty());
    let whole = whole.trim_start_matches('0');
    Ok(Parts { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix, has_digit })
}

fn suffix(suffix: &str) -> Option<(Scale, Notation)> {
    let ten = |exponent| Some((Scale::Ten(exponent), Notation::Decimal));
    let two = |bits| Some((Scale::Two(bits), Notation::Binary));
    match suffix {
        "n" => ten(-9),
        "u" => ten(-6),
        "m" => ten(-3),
        "" => ten(0),
        "k" => ten(3),
        "M" => ten(6),
        "G" => ten(9),
        "T" => ten(12),
        "P" => ten(15),
        "E" => ten(18),
        "Ki" => two(10),
        "Mi" => two(20),
        "Gi" => two(30),
        "Ti" => two(40),
        "Pi" => two(50),
        "Ei" => two(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Cut to 32 bits as upstream cuts it: 1e4294967296 is 1.
            Some((Scale::Ten(exponent as i32), Notation::Exponent))
        }
    }
}

/// The short form, for numbers that are short enough for it by their count of digits.
fn small(parts: &Parts<'_>, scale: &Scale, notation: Notation) -> Option<Quantity> {
    let digits = (parts.whole.len() + parts.fraction.len()) as i64;
    let (exponent, factor) = match *scale {
        Scale::Ten(exponent) => {
            let exponent = i64::from(exponent) - parts.fraction.len() as i64;
            if digits > SMALL_DIGITS || exponent < i64::from(NANO) {
                return None;
            }
            (exponent, 1)
        }
        Scale::Two(bits) => {
            // A binary suffix of n bits is reckoned as 3n/10 decimal digits of fourteen.
            if !parts.fraction.is_empty() || digits > 14 - i64::from(bits * 3 / 10) {
                return None;
            }
            (0, 1i64 << bits)
        }
    };
    let unsigned = [parts.whole, parts.fraction].concat().parse::<i64>().ok()?.checked_mul(factor)?;
    let mantissa = if parts.negative { -unsigned } else { unsigned };
    Some(Quantity::small(mantissa, i32::try_from(exponent).ok()?, notation))
}

/// A number too long or too fine for the short form. Not capped: only binary notations are.
fn decimal(parts: &Parts<'_>, exponent: i32, notation: Notation) -> Quantity {
    let all = [parts.whole, parts.fraction].concat();
    let digits = all.trim_start_matches('0');
    let exponent = i64::from(exponent) - parts.fraction.len() as i64;
    if digits.is_empty() {
        return Quantity::big(0, exponent, exponent, notation);
    }
    let drop = usize::try_from(i64::from(NANO) - exponent).unwrap_or(0);
    let (mantissa, exponent) = cut(digits, exponent, drop);
    let mantissa = if parts.negative { -mantissa } else { mantissa };
    Quantity::big(mantissa, exponent, i64::from(NANO), notation)
}

/// The number `digits` × 10^`exponent` without its last `drop` digits and in no more digits than a mantissa holds,
/// rounded up. The digits do not start with a zero and are not empty.
fn cut(digits: &str, exponent: i64, drop: usize) -> (i128, i64) {
    let significant = digits.trim_end_matches('0').len();
    // Without their trailing zeros, more digits fit.
    let wanted = drop.max(significant.saturating_sub(MANTISSA_DIGITS) + digits.len() - significant);
    let drop = if digits.len() - drop.min(digits.len()) <= MANTISSA_DIGITS { drop } else { wanted };
    let (kept, lost) = digits.split_at(digits.len().saturating_sub(drop));
    let up = lost.bytes().any(|digit| digit != b'0');
    let kept: i128 = if kept.is_empty() { 0 } else { kept.parse().unwrap_or(i128::MAX - 1) };
    (kept + i128::from(up), exponent + drop as i64)
}

/// A binary number with a fraction, or a long one. Capped at 2^63−1.
fn binary(parts: &Parts<'_>, bits: u32) -> Quantity {
    let mut fraction: Vec<u8> = parts.fraction.bytes().map(|digit| digit - b'0').collect();
    // Schoolbook multiplication of the decimal fraction by 2^bits; what is carried out is the whole part.
    let mut carry = 0u128;
    for digit in fraction.iter_mut().rev() {
        carry += u128::from(*digit) << bits;
        *digit = (carry % 10) as u8;
        carry /= 10;
    }
    let nanos = (0..9).fold(0u128, |n, i| n * 10 + u128::from(fraction.get(i).copied().unwrap_or(0)));
    let up = fraction.iter().skip(9).any(|digit| *digit != 0);
    const GIGA: u128 = 1_000_000_000;
    const LIMIT: u128 = i64::MAX as u128 * GIGA;
    // Over nineteen digits are beyond the cap whatever the suffix.
    let whole = if parts.whole.len() > 19 { None } else { parts.whole.parse::<u128>().ok() };
    let total = whole
        .map(|whole| (whole << bits) + carry)
        .and_then(|units| units.checked_mul(GIGA))
        .map(|n| n + nanos + u128::from(up));
    let (mantissa, exponent) = match total {
        // Upstream does not round a zero to nanos; it keeps the places it was written with.
        Some(0) => (0, -(parts.fraction.len() as i64)),
        Some(total) if total <= LIMIT => (total as i128, i64::from(NANO)),
        _ => (i128::from(i64::MAX), 0),
    };
    // Less than one unit would lose its fraction in a binary notation.
    let below_one = mantissa != 0 && exponent < 0 && mantissa < GIGA as i128;
    let notation = if below_one { Notation::Decimal } else { Notation::Binary };
    Quantity::big(if parts.negative { -mantissa } else { mantissa }, exponent, exponent, notation)
}
