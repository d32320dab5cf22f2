//! The answer for a person: a line per node, a line per claim, then what would help.

use std::collections::{BTreeMap, BTreeSet};

use crate::explain::fold::{self, Group};
use crate::explain::report::{Claim, Explanation, ExplanationList, Node, Patch, Remedy, Verdict};
use crate::text::{Grid, Paragraph, Row, Span, push_paragraph, style};

/// One pod in full.
pub fn explanation(explanation: &Explanation, width: usize) -> String {
    let mut out = String::new();
    push_paragraph(&mut out, &headline(explanation), 0, width);
    if let Some(rejection) = &explanation.rejection {
        verdict(rejection, "").iter().for_each(|p| push_paragraph(&mut out, p, 2, width));
    } else {
        push_paragraph(&mut out, &[Span::new(explanation.summary.as_str(), style::FAINT)], 0, width);
    }
    if let Some(gate) = explanation.deviation {
        let text = format!("kube-scheduler would reject this pod as a whole: {gate} makes the difference");
        push_paragraph(&mut out, &[Span::new(text, style::FAINT)], 0, width);
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
            Some(rejection) => verdict(rejection, ""),
            None => vec![vec![Span::plain(item.summary.as_str())]],
        };
        grid.push(Row {
            cells: vec![
                Span::plain(item.pod.namespace.as_str()),
                Span::plain(item.pod.name.as_str()),
                yes_or_no(item.schedulable),
                Span::plain(item.chosen_node.as_deref().unwrap_or("-")),
            ],
            tail: why,
        });
    }
    let mut out = String::new();
    grid.render(&mut out, width);
    let stuck = list.items.iter().filter(|i| !i.schedulable).count();
    if stuck > 0 {
        let text = format!("\n{stuck} of {} cannot be placed; `plimsoll explain POD` says why.\n", list.items.len());
        out.push_str(&text);
    }
    out
}

fn headline(explanation: &Explanation) -> Paragraph {
    let pod = format!("Pod {}/{}", explanation.pod.namespace, explanation.pod.name);
    let count = explanation.nodes.len();
    let fit = explanation.nodes.iter().filter(|n| n.feasible).count();
    let pod = Span::new(pod, style::TITLE);
    match &explanation.chosen_node {
        Some(node) => {
            let nodes = plural(count, "node");
            vec![pod, Span::new(format!("fits on {fit} of {nodes}; the choice is {node}."), style::GOOD)]
        }
        None if explanation.rejection.is_some() => {
            vec![pod, Span::new("cannot be placed, whatever the node.", style::BAD)]
        }
        None if count == 0 => vec![pod, Span::new("cannot be placed: there are no nodes.", style::BAD)],
        None => vec![pod, Span::new(format!("fits on none of {}.", plural(count, "node")), style::BAD)],
    }
}

fn yes_or_no(yes: bool) -> Span {
    if yes { Span::new("yes", style::GOOD) } else { Span::new("no", style::BAD) }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

fn nodes(explanation: &Explanation) -> Grid {
    let mut grid = Grid::new(&["NODE", "FITS", "SCORE", "WHY"]);
    let chosen = explanation.chosen_node.as_deref();
    for group in fold::fitting(&explanation.nodes, chosen) {
        let is_chosen = group.nodes.iter().any(|n| Some(n.name.as_str()) == chosen);
        let mut tail = Vec::new();
        if is_chosen {
            let tied = explanation.nodes.iter().filter(|n| n.score == group.nodes[0].score && n.feasible).count() > 1;
            let why = if tied { "chosen: the highest score, first by name" } else { "chosen: the highest score" };
            tail.push(vec![Span::plain(if explanation.nodes.len() == 1 { "chosen" } else { why })]);
        }
        tail.extend(deviations(&group));
        grid.push(row(&group, tail));
    }
    for group in fold::refused(&explanation.nodes) {
        let example = if group.varied { "for example, " } else { "" };
        let mut tail: Vec<Paragraph> = group.verdicts.iter().flat_map(|v| verdict(v, example)).collect();
        tail.extend(deviations(&group));
        grid.push(row(&group, tail));
    }
    grid
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
        reason.push(Span::new(format!("(not for kube-scheduler: {gate})"), style::FAINT));
    }
    let mut paragraphs = vec![reason];
    if !verdict.detail.is_empty() && verdict.detail != verdict.reason {
        paragraphs.push(vec![Span::new(format!("{example}{}", verdict.detail), style::FAINT)]);
    }
    paragraphs
}

