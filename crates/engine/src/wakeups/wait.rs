//! What a refused pod waits for.

use std::collections::BTreeSet;

use crate::catalog::Catalog;
use crate::filters::{asked_by, fits_in};
use crate::labels::Name;
use crate::model::{HostPort, Pod, Resources};
use crate::nodes::{NodeRow, UsedPorts};
use crate::object::Object;
use crate::reason::{Code, Plugin};
use crate::rules::Rules;
use crate::selector::LabelSelector;
use crate::volumes::{claims_of, delayed_claims};
use crate::wakeups::pods::{hard_constraints, terms, usable};
use crate::wakeups::touched::Touched;
use crate::wakeups::volumes::{promise, space_matters};
use crate::wakeups::{Change, Key, is_of_the_pod, part_helps};

/// What a refused pod waits for: its refusals, and what each of them depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wait {
    refusals: Vec<Refused>,
    asks: Option<Asks>,
}

/// What a pod asks a node for, where too little of that was a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Asks {
    /// The amounts, without what the profile ignores.
    pub amounts: Resources,
    /// The pod's priority, where it may have others removed: what those below it hold is as good as free.
    pub preempts_below: Option<i32>,
}

impl Asks {
    /// Whether a node has room, or would have without the pods that could be removed.
    fn fit(&self, row: &NodeRow) -> bool {
        let removable = self.preempts_below.filter(|own| row.pods().iter().any(|p| p.pod().priority < *own));
        fits_in(&self.amounts, row) || removable.is_some_and(|own| self.fit_beside_above(row, own))
    }

