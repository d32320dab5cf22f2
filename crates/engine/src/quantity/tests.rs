//! The laws of quantities. What upstream answers, case by case, is checked in `tests/quantities.rs`.

use proptest::prelude::*;

use super::*;

fn q(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

fn hash(quantity: Quantity) -> u64 {
    use std::hash::BuildHasher;
    rustc_hash::FxBuildHasher.hash_one(quantity)
}

#[test]
fn e_is_exa_alone_and_an_exponent_before_digits() {
    assert_eq!(q("1E"), q("1000000000000000000"));
    assert_eq!(q("1E3"), q("1000"));
    assert_eq!(q("1Ei").value(), 1 << 60);
}

#[test]
fn only_binary_notations_are_capped() {
    assert_eq!(q("8Ei"), q("9223372036854775807"));
    assert_eq!(q("1e30").to_string(), "1e30");
    assert!(q("9223372036854775808") > q("100Ei"));
}

#[test]
fn finer_than_nano_is_rounded_away_from_zero() {
    assert_eq!(q("0.0000000001"), q("1n"));
    assert_eq!(q("-1e-20"), q("-1n"));
    assert_eq!(q("1.5m").milli_value(), 2);
    assert_eq!(q("-1.5").value(), -2);
}

#[test]
fn errors_say_what_is_wrong() {
    for (text, error) in [
        ("", QuantityError::Format),
        (" 1", QuantityError::Format),
        ("0x10", QuantityError::Format),
        ("++1", QuantityError::Suffix),
        ("1e", QuantityError::Suffix),
        ("1ki", QuantityError::Suffix),
        ("e-10", QuantityError::Numeric),
    ] {
        assert_eq!(Quantity::parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn the_notation_of_a_sum_is_that_of_the_left_unless_it_is_zero() {
    assert_eq!((q("1Gi") + q("1Gi")).to_string(), "2Gi");
    assert_eq!((q("1024") + q("1Ki")).to_string(), "2048");
    assert_eq!((q("1Ki") + q("1024")).to_string(), "2Ki");
    assert_eq!((Quantity::ZERO + q("1Ki")).to_string(), "1Ki");
    assert_eq!((q("1Ki") - q("1Ki") - q("1e6")).to_string(), "-1e6");
}

#[test]
fn constructors_and_sums_print_their_unit() {
    assert_eq!(Quantity::from_bytes(3 << 30).to_string(), "3Gi");
    assert_eq!(Quantity::from_units(3000).to_string(), "3k");
    assert_eq!(Quantity::from_millis(1500).to_string(), "1500m");
    assert_eq!([q("1Gi"), q("512Mi")].into_iter().sum::<Quantity>().to_string(), "1536Mi");
}

#[test]
fn huge_exponents_take_no_time_and_no_memory() {
    let (huge, tiny) = (q("1e2000000000"), q("1e-2000000000"));
    assert!(huge > q("1e1999999999") && -huge < q("-8Ei"));
    assert_eq!(tiny, q("1n"));
    assert_eq!(huge.to_string(), "100e1999999998");
    assert_eq!(huge.checked_add(tiny), None);
    assert!(huge.saturating_add(tiny) > huge);
    assert_eq!(q("1e2147483647").value(), 0);
    assert!(q("12345678901234567890e2147483647") > huge);
    assert_eq!(q("0e-2147483648") + q("5"), q("5"));
}

#[test]
fn beyond_38_digits_numbers_are_rounded_away_from_zero() {
    let nines = "9".repeat(60);
    assert!(q(&nines) <= q("1e60"));
    assert!(q(&nines) > q("999999999999999999e42"));
    assert!(q(&format!("-{nines}")) < q("-999999999999999999e42"));
    assert_eq!(q(&format!("{nines}Ki")), q("9223372036854775807"));
    assert_eq!(q(&format!("1{}", "0".repeat(70))), q("1e70"));
}

/// Any quantity that can be printed and read again: within the suffixes of its notation.
fn quantity() -> impl Strategy<Value = Quantity> {
    let suffixes = ["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2", "e20", "e-15"];
    ("[+-]?[0-9]{1,19}(\\.[0-9]{0,12})?", proptest::sample::select(suffixes.to_vec()))
        .prop_map(|(number, suffix)| q(&format!("{number}{suffix}")))
}

proptest! {
    #[test]
    fn what_is_printed_reads_as_the_same_number(a in quantity()) {
        // Larger decimal numbers lose their suffix, as they do upstream.
        prop_assume!(a.notation != Notation::Decimal || (a < q("1000E") && a > q("-1000E")));
        prop_assert_eq!(q(&a.to_string()), a);
        prop_assert_eq!(q(&a.to_string()).to_string(), a.to_string());
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+.0-9eEinumkKMGTP ]{0,40}", other in quantity()) {
        if let Ok(quantity) = Quantity::parse(&text) {
            let _ = (quantity.to_string(), quantity.value(), quantity.milli_value(), hash(quantity));
            let _ = (quantity.cmp(&other), quantity + other, quantity - other, other - quantity);
        }
    }

    #[test]
    fn order_is_total_and_agrees_with_the_difference(a in quantity(), b in quantity(), c in quantity()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b), (-b).cmp(&-a));
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        prop_assert_eq!((a.cmp(&b) as i32).signum(), (a - b).sign());
    }

    #[test]
    fn equal_numbers_hash_alike(a in quantity(), zeros in 0i32..20) {
        let Some(raised) = pow10(i64::from(zeros)).and_then(|p| a.mantissa.checked_mul(p)) else { return Ok(()) };
        let same = Quantity { mantissa: raised, exponent: a.exponent - zeros, ..a };
        prop_assert_eq!(same, a);
        prop_assert_eq!(hash(same), hash(a));
    }

    #[test]
    fn what_is_added_can_be_taken_away(a in quantity(), b in quantity()) {
        prop_assert_eq!(a + b, b + a);
        if let Some(sum) = a.checked_add(b) {
            prop_assert_eq!(sum, a + b);
            prop_assert_eq!(sum.checked_sub(b), Some(a));
        }
    }

    #[test]
    fn a_rounded_sum_is_close(a in 1i128..i128::MAX, b in 1i128..i128::MAX, shift in 0i64..60) {
        let (x, y) = (Quantity::big(a, 0, 0, Notation::Decimal), Quantity::big(b, shift, shift, Notation::Decimal));
        let sum = x.saturating_add(y);
        prop_assert!(sum >= x && sum >= y && sum > Quantity::ZERO);
        let twice = x.max(y).saturating_add(x.max(y));
        prop_assert!(sum <= twice.saturating_add(twice), "{sum} of {x} and {y}");
    }
}
