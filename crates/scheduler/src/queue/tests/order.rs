//! Who is next, and when.

use std::time::Duration;

use plimsoll_engine::model::{Pod, Taint, TaintEffect, Toleration};

use super::Bench;
use super::build::*;
use crate::queue::{Backoff, Line, PodQueue};

fn of_priority(name: &str, priority: i32) -> Pod {
    pod(name).edit(|p| p.priority = priority)
}

#[test]
fn by_priority_then_by_arrival_and_whoever_failed_goes_behind() {
    let mut bench = Bench::new();
    for (name, priority) in [("a", 0), ("b", 0), ("c", 5)] {
        bench.set(of_priority(name, priority));
    }
    assert_eq!(bench.take(), Some(key("c")));
    assert_eq!(bench.take(), Some(key("a")));
    bench.err(&key("a"));
    bench.pass(1);
    assert_eq!(bench.take(), Some(key("b")));
    bench.err(&key("b"));
    assert_eq!(bench.take(), Some(key("a")));
    assert_eq!(bench.take(), None);
    assert_eq!(bench.queue.figures().in_hand, 2);
}

#[test]
fn a_pod_that_rises_goes_first() {
    let mut bench = Bench::new();
    bench.set(of_priority("a", 0));
    bench.set(of_priority("b", 0));
    bench.set(of_priority("b", 1));
    assert_eq!(bench.take(), Some(key("b")));
}

#[test]
fn backoffs_double_up_to_the_most_and_errors_count_apart() {
    let waits = |fail: fn(&mut Bench)| {
        let mut bench = Bench::new();
        bench.queue = PodQueue::new(Backoff::default()).takes_early(false);
        bench.set(pod("a"));
        let mut waits = Vec::new();
        for _ in 0..6 {
            assert_eq!(bench.take(), Some(key("a")));
            fail(&mut bench);
            let due = bench.queue.pop(bench.now).expect_err("it rests").expect("it is due");
            waits.push((due - bench.now).as_secs());
            bench.now = due;
        }
        waits
    };
    assert_eq!(waits(|bench| bench.err(&key("a"))), [1, 2, 4, 8, 10, 10]);
    // A node that comes wakes it, and goes again: what is left is the backoff.
    let woken = waits(|bench| {
        bench.refuse(&key("a"));
        bench.set(node("n", ""));
        bench.gone(node("n", ""));
    });
    assert_eq!(woken, [1, 2, 4, 8, 10, 10]);

    let mut bench = Bench::new();
    bench.queue = PodQueue::new(Backoff::default()).takes_early(false);
    bench.set(pod("a"));
    for (fails, wait) in [("r", 1), ("r", 2), ("e", 1), ("e", 2), ("r", 4), ("e", 1)] {
        assert_eq!(bench.take(), Some(key("a")));
        if fails == "e" {
            bench.err(&key("a"));
        } else {
            bench.refuse(&key("a"));
            bench.set(node("n", ""));
            bench.gone(node("n", ""));
        }
        let due = bench.queue.pop(bench.now).expect_err("it rests").expect("it is due");
        assert_eq!((due - bench.now).as_secs(), wait, "after {fails}");
        bench.now = due;
    }
}

trait EditNode {
    fn edit_node(self, f: impl FnOnce(&mut plimsoll_engine::model::Node)) -> Self;
}

impl EditNode for plimsoll_engine::model::Node {
    fn edit_node(mut self, f: impl FnOnce(&mut Self)) -> Self {
        f(&mut self);
        self
    }
}

#[test]
fn without_a_backoff_nobody_rests() {
    let mut bench = Bench::new();
    bench.queue = PodQueue::new(Backoff { first: Duration::from_secs(1), most: Duration::ZERO });
    bench.set(pod("a"));
    for _ in 0..3 {
        assert_eq!(bench.take(), Some(key("a")));
        bench.err(&key("a"));
    }
}

