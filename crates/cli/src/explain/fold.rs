//! Hundreds of nodes with the same verdict become one line.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::explain::report::{Node, Verdict};

/// What stands for a node's own name in a line about several nodes.
const THE_NODE: &str = "the node";

/// So many lines that differ only in their details are still told apart.
const SIMILAR: usize = 3;

/// So many lines of nodes that fit are told apart; the best are among them.
const FITTING: usize = 8;

/// Nodes that share a line.
#[derive(Debug)]
pub struct Group<'a> {
    /// The nodes, in the order in which a person counts: node-2 before node-10.
    pub nodes: Vec<&'a Node>,
    /// Their verdicts. Where there are several nodes, their own names do not stand in the details.
    pub verdicts: Vec<Verdict>,
    /// Whether the details are those of the first node only, and the others' are different ones.
    pub varied: bool,
}

impl Group<'_> {
    /// The nodes as the first column writes them.
    pub fn label(&self) -> String {
        let names: Vec<&str> = self.nodes.iter().map(|n| n.name.as_str()).collect();
        match names.as_slice() {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [one, other] => format!("{one}, {other}"),
            [first, .., last] => format!("{first} … {last} ({} nodes)", names.len()),
        }
    }

    /// The lowest and the highest score; `None` where the nodes do not fit.
    pub fn scores(&self) -> Option<(i64, i64)> {
        let scores = || self.nodes.iter().filter_map(|n| n.score);
        Some((scores().min()?, scores().max()?))
    }
}

/// Folds the nodes that fit: the chosen one by itself, the others by score, the best first.
pub fn fitting<'a>(nodes: &'a [Node], chosen: Option<&str>) -> Vec<Group<'a>> {
    let is_chosen = |node: &Node| Some(node.name.as_str()) == chosen;
    let others = nodes.iter().filter(|n| n.feasible && !is_chosen(n));
    let mut by_score: BTreeMap<Option<i64>, Vec<&Node>> = BTreeMap::new();
    for node in others {
        by_score.entry(node.score).or_default().push(node);
    }
    let mut groups: Vec<Group<'_>> = nodes.iter().filter(|n| is_chosen(n)).map(|n| group(vec![n])).collect();
    let mut rest: Vec<Group<'_>> = by_score.into_values().rev().map(group).collect();
    if rest.len() > FITTING {
        let lower = rest.split_off(FITTING - 1);
        rest.push(group(lower.into_iter().flat_map(|g| g.nodes).collect()));
    }
    groups.extend(rest);
    groups
}

/// Folds the nodes that do not fit, in order of their first nodes.
pub fn refused(nodes: &[Node]) -> Vec<Group<'_>> {
    let mut same: BTreeMap<_, Vec<&Node>> = BTreeMap::new();
    for node in nodes.iter().filter(|n| !n.feasible) {
        same.entry(nameless(node)).or_default().push(node);
    }
    // Those that are alike but for the numbers in the details.
    let mut alike: BTreeMap<_, Vec<Group<'_>>> = BTreeMap::new();
    for (verdicts, nodes) in same {
        let kinds: Vec<_> =
            verdicts.iter().map(|v| (v.plugin, v.code.clone(), v.reason.clone(), v.deviation)).collect();
        let mut group = group(nodes);
        if group.nodes.len() > 1 {
            group.verdicts = verdicts;
        }
        alike.entry(kinds).or_default().push(group);
    }
    let mut folded = Vec::new();
    for mut groups in alike.into_values() {
        if groups.len() <= SIMILAR {
            folded.append(&mut groups);
        } else {
            let mut all = group(groups.into_iter().flat_map(|g| g.nodes).collect());
            all.varied = true;
            folded.push(all);
        }
    }
    folded.sort_by(by_first_name);
    folded
}

fn group(mut nodes: Vec<&Node>) -> Group<'_> {
    nodes.sort_by(|a, b| natural(&a.name, &b.name));
    let verdicts = nodes.first().map(|n| n.verdicts.clone()).unwrap_or_default();
    Group { nodes, verdicts, varied: false }
}

fn by_first_name(a: &Group<'_>, b: &Group<'_>) -> Ordering {
    let name = |g: &Group<'_>| g.nodes.first().map_or("", |n| n.name.as_str()).to_owned();
    natural(&name(a), &name(b))
}

/// A node's verdicts without its name in the details.
fn nameless(node: &Node) -> Vec<Verdict> {
    let strip = |v: &Verdict| Verdict { detail: replace_name(&v.detail, &node.name, THE_NODE), ..v.clone() };
    node.verdicts.iter().map(strip).collect()
}

/// Whether a text names this node.
pub fn names(text: &str, node: &str) -> bool {
    replace_name(text, node, THE_NODE) != text
}

/// Replaces `name` where it stands by itself: `n1` is no part of `n10`, `n1-a` or `n1.example`.
fn replace_name(text: &str, name: &str, by: &str) -> String {
    if name.is_empty() {
        return text.to_owned();
    }
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let last = before.chars().next_back().or_else(|| out.chars().next_back());
        let begins = !last.is_some_and(|c| in_name(c) || c == '.' || c == '/');
        let mut next = after.chars();
        let ends = match next.next() {
            // A full stop ends a sentence; a dot with more behind it is part of a name.
            Some('.') => !next.next().is_some_and(in_name),
            Some(c) => !in_name(c) && c != '/',
            None => true,
        };
        if begins && ends {
            // "node n1" is one expression.
            out.push_str(before.strip_suffix("node ").unwrap_or(before));
            out.push_str(by);
        } else {
            out.push_str(before);
            out.push_str(name);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Compares names as a person does: runs of digits by their number.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(l), Some(r)) = (left.first(), right.first()) {
        if l.is_ascii_digit() && r.is_ascii_digit() {
            let (x, y) = (digits(&mut left), digits(&mut right));
            // Without leading zeros the longer number is the larger one, whatever its size.
            match x.len().cmp(&y.len()).then_with(|| x.cmp(y)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        } else if l == r {
            (left, right) = (&left[1..], &right[1..]);
        } else {
            return l.cmp(r);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes a run of digits off the front; leading zeros are let go.
fn digits<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let (run, rest) = text.split_at(end);
    *text = rest;
    let zeros = run.iter().position(|b| *b != b'0').unwrap_or(run.len());
    &run[zeros..]
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{natural, replace_name};

    #[test]
    fn names_are_replaced_only_where_they_stand_alone() {
        let check = |text: &str, expected: &str| assert_eq!(replace_name(text, "n1", "X"), expected);
        check("from n1 is", "from X is");
        check("n1", "X");
        check("node n1 has", "X has");
        check("at n1.", "at X.");
        check("n10 n1-a a-n1 n1.example x/n1", "n10 n1-a a-n1 n1.example x/n1");
        check("n1n1 n1", "n1n1 X");
        check("\"n1\", (n1)", "\"X\", (X)");
    }

    #[test]
    fn people_count_numbers() {
        let mut names = ["node-10", "node-2", "node-1", "node", "a", "node-02", "node-1b"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "node", "node-1", "node-1b", "node-02", "node-2", "node-10"]);
        assert_eq!(natural("a", "a"), Ordering::Equal);
        assert_eq!(natural("9".repeat(40).as_str(), "1".repeat(41).as_str()), Ordering::Less);
    }
}
