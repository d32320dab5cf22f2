//! Selectors: whatever the requirements, compiling answers, and the ways to ask a selector agree with each other.

#![no_main]

use std::sync::Arc;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use plimsoll_engine::labels::{Labels, Name};
use plimsoll_engine::selector::{
    AllowedTopologies, LabelSelector, NodeSelector, PreferredTerm, RawRequirement, RawTopologyTerm, Requirement,
};

/// Words that meet each other often, so that selectors sometimes match.
const WORDS: [&str; 16] = [
    "a",
    "b",
    "zone",
    "topology.kubernetes.io/zone",
    "metadata.name",
    "node-1",
    "",
    "5",
    "-1",
    "007",
    "+5",
    "9223372036854775807",
    "9223372036854775808",
    "example.com/",
    "UPPER_case.x",
    "not valid!",
];
const OPERATORS: [&str; 8] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", ""];

#[derive(Debug)]
struct Word(Name);

impl<'a> Arbitrary<'a> for Word {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let pick = input.int_in_range(0..=WORDS.len())?;
        Ok(Self(match WORDS.get(pick) {
            Some(word) => Arc::from(*word),
            None => Arc::from(<&str>::arbitrary(input)?),
        }))
    }
}

#[derive(Debug)]
struct Raw(RawRequirement);

impl<'a> Arbitrary<'a> for Raw {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let operator = match input.int_in_range(0..=OPERATORS.len() * 2)? {
            pick if pick < OPERATORS.len() => Name::from(OPERATORS[pick]),
            pick if pick < OPERATORS.len() * 2 => Name::from("In"),
            _ => Word::arbitrary(input)?.0,
        };
        let values = Vec::<Word>::arbitrary(input)?.into_iter().map(|word| word.0).collect();
        Ok(Self(RawRequirement { key: Word::arbitrary(input)?.0, operator, values }))
    }
}

#[derive(Arbitrary, Debug)]
struct Input {
    labels: Vec<(Word, Word)>,
    name: Word,
    terms: Vec<(Vec<Raw>, Vec<Raw>)>,
    match_labels: Vec<(Word, Word)>,
    weight: i32,
    topologies: Vec<Vec<(Word, Vec<Word>)>>,
}

fuzz_target!(|input: Input| {
    let labels: Labels = input.labels.iter().map(|(key, value)| (key.0.clone(), value.0.clone())).collect();
    let raw = |list: &[Raw]| list.iter().map(|raw| raw.0.clone()).collect::<Vec<_>>();
    let terms: Vec<_> = input.terms.iter().map(|(expressions, fields)| (raw(expressions), raw(fields))).collect();
    requirements(&terms, &labels);
    node_selector(&terms, &input.name.0, &labels);
    for (i, (expressions, fields)) in terms.iter().enumerate() {
        let term = PreferredTerm::compile(i, input.weight, expressions, fields);
        let score = term.score(&input.name.0, &labels);
        assert!(score == 0 || score == i64::from(input.weight));
        let pairs: Vec<_> = input.match_labels.iter().map(|(key, value)| (key.0.clone(), value.0.clone())).collect();
        label_selector(&pairs, expressions, &labels);
    }
    let topologies = input.topologies.iter().map(|term| {
        let values = |list: &[Word]| list.iter().map(|value| value.0.clone()).collect();
        term.iter().map(|(key, list)| (key.0.clone(), values(list))).collect()
    });
    allowed_topologies(&topologies.collect::<Vec<_>>(), &labels);
});

fn requirements(terms: &[(Vec<RawRequirement>, Vec<RawRequirement>)], labels: &Labels) {
    for raw in terms.iter().flat_map(|(expressions, fields)| expressions.iter().chain(fields)) {
        let values: Vec<&str> = raw.values.iter().map(|value| &**value).collect();
        match Requirement::new(&raw.key, &raw.operator, &values) {
            Ok(requirement) => {
                let value = labels.get(&raw.key).map(|value| &**value);
                assert_eq!(requirement.matches(labels), requirement.accepts(value));
                let moved = requirement.with_key("elsewhere");
                assert_eq!(moved.accepts(value), requirement.accepts(value));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn node_selector(terms: &[(Vec<RawRequirement>, Vec<RawRequirement>)], name: &str, labels: &Labels) {
    let selector = NodeSelector::compile(terms);
    assert_eq!(selector.terms().len(), terms.len());
    let matches = selector.matches_node(name, labels);
    match selector.evaluate_node(name, labels) {
        Ok(answer) => assert_eq!(answer, matches),
        Err(_) => assert!(!matches),
    }
    let _ = (selector.matches_labels(labels), selector.evaluate_labels(labels), selector.label_keys());
    if let Some(named) = selector.named_nodes() {
        assert!(!matches || name.is_empty() || named.iter().any(|n| &**n == name), "{name} matches, but is not named");
    }
    // A selector put together from its terms is the same to every node.
    let again = NodeSelector::from_terms(selector.terms().to_vec());
    assert_eq!(again.matches_node(name, labels), matches);
}

fn label_selector(pairs: &[(Name, Name)], expressions: &[RawRequirement], labels: &Labels) {
    let Ok(selector) = LabelSelector::compile(pairs, expressions) else { return };
    assert_eq!(selector.matches(labels), selector.requirements().iter().all(|r| r.matches(labels)));
    let narrower = selector.and_labels(labels);
    // With the object's own labels added nothing changes for it.
    assert_eq!(narrower.matches(labels), selector.matches(labels));
    let _ = selector.label_keys();
}

fn allowed_topologies(terms: &[RawTopologyTerm], labels: &Labels) {
    let allowed = AllowedTopologies::compile(terms);
    let matches = allowed.matches(labels);
    assert_eq!(allowed.is_unrestricted(), terms.is_empty());
    let _ = allowed.keys();
    // The combinations multiply, as they must: small ones are enough to try.
    let combinations = |term: &RawTopologyTerm| term.iter().map(|(_, values)| values.len().max(1)).product::<usize>();
    if terms.iter().all(|term| term.len() < 8 && combinations(term) < 1_000) {
        let flat = allowed.flatten();
        let has = |wanted: &Labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value));
        assert!(!matches || terms.is_empty() || flat.iter().any(has), "allowed, but by no combination");
    }
}