    fn fit_beside_above(&self, row: &NodeRow, own: i32) -> bool {
        let Resources { mut cpu_milli, mut memory, mut ephemeral_storage, mut pods, mut scalar } =
            row.node().allocatable.clone();
        for staying in row.pods().iter().filter(|p| p.pod().priority >= own) {
            let held = &staying.held().resources;
            cpu_milli = cpu_milli.saturating_sub(held.cpu_milli);
            memory = memory.saturating_sub(held.memory);
            ephemeral_storage = ephemeral_storage.saturating_sub(held.ephemeral_storage);
            pods -= 1;
            held.scalar.iter().for_each(|(name, amount)| {
                if let Some(left) = scalar.get_mut(name) {
                    *left = left.saturating_sub(*amount);
                }
            });
        }
        let asks = &self.amounts;
        let enough = |asked: i64, left: i64| asked <= 0 || asked <= left;
        pods > 0
            && enough(asks.cpu_milli, cpu_milli)
            && enough(asks.memory, memory)
            && enough(asks.ephemeral_storage, ephemeral_storage)
            && asks.scalar.iter().all(|(name, amount)| enough(*amount, scalar.get(name).copied().unwrap_or(0)))
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Refused {
    plugin: Plugin,
    code: Code,
    keys: BTreeSet<Key>,
}

impl Wait {
    /// Everything that the refusals depend on, room on nodes aside.
    pub fn keys(&self) -> BTreeSet<&Key> {
        self.refusals.iter().flat_map(|refused| &refused.keys).collect()
    }

    /// What the pod asks a node for, where room on a node could help.
    pub fn asks(&self) -> Option<&Asks> {
        self.asks.as_ref()
    }

    /// The plugins that refused it.
    pub fn refused_by(&self) -> impl Iterator<Item = (Plugin, Code)> {
        self.refusals.iter().map(|refused| (refused.plugin, refused.code))
    }
}

impl Catalog {
    /// What a pod waits for that these refused, as its claims are now. A change of its own claims that could alter the
    /// answer wakes it, so that the answer stays true while it waits.
    pub fn wait_of(&self, pod: &Pod, rules: &Rules, refused_by: &BTreeSet<(Plugin, Code)>) -> Wait {
        let refusals = refused_by.iter().map(|&(plugin, code)| {
            let mut keys = BTreeSet::new();
            self.note_keys(plugin, code, pod, &mut keys);
            Refused { plugin, code, keys }
        });
        let mut refusals: Vec<Refused> = refusals.collect();
        if refusals.is_empty() {
            // There was no node that could have refused it.
            let (plugin, code) = (Plugin::NodeName, Code::NODE_NAME);
            refusals.push(Refused { plugin, code, keys: BTreeSet::from([Key::NewNode]) });
        }
        let asks = refused_by.iter().any(|(plugin, _)| *plugin == Plugin::NodeResourcesFit);
        let asks =
            asks.then(|| Asks { amounts: asked_by(pod, rules), preempts_below: pod.preempts.then_some(pod.priority) });
        Wait { refusals, asks }
    }

    /// Whether a change could make a waiting pod schedulable. The catalog has seen the change already; `touched` is what
    /// [`Catalog::touched_by`] said of it.
    pub fn could_help(&self, pod: &Pod, wait: &Wait, change: Change<'_>, touched: &Touched) -> bool {
        let parts = change.parts();
        wait.refusals.iter().any(|refused| {
            if refused.plugin == Plugin::NodeResourcesFit {
                let nodes = touched.free.iter().filter_map(|free| self.nodes.by_name(&free.node));
                return wait.asks.as_ref().is_some_and(|asks| nodes.into_iter().any(|row| asks.fit(row)));
            }
            if refused.plugin == Plugin::NodeName && refused.keys.contains(&Key::NewNode) && pod.node.is_none() {
                return touched.keys.contains(&Key::NewNode);
            }
            refused.keys.iter().any(|key| touched.keys.contains(key))
                && parts.iter().any(|part| part_helps(refused.plugin, refused.code, pod, *part))
                && self.confirms(refused, pod, change, touched)
        })
    }

    /// Whether the cluster as it is now bears out what the rule said by the objects alone.
    fn confirms(&self, refused: &Refused, pod: &Pod, change: Change<'_>, touched: &Touched) -> bool {
        match refused.plugin {
            Plugin::NodePorts => {
                let nodes = touched.free.iter().filter_map(|free| self.nodes.by_name(&free.node));
                nodes.into_iter().any(|row| {
                    // Whoever is below it can be asked to go.
                    let staying = row.pods().iter().filter(|p| !pod.preempts || p.pod().priority >= pod.priority);
                    let taken: Vec<HostPort> = staying.flat_map(|p| p.pod().host_ports.clone()).collect();
                    let taken = UsedPorts::of(&taken);
                    !pod.host_ports.iter().any(|port| taken.conflicts(port))
                })
            }
            Plugin::VolumeBinding => match change {
                Change::Added(Object::Pool(pool)) | Change::Updated { new: Object::Pool(pool), .. } => {
                    self.has_promises(&pool.class)
                        || self.asks_at_most(pod, &pool.class, pool.limit().map(|q| q.value()))
                }
                Change::Deleted(Object::Pool(pool)) => self.has_promises(&pool.class),
                Change::Deleted(Object::Claim(claim)) | Change::Updated { old: Object::Claim(claim), .. } => {
                    // What is promised to the pod itself does not stand in its way, but `room` leaves it out.
                    let own = claims_of(pod).any(|(key, _)| key == claim.key)
                        || delayed_claims(&self.volumes, pod).any(|claim| promise(claim).is_some());
                    own || touched.room.is_none_or(|room| self.asks_at_most(pod, &claim.class, Some(room)))
                }
                _ => true,
            },
            _ => true,
        }
    }

    fn has_promises(&self, class: &str) -> bool {
        self.volumes.pools.of_class(class).is_some_and(crate::volumes::ClassPools::has_promises)
    }

    /// Whether a claim of the pod that waits for it, of this class, is at most so large.
    fn asks_at_most(&self, pod: &Pod, class: &str, bytes: Option<i64>) -> bool {
        delayed_claims(&self.volumes, pod)
            .any(|claim| &*claim.class == class && claim.request.map(|q| q.value()) <= bytes)
    }

    fn note_keys(&self, plugin: Plugin, code: Code, pod: &Pod, keys: &mut BTreeSet<Key>) {
        match plugin {
            Plugin::NodeResourcesFit => {}
            _ if is_of_the_pod(plugin, code) => {}
            Plugin::NodeName => keys.extend([Key::NewNode]),
            Plugin::NodeUnschedulable | Plugin::TaintToleration => keys.extend([Key::NewNode, Key::NodeTaints]),
            Plugin::NodeAffinity => keys.extend([Key::NewNode, Key::NodeLabels]),
            Plugin::NodeDeclaredFeatures => keys.extend([Key::NewNode, Key::NodeFeatures]),
            Plugin::NodePorts => {
                keys.insert(Key::NewNode);
                keys.extend(pod.host_ports.iter().map(|port| Key::Port(port.port)));
            }
            Plugin::PodTopologySpread => note_spread(pod, keys),
            Plugin::InterPodAffinity => note_pod_affinity(code, pod, keys),
            Plugin::VolumeRestrictions => {
                keys.extend([Key::NewNode, Key::NodeGone]);
                for (claim, _) in claims_of(pod).filter(|(_, plain)| *plain) {
                    keys.extend([Key::UsersOf(claim.clone()), Key::Claim(claim)]);
                }
                keys.extend(pod.volumes.iter().filter_map(|volume| Key::disk(&volume.source)));
            }
            Plugin::VolumeZone => {
                keys.extend([Key::NewNode, Key::NodeLabels]);
                self.note_claims(pod, keys);
            }
            Plugin::VolumeBinding => self.note_binding(code, pod, keys),
            Plugin::NodeVolumeLimits => {
                keys.extend([Key::CsiNodes, Key::AnySlots]);
                for (driver, handle) in self.volumes.wanted_ids(pod) {
                    keys.extend([Key::Slots(driver.clone()), Key::Driver(driver.clone()), Key::Handle(driver, handle)]);
                }
                self.note_binding(Code::NOT_ENOUGH_STORAGE, pod, keys);
                for claim in delayed_claims(&self.volumes, pod) {
                    keys.extend([Key::SomeSlots, Key::AnyVolumeOf(claim.class.clone())]);
                }
            }
            _ => drop(keys.insert(Key::Anything)),
        }
    }

    /// The pod's claims with what they name: volumes where they are bound, classes where they are not.
    fn note_claims(&self, pod: &Pod, keys: &mut BTreeSet<Key>) {
        for (key, _) in claims_of(pod) {
            if let Some(record) = self.volumes.claims.get(&key) {
                let claim = &record.claim;
                if claim.volume.is_empty() {
                    keys.insert(Key::Class(claim.class.clone()));
                } else {
                    keys.insert(Key::Volume(claim.volume.clone()));
                }
            }
            keys.insert(Key::Claim(key));
        }
    }

    fn note_binding(&self, code: Code, pod: &Pod, keys: &mut BTreeSet<Key>) {
        self.note_claims(pod, keys);
        if is_of_the_claim(code) {
            return;
        }
        keys.extend([Key::NewNode, Key::NodeLabels, Key::CsiNodes]);
        if code == Code::VOLUME_AFFINITY || code == Code::VOLUME_MISSING {
            return;
        }
        for claim in delayed_claims(&self.volumes, pod) {
            keys.insert(Key::VolumesOf(claim.class.clone()));
            if space_matters(code, pod) {
                keys.extend([Key::PoolsOf(claim.class.clone()), Key::NodeGone]);
                if let Some(record) = self.volumes.classes.get(&claim.class) {
                    keys.insert(Key::Driver(record.class.provisioner.clone()));
                }
            }
        }
    }
}

/// Whether a refusal is about a claim itself, whatever volumes and nodes there are.
fn is_of_the_claim(code: Code) -> bool {
    [
        Code::CLAIM_NOT_FOUND,
        Code::EPHEMERAL_CLAIM_MISSING,
        Code::CLAIM_LOST,
        Code::CLAIM_DELETING,
        Code::CLAIM_NOT_OWNED,
        Code::UNBOUND_IMMEDIATE,
    ]
    .contains(&code)
}

fn note_spread(pod: &Pod, keys: &mut BTreeSet<Key>) {
    keys.extend([Key::NewNode, Key::NodeGone, Key::NodeLabels, Key::NodeTaints]);
    let namespace = Some(pod.key.namespace.clone());
    for constraint in hard_constraints(pod) {
        if let Some(selector) = usable(&constraint.selector) {
            note_selected(&namespace, selector, keys);
        }
    }
    if hard_constraints(pod).next().is_none() {
        keys.extend([Key::Pods(namespace), Key::Workloads(pod.key.namespace.clone())]);
    }
}

fn note_pod_affinity(code: Code, pod: &Pod, keys: &mut BTreeSet<Key>) {
    keys.extend([Key::NewNode, Key::NodeGone, Key::NodeLabels]);
    if code == Code::EXISTING_ANTI_AFFINITY {
        keys.extend([Key::Namespaces, Key::KeepsAwayAny]);
        let labels = pod.labels.iter();
        keys.extend(labels.map(|(key, value)| Key::KeepsAway { key: key.clone(), value: value.clone() }));
        return;
    }
    if terms(pod).any(|term| term.namespace_selector.is_some()) {
        keys.insert(Key::Namespaces);
    }
    let own = if code == Code::POD_AFFINITY { &pod.required_affinity } else { &pod.required_anti_affinity };
    for term in own {
        let Some(selector) = usable(&term.selector) else { continue };
        if term.namespace_selector.is_some() {
            note_selected(&None, selector, keys);
        } else if term.namespaces.is_empty() {
            note_selected(&Some(pod.key.namespace.clone()), selector, keys);
        } else {
            term.namespaces.iter().for_each(|namespace| note_selected(&Some(namespace.clone()), selector, keys));
        }
    }
}

/// Files under the labels that a selected pod must carry one of, or under all pods where no label sums the selector up.
fn note_selected(namespace: &Option<Name>, selector: &LabelSelector, keys: &mut BTreeSet<Key>) {
    match carried(selector) {
        Some((key, values)) => keys.extend(values.iter().map(|value| Key::Label {
            namespace: namespace.clone(),
            key: key.clone(),
            value: value.clone(),
        })),
        None => drop(keys.insert(Key::Pods(namespace.clone()))),
    }
}

/// A label of which every selected pod carries one of the values.
pub(super) fn carried(selector: &LabelSelector) -> Option<(&Name, &[Name])> {
    selector.requirements().iter().find_map(|requirement| Some((requirement.key(), requirement.in_values()?)))
}
