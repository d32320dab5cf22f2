//! Label syntax, equality, keys, and compiled selectors against a reference that knows no compilation.

use proptest::prelude::*;

use super::*;

#[test]
fn keys_and_values_have_a_syntax() {
    let long = |n: usize| "a".repeat(n);
    for key in ["a", "A", "0", "a.b_c-d", "example.com/a", "a/b", &long(63), &format!("{}/a", long(253))] {
        assert!(is_label_key(key), "{key}");
    }
    for key in
        ["", "/", "a/", "/a", "a/b/c", "-a", "a-", "a b", "Ä", "Example.com/a", "a_b/c", "a..b/c", "a.-b/c", &long(64)]
    {
        assert!(!is_label_key(key), "{key}");
    }
    assert!(!is_label_key(&format!("{}/a", long(254))));
    for value in ["", "a", "A_b.c-d0", &long(63)] {
        assert!(is_label_value(value), "{value}");
    }
    for value in ["-", "a-", ".a", "a b", "a/b", "a\n", "é", &long(64)] {
        assert!(!is_label_value(value), "{value}");
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let error = |key: &str, operator: &str, values: &[&str]| Requirement::new(key, operator, values).unwrap_err().0;
    assert_eq!(
        error("a", "In", &["x", "b c"]),
        "values[1][a]: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
         'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    );
    assert_eq!(
        error("n", "Gt", &["x"]),
        "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"
    );
    assert!(
        error("/", "In", &["a"]).starts_with("key: Invalid value: \"/\": prefix part must be non-empty; name part")
    );
}

#[test]
fn selectors_that_mean_the_same_are_equal() {
    assert_eq!(only("zone", "In", &["b", "a", "b"]), only("zone", "In", &["a", "b"]));
    let by_labels = LabelSelector::from_labels(&[("b", "2"), ("a", "1")]);
    let by_expressions = LabelSelector::compile(&[], &[raw("a", "In", &["1", "1"]), raw("b", "In", &["2"])]).unwrap();
    assert_eq!(by_labels, by_expressions);
    assert_eq!(LabelSelector::from_labels(&[("b", "2")]).and_labels(&labels(&[("a", "1"), ("b", "2")])), by_labels);
    assert_eq!(allowed(&[&[("zone", &["b", "a"])]]), allowed(&[&[("zone", &["a", "b", "a"])]]));
}

#[test]
fn keys_are_listed_once_and_in_order() {
    let selector = NodeSelector::compile(&[
        (vec![raw("zone", "In", &["a"]), raw("rack", "Exists", &[])], vec![raw("metadata.name", "In", &["n"])]),
        (vec![raw("zone", "NotIn", &["b"])], vec![]),
        (vec![raw("spoilt", "In", &[])], vec![]),
    ]);
    assert_eq!(selector.label_keys(), names(&["rack", "zone"]));
    let labels =
        LabelSelector::compile(&[("b".into(), "1".into())], &[raw("b", "Exists", &[]), raw("a", "Exists", &[])]);
    assert_eq!(labels.unwrap().label_keys(), names(&["a", "b"]));
    assert_eq!(allowed(&[&[("z", &["1"]), ("a", &["1"])], &[("z", &["2"])]]).keys(), names(&["a", "z"]));
}

#[test]
fn a_preference_counts_its_weight_where_it_matches() {
    let node = labels(&[("zone", "a")]);
    let preferred = |weight, values: &[&str]| PreferredTerm::compile(2, weight, &[raw("zone", "In", values)], &[]);
    assert_eq!(preferred(7, &["a"]).score("n1", &node), 7);
    assert_eq!(preferred(7, &["b"]).score("n1", &node), 0);
    assert_eq!(PreferredTerm::compile(0, 7, &[], &[]).score("n1", &node), 0);
    assert!(preferred(7, &[]).term.unwrap_err().0.starts_with("[2].matchExpressions[0].values: Invalid value"));
    // Without weight it is not even read.
    assert!(preferred(0, &[]).term.is_ok());
}

/// What the table in the specification says, read off line by line; `None` is a requirement that is not valid.
fn reference(raw: &RawRequirement, node: &[(String, String)]) -> Option<bool> {
    let found = node.iter().find(|(key, _)| **key == *raw.key).map(|(_, value)| value.as_str());
    let listed = found.is_some_and(|found| raw.values.iter().any(|value| **value == *found));
    let good_values = raw.values.iter().all(|value| is_label_value(value));
    if !is_label_key(&raw.key) || !good_values {
        return None;
    }
    let numbers = || {
        let [bound] = &raw.values[..] else { return None };
        Some((found.and_then(|found| found.parse::<i64>().ok()), bound.parse::<i64>().ok()?))
    };
    match &*raw.operator {
        "In" if !raw.values.is_empty() => Some(listed),
        "NotIn" if !raw.values.is_empty() => Some(!listed),
        "Exists" if raw.values.is_empty() => Some(found.is_some()),
        "DoesNotExist" if raw.values.is_empty() => Some(found.is_none()),
        "Gt" => numbers().map(|(found, bound)| found.is_some_and(|found| found > bound)),
        "Lt" => numbers().map(|(found, bound)| found.is_some_and(|found| found < bound)),
        _ => None,
    }
}

fn requirement() -> impl Strategy<Value = RawRequirement> {
    let key = proptest::sample::select(vec!["a", "b", "c", "x/y", "bad key"]);
    let operator = proptest::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in"]);
    let value = proptest::sample::select(vec!["", "a", "b", "1", "2", "10", "-1", "A"]);
    (key, operator, proptest::collection::vec(value, 0..3)).prop_map(|(key, operator, values)| {
        // Most requirements are to be valid, or nothing ever matches.
        let values =
            if operator.ends_with("ist") || operator.ends_with("sts") { &values[..values.len() / 2] } else { &values };
        raw(key, operator, values)
    })
}

fn node() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::btree_map("a|b|c|x/y", "|a|b|1|2|3|11|A", 0..4).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #[test]
    fn node_selectors_agree_with_the_table(
        terms in proptest::collection::vec(proptest::collection::vec(requirement(), 0..3), 0..4),
        node in node(),
    ) {
        let compiled = NodeSelector::compile(&terms.iter().map(|term| (term.clone(), vec![])).collect::<Vec<_>>());
        let verdicts: Vec<Option<bool>> = terms
            .iter()
            .map(|term| term.iter().map(|r| reference(r, &node)).collect::<Option<Vec<bool>>>())
            .map(|held| held.map(|held| !held.is_empty() && held.iter().all(|h| *h)))
            .collect();
        let labels: Labels = node.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let matches = verdicts.contains(&Some(true));
        prop_assert_eq!(compiled.matches_labels(&labels), matches);
        prop_assert_eq!(compiled.matches_node("n1", &labels), matches);
        prop_assert_eq!(compiled.evaluate_labels(&labels).is_err(), !matches && verdicts.contains(&None));
        // What is not among the keys makes no difference.
        let keys = compiled.label_keys();
        let fewer: Labels = labels.iter().filter(|(key, _)| keys.contains(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        prop_assert_eq!(compiled.matches_labels(&fewer), matches);
    }

    #[test]
    fn label_selectors_agree_with_the_table(
        pairs in node(),
        expressions in proptest::collection::vec(requirement(), 0..3),
        node in node(),
    ) {
        let match_labels: Vec<(Name, Name)> = pairs.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect();
        let equal = pairs.iter().map(|(key, value)| Some(node.contains(&(key.clone(), value.clone()))));
        let numeric = |r: &RawRequirement| matches!(&*r.operator, "Gt" | "Lt");
        let held = equal.chain(expressions.iter().map(|r| if numeric(r) { None } else { reference(r, &node) }));
        let expected = held.collect::<Option<Vec<bool>>>().map(|held| held.iter().all(|h| *h));
        let labels: Labels = node.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let compiled = LabelSelector::compile(&match_labels, &expressions);
        prop_assert_eq!(compiled.as_ref().ok().map(|selector| selector.matches(&labels)), expected);
    }

    #[test]
    fn order_and_repetition_make_no_difference(expressions in proptest::collection::vec(requirement(), 0..4)) {
        let reversed: Vec<RawRequirement> = expressions.iter().rev().chain(&expressions).cloned().collect();
        let (one, other) = (LabelSelector::compile(&[], &expressions), LabelSelector::compile(&[], &reversed));
        prop_assert_eq!(one.ok(), other.ok());
    }

    #[test]
    fn no_key_or_value_makes_it_panic(key in ".{0,70}", value in ".{0,70}", operator in "In|NotIn|Exists|Gt|Lt|x") {
        let compiled = Requirement::new(&key, &operator, &[&value]);
        prop_assert!(compiled.is_err() || (is_label_key(&key) && is_label_value(&value)));
    }
}
