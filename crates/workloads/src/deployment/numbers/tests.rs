//! Upstream's own examples, as tables.

use serde_json::json;

use super::*;

fn room(replicas: i64, surge: i64, unavailable: i64) -> Room {
    Room { replicas, surge, unavailable, rolling: true }
}

/// A set all of whose replicas are available; the larger the number in its name, the newer.
fn set(name: &str, replicas: i64, most_then: i64) -> Size {
    let created = format!("2026-01-01T00:00:0{}Z", name.trim_start_matches('v'));
    Size { name: name.to_owned(), created, replicas, available: replicas, most_then: Some(most_then) }
}

fn with_available(set: Size, available: i64) -> Size {
    Size { available, ..set }
}

#[test]
fn surge_is_rounded_up_and_unavailable_down_and_both_are_never_none() {
    for (replicas, surge, unavailable, wanted) in [
        (10, json!("25%"), json!("25%"), (3, 2)),
        (4, json!("25%"), json!("25%"), (1, 1)),
        (1, json!("25%"), json!("25%"), (1, 0)),
        (0, json!("25%"), json!("25%"), (0, 0)),
        (2, json!("0%"), json!("1%"), (0, 1)),
        (2, json!("1%"), json!("25%"), (1, 0)),
        (3, json!(0), json!(5), (0, 3)),
        (3, json!(2), json!(0), (2, 0)),
        (3, json!(0), json!(0), (0, 1)),
        (3, json!("much"), json!(null), (0, 1)),
    ] {
        let rule = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        let room =
            Room::of(&json!({"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rule}}));
        assert_eq!((room.surge, room.unavailable), wanted, "{replicas} {rule}");
    }
    let recreate = Room::of(&json!({"replicas": 3, "strategy": {"type": "Recreate"}}));
    assert_eq!(recreate, Room { replicas: 3, surge: 0, unavailable: 0, rolling: false });
}

#[test]
fn the_new_set_grows_as_far_as_the_surge_allows() {
    for (replicas, surge, old, new, wanted) in [
        (10, 0, 10, 0, 0),
        (10, 2, 10, 0, 2),
        (10, 2, 5, 0, 7),
        (10, 2, 10, 2, 2),
        (10, 2, 2, 11, 10),
        (10, 2, 0, 3, 10),
        (10, 2, 20, 3, 3),
        (0, 1, 0, 0, 0),
    ] {
        let size = new_size(&room(replicas, surge, 0), new, old + new);
        assert_eq!(size, wanted, "{replicas} +{surge}: {old} old, {new} new");
    }
    let recreate = Room { rolling: false, ..room(10, 0, 0) };
    assert_eq!(new_size(&recreate, 0, 7), 10);
}

/// What becomes of an old set at one look: first without what is not available, then shrunk.
fn old_after(room: &Room, old: Size, new: Size) -> i64 {
    let mut old = old;
    let spare = spare(room, &new, std::slice::from_ref(&old));
    if spare <= 0 {
        return old.replicas;
    }
    for (_, size) in without_unhealthy(std::slice::from_ref(&old), spare) {
        old.replicas = size;
    }
    for (_, size) in shrunk(room, &new, std::slice::from_ref(&old)) {
        old.replicas = size;
    }
    old.replicas
}

#[test]
fn the_old_sets_shrink_as_far_as_availability_allows() {
    // Without a surge, none unavailable means one.
    for (what, unavailable, (old, old_available), (new, new_available), wanted) in [
        ("the one that may be missing", 1, (10, 10), (0, 0), 9),
        ("as many as may be missing", 2, (10, 10), (0, 0), 8),
        ("only those that are missing anyway", 2, (10, 8), (0, 0), 8),
        ("one that is missing and one that is not", 2, (10, 9), (0, 0), 8),
        ("none, since new ones are missing", 2, (8, 8), (2, 0), 8),
        ("what new ones replaced", 2, (8, 8), (2, 2), 6),
        ("all of them in the end", 2, (2, 2), (10, 10), 0),
        ("too few already", 2, (10, 1), (0, 0), 8),
    ] {
        let (old, new) =
            (with_available(set("v1", old, 10), old_available), with_available(set("v2", new, 10), new_available));
        assert_eq!(old_after(&room(10, 0, unavailable), old, new), wanted, "{what}");
    }
}

#[test]
fn the_oldest_set_shrinks_first() {
    let old = [set("v2", 3, 10), set("v1", 4, 10), set("v3", 0, 10)];
    let new = set("v4", 8, 10);
    assert_eq!(shrunk(&room(10, 0, 0), &new, &old), [("v1".to_owned(), 0), ("v2".to_owned(), 2)]);
    let sick = [with_available(set("v2", 3, 10), 1), with_available(set("v1", 4, 10), 1)];
    assert_eq!(without_unhealthy(&sick, 4), [("v1".to_owned(), 1), ("v2".to_owned(), 2)]);
    assert_eq!(without_unhealthy(&sick, 0), []);
}

fn sizes(scaling: Scaling) -> Vec<(String, i64)> {
    let mut sizes = match scaling {
        Scaling::To(sizes) | Scaling::Proportionally(sizes) => sizes,
    };
    sizes.sort();
    sizes
}

#[test]
fn sets_are_scaled_in_proportion() {
    // From a size and surge, to a size and surge: the sets as they are, the newest last, and as they shall be.
    for (what, (from, had), (to, surge), sets, wanted) in [
        ("5 to 10", (5, 0), (10, 0), vec![3, 2], vec![6, 4]),
        ("5 to 3", (5, 0), (3, 0), vec![3, 2], vec![2, 1]),
        ("9 to 4", (9, 0), (4, 0), vec![1, 8], vec![0, 4]),
        ("7 to 10", (7, 0), (10, 0), vec![2, 3, 2], vec![3, 4, 3]),
        ("13 to 8", (13, 0), (8, 0), vec![3, 8, 2], vec![2, 5, 1]),
        ("what is left over is the newest one's", (3, 0), (4, 0), vec![1, 1, 1], vec![1, 1, 2]),
        ("what is too many is the oldest one's", (3, 0), (2, 0), vec![1, 1, 1], vec![0, 1, 1]),
        ("6 to none", (6, 0), (0, 0), vec![1, 2, 3], vec![0, 0, 0]),
        ("with a surge", (10, 2), (20, 2), vec![6, 6], vec![11, 11]),
        ("with another surge", (10, 3), (50, 6), vec![8, 5], vec![34, 22]),
        ("no change", (2, 1), (2, 1), vec![1, 2], vec![1, 2]),
    ] {
        let all: Vec<Size> =
            sets.iter().enumerate().map(|(i, size)| set(&format!("v{}", i + 1), *size, from + had)).collect();
        let (new, old) = all.split_last().unwrap();
        let room = Room { unavailable: 1.min(to), ..room(to, surge, 0) };
        let scaling = scaled(&room, Some(new), old, false, from);
        assert!(matches!(scaling, Scaling::Proportionally(_)), "{what}");
        let wanted: Vec<(String, i64)> = (1..).map(|i| format!("v{i}")).zip(wanted).collect();
        assert_eq!(sizes(scaling), wanted, "{what}");
    }
}

#[test]
fn without_a_new_set_the_old_ones_are_scaled() {
    let old = [set("v1", 3, 10), set("v2", 7, 10)];
    let scaling = scaled(&room(14, 0, 1), None, &old, false, 10);
    assert_eq!(sizes(scaling), [("v1".to_owned(), 4), ("v2".to_owned(), 10)]);
}

#[test]
fn where_one_set_has_all_it_gets_all() {
    let (empty, full) = (set("v1", 0, 5), set("v2", 5, 5));
    let to = |name: &str, size| Scaling::To(vec![(name.to_owned(), size)]);
    assert_eq!(scaled(&room(9, 0, 1), Some(&full), std::slice::from_ref(&empty), false, 5), to("v2", 9));
    assert_eq!(scaled(&room(9, 0, 1), Some(&empty), &[full], false, 5), to("v2", 9));
    // None has any: the new one, or where there is none the newest.
    let (older, newer) = (set("v1", 0, 5), set("v2", 0, 5));
    assert_eq!(scaled(&room(6, 0, 1), Some(&older), std::slice::from_ref(&newer), false, 0), to("v1", 6));
    assert_eq!(scaled(&room(6, 0, 1), None, &[newer, older], false, 0), to("v2", 6));
    assert_eq!(scaled(&room(6, 0, 1), None, &[], false, 0), Scaling::To(Vec::new()));
}

#[test]
fn a_new_set_that_has_all_empties_the_old_ones() {
    let old = [set("v1", 2, 5), set("v2", 0, 5)];
    let scaling = scaled(&room(5, 1, 1), Some(&set("v3", 5, 6)), &old, true, 7);
    assert_eq!(scaling, Scaling::To(vec![("v1".to_owned(), 0)]));
    // Not bit by bit: those that are not saturated stay as they are.
    let recreate = Room { rolling: false, ..room(5, 0, 0) };
    assert_eq!(scaled(&recreate, Some(&set("v3", 1, 5)), &old, false, 3), Scaling::To(Vec::new()));
}

#[test]
fn a_set_that_forgot_the_old_size_goes_by_what_is_there() {
    let forgotten = |name: &str, size| Size { most_then: None, ..set(name, size, 0) };
    let (old, new) = ([forgotten("v1", 3)], forgotten("v2", 2));
    assert_eq!(
        sizes(scaled(&room(10, 0, 1), Some(&new), &old, false, 5)),
        [("v1".to_owned(), 6), ("v2".to_owned(), 4)]
    );
    // Nothing is there: all goes to the largest.
    assert_eq!(
        sizes(scaled(&room(10, 0, 1), Some(&new), &old, false, 0)),
        [("v1".to_owned(), 8), ("v2".to_owned(), 2)]
    );
}
