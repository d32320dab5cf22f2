//! Statements by their numbers.

use super::*;

/// The affinity of a volume as the filters ask it.
fn volume_matches(affinity: Option<&NodeSelector>, node: &Labels) -> bool {
    affinity.is_none_or(|selector| selector.matches_labels(node))
}

#[test]
fn ns_1_no_affinity_matches_a_node_without_labels() {
    assert!(volume_matches(None, &Labels::default()));
}

#[test]
fn ns_2_no_terms_match_nothing() {
    let selector = NodeSelector::compile(&[]);
    assert!(!selector.matches_labels(&Labels::default()));
    assert!(!selector.matches_node("n1", &labels(&[("zone", "a")])));
    assert_eq!(selector.evaluate_labels(&Labels::default()), Ok(false));
}

#[test]
fn ns_3_an_empty_term_matches_nothing_and_is_no_error() {
    let selector = on_labels(&[&[]]);
    assert_eq!(selector.evaluate_labels(&Labels::default()), Ok(false));
    assert_eq!(selector.evaluate_node("n1", &labels(&[("zone", "a")])), Ok(false));
    assert!(selector.terms()[0].as_ref().is_ok_and(NodeSelectorTerm::is_empty));
}

#[test]
fn ns_4_an_empty_term_does_not_disturb_another() {
    assert!(on_labels(&[&[], &[raw("zone", "In", &["a"])]]).matches_labels(&labels(&[("zone", "a")])));
}

#[test]
fn ns_5_in_and_not_in_of_a_missing_key() {
    let none = Labels::default();
    assert!(!only("zone", "In", &["a"]).matches_labels(&none));
    assert!(only("zone", "NotIn", &["a"]).matches_labels(&none));
    // The empty value is a value like any other.
    assert!(only("zone", "In", &[""]).matches_labels(&labels(&[("zone", "")])));
    assert!(!only("zone", "In", &[""]).matches_labels(&none));
}

#[test]
fn ns_6_exists_with_an_empty_value() {
    assert!(only("zone", "Exists", &[]).matches_labels(&labels(&[("zone", "")])));
    assert!(!only("zone", "Exists", &[]).matches_labels(&Labels::default()));
}

#[test]
fn ns_7_does_not_exist_with_an_empty_value() {
    assert!(!only("zone", "DoesNotExist", &[]).matches_labels(&labels(&[("zone", "")])));
    assert!(only("zone", "DoesNotExist", &[]).matches_labels(&Labels::default()));
}

#[test]
fn ns_8_gt_is_strict_and_numeric() {
    let selector = only("n", "Gt", &["3"]);
    let with = |value| selector.matches_labels(&labels(&[("n", value)]));
    assert!(with("4") && with("10") && with("9223372036854775807"));
    for value in ["3", "2", "abc", "", "4.0", " 4", "9223372036854775808"] {
        assert!(!with(value), "{value:?}");
    }
    assert!(!selector.matches_labels(&Labels::default()));
}

#[test]
fn ns_9_lt_reads_leading_zeros() {
    let selector = only("n", "Lt", &["10"]);
    assert!(selector.matches_labels(&labels(&[("n", "009")])));
    assert!(!selector.matches_labels(&labels(&[("n", "010")])));
    assert!(!selector.matches_labels(&Labels::default()));
    assert!(only("n", "Lt", &["010"]).matches_labels(&labels(&[("n", "9")])));
}

#[test]
fn ns_10_a_signed_bound_is_no_label_value() {
    assert!(is_invalid(&only("n", "Gt", &["-1"])));
    assert!(is_invalid(&only("n", "Gt", &["+1"])));
    assert!(!is_invalid(&only("n", "Gt", &["1"])));
}

#[test]
fn ns_11_gt_takes_exactly_one_value() {
    assert!(is_invalid(&only("n", "Gt", &["1", "2"])));
    assert!(is_invalid(&only("n", "Gt", &[])));
    assert!(is_invalid(&only("n", "Lt", &["1", "1"])));
}

#[test]
fn ns_12_values_are_needed_by_in_and_forbidden_by_exists() {
    assert!(is_invalid(&only("zone", "In", &[])));
    assert!(is_invalid(&only("zone", "NotIn", &[])));
    assert!(is_invalid(&only("zone", "Exists", &["x"])));
    assert!(is_invalid(&only("zone", "DoesNotExist", &["x"])));
}

#[test]
fn ns_13_unknown_operators_are_invalid() {
    for operator in ["Foo", "in", "IN", "exists", ""] {
        assert!(is_invalid(&only("zone", operator, &["a"])), "{operator:?}");
    }
    let error = only("zone", "Foo", &["a"]).evaluate_labels(&Labels::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Foo\": supported values: \"In\", \
         \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\""
    );
}