fn deviations(group: &Group<'_>) -> Option<Paragraph> {
    let gates = &group.nodes.first()?.deviations;
    let text = format!("(otherwise for kube-scheduler: {})", gates.join(", "));
    (!gates.is_empty()).then(|| vec![Span::new(text, style::FAINT)])
}

/// What the claims become on the chosen node, or, where none fits, what they could become anywhere.
fn claims(explanation: &Explanation) -> Option<Grid> {
    if let Some(chosen) = &explanation.chosen_node {
        let node = explanation.nodes.iter().find(|n| n.name == *chosen).filter(|n| !n.claims.is_empty())?;
        let mut grid = Grid::new(&["CLAIM", "CLASS", &format!("ON {chosen}")]);
        for claim in &node.claims {
            grid.push(claim_row(claim, vec![vec![becomes(claim)]]));
        }
        return Some(grid);
    }
    let claims = &explanation.nodes.first()?.claims;
    let mut grid = Grid::new(&["CLAIM", "CLASS", "COULD BE"]);
    for (i, claim) in claims.iter().enumerate() {
        grid.push(claim_row(claim, anywhere(explanation, i)));
    }
    (!claims.is_empty()).then_some(grid)
}

fn claim_row(claim: &Claim, tail: Vec<Paragraph>) -> Row {
    let class = if claim.class.is_empty() { "-" } else { claim.class.as_str() };
    Row { cells: vec![Span::plain(format!("{}/{}", claim.namespace, claim.name)), Span::plain(class)], tail }
}

fn becomes(claim: &Claim) -> Span {
    let volume = claim.volume.as_deref().unwrap_or_default();
    let what = match claim.outcome {
        "bound" => format!("bound to {volume} already"),
        "static" => format!("would be bound to {volume}"),
        "provision" => "a new volume would be made".to_owned(),
        _ => return Span::new("no volume, and none can be made", style::BAD),
    };
    let assumed = if claim.assumed { " (the claim itself is not there yet)" } else { "" };
    Span::plain(format!("{what}{assumed}"))
}

/// What the claim at this place of the plan could become over all nodes, with counts.
fn anywhere(explanation: &Explanation, index: usize) -> Vec<Paragraph> {
    let mut outcomes: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in &explanation.nodes {
        if let Some(claim) = node.claims.get(index) {
            outcomes.entry(claim.outcome).or_default().push(node);
        }
    }
    let all = explanation.nodes.len();
    let on = |nodes: &[&Node]| match nodes {
        nodes if nodes.len() == all && all > 1 => format!("on every one of {all} nodes"),
        [one] => format!("on {}", one.name),
        nodes => format!("on {}", plural(nodes.len(), "node")),
    };
    let line = |(outcome, nodes): (&&str, &Vec<&Node>)| -> Paragraph {
        let Some(claim) = nodes.first().and_then(|n| n.claims.get(index)) else { return Vec::new() };
        match *outcome {
            "bound" => vec![becomes(claim)],
            "static" => {
                let volumes: BTreeSet<&str> =
                    nodes.iter().filter_map(|n| n.claims.get(index)?.volume.as_deref()).collect();
                let what = match volumes.len() {
                    1 => format!("bound to {}", volumes.into_iter().next().unwrap_or_default()),
                    count => format!("bound to one of {count} volumes"),
                };
                vec![Span::plain(format!("{what} {}", on(nodes)))]
            }
            "provision" => vec![Span::plain(format!("made {}", on(nodes)))],
            _ => {
                let mut line = vec![Span::new("nothing", style::BAD), Span::plain(on(nodes))];
                let codes = codes_about(nodes, claim);
                line.extend((!codes.is_empty()).then(|| Span::new(format!("({codes})"), style::CODE)));
                line
            }
        }
    };
    outcomes.iter().map(line).collect()
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
        let nothing = "No single change that was tried would make it fit.";
        if !explanation.nodes.is_empty() {
            out.push('\n');
            push_paragraph(out, &[Span::plain(nothing)], 0, width);
        }
        return;
    }
    out.push('\n');
    let title = if remedies.len() == 1 { "WHAT WOULD HELP" } else { "WHAT WOULD HELP (each by itself)" };
    push_paragraph(out, &[Span::new(title, style::TITLE)], 0, width);
    for (i, remedy) in remedies.iter().enumerate() {
        let change = format!("{}. {}, then {} fits", i + 1, remedy.change, remedy.node);
        push_paragraph(out, &[Span::plain(change)], 2, width);
        if let Some(patch) = &remedy.patch {
            push_paragraph(out, &[Span::new(edit(patch), style::FAINT)], 5, width);
        }
    }
    push_paragraph(out, &[Span::new("Each was proved by deciding again with the change made.", style::FAINT)], 0, width);
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
