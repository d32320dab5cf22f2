//! Pods placed by kube-scheduler and by `plimsoll scheduler`, each on a kube-apiserver of its own, on the same machine, one after
//! the other. Run by `bench/scheduler/run`; what it prints is what BENCHMARKS.md shows.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose output is its result")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod measure;
mod shapes;

use anyhow::Result;

use measure::{Measured, measure};
use shapes::{Placer, SHAPES};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let share = if std::env::var_os("QUICK").is_some() { 10 } else { 1 };
    let only = std::env::var("ONLY").unwrap_or_default();
    let ours_only = std::env::var_os("OURS").is_some();
    println!(
        "| shape | placed by | pods | pods/s | CPU per pod | p50 | p99 | peak memory | API calls per pod | CPU of the API server |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&only)) {
        let mut both = Vec::new();
        for placer in shape.placers.iter().filter(|placer| !ours_only || **placer == Placer::Ours) {
            let found = measure(shape, *placer, share).await?;
            report(shape.name, *placer, &found);
            both.push(found);
        }
        if let [ours, theirs] = &both[..] {
            println!(
                "| {} | ratio | | {:.1}× | {:.1}× less | | {:.1}× less | {:.2}× | | |",
                shape.name,
                ours.rate() / theirs.rate(),
                theirs.cpu_per_pod() / ours.cpu_per_pod(),
                theirs.percentile(99.0) / ours.percentile(99.0),
                ours.memory / theirs.memory,
            );
        }
    }
    Ok(())
}

fn report(shape: &str, placer: Placer, found: &Measured) {
    let name = match placer {
        Placer::Ours => "plimsoll scheduler",
        Placer::Upstream => "kube-scheduler",
    };
    println!(
        "| {shape} | {name} | {} | {:.1} | {:.2} ms | {:.2} s | {:.2} s | {:.0} MiB | {:.1} | {:.1} s |",
        found.placed(),
        found.rate(),
        found.cpu_per_pod() * 1000.0,
        found.percentile(50.0),
        found.percentile(99.0),
        found.memory,
        found.calls_per_pod,
        found.server_cpu,
    );
}
