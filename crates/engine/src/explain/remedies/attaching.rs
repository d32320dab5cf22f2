//! What a node's CSI drivers can attach: limits, leftovers, drivers that are missing.

use crate::labels::ObjectKey;
use crate::model::{CsiNode, DriverOnNode};
use crate::object::{Kind, Object};
use crate::reason::Code;

use super::bench::{Bench, Change};
use super::words::edit;
use super::{Invasiveness, Proposal, Refused};

/// How many leftover attachments of a node are looked at.
const ATTACHMENTS: usize = 20;

pub(super) fn propose(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    if refused.by(Code::ATTACH_LIMIT) {
        proposals.extend(leftovers(refused, bench));
        proposals.extend(limits(refused, bench));
    }
    if refused.by(Code::DRIVER_MISSING) {
        proposals.extend(install(refused, bench));
    }
    proposals
}

/// Attachments to the node: of those that no pod there needs, one less may be enough.
fn leftovers(refused: &Refused<'_>, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let node = &refused.node.node;
    let names = volumes.attachments_on.get(node).into_iter().flatten().take(ATTACHMENTS);
    let attachments = names.filter_map(|name| volumes.attachments.get(name));
    attachments
        .filter_map(|attachment| {
            let volume = attachment.volume.as_ref()?;
            let words = format!(
                "VolumeAttachment {} deleted: volume {volume} is attached to {node}, where no pod uses it",
                attachment.name
            );
            let key = ObjectKey::new("", attachment.name.clone());
            let patch = edit(Kind::VolumeAttachment, &attachment.name, ".", None);
            let change = Change::Gone(Kind::VolumeAttachment, key);
            Some(refused.proposal(Invasiveness::Attaching, 0, words, change).with_patch(patch))
        })
        .collect()
}

/// A higher limit of one driver.
fn limits(refused: &Refused<'_>, bench: &mut Bench<'_>) -> Vec<Proposal> {
    let node = &refused.node.node;
    let Some(csi_node) = bench.catalog().volumes.csi_nodes.get(node) else { return Vec::new() };
    let mut proposals = Vec::new();
    for (at, driver) in csi_node.drivers.iter().enumerate() {
        let Some(limit) = driver.attach_limit else { continue };
        let with = |limit: i64| {
            let mut raised = csi_node.clone();
            raised.drivers[at].attach_limit = i32::try_from(limit).ok();
            Change::Set(vec![Object::CsiNode(raised)])
        };
        let low = i64::from(limit).saturating_add(1);
        let Some(enough) = bench.smallest(low, i64::from(i32::MAX), node, with) else { continue };
        let words = format!("driver {} may attach {enough} volumes to {node} instead of {limit}", driver.name);
        let field = format!("spec.drivers[name={}].allocatable.count", driver.name);
        let patch = edit(Kind::CsiNode, node, field, Some(enough.to_string()));
        let more = enough.saturating_sub(i64::from(limit));
        proposals.push(refused.proposal(Invasiveness::Attaching, more, words, with(enough)).with_patch(patch));
    }
    proposals
}

/// A driver that asks pods to wait for it comes to the node. It then says so itself: there is nothing to edit.
fn install(refused: &Refused<'_>, bench: &Bench<'_>) -> Vec<Proposal> {
    let volumes = &bench.catalog().volumes;
    let node = &refused.node.node;
    let known = volumes.csi_nodes.get(node).cloned();
    let csi_node = known.unwrap_or_else(|| CsiNode {
        node: node.clone(),
        version: 0,
        drivers: Vec::new(),
        migrated_plugins: Vec::new(),
    });
    let missing = volumes.drivers.values().filter(|d| d.prevent_scheduling_if_missing);
    missing
        .filter(|driver| csi_node.driver(&driver.name).is_none())
        .map(|driver| {
            let mut installed = csi_node.clone();
            installed.drivers.push(DriverOnNode { name: driver.name.clone(), attach_limit: None });
            let words = format!("driver {} installed on {node}", driver.name);
            refused.proposal(Invasiveness::Attaching, 0, words, Change::Set(vec![Object::CsiNode(installed)]))
        })
        .collect()
}
