//! In which zones a disk is made: the choice of a provisioner whose disks live in one zone, or in several of a region.
//!
//! Four things have a say. The selected node's zone must be among the chosen ones, or the pod could not reach its disk.
//! The class narrows the rest, by `allowedTopologies` or by the older parameters `zone` and `zones` (never both). Where
//! it says nothing, the zones that have nodes are taken.
//!
//! ```text
//!   selected node's zone ──────────────────────────► always chosen
//!   allowedTopologies, else zone/zones, else ──► candidates ──► one region ──► rotated by the claim's name ──► the rest
//!   the zones with nodes
//! ```
//!
//! Claims of a StatefulSet (`<template>-<set>-<ordinal>`) take turns: the set's name decides where they begin and the
//! ordinal how far they go on, so that the claims of one pod meet in one zone and those of the next pod in the next.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::selector::RawTopologyTerm;
use crate::volumes::migration::{ZONE, ZONE_BETA};

/// What the choice of zones is made from.
#[derive(Clone, Debug)]
pub struct ZoneRequest<'a> {
    /// The claim's name: what spreads claims over zones.
    pub claim: &'a str,
    /// In how many zones the disk is kept; at least one.
    pub copies: usize,
    /// The selected node, where there is one.
    pub selected: Option<SelectedNode<'a>>,
    /// The class's parameter `zone`.
    pub zone: Option<&'a str>,
    /// The class's parameter `zones`, separated by commas.
    pub zones: Option<&'a str>,
    /// The class's `allowedTopologies`.
    pub allowed: &'a [RawTopologyTerm],
    /// The zones that have nodes, each with its region where that is known.
    pub existing: &'a BTreeMap<String, Option<String>>,
    /// The region that a zone's name tells, for zones without nodes.
    pub region_by_name: fn(&str) -> Option<String>,
}

/// The node that a disk must be reachable from.
#[derive(Clone, Copy, Debug)]
pub struct SelectedNode<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its zone; `None` where it has no label for it.
    pub zone: Option<&'a str>,
}

/// Why no zones can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneRefusal {
    /// Both parameters.
    #[error("both zone and zones StorageClass parameters must not be used at the same time")]
    BothParameters,
    /// A parameter beside `allowedTopologies`.
    #[error("zone[s] cannot be specified in StorageClass if allowedTopologies specified")]
    ParameterAndTopologies,
    /// `zones` with a hole in it, or `zone` with nothing.
    #[error("the StorageClass parameter {parameter} ({value:?}) must not contain an empty zone")]
    EmptyZone {
        /// Which one.
        parameter: &'static str,
        /// Its value.
        value: String,
    },
    /// `zone` for a disk of several zones.
    #[error(
        "zone cannot be specified for a volume that is kept in {0} zones: specify zones or allowedTopologies instead"
    )]
    OneZoneForMany(usize),
    /// The selected node has no zone, though the cluster has zones or the class asks for one.
    #[error("selected node {0:?} has neither the label {ZONE} nor {ZONE_BETA}: the volume's zone is not known")]
    NodeWithoutZone(String),
    /// The selected node is outside of what the class allows.
    #[error("selected node {node:?} is in zone {zone:?}, and the {by} of the StorageClass allow only {allowed}")]
    NodeOutside {
        /// The node.
        node: String,
        /// Its zone.
        zone: String,
        /// What the class says it by.
        by: Source,
        /// The zones allowed.
        allowed: String,
    },
    /// `allowedTopologies` names something that a disk does not know.
    #[error("unsupported key found in matchLabelExpressions: {0}")]
    UnsupportedKey(String),
    /// `allowedTopologies` that no zone can satisfy.
    #[error("allowedTopologies allow no zone at all: no term names one by {ZONE}")]
    NothingAllowed,
    /// Fewer zones than the disk needs.
    #[error("a volume that is kept in {needed} zones of one region cannot be made: the {by} have only {found}")]
    TooFew {
        /// How many are needed.
        needed: usize,
        /// Where they were looked for.
        by: Source,
        /// The zones found, in the region that has most.
        found: String,
    },
}

