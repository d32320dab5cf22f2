//! Numbers as upstream's validator sees and shows them.

use serde_json::{Number, Value};

use super::check::{Fault, Found};
use super::schema::Node;

/// A float as Go prints it: the shortest that reads back, with an exponent where it is very small or very large.
pub(super) fn go_float(float: f64) -> String {
    if float == 0.0 || !float.is_finite() {
        return if float.is_nan() {
            "NaN".into()
        } else if float.is_infinite() {
            "+Inf".into()
        } else {
            "0".into()
        };
    }
    let text = format!("{float:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return format!("{float}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A value as a sentence shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) if !n.is_i64() => go_float(n.as_f64().unwrap_or_default()),
        Value::String(text) => crate::field::go_quoted(text),
        other => other.to_string(),
    }
}

/// Whether a float stands for a whole number, as far as JSON can tell.
pub(super) fn is_whole(float: f64) -> bool {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    if !float.is_finite() || float.abs() > LARGEST {
        return false;
    }
    let whole = float.trunc();
    let off = (float - whole).abs();
    if off == 0.0 {
        return true;
    }
    if float == 0.0 || whole == 0.0 {
        return false;
    }
    off / (float.abs() + whole.abs()) < 1e-9
}

/// Whether a value is one of an enum's: numbers count as the enum's own kind of number.
pub(super) fn equal(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            #[expect(clippy::cast_possible_truncation, reason = "what Go's conversion does")]
            (None, Some(allowed)) => value.as_f64().is_some_and(|float| float as i64 == allowed),
            _ => value.as_f64() == allowed.as_f64(),
        },
        (value, allowed) => value == allowed && !value.is_null(),
    }
}

/// The bounds of a number and of its type.
pub(super) fn check(node: &Node, given: &Number, path: &str, found: &mut Found) {
    let (kind, format) = match node.types.as_slice() {
        [one] if matches!(one.as_str(), "integer" | "number") => (one.as_str(), node.format.as_str()),
        _ => ("", ""),
    };
    let range = Range { kind, format, path };
    let float = given.as_f64().unwrap_or_default();
    let whole = given.as_i64();
    if let Some(text) = range.outside(whole, float, "Checked") {
        found.add(Fault::nameless(text));
    }
    let as_value = |native: bool| if native { Value::Number(given.clone()) } else { float_value(float) };
    if let Some(factor) = node.multiple_of {
        let outside = range.outside(None, factor, "MultipleOf");
        let native = outside.is_none();
        outside.into_iter().for_each(|text| found.add(Fault::nameless(text)));
        multiple(whole.filter(|_| native), float, factor, path, &as_value(native), found);
    }
    for (bound, excluded, is_most) in
        [(node.minimum, node.minimum_excluded, false), (node.maximum, node.maximum_excluded, true)]
    {
        let Some(bound) = bound else { continue };
        let what = if is_most { "Maximum boundary" } else { "Minimum boundary" };
        let outside = range.outside(None, bound, what);
        let native = outside.is_none();
        outside.into_iter().for_each(|text| found.add(Fault::nameless(text)));
        let (beyond, shown) = match whole.filter(|_| native) {
            Some(whole) => {
                #[expect(clippy::cast_possible_truncation, reason = "what Go's conversion does")]
                let bound = bound as i64;
                let beyond = if is_most { whole > bound } else { whole < bound };
                (beyond || (excluded && whole == bound), bound.to_string())
            }
            None => {
                let beyond = if is_most { float > bound } else { float < bound };
                #[expect(clippy::float_cmp, reason = "a bound that is excluded is met exactly or not at all")]
                let met = excluded && float == bound;
                (beyond || met, go_float(bound))
            }
        };
        if beyond {
            let word = match (is_most, excluded) {
                (true, false) => "less than or equal to",
                (true, true) => "less than",
                (false, false) => "greater than or equal to",
                (false, true) => "greater than",
            };
            found.add(Fault::invalid(path, as_value(native), format!("{path} in body should be {word} {shown}")));
        }
    }
    found.matched += 1;
}

fn float_value(float: f64) -> Value {
    Number::from_f64(float).map_or(Value::Null, Value::Number)
}

fn multiple(whole: Option<i64>, float: f64, factor: f64, path: &str, value: &Value, found: &mut Found) {
    #[expect(clippy::cast_possible_truncation, reason = "what Go's conversion does")]
    let (fits, positive, shown) = match whole {
        Some(whole) => {
            let factor = factor as i64;
            (factor > 0 && whole % factor == 0, factor > 0, factor.to_string())
        }
        None => {
            let times = if factor < 1.0 { 1.0 / factor * float } else { float / factor };
            (is_whole(times), factor > 0.0, go_float(factor))
        }
    };
    if !positive {
        let text = format!("factor MultipleOf declared for {path} must be positive: {shown}");
        let factor = shown.parse::<i64>().map_or_else(|_| float_value(factor), Value::from);
        found.add(Fault::invalid(path, factor, text));
    } else if !fits {
        found.add(Fault::invalid(path, value.clone(), format!("{path} in body should be a multiple of {shown}")));
    }
}

/// The numbers that a type and format can hold.
struct Range<'a> {
    kind: &'a str,
    format: &'a str,
    path: &'a str,
}

impl Range<'_> {
    fn outside(&self, whole: Option<i64>, float: f64, what: &str) -> Option<String> {
        // Upstream prints the number and reads it again as the type: a float of no fraction prints as a whole number.
        let read = || whole.or_else(|| go_plain_float(float).parse::<i64>().ok());
        let fits = match (self.kind, self.format) {
            ("integer", "int32") => read().is_some_and(|n| i32::try_from(n).is_ok()),
            ("integer", _) => read().is_some(),
            (_, "float") => float.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        let (kind, format, path) = (self.kind, self.format, self.path);
        match (fits, format.is_empty()) {
            (true, _) => None,
            (false, true) => Some(format!("{what} value must be of type {kind} (default format) in {path}")),
            (false, false) => Some(format!("{what} value must be of type {kind} with format {format} in {path}")),
        }
    }
}

/// A float in full, without an exponent.
fn go_plain_float(float: f64) -> String {
    format!("{float}")
}
