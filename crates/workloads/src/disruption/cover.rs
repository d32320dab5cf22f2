//! Which pods a budget is about, and which budgets a pod has: kept up to date, so that to ask costs what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_api::kinds::{ObjectMeta, Pod};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::selector::LabelSelector;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Mirror, Mirrored, Whole};

use crate::children::matches;
use crate::kinds::Budget;

/// Budgets and their pods.
#[derive(Default)]
pub(super) struct Cover(Mutex<BTreeMap<String, BTreeMap<ObjectKey, Covered>>>);

struct Covered {
    /// `None` selects nothing.
    selector: Option<LabelSelector>,
    pods: BTreeSet<ObjectKey>,
}

/// The budgets of a pod.
#[derive(Default)]
pub(super) struct Covering {
    /// Those that are about it, or were before.
    pub(super) all: Vec<ObjectKey>,
    /// Those that are about it.
    pub(super) now: Vec<ObjectKey>,
    /// Whether that is new.
    pub(super) is_news: bool,
}

impl Cover {
    /// Takes note of a budget. Where its selector is new, the pods of its namespace are looked through.
    pub(super) fn set_budget(&self, key: &ObjectKey, budget: &Budget, pods: &Mirror<Whole<Pod>>) {
        let selector = budget.0.selector.clone();
        let mut all = self.lock();
        let of_namespace = all.entry(key.namespace.to_string()).or_default();
        if of_namespace.get(key).is_some_and(|known| known.selector == selector) {
            return;
        }
        let covers = |pod: &Whole<Pod>| selector.as_ref().is_some_and(|s| matches(s, pod.meta()));
        let pods =
            pods.in_namespace(&key.namespace).iter().filter(|pod| covers(pod)).map(|pod| key_of(&**pod)).collect();
        of_namespace.insert(key.clone(), Covered { selector, pods });
    }

    /// Forgets a budget.
    pub(super) fn drop_budget(&self, key: &ObjectKey) {
        let mut all = self.lock();
        if let Some(of_namespace) = all.get_mut(&*key.namespace) {
            of_namespace.remove(key);
            if of_namespace.is_empty() {
                all.remove(&*key.namespace);
            }
        }
    }

    /// Takes note of a pod; `None` is its end.
    pub(super) fn set_pod(&self, key: &ObjectKey, meta: Option<&ObjectMeta>) -> Covering {
        let mut out = Covering::default();
        let mut all = self.lock();
        for (budget, covered) in all.get_mut(&*key.namespace).into_iter().flatten() {
            let before = covered.pods.contains(key);
            let now = meta.is_some_and(|meta| covered.selector.as_ref().is_some_and(|s| matches(s, meta)));
            if now {
                out.now.push(budget.clone());
                out.is_news |= covered.pods.insert(key.clone());
            } else if before {
                covered.pods.remove(key);
            }
            if now || before {
                out.all.push(budget.clone());
            }
        }
        out
    }

    /// The pods that a budget is about.
    pub(super) fn pods_of(&self, key: &ObjectKey) -> Vec<ObjectKey> {
        let all = self.lock();
        let covered = all.get(&*key.namespace).and_then(|of_namespace| of_namespace.get(key));
        covered.into_iter().flat_map(|covered| covered.pods.iter().cloned()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<ObjectKey, Covered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