#[test]
fn when_nobody_is_active_one_that_was_rejected_goes_early_and_one_that_erred_does_not() {
    let mut bench = Bench::new();
    for (name, priority) in [("low", 0), ("high", 1), ("erred", 9)] {
        bench.set(of_priority(name, priority));
    }
    for name in ["erred", "high", "low"] {
        assert_eq!(bench.take(), Some(key(name)));
    }
    bench.err(&key("erred"));
    bench.refuse(&key("low"));
    bench.refuse(&key("high"));
    assert_eq!(bench.take(), None, "those who were refused wait for a change");
    bench.set(node("n", ""));
    let figures = bench.queue.figures();
    assert_eq!((figures.active, figures.backoff, figures.unschedulable), (0, 3, 0));
    // Both backoffs end in the same window: the higher priority goes first, whoever failed first.
    assert_eq!(bench.take(), Some(key("high")));
    assert_eq!(bench.take(), Some(key("low")));
    assert_eq!(bench.take(), None);
    bench.pass(1);
    assert_eq!(bench.take(), Some(key("erred")));
    assert_eq!(bench.queue.figures().incoming[&("PopFromBackoffQ", Line::Active)], 2);
}

#[test]
fn nobody_stays_unschedulable_for_more_than_five_minutes() {
    let mut bench = Bench::new().with(node("n", "").edit_node(|n| n.unschedulable = true));
    bench.set(pod("a"));
    assert_eq!(bench.take(), Some(key("a")));
    bench.refuse(&key("a"));
    let due = bench.queue.pop(bench.now).expect_err("it waits").expect("not for ever");
    assert_eq!(due - bench.now, Duration::from_secs(300));
    bench.pass(299);
    assert_eq!(bench.take(), None);
    bench.pass(1);
    assert_eq!(bench.take(), Some(key("a")));
    assert_eq!(bench.queue.figures().incoming[&("UnschedulableTimeout", Line::Active)], 1);
    assert!(bench.queue.is_flushed(&key("a")), "nothing but time brought it");
    bench.refuse(&key("a"));
    assert!(!bench.queue.is_flushed(&key("a")), "that was the last attempt");
}

#[test]
fn gated_pods_stand_aside_until_the_gates_are_gone() {
    let mut bench = Bench::new();
    bench.set(pod("a").edit(|p| p.gated = true));
    assert_eq!(bench.queue.pop(bench.now), Err(None), "no event and no time makes it due");
    bench.set(node("n", ""));
    bench.pass(3600);
    assert_eq!(bench.queue.pop(bench.now), Err(None));
    assert_eq!(bench.queue.figures().gated, 1);
    bench.set(pod("a"));
    assert_eq!(bench.take(), Some(key("a")));
    let figures = bench.queue.figures();
    assert_eq!(figures.gated, 0);
    assert_eq!(figures.incoming[&("TargetPodUpdatePodSchedulingGatesEliminated", Line::Active)], 1);
}

#[test]
fn a_change_of_the_pod_itself_wakes_it_where_it_can_help() {
    let tainted = || {
        let taint = Taint { key: "k".into(), value: "".into(), effect: TaintEffect::NoSchedule };
        Bench::new().with(node("n", "").edit_node(|n| n.taints = vec![taint]))
    };
    let after = |edit: fn(&mut Pod)| {
        let mut bench = tainted().waiting(pod("a"));
        bench.set(pod("a").edit(edit));
        bench.take().is_some()
    };
    assert!(after(|p| p.tolerations.push(Toleration {
        key: "k".into(),
        operator: "Exists".into(),
        value: "".into(),
        effect: None
    })));
    assert!(!after(|p| p.nominated_node = Some("n".into())), "what only the status says does not count");
    assert!(!after(|p| p.started = Some("2026-01-01T00:00:00Z".into())));
    assert!(!after(|p| p.labels = labels("a=b")), "labels do not lift a taint");
    assert!(!after(|_| ()), "nor does a repeat");
    assert!(after(|p| p.node_selector = labels("a=b")), "it asks for something else altogether");
}

#[test]
fn a_pod_that_asks_for_less_is_woken() {
    let asking = |cpu: &str| {
        pod("a").edit(|p| {
            let requests = [("cpu".into(), quantity(cpu))].into_iter().collect();
            p.demand.containers.push(plimsoll_engine::model::Container { requests, ..Default::default() });
        })
    };
    let small = node("n", "").edit_node(|n| n.allocatable.cpu_milli = 1000);
    let mut bench = Bench::new().with(small.clone()).waiting(asking("2"));
    bench.set(asking("3"));
    assert_eq!(bench.take(), None, "more does not help");
    bench.set(asking("1"));
    assert_eq!(bench.take(), Some(key("a")));
}

