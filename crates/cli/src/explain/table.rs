//! The answer for a person: a line per node, a line per claim, then what would help.

use std::collections::{BTreeMap, BTreeSet};

use crate::explain::fold::{self, Group};
use crate::explain::report::{Claim, Explanation, ExplanationList, Node, Patch, Remedy, Verdict};
use crate::text::{Grid, Paragraph, Row, Span, style};

/// How far a detail stands in from its code.
const DETAIL: usize = 6;

/// One pod in full.
pub fn explanation(explanation: &Explanation, width: usize) -> String {
    let mut out = String::new();
    headline(explanation).render(&mut out, width);
    match &explanation.rejection {
        Some(rejection) => verdict(rejection, "").into_iter().for_each(|p| p.indent(2).render(&mut out, width)),
        None => faint(explanation.summary.as_str()).render(&mut out, width),
    }
    if !explanation.nodes.is_empty() {
        out.push('\n');
        nodes(explanation).render(&mut out, width);
    }
    if let Some(claims) = claims(explanation) {
        out.push('\n');
        claims.render(&mut out, width);
    }
    if let Some(found) = &explanation.remedies {
        remedies(found, explanation, &mut out, width);
    }
    if let Some(difference) = difference(explanation) {
        out.push('\n');
        difference.render(&mut out, width);
    }
    out
}

/// Every pod that has no node, a line each.
pub fn list(list: &ExplanationList, width: usize) -> String {
    if list.items.is_empty() {
        return "No pod is waiting for a node.\n".to_owned();
    }
    let mut grid = Grid::new(&["NAMESPACE", "POD", "FITS", "NODE", "WHY"]);
    for item in &list.items {
        let why = match &item.rejection {
            Some(no) => vec![Span::new(no.code.as_str(), style::CODE), Span::plain(no.detail.as_str())],
            None => vec![Span::plain(item.summary.as_str())],
        };
        grid.push(Row {
            cells: vec![
                Span::plain(item.pod.namespace.as_str()),
                Span::plain(item.pod.name.as_str()),
                yes_or_no(item.schedulable),
                Span::plain(item.chosen_node.as_deref().unwrap_or("-")),
            ],
            tail: vec![Paragraph::new(why)],
        });
    }
    let mut out = String::new();
    grid.render(&mut out, width);
    out.push('\n');
    let stuck = list.items.iter().filter(|i| !i.schedulable).count();
    let mut end = "Each pod is judged by itself, as the next one to be placed.".to_owned();
    if stuck > 0 {
        let more =
            format!(" {stuck} of {} cannot be: `plimsoll explain POD` says why, node by node.", list.items.len());
        end.push_str(&more);
    }
    faint(end).render(&mut out, width);
    out
}

fn faint(text: impl Into<String>) -> Paragraph {
    Span::new(text, style::FAINT).into()
}

fn headline(explanation: &Explanation) -> Paragraph {
    let pod = format!("Pod {}/{}", explanation.pod.namespace, explanation.pod.name);
    let count = explanation.nodes.len();
    let fit = explanation.nodes.iter().filter(|n| n.feasible).count();
    let verdict = match &explanation.chosen_node {
        Some(node) => Span::new(format!("fits on {fit} of {count} nodes; the choice is {node}."), style::GOOD),
        None if explanation.rejection.is_some() => Span::new("cannot be placed, whatever the node.", style::BAD),
        None if count == 0 => Span::new("cannot be placed: there are no nodes.", style::BAD),
        None if count == 1 => Span::new("does not fit on the only node.", style::BAD),
        None => Span::new(format!("fits on none of {count} nodes."), style::BAD),
    };
    Paragraph::new(vec![Span::new(pod, style::TITLE), verdict])
}

fn yes_or_no(yes: bool) -> Span {
    if yes { Span::new("yes", style::GOOD) } else { Span::new("no", style::BAD) }
}

