//! The burst that users complained about: thousands of claims at once, against as many volumes. Each keeper binds them on a
//! kube-apiserver of its own, on the same machine, one after the other. Run by `bench/controller/run`; what it prints is what
//! BENCHMARKS.md shows.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose output is its result")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod burst;

use anyhow::Result;
use plimsoll_tests::volumes::cluster::Keeper;

use burst::{Burst, burst};

/// How many claims, and who binds them. Upstream is not asked for 10,000: it would take minutes.
const SIZES: [(usize, &[Keeper]); 3] =
    [(1_000, &[Keeper::Ours, Keeper::Upstream]), (4_000, &[Keeper::Ours, Keeper::Upstream]), (10_000, &[Keeper::Ours])];

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let share = if std::env::var_os("QUICK").is_some() { 10 } else { 1 };
    println!(
        "| claims | bound by | all bound | p50 | p99 | CPU of the controller | CPU of the API server | writes/s | peak memory |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (size, keepers) in SIZES {
        let mut p99 = Vec::new();
        for keeper in keepers {
            let found = burst(size / share, *keeper).await?;
            report(size / share, *keeper, &found);
            p99.push(found.percentile(99.0));
        }
        if let [ours, theirs] = p99[..] {
            println!("| {} | ratio of p99 | | | {:.1}× | | | | |", size / share, theirs / ours);
        }
    }
    Ok(())
}

fn report(size: usize, keeper: Keeper, found: &Burst) {
    let name = match keeper {
        Keeper::Ours => "plimsoll controller",
        Keeper::Upstream => "kube-controller-manager",
    };
    println!(
        "| {size} | {name} | {:.2} s | {:.2} s | {:.2} s | {:.2} s | {:.2} s | {:.0} | {:.0} MiB |",
        found.total,
        found.percentile(50.0),
        found.percentile(99.0),
        found.controller_cpu,
        found.server_cpu,
        // The four writes of a binding, and the claim's creation.
        5.0 * size as f64 / found.total,
        found.memory,
    );
}
