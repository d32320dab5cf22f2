//! Each case is a row of pods and what is done about them. A pod is a letter: capital where it is of the new revision.
//!
//! `r` ready · `n` running, not ready · `w` ready, not for long enough · `p` pending · `d` being deleted · `f` failed ·
//! `m` ready, in need of mending · `q` pending, in need of mending · `.` not there · `x` not there, and a claim of its predecessor is

use super::*;

const ROLLING: Strategy = Strategy::Rolling { partition: Some(0), max_unavailable: 1 };

fn rolling(partition: i64, max_unavailable: i64) -> Strategy {
    Strategy::Rolling { partition: Some(partition), max_unavailable }
}

fn seat(ordinal: i64, letter: char) -> Seat {
    let seen = |phase, ready, available, deleting| Seen {
        phase,
        ready,
        available,
        deleting,
        updated: letter.is_ascii_uppercase(),
        fits: !matches!(letter.to_ascii_lowercase(), 'm' | 'q'),
    };
    let pod = match letter.to_ascii_lowercase() {
        'r' | 'm' => Some(seen(Phase::Running, true, true, false)),
        'n' => Some(seen(Phase::Running, false, false, false)),
        'w' => Some(seen(Phase::Running, true, false, false)),
        'p' | 'q' => Some(seen(Phase::Pending, false, false, false)),
        'd' => Some(seen(Phase::Running, true, true, true)),
        'f' => Some(seen(Phase::Over, false, false, false)),
        _ => None,
    };
    Seat { ordinal, pod, blocked: letter == 'x' }
}

/// The steps, as text; `condemned` follow the wanted ones in number.
fn steps(parallel: bool, strategy: Strategy, wanted: &str, condemned: &str) -> String {
    let stages = stages(parallel, strategy, wanted, condemned);
    let text = stages.iter().flatten().map(|step| match step {
        Step::Create(n) => format!("make {n}"),
        Step::Claims(n) => format!("claims {n}"),
        Step::Mend(n) => format!("mend {n}"),
        Step::Disown(n) => format!("disown {n}"),
        Step::Delete(n) => format!("delete {n}"),
    });
    text.collect::<Vec<_>>().join(", ")
}

fn stages(parallel: bool, strategy: Strategy, wanted: &str, condemned: &str) -> Vec<Vec<Step>> {
    let seats: Vec<Seat> = (0..).zip(wanted.chars()).map(|(i, c)| seat(i, c)).collect();
    let first = seats.len() as i64;
    let mut condemned: Vec<Seat> = (first..).zip(condemned.chars()).map(|(i, c)| seat(i, c)).collect();
    condemned.reverse();
    plan(Rules { parallel, strategy }, &seats, &condemned)
}

#[test]
fn in_order_one_pod_at_a_time() {
    for (wanted, condemned, done) in [
        ("...", "", "make 0"),
        ("P..", "", "claims 0"),
        ("N..", "", ""),
        ("W..", "", ""),
        ("R..", "", "make 1"),
        ("RR.", "", "make 2"),
        ("RRR", "", ""),
        // A pod that is gone in the middle comes back before anything else is done.
        ("R.R", "R", "make 1"),
        // Never two of one number: the successor waits for the end of its predecessor.
        ("DRR", "R", ""),
        // One that has ended is replaced, whatever it said at the end.
        ("RFR", "R", "delete 1"),
        ("x..", "", ""),
        ("MR.", "", "mend 0, make 2"),
        ("RNM", "", ""),
    ] {
        assert_eq!(steps(false, ROLLING, wanted, condemned), done, "{wanted} and {condemned}");
    }
}

#[test]
fn in_order_the_last_goes_first() {
    for (wanted, condemned, done) in [
        ("R", "RR", "delete 2"),
        ("R", "RD", ""),
        ("R", "R", "delete 1"),
        // The first that is not well may go; what is above it waits.
        ("R", "RN", "delete 2"),
        ("R", "NR", "delete 2"),
        ("R", "NN", ""),
        ("N", "R", ""),
        ("R", "MM", "disown 2, disown 1, delete 2"),
        ("", "R", "delete 0"),
    ] {
        assert_eq!(steps(false, ROLLING, wanted, condemned), done, "{wanted} and {condemned}");
    }
}