/// Where candidates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `allowedTopologies`.
    Topologies,
    /// The parameter `zone` or `zones`.
    Parameters,
    /// The nodes there are.
    Nodes,
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Topologies => "allowedTopologies",
            Self::Parameters => "zone parameters",
            Self::Nodes => "nodes of the cluster",
        })
    }
}

/// The zone that labels tell, with the key that tells it: the stable one, else the beta one.
pub fn zone_label<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<(&'static str, &'a str)> {
    [ZONE, ZONE_BETA].into_iter().find_map(|key| Some((key, label(key).filter(|zone| !zone.is_empty())?)))
}

impl ZoneRequest<'_> {
    /// The zones to make the disk in, sorted. Empty only where neither the cluster nor the class knows any zone: a cluster
    /// of one place need not label its nodes, and its disks are reachable from everywhere in it.
    pub fn choose(&self) -> Result<Vec<String>, ZoneRefusal> {
        let (by, candidates) = self.candidates()?;
        let copies = self.copies.max(1);
        let home = match self.selected {
            Some(SelectedNode { zone: Some(zone), name }) => {
                if !candidates.contains(zone) && by != Source::Nodes {
                    return Err(ZoneRefusal::NodeOutside {
                        node: name.to_owned(),
                        zone: zone.to_owned(),
                        by,
                        allowed: list(&candidates),
                    });
                }
                Some(zone)
            }
            _ if candidates.is_empty() && copies == 1 => return Ok(Vec::new()),
            Some(SelectedNode { zone: None, name }) => return Err(ZoneRefusal::NodeWithoutZone(name.to_owned())),
            None => None,
        };
        let (start, ordinal) = turn(self.claim);
        let region = self.one_region(&candidates, home, copies, start);
        let mut chosen: BTreeSet<&str> = home.into_iter().collect();
        let others: Vec<&str> = region.iter().copied().filter(|zone| Some(*zone) != home).collect();
        let wanted = copies - chosen.len();
        if others.len() < wanted {
            let found: BTreeSet<String> = region.iter().copied().chain(home).map(str::to_owned).collect();
            return Err(ZoneRefusal::TooFew { needed: copies, by, found: list(&found) });
        }
        let first = ordinal.wrapping_mul(wanted as u64).wrapping_add(start);
        chosen.extend((0..wanted as u64).filter_map(|i| pick(&others, first.wrapping_add(i)).copied()));
        Ok(chosen.into_iter().map(str::to_owned).collect())
    }

    /// The zones that the class or the cluster offers.
    fn candidates(&self) -> Result<(Source, BTreeSet<String>), ZoneRefusal> {
        let named = match (self.zone, self.zones) {
            (Some(_), Some(_)) => return Err(ZoneRefusal::BothParameters),
            (Some(_), None) if self.copies > 1 => return Err(ZoneRefusal::OneZoneForMany(self.copies)),
            (Some(zone), None) => Some(split("zone", &[zone], zone)?),
            (None, Some(zones)) => Some(split("zones", &zones.split(',').collect::<Vec<_>>(), zones)?),
            (None, None) => None,
        };
        match (named, self.allowed.is_empty()) {
            (Some(_), false) => Err(ZoneRefusal::ParameterAndTopologies),
            (Some(zones), true) => Ok((Source::Parameters, zones)),
            (None, false) => Ok((Source::Topologies, self.allowed_zones()?)),
            (None, true) => Ok((Source::Nodes, self.existing.keys().cloned().collect())),
        }
    }

    /// The zones that `allowedTopologies` name: each term's, where all its expressions agree.
    fn allowed_zones(&self) -> Result<BTreeSet<String>, ZoneRefusal> {
        // With a node selected for a disk of one zone, the scheduler has judged the other keys already.
        let judged = self.selected.is_some() && self.copies <= 1;
        let mut zones = BTreeSet::new();
        for term in self.allowed {
            let mut agreed: Option<BTreeSet<String>> = None;
            for (key, values) in term {
                if ![ZONE, ZONE_BETA].contains(&&**key) {
                    if judged {
                        continue;
                    }
                    return Err(ZoneRefusal::UnsupportedKey(key.to_string()));
                }
                let values = values.iter().filter(|v| !v.is_empty()).map(|v| v.to_string());
                agreed = Some(match agreed {
                    Some(so_far) => values.filter(|v| so_far.contains(v)).collect(),
                    None => values.collect(),
                });
            }
            match (agreed, self.selected.and_then(|node| node.zone)) {
                (Some(agreed), _) => zones.extend(agreed),
                // A term without a zone restricts other things; which, the scheduler has judged.
                (None, Some(zone)) if judged && !term.is_empty() => zones.extend([zone.to_owned()]),
                (None, _) => {}
            }
        }
        if zones.is_empty() { Err(ZoneRefusal::NothingAllowed) } else { Ok(zones) }
    }

    /// The candidates of the one region that the disk will be in: that of `home`, otherwise one that has enough of them,
    /// otherwise the one that has most. A disk of one zone is bound to no region.
    fn one_region<'z>(
        &self,
        candidates: &'z BTreeSet<String>,
        home: Option<&str>,
        copies: usize,
        start: u64,
    ) -> Vec<&'z str> {
        if copies == 1 {
            return candidates.iter().map(String::as_str).collect();
        }
        let mut regions: BTreeMap<Option<String>, Vec<&str>> = BTreeMap::new();
        for zone in candidates {
            regions.entry(self.region(zone)).or_default().push(zone);
        }
        if let Some(home) = home {
            return regions.remove(&self.region(home)).unwrap_or_default();
        }
        let most = regions.values().map(Vec::len).max().unwrap_or_default();
        let enough: Vec<Vec<&str>> = regions.into_values().filter(|zones| zones.len() >= copies.min(most)).collect();
        pick(&enough, start).cloned().unwrap_or_default()
    }

    fn region(&self, zone: &str) -> Option<String> {
        self.existing.get(zone).cloned().flatten().or_else(|| (self.region_by_name)(zone))
    }
}

