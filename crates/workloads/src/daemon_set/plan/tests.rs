//! Each case is a row of nodes. A node is a word: what it is to the set (`+` a pod belongs there, `-` one may stay, `!` none belongs
//! there, `?` it is gone), then its pods, each a letter, capital where it is of the new revision.
//!
//! `a` available · `r` ready, not for long enough · `n` not ready · `u` not placed yet · `d` being deleted · `f` failed · `s` succeeded

use super::*;

/// The nodes are `n0`, `n1` …, their pods `n0a`, `n0b` …, the oldest first.
fn places(text: &str) -> Vec<Place> {
    let place = |(i, word): (usize, &str)| {
        let (fit, pods) = word.split_at(1);
        let fit = match fit {
            "+" => Some(Fit::Runs),
            "-" => Some(Fit::Stays),
            "!" => Some(Fit::Never),
            _ => None,
        };
        let pods = pods.chars().enumerate().map(|(j, letter)| {
            let kind = letter.to_ascii_lowercase();
            Daemon {
                name: format!("n{i}{}", char::from(b'a' + j as u8)),
                placed: kind != 'u',
                made: format!("2026-01-01T00:00:0{j}Z"),
                phase: match kind {
                    'f' => Phase::Failed,
                    's' => Phase::Succeeded,
                    _ => Phase::Alive,
                },
                deleting: kind == 'd',
                ready: matches!(kind, 'a' | 'r' | 'd'),
                available: kind == 'a',
                updated: letter.is_ascii_uppercase(),
            }
        });
        Place { node: format!("n{i}"), fit, pods: pods.collect(), patient: false }
    };
    text.split(' ').enumerate().map(place).collect()
}

fn told(work: &Work) -> String {
    let make = work.create.iter().map(|node| format!("+{node}"));
    make.chain(work.delete.iter().map(|pod| format!("-{pod}"))).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_pod_on_every_node_and_none_elsewhere() {
    for (nodes, surges, done) in [
        ("+ + -", false, "+n0 +n1"),
        ("+A +a -A", false, ""),
        ("!A !d ?A ?U", false, "-n0a -n3a"),
        ("+D", false, ""),
        ("+F -F +S", false, "-n0a -n1a -n2a"),
        // All but the oldest that has a node go.
        ("+AA +UA", false, "-n0b -n1a"),
        ("+aA", false, "-n0b"),
        // With a surge a pod on its way out is replaced at once, and one of each revision may be there …
        ("+D +d", true, "+n0 +n1"),
        ("-D", true, ""),
        ("+aN +aR", true, ""),
        // … until the new one is available or the old one is not ready.
        ("+aA +nN", true, "-n0a -n1a"),
        ("+aaN +aNN", true, "-n0b -n1c"),
    ] {
        assert_eq!(told(&manage(&places(nodes), surges)), done, "{nodes}, surges {surges}");
    }
}

#[test]
fn a_failed_pod_is_told_of_and_waits_its_time() {
    let mut nodes = places("+F +S");
    let work = manage(&nodes, false);
    assert_eq!(work.failed, [("n0a".to_owned(), "n0".to_owned())]);
    assert_eq!(work.succeeded, [("n1a".to_owned(), "n1".to_owned())]);
    nodes[0].patient = true;
    let work = manage(&nodes, false);
    assert_eq!((told(&work).as_str(), work.waits), ("-n1a", true));
}

#[test]
fn with_a_surge_a_failed_pod_that_waits_has_no_successor() {
    let patient = |text: &str| {
        let mut nodes = places(text);
        nodes.iter_mut().for_each(|place| place.patient = true);
        let work = manage(&nodes, true);
        (told(&work), work.waits)
    };
    assert_eq!(told(&manage(&places("+F"), true)), "+n0 -n0a", "its time is over");
    assert_eq!(patient("+F"), (String::new(), true));
    assert_eq!(patient("+FD"), (String::new(), true));
    // One that runs is not touched by it, and one that was deleted while it ran is replaced as ever.
    assert_eq!(patient("+Fa"), (String::new(), true));
    assert_eq!(patient("+D"), ("+n0".to_owned(), false));
}

#[test]
fn an_update_in_place_keeps_to_what_may_be_away() {
    for (nodes, max, done) in [
        ("+a +a +a", 1, "-n0a"),
        ("+a +a +a", 2, "-n0a -n1a"),
        ("+A +a +a", 1, "-n1a"),
        ("+N +a +a", 1, ""),
        ("+R +a", 1, ""),
        ("+D +a", 1, ""),
        ("+ +a", 1, ""),
        // One that is not available is replaced whatever else is away.
        ("+n +a +N", 1, "-n0a"),
        ("+n +a", 2, "-n0a -n1a"),
        ("+aa +a", 2, "-n1a"),
        ("+A +A", 1, ""),
        // A node that no pod belongs on and that has none does not count.
        ("- +a", 1, "-n1a"),
    ] {
        let limits = Limits { max_unavailable: max, max_surge: 0 };
        assert_eq!(told(&update(&places(nodes), limits)), done, "{nodes}, {max} away");
    }
}

#[test]
fn an_update_by_surge_makes_new_pods_first() {
    for (nodes, max, done) in [
        ("+a +a +a", 1, "+n0"),
        ("+aN +a +a", 1, ""),
        ("+aN +a +a", 2, "+n1"),
        ("+aA +a +a", 1, "+n1 -n0a"),
        ("+n +n +a", 1, "+n0 +n1 +n2"),
        ("+A +A", 1, ""),
        // A pod on a node that is no longer meant goes when enough others are available.
        ("-a +A", 1, "-n0a"),
        ("-a +N", 1, ""),
        ("-n +N", 1, "-n0a"),
    ] {
        let limits = Limits { max_unavailable: 0, max_surge: max };
        assert_eq!(told(&update(&places(nodes), limits)), done, "{nodes}, {max} surging");
    }
}
