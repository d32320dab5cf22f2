//! In-tree disks as the CSI volumes that migration makes of them.
//!
//! Five in-tree plugins are migrated by the scheduler's rules. Their volumes are judged as if the driver had made them:
//! zone labels become the driver's own topology key, and the disk gets the driver's handle, which attach limits count.

use crate::labels::{Labels, Name};
use crate::model::InTreeDisk;
use crate::selector::{NodeSelector, NodeSelectorTerm, Requirement, SelectorError};

/// The beta zone label.
pub const ZONE_BETA: &str = "failure-domain.beta.kubernetes.io/zone";
/// The beta region label.
pub const REGION_BETA: &str = "failure-domain.beta.kubernetes.io/region";
/// The zone label.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// The region label.
pub const REGION: &str = "topology.kubernetes.io/region";
/// What separates the zones of a label that lists several.
pub const ZONE_SEPARATOR: &str = "__";

/// An in-tree plugin that the scheduler's rules migrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plugin {
    /// Its in-tree name.
    pub(crate) name: &'static str,
    /// The driver that took over.
    pub(crate) driver: &'static str,
    /// The driver's topology key, where zone labels are translated to it.
    pub(crate) topology_key: Option<&'static str>,
}

const AWS: Plugin = Plugin {
    name: "kubernetes.io/aws-ebs",
    driver: "ebs.csi.aws.com",
    topology_key: Some("topology.ebs.csi.aws.com/zone"),
};
const GCE: Plugin = Plugin {
    name: "kubernetes.io/gce-pd",
    driver: "pd.csi.storage.gke.io",
    topology_key: Some("topology.gke.io/zone"),
};
const AZURE: Plugin = Plugin { name: "kubernetes.io/azure-disk", driver: "disk.csi.azure.com", topology_key: None };
const CINDER: Plugin = Plugin {
    name: "kubernetes.io/cinder",
    driver: "cinder.csi.openstack.org",
    topology_key: Some("topology.cinder.csi.openstack.org/zone"),
};
const PORTWORX: Plugin =
    Plugin { name: "kubernetes.io/portworx-volume", driver: "pxd.portworx.com", topology_key: None };

/// All of them.
pub(crate) const PLUGINS: [Plugin; 5] = [AWS, GCE, AZURE, CINDER, PORTWORX];

/// In-tree plugins whose disks are migrated elsewhere, but never by the scheduler's rules.
const NOT_COUNTED: [&str; 2] = ["kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"];

/// The plugin of a disk, if the scheduler's rules migrate it.
pub(crate) fn plugin_of(disk: &InTreeDisk) -> Option<Plugin> {
    match disk {
        InTreeDisk::AwsEbs { .. } => Some(AWS),
        InTreeDisk::GcePd { .. } => Some(GCE),
        InTreeDisk::AzureDisk { .. } => Some(AZURE),
        InTreeDisk::Cinder { .. } => Some(CINDER),
        InTreeDisk::Portworx { .. } => Some(PORTWORX),
        InTreeDisk::AzureFile { .. } | InTreeDisk::Vsphere { .. } => None,
    }
}

/// The driver behind a class's provisioner: itself, or the one that took over from the in-tree plugin of that name.
/// `None` where volumes of that provisioner are never counted; in-tree names count only on nodes with a CSINode.
pub(crate) fn driver_of_provisioner(provisioner: &Name, csi_node_exists: bool) -> Option<Name> {
    if NOT_COUNTED.contains(&&**provisioner) {
        return None;
    }
    match PLUGINS.into_iter().find(|p| p.name == &**provisioner) {
        Some(plugin) => csi_node_exists.then(|| plugin.driver.into()),
        None => (!provisioner.is_empty()).then(|| provisioner.clone()),
    }
}

/// The driver's handle of a disk. Zone labels are part of it for some; inline disks have none.
pub(crate) fn handle(disk: &InTreeDisk, labels: Option<&Labels>) -> Result<Name, String> {
    match disk {
        InTreeDisk::AwsEbs { volume_id } => ebs_handle(volume_id),
        InTreeDisk::GcePd { name } => gce_handle(name, labels),
        InTreeDisk::AzureDisk { uri, kind } => {
            if kind.is_empty() || kind.eq_ignore_ascii_case("Managed") {
                Ok(uri.clone())
            } else {
                Err(format!("kind({kind}) is not supported in csi migration"))
            }
        }
        InTreeDisk::Cinder { volume_id } | InTreeDisk::Portworx { volume_id } => Ok(volume_id.clone()),
        InTreeDisk::AzureFile { share, .. } => Ok(share.clone()),
        InTreeDisk::Vsphere { path } => Ok(path.clone()),
    }
}

