//! The queue against one that is too simple to be wrong: a list, looked through from end to end.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_engine::Catalog;
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;
use plimsoll_engine::reason::{Code, Plugin};
use plimsoll_engine::rules::Rules;
use plimsoll_engine::wakeups::Change;
use proptest::prelude::*;
use tokio::time::Instant;

use super::build::*;
use crate::queue::{Backoff, Failure, PodQueue};

#[derive(Clone, Debug)]
enum Step {
    Set {
        pod: u8,
        priority: i32,
        gated: bool,
        uid: u8,
    },
    Remove {
        pod: u8,
    },
    Pop,
    Reject {
        pod: u8,
    },
    Err {
        pod: u8,
    },
    Done {
        pod: u8,
    },
    /// The claim comes for which every third pod waits.
    Wake {
        claim: u8,
    },
    Pass {
        millis: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let pod = 0..6u8;
    prop_oneof![
        4 => (pod.clone(), 0..3i32, prop::bool::weighted(0.1), prop::bool::weighted(0.1))
            .prop_map(|(pod, priority, gated, anew)| Step::Set { pod, priority, gated, uid: u8::from(anew) }),
        1 => pod.clone().prop_map(|pod| Step::Remove { pod }),
        6 => Just(Step::Pop),
        4 => pod.clone().prop_map(|pod| Step::Reject { pod }),
        2 => pod.clone().prop_map(|pod| Step::Err { pod }),
        1 => pod.prop_map(|pod| Step::Done { pod }),
        2 => (0..3u8).prop_map(|claim| Step::Wake { claim }),
        3 => prop_oneof![Just(100), Just(900), Just(1000), Just(5000), Just(300_000)]
            .prop_map(|millis| Step::Pass { millis }),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Gated,
    Active,
    Rests { until: Instant, early: bool },
    Waits { until: Instant },
    InHand,
}

#[derive(Clone, Debug)]
struct Simple {
    pod: Pod,
    arrival: u64,
    standing: Standing,
    rejections: u32,
    errors: u32,
    ready: Instant,
}

#[derive(Default)]
struct Model {
    pods: Vec<Simple>,
    arrivals: u64,
}

const FIRST: Duration = Duration::from_secs(1);

impl Model {
    fn at(&mut self, key: &ObjectKey) -> Option<&mut Simple> {
        self.pods.iter_mut().find(|p| p.pod.key == *key)
    }

    fn ready(entry: &mut Simple, now: Instant) {
        let early = !matches!(entry.standing, Standing::Rests { early: false, .. });
        entry.standing = match () {
            () if entry.pod.gated => Standing::Gated,
            () if entry.ready > now => Standing::Rests { until: entry.ready, early },
            () => Standing::Active,
        };
    }

    fn set(&mut self, pod: &Pod, now: Instant) {
        if self.at(&pod.key).is_some_and(|known| known.pod.uid != pod.uid) {
            self.pods.retain(|p| p.pod.key != pod.key);
        }
        if let Some(known) = self.at(&pod.key) {
            let old = std::mem::replace(&mut known.pod, pod.clone());
            match known.standing {
                // A pod that was refused waits on, unless it is another pod now: its priority and gates are all that
                // these steps change.
                Standing::Waits { .. } if old.priority == pod.priority && old.gated == pod.gated => {}
                Standing::InHand => {}
                Standing::Active | Standing::Rests { .. } if old.priority == pod.priority => {}
                _ => Self::ready(known, now),
            }
            return;
        }
        self.arrivals += 1;
        let standing = Standing::Active;
        let mut entry =
            Simple { pod: pod.clone(), arrival: self.arrivals, standing, rejections: 0, errors: 0, ready: now };
        Self::ready(&mut entry, now);
        self.pods.push(entry);
    }

    fn pop(&mut self, epoch: Instant, now: Instant) -> Result<ObjectKey, Option<Instant>> {
        for entry in &mut self.pods {
            match entry.standing {
                Standing::Rests { until, .. } if until <= now => entry.standing = Standing::Active,
                Standing::Waits { until } if until <= now => Self::ready(entry, now),
                _ => {}
            }
        }
        let place = |p: &Simple| (Reverse(p.pod.priority), p.arrival);
        let active = self.pods.iter().filter(|p| p.standing == Standing::Active).min_by_key(|p| place(p));
        let early = self.pods.iter().filter_map(|p| match p.standing {
            Standing::Rests { until, early: true } => Some(((until - epoch).as_secs(), place(p), p)),
            _ => None,
        });
        let early = early.min_by_key(|(window, place, _)| (*window, *place)).map(|(_, _, p)| p);
        if let Some(key) = active.or(early).map(|p| p.pod.key.clone()) {
            if let Some(entry) = self.at(&key) {
                entry.standing = Standing::InHand;
            }
            return Ok(key);
        }
        Err(self
            .pods
            .iter()
            .filter_map(|p| match p.standing {
                Standing::Rests { until, .. } | Standing::Waits { until } => Some(until),
                _ => None,
            })
            .min())
    }

    fn fail(&mut self, key: &ObjectKey, rejected: bool, changed: bool, now: Instant) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let Some(entry) = self.at(key).filter(|p| p.standing == Standing::InHand) else { return };
        entry.arrival = arrival;
        let failures = if rejected {
            entry.rejections += 1;
            entry.errors = 0;
            entry.rejections
        } else {
            entry.errors += 1;
            entry.errors
        };
        entry.ready = now + (FIRST * 2u32.pow(failures.min(6) - 1)).min(Duration::from_secs(10));
        match rejected {
            false => entry.standing = Standing::Rests { until: entry.ready, early: false },
            true if changed => Self::ready(entry, now),
            true => entry.standing = Standing::Waits { until: now + Duration::from_secs(300) },
        }
    }

    fn count(&self, which: impl Fn(&Standing) -> bool) -> usize {
        self.pods.iter().filter(|p| which(&p.standing)).count()
    }
}

fn made(at: u8, priority: i32, gated: bool, uid: u8) -> Pod {
    pod(&format!("p{at}")).uses(&format!("c{}", at % 3)).edit(|p| {
        p.priority = priority;
        p.gated = gated;
        p.uid = format!("{uid}").into();
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_a_list_would(steps in prop::collection::vec(step(), 1..120)) {
        let (catalog, rules) = (Catalog::new(), Rules::new(Gates::all()));
        let refused_by = BTreeSet::from([(Plugin::VolumeBinding, Code::CLAIM_NOT_FOUND)]);
        let (mut queue, mut model) = (PodQueue::new(Backoff::default()), Model::default());
        let epoch = Instant::now();
        let mut now = epoch;
        // What each pod in hand was when it was taken: a change since then is not to be missed.
        let mut taken: Vec<Pod> = Vec::new();
        prop_assert_eq!(queue.pop(now), Err(None));
        for step in steps {
            let name = |at: u8| key(&format!("p{at}"));
            match step {
                Step::Set { pod, priority, gated, uid } => {
                    // Gates are only ever taken away.
                    let known = model.at(&name(pod)).map(|p| p.pod.clone());
                    let same = known.as_ref().filter(|known| *known.uid == *uid.to_string());
                    let gated = gated && same.is_none_or(|known| known.gated);
                    let pod = made(pod, priority, gated, uid);
                    queue.set(None, &pod, now);
                    model.set(&pod, now);
                }
                Step::Remove { pod } => {
                    queue.remove(&name(pod));
                    model.pods.retain(|p| p.pod.key != name(pod));
                }
                Step::Pop => {
                    let popped = queue.pop(now);
                    prop_assert_eq!(&popped, &model.pop(epoch, now));
                    if let Some(pod) = popped.ok().and_then(|key| model.at(&key).map(|p| p.pod.clone())) {
                        taken.retain(|p| p.key != pod.key);
                        taken.push(pod);
                    }
                }
                Step::Reject { pod } | Step::Err { pod } => {
                    let rejected = matches!(step, Step::Reject { .. });
                    let Some(known) = model.at(&name(pod)).map(|p| p.pod.clone()) else { continue };
                    let before = taken.iter().find(|p| p.key == known.key && p.uid == known.uid);
                    let changed = before.is_some_and(|before| before.priority != known.priority);
                    let why = match rejected {
                        true => Failure::Refused(catalog.wait_of(&known, &rules, &refused_by)),
                        false => Failure::Error,
                    };
                    queue.failed(&known.key, &known.uid, why, &catalog, now);
                    model.fail(&known.key, rejected, changed, now);
                }
                Step::Done { pod } => {
                    let Some(known) = model.at(&name(pod)).filter(|p| p.standing == Standing::InHand) else { continue };
                    let (key, uid) = (known.pod.key.clone(), known.pod.uid.clone());
                    queue.done(&key, &uid);
                    model.pods.retain(|p| p.pod.key != key);
                }
                Step::Wake { claim: at } => {
                    let came = claim(&format!("c{at}")).into_object();
                    queue.wake(Change::Added(&came), &catalog, now);
                    let named = |p: &Simple| p.pod.key.name.ends_with([char::from(b'0' + at), char::from(b'3' + at)]);
                    for entry in model.pods.iter_mut().filter(|p| named(p)) {
                        if matches!(entry.standing, Standing::Waits { .. }) {
                            Model::ready(entry, now);
                        }
                    }
                }
                Step::Pass { millis } => now += Duration::from_millis(millis),
            }
            let figures = queue.figures();
            prop_assert_eq!(figures.active, model.count(|s| *s == Standing::Active));
            prop_assert_eq!(figures.backoff, model.count(|s| matches!(s, Standing::Rests { .. })));
            prop_assert_eq!(figures.unschedulable, model.count(|s| matches!(s, Standing::Waits { .. })));
            prop_assert_eq!(figures.gated, model.count(|s| *s == Standing::Gated));
            prop_assert_eq!(figures.in_hand, model.count(|s| *s == Standing::InHand));
        }
        // Nobody is stuck for ever, and nobody comes twice.
        let mut left: BTreeSet<ObjectKey> = model.pods.iter()
            .filter(|p| !matches!(p.standing, Standing::Gated | Standing::InHand)).map(|p| p.pod.key.clone()).collect();
        loop {
            match queue.pop(now) {
                Ok(key) => prop_assert!(left.remove(&key), "{} came twice, or from nowhere", key),
                Err(Some(due)) => {
                    prop_assert!(due > now);
                    now = due;
                }
                Err(None) => break,
            }
        }
        prop_assert!(left.is_empty(), "lost: {:?}", left);
    }
}
