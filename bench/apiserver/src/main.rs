//! Load on two API servers in one run: ours (durable) and kube-apiserver with etcd (fsync on), on the same machine, one after the
//! other, with the same client. Run by `bench/apiserver/run`; what it prints is what BENCHMARKS.md shows.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program whose output is its result")]
#![allow(clippy::disallowed_methods, reason = "it measures time")]

mod load;
mod subject;

use anyhow::Result;

use load::{Lists, Memory, Watches, Writes};
use subject::Subject;

/// How much of everything: the sizes that the issue names, or a tenth for a first look (`QUICK=1`).
pub struct Sizes {
    clients: usize,
    writes: usize,
    watchers: usize,
    changes: usize,
    pods: usize,
    objects: usize,
}

impl Sizes {
    fn from_environment() -> Self {
        let full = Self { clients: 64, writes: 20_000, watchers: 100, changes: 1_000, pods: 10_000, objects: 100_000 };
        if std::env::var_os("QUICK").is_none() {
            return full;
        }
        Self { writes: 2_000, changes: 200, pods: 1_000, objects: 5_000, ..full }
    }
}

struct Result1 {
    name: &'static str,
    ready: f64,
    writes: Writes,
    watches: Watches,
    lists: Lists,
    memory: Memory,
}

async fn measure(subject: Subject, sizes: &Sizes) -> Result<Result1> {
    let name = subject.name;
    eprintln!("{name}: ready after {:.2} s", subject.ready);
    let writes = load::writes(&subject, sizes).await?;
    eprintln!("{name}: {:.0} writes/s", writes.per_second);
    let watches = load::watches(&subject, sizes).await?;
    eprintln!("{name}: fan-out {:.0} events/s", watches.per_second);
    let lists = load::lists(&subject, sizes).await?;
    eprintln!("{name}: list {:.0} ms", lists.milliseconds);
    let memory = load::memory(&subject, sizes).await?;
    eprintln!("{name}: {:.0} MiB", memory.mebibytes);
    Ok(Result1 { name, ready: subject.ready, writes, watches, lists, memory })
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let sizes = Sizes::from_environment();
    let ours = measure(Subject::ours().await?, &sizes).await?;
    let theirs = measure(Subject::theirs().await?, &sizes).await?;
    report(&sizes, &ours, &theirs);
    Ok(())
}

fn report(sizes: &Sizes, ours: &Result1, theirs: &Result1) {
    println!("| | {} | {} | ratio |", ours.name, theirs.name);
    println!("| --- | --- | --- | --- |");
    let row = |what: String, a: f64, b: f64, unit: &str, digits: usize, more_is_better: bool| {
        let ratio = if more_is_better { a / b } else { b / a };
        println!("| {what} | {a:.digits$} {unit} | {b:.digits$} {unit} | {ratio:.1}× |");
    };
    let (o, t) = (ours, theirs);
    row("time to ready".into(), o.ready, t.ready, "s", 2, false);
    let writes = format!("durable creates, {} clients", sizes.clients);
    row(writes.clone(), o.writes.per_second, t.writes.per_second, "/s", 0, true);
    row(
        format!("{writes}, per CPU-second of the server"),
        o.writes.per_cpu_second,
        t.writes.per_cpu_second,
        "",
        0,
        true,
    );
    row(format!("{writes}, 99th percentile"), o.writes.p99, t.writes.p99, "ms", 1, false);
    row(format!("events to {} watchers", sizes.watchers), o.watches.per_second, t.watches.per_second, "/s", 0, true);
    row("the same, per CPU-second".into(), o.watches.per_cpu_second, t.watches.per_cpu_second, "", 0, true);
    row(format!("list of {} pods", sizes.pods), o.lists.milliseconds, t.lists.milliseconds, "ms", 0, false);
    row("the same, CPU of the server".into(), o.lists.cpu_milliseconds, t.lists.cpu_milliseconds, "ms", 0, false);
    row(format!("memory with {} objects", sizes.objects), o.memory.mebibytes, t.memory.mebibytes, "MiB", 0, false);
}