#[test]
fn a_pod_that_is_being_deleted_is_not_scheduled() {
    let mut bench = Bench::new();
    bench.set(pod("a"));
    bench.set(pod("a").edit(|p| p.deleting = true));
    assert_eq!(bench.queue.pop(bench.now), Err(None));
    assert!(bench.queue.is_idle(bench.now));
}

#[test]
fn a_pod_made_anew_is_not_lost_when_the_old_one_ends() {
    let mut bench = Bench::new();
    bench.set(pod("a"));
    assert_eq!(bench.take(), Some(key("a")));
    // A watch that was interrupted does not even show that the old one went.
    bench.set(pod("a").edit(|p| p.uid = "another".into()));
    bench.queue.done(&key("a"), "uid-default/a");
    assert_eq!(bench.take(), Some(key("a")));
    bench.queue.done(&key("a"), "uid-default/a");
    assert_eq!(bench.queue.figures().in_hand, 1, "the new one is still being placed");
    bench.queue.done(&key("a"), "another");
    assert_eq!(bench.queue.figures().in_hand, 0);
}

#[test]
fn what_changes_while_a_pod_is_judged_is_not_missed() {
    let refused_at = |judging: bool, helps: bool| {
        let mut bench = Bench::new().with(node("n", "").edit_node(|n| n.unschedulable = true));
        bench.set(pod("a"));
        assert_eq!(bench.take(), Some(key("a")));
        let judged = bench.catalog.pod(&key("a")).cloned().expect("known");
        let refused_by = bench.catalog.diagnose_by(&judged, &bench.rules, &[]).refused_by;
        if judging {
            bench.queue.judging(&key("a"));
        }
        bench.set(node("n", "").edit_node(|n| n.unschedulable = !helps));
        let wait = bench.catalog.wait_of(&judged, &bench.rules, &refused_by);
        let why = crate::queue::Failure::Refused(wait);
        bench.queue.failed(&key("a"), &judged.uid, why, &bench.catalog, bench.now);
        let figures = bench.queue.figures();
        (figures.backoff, figures.unschedulable)
    };
    assert_eq!(refused_at(true, true), (1, 0), "tried again, after its backoff");
    assert_eq!(refused_at(true, false), (0, 1));
    assert_eq!(refused_at(false, true), (0, 1), "a decision under the lock has seen what came before it");
}

#[test]
fn more_changes_than_can_be_remembered_are_a_reason_to_try_again() {
    let mut bench = Bench::new().with(node("n", "").edit_node(|n| n.unschedulable = true));
    bench.set(pod("a"));
    assert_eq!(bench.take(), Some(key("a")));
    bench.queue.judging(&key("a"));
    for i in 0..1001 {
        bench.set(pool(&format!("p{i}"), "fast", None, "1Gi"));
    }
    bench.refuse(&key("a"));
    assert_eq!(bench.queue.figures().backoff, 1);
}

#[test]
fn a_change_of_a_pod_that_is_being_judged_is_not_missed() {
    let mut bench = Bench::new().with(node("n", ""));
    let asks = |zone: &str| pod("a").edit(|p| p.node_selector = labels(&format!("{ZONE}={zone}")));
    bench.set(asks("a"));
    assert_eq!(bench.take(), Some(key("a")));
    bench.set(asks("b"));
    bench.refuse(&key("a"));
    assert_eq!(bench.queue.figures().backoff, 1);
}

#[test]
fn idle_is_when_nobody_is_in_hand_and_none_is_due() {
    let mut bench = Bench::new();
    assert!(bench.queue.is_idle(bench.now));
    bench.set(pod("a"));
    assert!(!bench.queue.is_idle(bench.now));
    assert_eq!(bench.take(), Some(key("a")));
    assert!(!bench.queue.is_idle(bench.now));
    bench.err(&key("a"));
    assert!(bench.queue.is_idle(bench.now));
    assert!(!bench.queue.is_idle(bench.now + Duration::from_secs(1)));
}
