//! A unified diff of two texts, found the way upstream's library finds it (Ratcliff and Obershelp), since sentences show it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Lines around a change.
const CONTEXT: usize = 3;
/// From this many lines on, lines that are repeated often are not used to find matches.
const MANY_LINES: usize = 200;

#[derive(Clone, Copy, PartialEq)]
enum Tag {
    Same,
    Changed,
}

/// Lines `a.0..a.1` become `b.0..b.1`.
#[derive(Clone, Copy)]
struct Step {
    tag: Tag,
    a: (usize, usize),
    b: (usize, usize),
}

/// The difference of two texts without a header.
pub fn unified(old: &str, new: &str) -> String {
    let a: Vec<&str> = old.split('\n').collect();
    let b: Vec<&str> = new.split('\n').collect();
    let mut out = String::new();
    for group in groups(&steps(&a, &b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let _ = writeln!(out, "@@ -{} +{} @@", range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        for step in &group {
            let (gone, come) = if step.tag == Tag::Same { (' ', None) } else { ('-', Some('+')) };
            for line in a.get(step.a.0..step.a.1).unwrap_or_default() {
                let _ = writeln!(out, "{gone}{line}");
            }
            for line in b.get(step.b.0..step.b.1).unwrap_or_default() {
                if let Some(come) = come {
                    let _ = writeln!(out, "{come}{line}");
                }
            }
        }
    }
    out
}

fn range(start: usize, stop: usize) -> String {
    match stop.saturating_sub(start) {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// Where each line of `b` is, without lines that are too common.
fn places<'a>(b: &[&'a str]) -> BTreeMap<&'a str, Vec<usize>> {
    let mut out: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, line) in b.iter().enumerate() {
        out.entry(line).or_default().push(i);
    }
    if b.len() >= MANY_LINES {
        let most = b.len() / 100 + 1;
        out.retain(|_, at| at.len() <= most);
    }
    out
}

/// Matching blocks as (start in a, start in b, length), in order.
fn blocks(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let places = places(b);
    let mut found = Vec::new();
    let mut todo = vec![(0, a.len(), 0, b.len())];
    while let Some((alo, ahi, blo, bhi)) = todo.pop() {
        let (i, j, k) = longest(a, b, &places, (alo, ahi), (blo, bhi));
        if k == 0 {
            continue;
        }
        found.push((i, j, k));
        if alo < i && blo < j {
            todo.push((alo, i, blo, j));
        }
        if i + k < ahi && j + k < bhi {
            todo.push((i + k, ahi, j + k, bhi));
        }
    }
    found.sort_unstable();
    let mut out: Vec<(usize, usize, usize)> = Vec::new();
    for (i, j, k) in found {
        match out.last_mut() {
            Some(last) if last.0 + last.2 == i && last.1 + last.2 == j => last.2 += k,
            _ => out.push((i, j, k)),
        }
    }
    out.push((a.len(), b.len(), 0));
    out
}

fn longest(
    a: &[&str],
    b: &[&str],
    places: &BTreeMap<&str, Vec<usize>>,
    (alo, ahi): (usize, usize),
    (blo, bhi): (usize, usize),
) -> (usize, usize, usize) {
    let (mut besti, mut bestj, mut size) = (alo, blo, 0);
    // The length of the match that ends with the line of `a` before and this line of `b`.
    let mut ending: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, line) in a.iter().enumerate().take(ahi).skip(alo) {
        let mut now = BTreeMap::new();
        for j in places.get(line).into_iter().flatten().copied().filter(|j| (blo..bhi).contains(j)) {
            let k = j.checked_sub(1).and_then(|before| ending.get(&before)).copied().unwrap_or_default() + 1;
            now.insert(j, k);
            if k > size {
                (besti, bestj, size) = (i + 1 - k, j + 1 - k, k);
            }
        }
        ending = now;
    }
    while besti > alo && bestj > blo && a.get(besti - 1) == b.get(bestj - 1) {
        (besti, bestj, size) = (besti - 1, bestj - 1, size + 1);
    }
    while besti + size < ahi && bestj + size < bhi && a.get(besti + size) == b.get(bestj + size) {
        size += 1;
    }
    (besti, bestj, size)
}

fn steps(a: &[&str], b: &[&str]) -> Vec<Step> {
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (ai, bj, size) in blocks(a, b) {
        if i < ai || j < bj {
            out.push(Step { tag: Tag::Changed, a: (i, ai), b: (j, bj) });
        }
        (i, j) = (ai + size, bj + size);
        if size > 0 {
            out.push(Step { tag: Tag::Same, a: (ai, i), b: (bj, j) });
        }
    }
    out
}

/// The steps with little of what is the same around them.
fn groups(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut steps = steps.to_vec();
    if let Some(first) = steps.first_mut().filter(|step| step.tag == Tag::Same) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.tag == Tag::Same) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let mut out = Vec::new();
    let mut group: Vec<Step> = Vec::new();
    for mut step in steps {
        if step.tag == Tag::Same && step.a.1 - step.a.0 > 2 * CONTEXT {
            group.push(Step { tag: Tag::Same, a: (step.a.0, step.a.0 + CONTEXT), b: (step.b.0, step.b.0 + CONTEXT) });
            out.push(std::mem::take(&mut group));
            step.a.0 = step.a.1 - CONTEXT;
            step.b.0 = step.b.1 - CONTEXT;
        }
        group.push(step);
    }
    let unchanged = group.len() == 1 && group.iter().all(|step| step.tag == Tag::Same);
    if !group.is_empty() && !unchanged {
        out.push(group);
    }
    out
}