#[test]
fn ns_14_a_matching_term_hides_the_error_of_another() {
    let selector = on_labels(&[&[raw("zone", "In", &[])], &[raw("zone", "In", &["a"])]]);
    assert_eq!(selector.evaluate_labels(&labels(&[("zone", "a")])), Ok(true));
}

#[test]
fn ns_15_without_a_match_the_errors_are_told() {
    let selector =
        on_labels(&[&[raw("zone", "In", &[])], &[raw("zone", "In", &["a"])], &[raw("rack", "Exists", &["x"])]]);
    let node = labels(&[("zone", "b")]);
    assert!(!selector.matches_labels(&node));
    assert_eq!(
        selector.evaluate_labels(&node).unwrap_err().to_string(),
        "[nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: null: for 'in', 'notin' operators, values \
         set can't be empty, nodeSelectorTerms[2].matchExpressions[0].values: Invalid value: [\"x\"]: values set must \
         be empty for exists and does not exist]"
    );
}

#[test]
fn ns_16_requirements_on_one_key_are_all_needed() {
    let selector = on_labels(&[&[raw("zone", "In", &["a", "b"]), raw("zone", "NotIn", &["b"])]]);
    assert!(selector.matches_labels(&labels(&[("zone", "a")])));
    assert!(!selector.matches_labels(&labels(&[("zone", "b")])));
    let never = on_labels(&[&[raw("zone", "In", &["a"]), raw("zone", "In", &["b"])]]);
    assert!(!never.matches_labels(&labels(&[("zone", "a")])));
}

#[test]
fn ns_17_a_volumes_affinity_does_not_read_the_nodes_name() {
    let selector = on_fields(&[raw("metadata.name", "In", &["n1"])]);
    assert!(selector.matches_labels(&Labels::default()));
    // A pod's affinity does.
    assert!(selector.matches_node("n1", &Labels::default()));
    assert!(!selector.matches_node("n2", &Labels::default()));
    let other = on_fields(&[raw("metadata.name", "NotIn", &["n1"])]);
    assert!(other.matches_node("n2", &Labels::default()) && !other.matches_node("n1", &Labels::default()));
    // A field that does not exist is empty.
    assert!(!on_fields(&[raw("spec.x", "In", &["n1"])]).matches_node("n1", &Labels::default()));
    assert!(on_fields(&[raw("spec.x", "In", &[""])]).matches_node("n1", &Labels::default()));
    assert!(on_fields(&[raw("spec.x", "NotIn", &["n1"])]).matches_node("n1", &Labels::default()));
    // With both parts, the labels decide.
    let both = NodeSelector::compile(&[(vec![raw("zone", "In", &["a"])], vec![raw("metadata.name", "In", &["n1"])])]);
    assert!(both.matches_labels(&labels(&[("zone", "a")])) && !both.matches_labels(&labels(&[("zone", "b")])));
    assert!(!both.matches_node("n2", &labels(&[("zone", "a")])));
}

#[test]
fn ns_18_a_field_takes_exactly_one_value() {
    for values in [&["n1", "n2"][..], &[]] {
        let selector = on_fields(&[raw("metadata.name", "In", values)]);
        assert!(is_invalid(&selector));
        assert!(!selector.matches_labels(&Labels::default()) && !selector.matches_node("n1", &Labels::default()));
    }
}

#[test]
fn ns_19_fields_know_only_in_and_not_in() {
    for operator in ["Exists", "DoesNotExist", "Gt", "Lt", "in"] {
        let selector = on_fields(&[raw("metadata.name", operator, &["n1"])]);
        assert!(is_invalid(&selector) && !selector.matches_labels(&Labels::default()), "{operator}");
    }
    let spoilt = NodeSelector::compile(&[(vec![raw("zone", "In", &["a"])], vec![raw("metadata.name", "Exists", &[])])]);
    assert!(!spoilt.matches_labels(&labels(&[("zone", "a")])));
}

#[test]
fn ns_20_values_are_compared_byte_by_byte() {
    assert!(!only("zone", "In", &["A"]).matches_labels(&labels(&[("zone", "a")])));
    assert!(only("zone", "NotIn", &["A"]).matches_labels(&labels(&[("zone", "a")])));
    assert!(!only("Zone", "Exists", &[]).matches_labels(&labels(&[("zone", "a")])));
}

#[test]
fn ns_21_no_allowed_topologies_allow_every_node() {
    assert!(allowed(&[]).is_unrestricted());
    assert!(allowed(&[]).matches(&Labels::default()));
}

#[test]
fn ns_22_a_topology_term_without_expressions_allows_no_node() {
    let topologies = allowed(&[&[]]);
    assert!(!topologies.is_unrestricted());
    assert!(!topologies.matches(&Labels::default()) && !topologies.matches(&labels(&[("zone", "a")])));
}

