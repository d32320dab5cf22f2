//! From where one volume can be reached, as one node judges it.

use std::borrow::Cow;

use crate::labels::Labels;
use crate::model::{Volume, VolumeSource};
use crate::selector::NodeSelector;
use crate::volumes::migration;

/// The affinity of a volume as a node judges it: where the node says that the volume's in-tree plugin is migrated, the
/// CSI driver's.
#[derive(Clone, Debug)]
pub struct Reach<'v> {
    /// `None` is everywhere; an error is a volume that the driver's rules cannot make sense of.
    affinity: Result<Option<Cow<'v, NodeSelector>>, String>,
}

impl<'v> Reach<'v> {
    /// Of a volume on a node, of which `is_migrated` says whether an in-tree plugin is migrated there.
    pub fn of(volume: &'v Volume, is_migrated: impl Fn(&str) -> bool) -> Self {
        let plain = || Ok(volume.affinity.as_deref().map(Cow::Borrowed));
        let plugin = match &volume.source {
            VolumeSource::InTree(disk) => {
                migration::plugin_of(disk).filter(|plugin| is_migrated(plugin.name)).map(|plugin| (plugin, disk))
            }
            _ => None,
        };
        let Some((plugin, disk)) = plugin else { return Self { affinity: plain() } };
        let affinity = migration::handle(disk, Some(&volume.labels))
            .map(|_| migration::migrated_affinity(plugin, volume.affinity.as_deref(), &volume.labels).map(Cow::Owned));
        Self { affinity }
    }

    /// Whether a node with these labels reaches it; what is wrong with it where nothing matches for that reason.
    pub fn evaluate(&self, labels: &Labels) -> Result<bool, String> {
        match &self.affinity {
            Ok(None) => Ok(true),
            Ok(Some(affinity)) => affinity.evaluate_labels(labels).map_err(|e| e.to_string()),
            Err(error) => Err(format!("could not translate pv: {error}")),
        }
    }

    /// Whether a node with these labels reaches it. A volume that cannot be judged is not reached.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.evaluate(labels).unwrap_or(false)
    }
}
