//! What a pod costs: time to find which nodes fit, which volumes it would get there, and the best node.
//!
//! ```text
//! cargo bench -p plimsoll-engine --bench pod_cost              # the whole grid, about three minutes
//! cargo bench -p plimsoll-engine --bench pod_cost -- --quick   # the small half of it
//! cargo bench -p plimsoll-engine --bench pod_cost -- --crowd   # only pods without volumes
//! cargo bench -p plimsoll-engine --bench pod_cost -- --only local 5000 50000 --pods 200   # one cell, for profilers
//! cargo bench -p plimsoll-engine --bench pod_cost -- --only served 1000 5000 --pods 2000   # likewise
//! ```
//!
//! Pods come as in life: each with one claim of one of 16 sizes, decided, assumed, and now and then bound for good,
//! with an event for each. `warm` is the time of a decision in that stream; `cold` is a decision for a size that was
//! never asked for; `event` is what a volume's watch event costs; `whole` is a decision with all other filters and
//! scores as well. Medians.
//!
//! Pods without volumes are a table of their own: `choose` is the decision, `assume` what it costs to take note of it.

// A benchmark reads the clock and prints: that is what it is for.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark"
)]

mod cluster;
mod crowd;
mod memory;

use std::time::{Duration, Instant};

use cluster::{Kind, Lab};
use plimsoll_engine::gates::Gates;
use plimsoll_engine::{Choice, Event, Object, Rules};

/// Pods measured per cell.
const PODS: usize = 400;

struct Cell {
    kind: Kind,
    nodes: usize,
    volumes: usize,
}

struct Cost {
    warm: Duration,
    cold: Duration,
    whole: Duration,
    event: Duration,
    bytes: usize,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    if let Some(at) = args.iter().position(|a| a == "--only") {
        let number = |i: usize| args.get(at + i).and_then(|n| n.parse().ok());
        let pods = args.iter().position(|a| a == "--pods").and_then(|p| args.get(p + 1)?.parse().ok()).unwrap_or(PODS);
        if let Some(kind) = crowd::Kind::ALL.into_iter().find(|k| args.get(at + 1).is_some_and(|a| a == k.name())) {
            let (nodes, placed) = (number(2).expect("nodes"), number(3).expect("pods that are placed"));
            let (choose, assume) = among_others(kind, nodes, placed, pods);
            println!("choose {}, assume {}", micros(choose), micros(assume));
            return;
        }
        let kind = args.get(at + 1).and_then(|k| Kind::from_name(k)).expect("--only KIND NODES VOLUMES");
        let (nodes, volumes) = (number(2).expect("nodes"), number(3).expect("volumes"));
        return only(kind, nodes, volumes, pods);
    }
    if args.first().is_some_and(|a| a == "--cell") {
        let number = |i: usize| args.get(i).and_then(|n| n.parse().ok()).expect("--cell KIND NODES VOLUMES");
        let kind = args.get(1).and_then(|k| Kind::from_name(k)).expect("--cell KIND NODES VOLUMES");
        return report(&Cell { kind, nodes: number(2), volumes: number(3) });
    }
    let quick = args.iter().any(|a| a == "--quick");
    println!("{:<10} {:>6} {:>8}  {:>10} {:>10}", "pods", "nodes", "placed", "choose", "assume");
    for (nodes, placed) in [(1_000, 5_000), (5_000, 50_000)] {
        for kind in crowd::Kind::ALL {
            let (choose, assume) = among_others(kind, nodes, placed, PODS);
            println!("{:<10} {nodes:>6} {placed:>8}  {:>10} {:>10}", kind.name(), micros(choose), micros(assume));
        }
    }
    if args.iter().any(|a| a == "--crowd") {
        return;
    }
    println!();
    println!(
        "{:<10} {:>6} {:>8}  {:>10} {:>10} {:>10} {:>10}  {:>14}",
        "kind", "nodes", "volumes", "warm", "cold", "whole", "event", "MiB / 100,000"
    );
    // Each cell in a process of its own: the memory it takes is then its own too.
    let program = std::env::current_exe().unwrap();
    for Cell { kind, nodes, volumes } in grid(quick) {
        let cell = [kind.name().to_owned(), nodes.to_string(), volumes.to_string()];
        let status = std::process::Command::new(&program).arg("--cell").args(cell).status().unwrap();
        assert!(status.success(), "a cell failed");
    }
}