#[test]
fn ns_23_topology_terms_are_alternatives() {
    let topologies = allowed(&[&[("zone", &["a"])], &[("zone", &["b"])]]);
    assert!(topologies.matches(&labels(&[("zone", "a")])));
    assert!(topologies.matches(&labels(&[("zone", "b")])));
    assert!(!topologies.matches(&labels(&[("zone", "c")])) && !topologies.matches(&Labels::default()));
}

#[test]
fn ns_24_topology_expressions_are_all_needed() {
    let topologies = allowed(&[&[("zone", &["a"]), ("rack", &["r1", "r2"])]]);
    assert!(topologies.matches(&labels(&[("zone", "a"), ("rack", "r2")])));
    assert!(!topologies.matches(&labels(&[("zone", "a")])));
    assert!(!topologies.matches(&labels(&[("rack", "r2")])));
    assert!(!topologies.matches(&labels(&[("zone", "a"), ("rack", "r3")])));
}

#[test]
fn ns_25_a_value_no_label_can_have_spoils_its_term_only() {
    let topologies = allowed(&[&[("zone", &["a b", "a"])], &[("zone", &["b"])]]);
    assert!(!topologies.matches(&labels(&[("zone", "a b")])) && !topologies.matches(&labels(&[("zone", "a")])));
    assert!(topologies.matches(&labels(&[("zone", "b")])));
    assert_eq!(allowed(&[&[("rack", &["a b"])], &[("zone", &["b"])]]).keys(), names(&["zone"]));
}

#[test]
fn ns_27_labels_and_expressions_are_both_needed() {
    let selector = LabelSelector::compile(&[("a".into(), "1".into())], &[raw("b", "Exists", &[])]).unwrap();
    assert!(selector.matches(&labels(&[("a", "1"), ("b", "")])));
    assert!(!selector.matches(&labels(&[("a", "1")])) && !selector.matches(&labels(&[("b", "")])));
}

#[test]
fn ns_32_beta_and_general_zone_labels_are_different_labels() {
    let selector = only("failure-domain.beta.kubernetes.io/zone", "In", &["a"]);
    assert!(!selector.matches_labels(&labels(&[("topology.kubernetes.io/zone", "a")])));
}

#[test]
fn ns_35_an_empty_label_selector_matches_all_and_an_unknown_operator_is_an_error() {
    let empty = LabelSelector::compile(&[], &[]).unwrap();
    assert!(empty.is_empty() && empty.matches(&Labels::default()) && empty.matches(&labels(&[("a", "1")])));
    for operator in ["Foo", "Gt", "Lt", "in"] {
        assert_eq!(
            LabelSelector::compile(&[], &[raw("a", operator, &["1"])]).unwrap_err().to_string(),
            format!("{operator:?} is not a valid label selector operator")
        );
    }
    assert!(LabelSelector::compile(&[("a".into(), "not a value".into())], &[]).is_err());
    assert!(LabelSelector::compile(&[("not a key".into(), "a".into())], &[]).is_err());
}

#[test]
fn ns_36_allowed_topologies_never_fail() {
    // There is no error to return: what is wrong in every way is a term that no node matches.
    let topologies = allowed(&[&[("", &[])], &[("a/b/c", &["-"])], &[("zone", &[])]]);
    assert!(!topologies.is_unrestricted() && !topologies.matches(&labels(&[("zone", ""), ("a/b/c", "-")])));
}

#[test]
fn ns_37_nothing_is_remembered_between_evaluations() {
    let selector = only("zone", "In", &["a"]);
    assert!(!selector.matches_labels(&Labels::default()));
    assert!(selector.matches_labels(&labels(&[("zone", "a")])));
    assert!(!selector.matches_labels(&Labels::default()));
}

#[test]
fn ns_38_flattening_gives_every_combination_once() {
    let mut flat = allowed(&[&[("zone", &["z1", "z2"]), ("rack", &["a", "b"])]]).flatten();
    flat.sort_by_key(|labels| format!("{labels:?}"));
    let mut expected = Vec::new();
    for rack in ["a", "b"] {
        for zone in ["z1", "z2"] {
            expected.push(labels(&[("rack", rack), ("zone", zone)]));
        }
    }
    assert_eq!(flat, expected);
    // Terms are listed one after the other; an expression without values wipes what was before it in its term.
    assert_eq!(
        allowed(&[&[("zone", &["a"])], &[("zone", &["b"]), ("rack", &[]), ("row", &["1"])], &[("zone", &[])]])
            .flatten(),
        [labels(&[("zone", "a")]), labels(&[("row", "1")])]
    );
    assert!(allowed(&[]).flatten().is_empty());
}
