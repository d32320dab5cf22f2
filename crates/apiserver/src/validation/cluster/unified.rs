//! The unified difference of two texts, with the choices that upstream's diff library makes: the longest run of equal lines
//! first, the earliest of several, then the same left and right of it.

use std::fmt::Write as _;

/// Lines of context around a change.
const CONTEXT: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Equal,
    Replace,
    Delete,
    Insert,
}

/// A stretch of `a` and what stands in its place in `b`.
#[derive(Debug, Clone, Copy)]
struct Step {
    tag: Tag,
    a: (usize, usize),
    b: (usize, usize),
}

/// The difference without file names; empty when there is none.
pub(super) fn diff(a: &[&str], b: &[&str]) -> String {
    let mut out = String::new();
    for group in grouped(steps(a, b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let _ = writeln!(out, "@@ -{} +{} @@", range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        for step in &group {
            let (before, after) = (lines(a, step.a), lines(b, step.b));
            match step.tag {
                Tag::Equal => put(&mut out, ' ', before),
                Tag::Delete => put(&mut out, '-', before),
                Tag::Insert => put(&mut out, '+', after),
                Tag::Replace => {
                    put(&mut out, '-', before);
                    put(&mut out, '+', after);
                }
            }
        }
    }
    out
}

fn lines<'a, 'b>(of: &'a [&'b str], (from, to): (usize, usize)) -> &'a [&'b str] {
    of.get(from..to).unwrap_or_default()
}

fn put(out: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(out, "{sign}{line}");
    }
}

fn range(start: usize, stop: usize) -> String {
    match stop.saturating_sub(start) {
        1 => format!("{}", start + 1),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

/// The longest run of equal lines within two windows: where it starts in both, and how long it is.
fn longest(a: &[&str], b: &[&str], (alo, ahi): (usize, usize), (blo, bhi): (usize, usize)) -> (usize, usize, usize) {
    let mut best = (alo, blo, 0);
    // How long a run ends at each line of `b`, for the line of `a` before.
    let mut runs = vec![0_usize; b.len() + 1];
    for (i, line) in a.iter().enumerate().take(ahi).skip(alo) {
        let mut next = vec![0_usize; b.len() + 1];
        for (j, other) in b.iter().enumerate().take(bhi).skip(blo) {
            if line != other {
                continue;
            }
            let length = runs.get(j).copied().unwrap_or_default() + 1;
            if let Some(slot) = next.get_mut(j + 1) {
                *slot = length;
            }
            if length > best.2 {
                best = (i + 1 - length, j + 1 - length, length);
            }
        }
        runs = next;
    }
    best
}

fn matches(a: &[&str], b: &[&str]) -> Vec<(usize, usize, usize)> {
    let mut found = Vec::new();
    let mut todo = vec![((0, a.len()), (0, b.len()))];
    while let Some((aw, bw)) = todo.pop() {
        let (i, j, size) = longest(a, b, aw, bw);
        if size == 0 {
            continue;
        }
        found.push((i, j, size));
        if aw.0 < i && bw.0 < j {
            todo.push(((aw.0, i), (bw.0, j)));
        }
        if i + size < aw.1 && j + size < bw.1 {
            todo.push(((i + size, aw.1), (j + size, bw.1)));
        }
    }
    found.sort_unstable();
    found.push((a.len(), b.len(), 0));
    found
}

fn steps(a: &[&str], b: &[&str]) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (at, bt, size) in matches(a, b) {
        let tag = match (i < at, j < bt) {
            (true, true) => Some(Tag::Replace),
            (true, false) => Some(Tag::Delete),
            (false, true) => Some(Tag::Insert),
            (false, false) => None,
        };
        if let Some(tag) = tag {
            out.push(Step { tag, a: (i, at), b: (j, bt) });
        }
        if size > 0 {
            match out.last_mut() {
                // Runs that touch are one.
                Some(last) if last.tag == Tag::Equal => (last.a.1, last.b.1) = (at + size, bt + size),
                _ => out.push(Step { tag: Tag::Equal, a: (at, at + size), b: (bt, bt + size) }),
            }
        }
        (i, j) = (at + size, bt + size);
    }
    out
}

fn grouped(mut steps: Vec<Step>) -> Vec<Vec<Step>> {
    if let Some(first) = steps.first_mut().filter(|step| step.tag == Tag::Equal) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.tag == Tag::Equal) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group = Vec::new();
    for mut step in steps {
        if step.tag == Tag::Equal && step.a.1 - step.a.0 > 2 * CONTEXT {
            group.push(Step { a: (step.a.0, step.a.0 + CONTEXT), b: (step.b.0, step.b.0 + CONTEXT), ..step });
            groups.push(std::mem::take(&mut group));
            (step.a.0, step.b.0) = (step.a.1 - CONTEXT, step.b.1 - CONTEXT);
        }
        group.push(step);
    }
    // A last group that holds nothing but equal lines says nothing.
    if group.iter().any(|step| step.tag != Tag::Equal) {
        groups.push(group);
    }
    groups
}