#[test]
fn all_at_once_nobody_waits() {
    for (wanted, condemned, done) in [
        ("...", "", "make 0, make 1, make 2"),
        ("P.N", "", "claims 0, make 1"),
        ("FxD", "", "delete 0"),
        ("N", "RRD", "delete 2, delete 1"),
        ("MP", "", "mend 0, claims 1"),
        // One that waits lacks claims perhaps: these come before it is mended.
        ("QM", "", "claims 0, mend 0, mend 1"),
    ] {
        assert_eq!(steps(true, ROLLING, wanted, condemned), done, "{wanted} and {condemned}");
    }
}

#[test]
fn a_rolling_update_goes_down_to_its_partition() {
    for (parallel, strategy, wanted, done) in [
        (false, ROLLING, "rrr", "delete 2"),
        (false, ROLLING, "rrD", ""),
        (false, ROLLING, "rrN", ""),
        (false, ROLLING, "rrW", ""),
        (false, ROLLING, "rrR", "delete 1"),
        (false, ROLLING, "RRR", ""),
        (false, rolling(2, 1), "rrr", "delete 2"),
        (false, rolling(2, 1), "rrR", ""),
        (false, rolling(9, 1), "rrr", ""),
        (false, rolling(0, 2), "rrrr", "delete 3, delete 2"),
        (false, rolling(1, 9), "rrr", "delete 2, delete 1"),
        (false, Strategy::OnDelete, "rrr", ""),
        (false, Strategy::Rolling { partition: None, max_unavailable: 1 }, "rr", "delete 1"),
        // In order, a broken pod stops the update, as upstream has it.
        (false, ROLLING, "rnr", ""),
        // All at once, broken pods go first and cost nothing of what may be away.
        (true, ROLLING, "rnr", "delete 1"),
        (true, ROLLING, "nrn", "delete 2, delete 0"),
        (true, rolling(0, 2), "rnr", "delete 1, delete 2"),
        (true, rolling(0, 2), "rrrr", "delete 3, delete 2"),
        (true, rolling(2, 1), "nrr", ""),
        (true, ROLLING, "rrD", ""),
        (true, ROLLING, "rrR", "delete 1"),
        // One that has ended goes once.
        (true, ROLLING, "rf", "delete 1"),
    ] {
        assert_eq!(steps(parallel, strategy, wanted, ""), done, "parallel {parallel}, {strategy:?}: {wanted}");
    }
}

#[test]
fn scaling_down_comes_before_updating() {
    assert_eq!(steps(false, ROLLING, "rr", "r"), "delete 2");
    assert_eq!(steps(true, ROLLING, "rr", "r"), "delete 2, delete 1");
}

/// What runs beside each other is never about one pod: two writes for it would meet.
#[test]
fn the_steps_of_a_pod_follow_each_other() {
    let rows = ["", "q", "Q", "rqpf.", "QMqmPpFfDd.xnNwW", "nrn", "qqq"];
    for (wanted, condemned) in rows.iter().flat_map(|wanted| rows.iter().map(move |condemned| (wanted, condemned))) {
        for strategy in [ROLLING, rolling(1, 3), Strategy::OnDelete] {
            for stage in stages(true, strategy, wanted, condemned) {
                let turns = by_pod(&stage);
                let mut pods: Vec<i64> = turns.iter().map(|steps| steps[0].ordinal()).collect();
                pods.sort_unstable();
                pods.dedup();
                assert_eq!(pods.len(), turns.len(), "{wanted} and {condemned}: {stage:?}");
            }
        }
    }
    let stage = [Step::Claims(0), Step::Mend(0), Step::Claims(1), Step::Create(2)];
    assert_eq!(by_pod(&stage), [&stage[..2], &stage[2..3], &stage[3..]]);
}