fn report(cell: &Cell) {
    let cost = measure(cell);
    println!(
        "{:<10} {:>6} {:>8}  {:>10} {:>10} {:>10} {:>10}  {:>14.1}",
        cell.kind.name(),
        cell.nodes,
        cell.volumes,
        micros(cost.warm),
        micros(cost.cold),
        micros(cost.whole),
        micros(cost.event),
        cost.bytes as f64 / cell.volumes as f64 * 100_000.0 / f64::from(1 << 20),
    );
}

fn grid(quick: bool) -> Vec<Cell> {
    let sizes: &[(usize, usize)] = if quick {
        &[(500, 5_000), (5_000, 5_000), (5_000, 50_000)]
    } else {
        &[(500, 5_000), (500, 50_000), (5_000, 5_000), (5_000, 50_000), (5_000, 500_000)]
    };
    let mut cells: Vec<Cell> = Vec::new();
    for kind in [Kind::Local, Kind::Zonal] {
        cells.extend(sizes.iter().map(|&(nodes, volumes)| Cell { kind, nodes, volumes }));
    }
    // Pools: one object per segment and class, 2,000 segments × 4 classes at the most.
    for (nodes, pools) in [(500, 800), (5_000, 800), (5_000, 8_000)] {
        cells.push(Cell { kind: Kind::Pools, nodes, volumes: pools });
    }
    cells
}

fn measure(cell: &Cell) -> Cost {
    let mut lab = Lab::new(cell.kind, cell.nodes, cell.volumes);
    let bytes = lab.own_bytes();
    // The first pods of each size fill what is remembered; they are the cold ones and are measured below.
    for i in 0..32 {
        lab.next_pod(i);
    }
    let mut warm = Vec::new();
    let mut whole = Vec::new();
    let mut event = Vec::new();
    for i in 0..PODS {
        let pod = lab.arrive(i);
        warm.push(timed(|| lab.choose_volumes(&pod, Gates::all())));
        whole.push(timed(|| lab.catalog.choose(&pod, Gates::all())));
        let choice = lab.choose_volumes(&pod, Gates::all());
        event.push(timed(|| lab.settle(&pod, choice)));
        lab.leave(&pod);
    }
    let mut cold = Vec::new();
    for i in 0..40 {
        let pod = lab.arrive_with_size(i, cluster::odd_size(i));
        cold.push(timed(|| lab.choose_volumes(&pod, Gates::all())));
        lab.leave(&pod);
    }
    Cost { warm: median(warm), cold: median(cold), whole: median(whole), event: median(event), bytes }
}

/// A stream of pods without volumes, each decided and assumed to stay.
fn among_others(kind: crowd::Kind, nodes: usize, placed: usize, pods: usize) -> (Duration, Duration) {
    let mut catalog = crowd::cluster(kind, nodes, placed);
    let rules = Rules::default();
    let (mut choose, mut assume) = (Vec::new(), Vec::new());
    for i in placed..placed + pods {
        let pod = crowd::pod(i);
        catalog.apply(Event::Set(Object::Pod(Box::new(pod.clone()))));
        let mut choice = None;
        choose.push(timed(|| choice = catalog.choose_by(&pod, &rules, &[]).unwrap()));
        let Choice { node, plan, .. } = choice.expect("there is room");
        assume.push(timed(|| catalog.assume(&pod.key, &node, &plan).unwrap()));
    }
    (median(choose), median(assume))
}

/// One cell, nothing but the stream of decisions: what a profiler or an instruction counter should see.
fn only(kind: Kind, nodes: usize, volumes: usize, pods: usize) {
    let mut lab = Lab::new(kind, nodes, volumes);
    let mut placed = 0;
    for i in 0..pods {
        placed += usize::from(lab.next_pod(i));
    }
    println!("{placed} of {pods} pods placed on {nodes} nodes with {volumes} volumes");
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_nanos() as f64 / 1000.0)
}
