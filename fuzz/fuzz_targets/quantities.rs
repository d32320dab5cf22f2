//! Quantities: what parses prints as something that parses to the same number, and reckoning with it never panics.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_engine::quantity::Quantity;

fuzz_target!(|text: &str| {
    // The text as one quantity, and its halves as two: a blank parts them.
    let (left, right) = text.split_once(' ').unwrap_or((text, "1Ki"));
    let (left, right) = (left.parse::<Quantity>(), right.parse::<Quantity>());
    for quantity in [&left, &right].into_iter().flatten() {
        alone(*quantity);
    }
    if let (Ok(left), Ok(right)) = (left, right) {
        together(left, right);
        if is_below(left, EXPONENTS_END) && is_below(right, EXPONENTS_END) {
            laws(left, right);
        }
    }
});

fn alone(quantity: Quantity) {
    let _ = (quantity.value(), quantity.milli_value(), quantity.sign(), format!("{quantity:?}"));
    assert_eq!(-(-quantity), quantity);
    assert_eq!(quantity.saturating_sub(quantity), Quantity::ZERO);
    let printed = quantity.to_string();
    let Ok(again) = printed.parse::<Quantity>() else {
        panic!("{quantity:?} prints as {printed}, which does not parse");
    };
    if is_printable(quantity, &printed) {
        assert_eq!(again, quantity, "{printed}");
    }
}

/// Whatever the numbers, there is an answer.
fn together(left: Quantity, right: Quantity) {
    assert_eq!(left.cmp(&right), right.cmp(&left).reverse());
    for answer in [left + right, left - right] {
        let _ = (answer.value(), answer.milli_value(), answer.to_string(), answer.cmp(&left));
    }
}

fn laws(left: Quantity, right: Quantity) {
    let sum = left + right;
    assert_eq!(left.checked_add(right), right.checked_add(left));
    if let Some(exact) = left.checked_add(right) {
        assert_eq!(exact, sum);
        // What was added exactly can be taken away exactly.
        assert_eq!(exact - right, left, "({left} + {right}) - {right}");
    }
    match right.sign() {
        1 => assert!(sum >= left, "{left} + {right} = {sum}"),
        -1 => assert!(sum <= left, "{left} + {right} = {sum}"),
        _ => assert_eq!(sum, left),
    }
}

/// Exponents have 32 bits, upstream's too, and stay at their end: from here on numbers are no longer exact.
const EXPONENTS_END: &str = "1e2147483000";

/// Whether the canonical form can say the number. Upstream's, which ours is, leaves the suffix out where the number is
/// too large for one: `1000E` prints as `1`.
fn is_printable(quantity: Quantity, printed: &str) -> bool {
    is_below(quantity, if printed.contains('e') { EXPONENTS_END } else { "1000E" })
}

fn is_below(quantity: Quantity, limit: &str) -> bool {
    let size = if quantity.sign() < 0 { -quantity } else { quantity };
    limit.parse().is_ok_and(|limit: Quantity| size < limit)
}