fn ebs_handle(id: &Name) -> Result<Name, String> {
    let Some(rest) = id.strip_prefix("aws://") else { return Ok(id.clone()) };
    // The zone stands where a URL has its host; what follows it is the disk's own id.
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let disk = path.trim_matches('/');
    let valid = disk.strip_prefix("vol-").is_some_and(|suffix| !suffix.contains('/'));
    if valid {
        Ok(disk.into())
    } else {
        Err(format!("failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({id})"))
    }
}

fn gce_handle(disk: &Name, labels: Option<&Labels>) -> Result<Name, String> {
    let zones =
        labels.and_then(|l| l.get(ZONE_BETA).filter(|v| !v.is_empty()).or_else(|| l.get(ZONE))).map_or("", |v| &**v);
    let place = match zones.split(ZONE_SEPARATOR).collect::<Vec<_>>().as_slice() {
        [] | [""] => "zones/UNSPECIFIED".to_owned(),
        [zone] => format!("zones/{zone}"),
        zones => format!("regions/{}", gce_region(zones)?),
    };
    Ok(format!("projects/UNSPECIFIED/{place}/disks/{disk}").into())
}

/// The region of zones such as `us-east1-a`: all but the last part, the same for all of them.
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut region: Option<String> = None;
    for zone in zones {
        let parts: Vec<&str> = zone.split('-').collect();
        let [continent, area, _] = parts.as_slice() else {
            return Err(format!(
                "failed to get region from zones: zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            ));
        };
        let this = format!("{continent}-{area}");
        match &region {
            Some(other) if *other != this => {
                return Err("failed to get region from zones: multiple or no regions gotten from zones".to_owned());
            }
            _ => region = Some(this),
        }
    }
    region.ok_or_else(|| "failed to get region from zones: no zones specified".to_owned())
}

/// The affinity of a volume once its plugin is migrated: zones under the driver's topology key.
pub(crate) fn migrated_affinity(
    plugin: Plugin,
    affinity: Option<&NodeSelector>,
    labels: &Labels,
) -> Option<NodeSelector> {
    let Some(topology_key) = plugin.topology_key else { return affinity.cloned() };
    let names = |key: &str| affinity.is_some_and(|a| expressions(a).any(|r| &**r.key() == key));
    // The pair of keys that this volume uses: affinity speaks before labels, GA before beta.
    let beta = !names(ZONE) && (names(ZONE_BETA) || (!labels.contains_key(ZONE) && labels.contains_key(ZONE_BETA)));
    let zone_key = if beta { ZONE_BETA } else { ZONE };
    let mut result = affinity.cloned();
    if affinity.is_some_and(|a| has_values_for(a, zone_key)) {
        result = result.map(|a| renamed(&a, zone_key, topology_key));
    } else if let Some(zones) = labels.get(zone_key) {
        let zones: Vec<&str> = zones.split(ZONE_SEPARATOR).map(str::trim).filter(|z| !z.is_empty()).collect();
        if !zones.is_empty() {
            result = Some(with_requirement(result.as_ref(), Requirement::new(topology_key, "In", &zones)));
        }
    }
    if beta {
        result = result.map(|a| if has_values_for(&a, REGION_BETA) { renamed(&a, REGION_BETA, REGION) } else { a });
    }
    result
}

fn expressions(selector: &NodeSelector) -> impl Iterator<Item = &Requirement> {
    selector.terms().iter().flatten().flat_map(|t| t.expressions())
}

fn has_values_for(selector: &NodeSelector, key: &str) -> bool {
    expressions(selector).any(|r| &**r.key() == key && !matches!(r.operator(), "Exists" | "DoesNotExist"))
}

fn renamed(selector: &NodeSelector, from: &str, to: &str) -> NodeSelector {
    let rename = |r: &Requirement| if &**r.key() == from { r.with_key(to) } else { r.clone() };
    NodeSelector::from_terms(selector.terms().iter().map(|term| {
        term.as_ref().map(|t| t.with_expressions(t.expressions().iter().map(rename))).map_err(Clone::clone)
    }))
}

/// The selector with one more requirement in every term, the empty ones too; without terms, in one of its own.
fn with_requirement(selector: Option<&NodeSelector>, extra: Result<Requirement, SelectorError>) -> NodeSelector {
    let terms = selector.map_or(&[][..], NodeSelector::terms);
    let only = [Ok(NodeSelectorTerm::default())];
    let terms = if terms.is_empty() { &only[..] } else { terms };
    NodeSelector::from_terms(terms.iter().map(|term| match (term, &extra) {
        (Ok(t), Ok(extra)) => Ok(t.with_expressions(t.expressions().iter().cloned().chain([extra.clone()]))),
        (Err(e), _) | (_, Err(e)) => Err(e.clone()),
    }))
}
