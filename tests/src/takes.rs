//! How often something is played where upstream's programs take part.
//!
//! They answer and act out of caches that lag behind what was written, the more the busier the machine is, and nobody outside can see how
//! far. A step waits for what it needs wherever that can be asked for. For the rest: what comes out wrong is played again, and only what
//! is wrong each time counts. Every time is told, also where all is well in the end, so that what is often played twice is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use anyhow::{Result, ensure};

use crate::files;

/// How often something is played at most. What is being recorded is played once.
fn most() -> usize {
    if std::env::var_os("UPDATE").is_some() { 1 } else { 3 }
}

/// What is wrong, by the name of what was played.
pub type Wrong = BTreeMap<String, String>;

/// One time of playing.
#[derive(Debug, Clone)]
pub struct Take {
    number: usize,
    /// How many there are at most.
    of: usize,
    /// What was wrong the last time; nothing where there was no last time.
    again: Option<BTreeSet<String>>,
}

impl Take {
    /// The first, in which all is played that is to be played.
    pub fn first() -> Self {
        Self { number: 1, of: most(), again: None }
    }

    /// Whether something is played in it.
    pub fn plays(&self, name: &str) -> bool {
        self.again.as_ref().map_or_else(|| files::is_played(name), |again| again.contains(name))
    }

    /// Whether everything there is is played in it.
    pub fn is_whole(&self) -> bool {
        self.again.is_none() && files::all_are_played()
    }

    /// Small letters that no other take has, for names on a server that has seen the others; none for the first.
    pub fn tag(&self) -> String {
        "again".repeat(self.number - 1)
    }

    /// The next one, where there is something to play again.
    pub fn next(&self, wrong: &Wrong) -> Option<Self> {
        if wrong.is_empty() {
            return None;
        }
        self.after(&told(wrong), Some(wrong.keys().cloned().collect()))
    }

    /// One in which the same is played, since this one broke off.
    fn same(&self, why: &anyhow::Error) -> Option<Self> {
        self.after(&format!("{why:#}"), self.again.clone())
    }

    fn after(&self, why: &str, again: Option<BTreeSet<String>>) -> Option<Self> {
        let (number, of) = (self.number, self.of);
        if number >= of {
            return None;
        }
        // Not by a macro: what those print of a test that passes is shown to nobody.
        let _ = writeln!(std::io::stderr(), "played again after take {number} of at most {of}:\n{why}");
        Some(Self { number: number + 1, of, again })
    }
}

/// Plays until nothing is wrong, or the same is wrong each time: that is the error. A take that breaks off is one in which all is wrong.
pub async fn takes(play: impl AsyncFn(&Take) -> Result<Wrong>) -> Result<()> {
    takes_from(Take::first(), play).await
}

async fn takes_from(mut take: Take, play: impl AsyncFn(&Take) -> Result<Wrong>) -> Result<()> {
    loop {
        let played = play(&take).await;
        let next = played.as_ref().map_or_else(|why| take.same(why), |wrong| take.next(wrong));
        let Some(next) = next else {
            let wrong = played?;
            ensure!(wrong.is_empty(), "{} of what was played, each time:\n{}", wrong.len(), told(&wrong));
            return Ok(());
        };
        take = next;
    }
}

/// All that is wrong, for people.
pub fn told(wrong: &Wrong) -> String {
    wrong.iter().map(|(name, what)| format!("{name}:\n{what}\n")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const DIFFERS: &str = "differs, as it should in this test";

    /// What goes wrong so many times.
    async fn played(failures: &[(&str, usize)]) -> (Result<()>, Vec<Vec<String>>) {
        let seen = Mutex::new(Vec::new());
        // Whatever the environment asks for.
        let again = failures.iter().map(|(name, _)| (*name).to_owned()).collect();
        let result = takes_from(Take { number: 1, of: 3, again: Some(again) }, async |take: &Take| {
            let names: Vec<String> =
                failures.iter().map(|(name, _)| (*name).to_owned()).filter(|name| take.plays(name)).collect();
            let wrong = failures.iter().filter(|(name, times)| take.plays(name) && take.number <= *times);
            let wrong = wrong.map(|(name, _)| ((*name).to_owned(), DIFFERS.to_owned())).collect();
            seen.lock().map(|mut seen| seen.push(names)).ok();
            Ok(wrong)
        });
        (result.await, seen.into_inner().unwrap_or_default())
    }

    #[tokio::test]
    async fn only_what_is_wrong_each_time_counts() {
        let (result, seen) = played(&[("a", 0), ("b", 1), ("c", 2)]).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(seen, [vec!["a", "b", "c"], vec!["b", "c"], vec!["c"]]);
        let (result, seen) = played(&[("a", 0), ("b", 3)]).await;
        assert_eq!(
            result.map_err(|why| why.to_string()),
            Err(format!("1 of what was played, each time:\nb:\n{DIFFERS}\n"))
        );
        assert_eq!(seen.len(), 3);
    }
}