fn nodes(explanation: &Explanation) -> Grid {
    let mut grid = Grid::new(&["NODE", "FITS", "SCORE", "WHY"]);
    let chosen = explanation.chosen_node.as_deref();
    for group in fold::fitting(&explanation.nodes, chosen) {
        let is_chosen = group.nodes.iter().any(|n| Some(n.name.as_str()) == chosen);
        let why = is_chosen.then(|| Span::plain(why_chosen(&explanation.nodes, &group)).into());
        grid.push(row(&group, why.into_iter().collect()));
    }
    for group in fold::refused(&explanation.nodes) {
        let example = if group.varied { "for example, " } else { "" };
        let tail = group.verdicts.iter().flat_map(|v| verdict(v, example)).collect();
        grid.push(row(&group, tail));
    }
    grid
}

fn why_chosen(nodes: &[Node], chosen: &Group<'_>) -> &'static str {
    let score = chosen.scores().map(|(_, high)| high);
    match nodes.iter().filter(|n| n.feasible).count() {
        1 => "chosen: the only one that fits",
        _ if nodes.iter().filter(|n| n.feasible && n.score == score).count() > 1 => {
            "chosen: the highest score, first by name"
        }
        _ => "chosen: the highest score",
    }
}

fn row(group: &Group<'_>, tail: Vec<Paragraph>) -> Row {
    let score = match group.scores() {
        None => "-".to_owned(),
        Some((low, high)) if low == high => low.to_string(),
        Some((low, high)) => format!("{low}–{high}"),
    };
    let fits = group.nodes.iter().all(|n| n.feasible);
    Row { cells: vec![Span::plain(group.label()), yes_or_no(fits), Span::plain(score)], tail }
}

/// A verdict: its code and upstream's reason, then ours.
fn verdict(verdict: &Verdict, example: &str) -> Vec<Paragraph> {
    let mut reason = vec![Span::new(verdict.code.as_str(), style::CODE)];
    reason.push(Span::plain(format!("{}: {}", verdict.plugin, verdict.reason)));
    if let Some(gate) = verdict.deviation {
        reason.push(Span::new(format!("[{gate}]"), style::FAINT));
    }
    let mut paragraphs = vec![Paragraph::new(reason)];
    if !verdict.detail.is_empty() && verdict.detail != verdict.reason {
        paragraphs.push(faint(format!("{example}{}", verdict.detail)).indent(DETAIL));
    }
    paragraphs
}

/// Which gates made the answer differ from kube-scheduler's, and in what.
fn difference(explanation: &Explanation) -> Option<Paragraph> {
    let verdicts = explanation.nodes.iter().flat_map(|n| &n.verdicts).chain(&explanation.rejection);
    let of_nodes = explanation.nodes.iter().flat_map(|n| &n.deviations).copied();
    let gates: BTreeSet<&str> =
        verdicts.filter_map(|v| v.deviation).chain(of_nodes).chain(explanation.deviation).collect();
    if gates.is_empty() {
        return None;
    }
    let gates = gates.into_iter().collect::<Vec<_>>().join(", ");
    let rejects = if explanation.deviation.is_some() { "kube-scheduler rejects this pod as a whole. " } else { "" };
    Some(faint(format!("{rejects}Differs from kube-scheduler by {gates}; --as-upstream shows its answer.")))
}

/// What the claims become on the chosen node, or, where none fits, what they could become anywhere.
fn claims(explanation: &Explanation) -> Option<Grid> {
    if let Some(chosen) = &explanation.chosen_node {
        let node = explanation.nodes.iter().find(|n| n.name == *chosen).filter(|n| !n.claims.is_empty())?;
        let mut grid = Grid::new(&["CLAIM", "CLASS", &format!("VOLUME ON {chosen}")]);
        for claim in &node.claims {
            grid.push(claim_row(claim, vec![becomes(claim, "would be").into()]));
        }
        return Some(grid);
    }
    let claims = &explanation.nodes.first()?.claims;
    let mut grid = Grid::new(&["CLAIM", "CLASS", "VOLUME"]);
    for (i, claim) in claims.iter().enumerate() {
        grid.push(claim_row(claim, anywhere(&explanation.nodes, i)));
    }
    (!claims.is_empty()).then_some(grid)
}

fn claim_row(claim: &Claim, tail: Vec<Paragraph>) -> Row {
    let class = if claim.class.is_empty() { "-" } else { claim.class.as_str() };
    Row { cells: vec![Span::plain(format!("{}/{}", claim.namespace, claim.name)), Span::plain(class)], tail }
}

fn becomes(claim: &Claim, would_be: &str) -> Span {
    let volume = claim.volume.as_deref().unwrap_or_default();
    let what = match claim.outcome {
        "bound" => format!("bound to {volume} already"),
        "static" => format!("{would_be} bound to {volume}"),
        "provision" => format!("a new one {would_be} made"),
        _ => return Span::new("none fits or can be made", style::BAD),
    };
    let assumed = if claim.assumed { " (the claim itself is yet to be made)" } else { "" };
    Span::plain(format!("{what}{assumed}"))
}

/// What the claim at this place of the plan could become over all nodes: a line for each outcome.
fn anywhere(nodes: &[Node], index: usize) -> Vec<Paragraph> {
    let mut outcomes: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        if let Some(claim) = node.claims.get(index) {
            outcomes.entry(claim.outcome).or_default().push(node);
        }
    }
    let place = |found: &[&Node]| match found {
        [one] => format!("on {}", one.name),
        found if found.len() == nodes.len() => format!("on any of {} nodes", nodes.len()),
        found => format!("on {} of {} nodes", found.len(), nodes.len()),
    };
    let line = |found: &Vec<&Node>| {
        let claim = found.first()?.claims.get(index)?;
        if claim.outcome == "bound" {
            let comma = if claim.place.is_empty() { "" } else { ", " };
            let volume = claim.volume.as_deref().unwrap_or_default();
            return Some(Span::plain(format!("bound to {volume} already{comma}{}", claim.place)).into());
        }
        let volumes: BTreeSet<_> = found.iter().filter_map(|n| n.claims.get(index)?.volume.as_deref()).collect();
        let mut spans = vec![match volumes.len() {
            0 | 1 => becomes(claim, "could be"),
            count => Span::plain(format!("could be bound to one of {count} volumes")),
        }];
        spans.push(Span::plain(place(found)));
        let codes = codes_about(found, claim);
        spans.extend((!codes.is_empty()).then(|| Span::new(format!("({codes})"), style::CODE)));
        Some(Paragraph::new(spans))
    };
    outcomes.values().filter_map(line).collect()
}