/// The zones of a parameter, blanks around them removed.
fn split(parameter: &'static str, parts: &[&str], whole: &str) -> Result<BTreeSet<String>, ZoneRefusal> {
    let zones: BTreeSet<String> = parts.iter().map(|zone| zone.trim().to_owned()).collect();
    if zones.contains("") {
        return Err(ZoneRefusal::EmptyZone { parameter, value: whole.to_owned() });
    }
    Ok(zones)
}

fn list(zones: &BTreeSet<String>) -> String {
    if zones.is_empty() { "none".to_owned() } else { zones.iter().map(String::as_str).collect::<Vec<_>>().join(", ") }
}

/// The entry at a position that goes round and round.
fn pick<T>(from: &[T], at: u64) -> Option<&T> {
    let at = at.checked_rem(from.len() as u64)?;
    from.get(usize::try_from(at).ok()?)
}

/// Where a claim begins, and its turn: for `<template>-<set>-<ordinal>` what is hashed is the last word of the set's name
/// alone, so that all claims of one pod meet.
fn turn(claim: &str) -> (u64, u64) {
    let ordinal = claim.rsplit_once('-').and_then(|(set, n)| Some((set, n.parse::<u32>().ok()?)));
    match ordinal {
        Some((set, n)) => (hash(set.rsplit('-').next().unwrap_or(set)), u64::from(n)),
        None => (hash(claim), 0),
    }
}

/// FNV-1a: stable for ever, since a restart must find the same zones.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
