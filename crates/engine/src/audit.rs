//! Whether two catalogs know the same cluster: what a process has gathered from events, against what there is.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::nodes::NodeRow;
use crate::volumes::VolumeCatalog;

impl Catalog {
    /// What this catalog knows otherwise than one that was filled just now, in a sentence; `None` where nothing is. What is
    /// still assumed counts as a difference: at rest nothing is.
    pub fn difference_from(&self, fresh: &Catalog) -> Option<String> {
        if let Some(pod) = self.assumed().next() {
            return Some(format!("the place of pod {pod} is still assumed"));
        }
        let by_key = |catalog: &Catalog| catalog.pods().map(|p| (p.key.to_string(), Arc::clone(p))).collect();
        let rows = |catalog: &Catalog| catalog.nodes().iter_by_name().map(row).collect();
        let (known, there) = (&self.volumes, &fresh.volumes);
        differ("pod", by_key(self), by_key(fresh))
            .or_else(|| differ("node", rows(self), rows(fresh)))
            .or_else(|| differ("volume", volumes(known), volumes(there)))
            .or_else(|| differ("claim", claims(known), claims(there)))
    }
}

/// A node with what its pods hold together, whatever the table's own numbers for it are.
fn row(row: &NodeRow) -> (String, impl PartialEq + Debug + use<>) {
    let pods: Vec<String> = row.pods().iter().map(|p| p.pod().key.to_string()).collect();
    (row.node().name.to_string(), (row.node().clone(), row.held().clone(), pods))
}

fn volumes(catalog: &VolumeCatalog) -> BTreeMap<String, impl PartialEq + Debug + use<>> {
    let records = catalog.slab.iter();
    records.map(|r| (r.volume.name.to_string(), (Arc::clone(&r.volume), r.observed.is_some()))).collect()
}

fn claims(catalog: &VolumeCatalog) -> BTreeMap<String, impl PartialEq + Debug + use<>> {
    let records = catalog.claims.values();
    records.map(|r| (r.claim.key.to_string(), (Arc::clone(&r.claim), r.observed.is_some()))).collect()
}

fn differ<T: PartialEq + Debug>(what: &str, known: BTreeMap<String, T>, there: BTreeMap<String, T>) -> Option<String> {
    for (name, known) in &known {
        match there.get(name) {
            None => return Some(format!("{what} {name} is known and not there")),
            Some(there) if there != known => {
                return Some(format!("{what} {name} is known as {known:?} and is {there:?}"));
            }
            Some(_) => {}
        }
    }
    there.keys().find(|name| !known.contains_key(*name)).map(|name| format!("{what} {name} is there and not known"))
}