/// The codes of the verdicts that name a claim.
fn codes_about(nodes: &[&Node], claim: &Claim) -> String {
    let key = format!("{}/{}", claim.namespace, claim.name);
    let names = |v: &&Verdict| v.detail.split(|c: char| c.is_whitespace() || ",;:".contains(c)).any(|word| word == key);
    let codes: BTreeSet<&str> =
        nodes.iter().flat_map(|n| n.verdicts.iter().filter(names)).map(|v| v.code.as_str()).collect();
    codes.into_iter().collect::<Vec<_>>().join(", ")
}

fn remedies(remedies: &[Remedy], explanation: &Explanation, out: &mut String, width: usize) {
    if remedies.is_empty() {
        if !explanation.nodes.is_empty() {
            out.push('\n');
            Paragraph::from(Span::plain("No single change that was tried would make it fit.")).render(out, width);
        }
        return;
    }
    out.push('\n');
    let title = if remedies.len() == 1 { "WHAT WOULD HELP" } else { "WHAT WOULD HELP, EACH BY ITSELF" };
    Paragraph::from(Span::new(title, style::TITLE)).render(out, width);
    for (i, remedy) in remedies.iter().enumerate() {
        // Many changes name their node themselves.
        let named = fold::names(&remedy.change, &remedy.node);
        let node = if named { String::new() } else { format!(" ({} would fit)", remedy.node) };
        let change = format!("{}. {}{node}", i + 1, remedy.change);
        Paragraph::from(Span::plain(change)).indent(2).render(out, width);
        if let Some(patch) = &remedy.patch {
            faint(edit(patch)).indent(5).render(out, width);
        }
    }
    faint("Proved by deciding again with the change made.").render(out, width);
}

fn edit(patch: &Patch) -> String {
    let namespace = patch.namespace.as_deref().map(|n| format!("{n}/")).unwrap_or_default();
    let object = format!("{} {namespace}{}", patch.kind, patch.name);
    match (patch.field.as_str(), &patch.value) {
        (".", None) => format!("delete {object}"),
        (".", Some(value)) => format!("{object}: {value}"),
        (field, None) => format!("{object}: remove {field}"),
        (field, Some(value)) => format!("{object}: {field} = {value}"),
    }
}
