//! What becomes of the pods on each node: which are missing, which are too many, and which must give way to an update.

use super::demand::Fit;

/// A pod of the set as the plan sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Daemon {
    pub name: String,
    /// Whether it has its node, and is not only meant for it.
    pub placed: bool,
    /// When it was made, as written.
    pub made: String,
    pub phase: Phase,
    pub deleting: bool,
    pub ready: bool,
    pub available: bool,
    /// Whether it is of the revision that the set is to have.
    pub updated: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Alive,
    Succeeded,
    Failed,
}

/// A node with the set's pods that are on it, or meant for it.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub node: String,
    /// `None` where there is no such node.
    pub fit: Option<Fit>,
    pub pods: Vec<Daemon>,
    /// Whether a pod failed here a short while ago: another is not made at once.
    pub patient: bool,
}

/// What is to be done, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// The nodes that get a pod.
    pub create: Vec<String>,
    /// The pods that go.
    pub delete: Vec<String>,
    /// Those of them that failed, with their nodes.
    pub failed: Vec<(String, String)>,
    /// Those of them that succeeded, with their nodes.
    pub succeeded: Vec<(String, String)>,
    /// Whether a failed pod waits for its time.
    pub waits: bool,
}

/// Those that have a node first, then the oldest.
pub(super) fn sort(pods: &mut [Daemon]) {
    pods.sort_by(|a, b| (!a.placed, &a.made, &a.name).cmp(&(!b.placed, &b.made, &b.name)));
}

/// Has a pod on every node that is to have one, and none elsewhere.
pub(super) fn manage(places: &[Place], surges: bool) -> Work {
    let mut work = Work::default();
    for place in places {
        match place.fit {
            Some(Fit::Runs) if place.pods.is_empty() => work.create.push(place.node.clone()),
            Some(fit @ (Fit::Runs | Fit::Stays)) => keep(place, fit, surges, &mut work),
            Some(Fit::Never) => {
                work.delete.extend(place.pods.iter().filter(|pod| !pod.deleting).map(|pod| pod.name.clone()));
            }
            // Whoever waits for a node that is gone waits for ever; what was on it is for others to clean away.
            None => work.delete.extend(place.pods.iter().filter(|pod| !pod.placed).map(|pod| pod.name.clone())),
        }
    }
    work
}

/// The pods of a node that may have one.
fn keep(place: &Place, fit: Fit, surges: bool, work: &mut Work) {
    let (mut alive, mut waits) = (Vec::new(), false);
    for pod in place.pods.iter().filter(|pod| !pod.deleting) {
        match pod.phase {
            Phase::Alive => alive.push(pod.clone()),
            Phase::Failed if place.patient => waits = true,
            Phase::Failed => {
                work.failed.push((pod.name.clone(), place.node.clone()));
                work.delete.push(pod.name.clone());
            }
            Phase::Succeeded => {
                work.succeeded.push((pod.name.clone(), place.node.clone()));
                work.delete.push(pod.name.clone());
            }
        }
    }
    work.waits |= waits;
    sort(&mut alive);
    if !surges {
        work.delete.extend(alive.iter().skip(1).map(|pod| pod.name.clone()));
        return;
    }
    // Beside a failed pod that waits for its time none is made: it would fail as fast. (Upstream makes them, without a pause.)
    if alive.is_empty() && fit == Fit::Runs && !waits {
        work.create.push(place.node.clone());
    }
    if alive.len() < 2 {
        return;
    }
    // One of each revision may be there: the old one until it is no longer ready, or the new one is available.
    let (new, old): (Vec<&Daemon>, Vec<&Daemon>) = alive.iter().partition(|pod| pod.updated);
    let excess = new.iter().skip(1).chain(old.iter().skip(1));
    work.delete.extend(excess.map(|pod| pod.name.clone()));
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!old.ready || new.available)
    {
        work.delete.push(old.name.clone());
    }
}

/// How many pods a rolling update may take away or add.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub max_unavailable: usize,
    pub max_surge: usize,
}

/// The pods of both revisions that are on a node and stay; `None` where there are several of one, which is not the update's to mend.
fn pair(pods: &[Daemon]) -> Option<(Option<&Daemon>, Option<&Daemon>)> {
    let (new, old): (Vec<&Daemon>, Vec<&Daemon>) = pods.iter().filter(|pod| !pod.deleting).partition(|pod| pod.updated);
    (new.len() < 2 && old.len() < 2).then(|| (new.first().copied(), old.first().copied()))
}

/// Replaces pods of old revisions. `places` are the nodes that have a pod or are to have one.
pub(super) fn update(places: &[Place], limits: Limits) -> Work {
    let counted = places.iter().filter(|place| place.fit == Some(Fit::Runs) || !place.pods.is_empty());
    let counted: Vec<&Place> = counted.collect();
    if limits.max_surge == 0 { in_place(&counted, limits.max_unavailable) } else { surge(&counted, limits.max_surge) }
}

/// Old pods are deleted, so that new ones are made where they were.
fn in_place(places: &[&Place], max_unavailable: usize) -> Work {
    let (mut away, mut broken, mut candidates) = (0, Vec::new(), Vec::new());
    for place in places {
        match pair(&place.pods) {
            None | Some((None, None) | (Some(_), Some(_))) => away += 1,
            Some((Some(new), None)) => away += usize::from(!new.available),
            // It costs nothing: it is away already.
            Some((None, Some(old))) if !old.available => {
                away += 1;
                broken.push(old.name.clone());
            }
            Some((None, Some(old))) => candidates.push(old.name.clone()),
        }
    }
    candidates.truncate(max_unavailable.saturating_sub(away));
    broken.extend(candidates);
    Work { delete: broken, ..Work::default() }
}

/// New pods are made beside the old ones, which go when the new ones are available.
fn surge(places: &[&Place], max_surge: usize) -> Work {
    let desired = places.iter().filter(|place| place.fit == Some(Fit::Runs)).count();
    let (mut surging, mut available) = (0, 0_usize);
    let (mut delete, mut misplaced, mut create, mut candidates) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for place in places {
        let Some((new, old)) = pair(&place.pods) else {
            surging += 1;
            continue;
        };
        available += usize::from(old.or(new).is_some_and(|pod| pod.available));
        match (new, old) {
            (_, None) => {}
            (None, Some(old)) if place.fit != Some(Fit::Runs) => {
                if old.available {
                    misplaced.push(old.name.clone())
                } else {
                    delete.push(old.name.clone())
                }
            }
            (None, Some(old)) if !old.available => create.push(place.node.clone()),
            (None, Some(_)) => candidates.push(place.node.clone()),
            (Some(new), Some(_)) if !new.available => surging += 1,
            (Some(_), Some(old)) => delete.push(old.name.clone()),
        }
    }
    // Who surges wants no gap: a pod on a node that is no longer meant goes when enough others are available.
    misplaced.truncate(available.saturating_sub(desired));
    delete.extend(misplaced);
    candidates.truncate(max_surge.saturating_sub(surging));
    create.extend(candidates);
    Work { create, delete, ..Work::default() }
}

#[cfg(test)]
mod tests;
