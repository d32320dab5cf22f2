//! The flavours of simulated disks: what each plugin's volumes look like, and what it can do.
//!
//! The in-tree names are those that manifests out there ask for. Their sources have the fields of the plugin of that name,
//! so that whatever reads such a volume (attach limits, migration, `kubectl`) finds what it expects.

use serde_json::{Value, json};

/// In how many zones a flavour's disks are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Zones do not matter: the disk is reachable from everywhere.
    Anywhere,
    /// In one.
    One,
    /// In two of one region, where the class says `replication-type: regional-pd`; otherwise in one.
    ByParameter,
    /// In two of one region.
    Two,
}

/// What disks of a plugin look like.
#[derive(Clone, Copy, Debug)]
pub struct Flavour {
    /// The name that classes ask for it by.
    pub plugin: &'static str,
    /// In how many zones its disks are kept.
    pub copies: Copies,
    /// The parameter that names the zone.
    pub zone_parameter: &'static str,
    /// The access modes it can do.
    pub modes: &'static [&'static str],
    /// What sizes are rounded up to.
    pub unit: i64,
    /// The region that a zone's name tells.
    pub region: fn(&str) -> Option<String>,
    /// The field of the volume's `spec`.
    pub field: &'static str,
    /// What stands in that field, for a handle, its zones and the file system.
    pub source: fn(&str, &[String], &str) -> Value,
    /// The member of that field that names the disk.
    pub id: &'static str,
}

const RWO: &str = "ReadWriteOnce";
const ROX: &str = "ReadOnlyMany";
const RWX: &str = "ReadWriteMany";
const GI: i64 = 1 << 30;

/// Our own disks of one zone.
pub const ZONAL: &str = "plimsoll.dev/zonal-disk";
/// Our own disks of two zones of a region.
pub const REGIONAL: &str = "plimsoll.dev/regional-disk";

/// What all flavours share where they do not differ.
const PLAIN: Flavour = Flavour {
    plugin: "",
    copies: Copies::One,
    zone_parameter: "zone",
    modes: &[RWO],
    unit: GI,
    region: |_| None,
    field: "",
    source: |_, _, _| Value::Null,
    id: "",
};

/// A source that any API server accepts and no kubelet mounts by mistake: it has no driver of that name.
const OWN: Flavour = Flavour { modes: &[RWO, ROX], unit: 1, field: "flexVolume", id: "options", ..PLAIN };

/// Every flavour.
pub const FLAVOURS: [Flavour; 9] = [
    Flavour { plugin: ZONAL, source: own_disk, ..OWN },
    Flavour { plugin: REGIONAL, source: own_disk, copies: Copies::Two, ..OWN },
    Flavour {
        plugin: "kubernetes.io/gce-pd",
        copies: Copies::ByParameter,
        modes: &[RWO, ROX],
        region: |zone| zone.rsplit_once('-').filter(|(region, _)| region.contains('-')).map(|(r, _)| r.to_owned()),
        field: "gcePersistentDisk",
        source: |handle, _, fs| json!({"pdName": handle, "fsType": fs}),
        id: "pdName",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/aws-ebs",
        region: |zone| {
            let region = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
            (region.len() < zone.len() && region.ends_with(|c: char| c.is_ascii_digit())).then(|| region.to_owned())
        },
        field: "awsElasticBlockStore",
        source: |handle, zones, fs| {
            let zone = zones.first().map(String::as_str).unwrap_or_default();
            json!({"volumeID": format!("aws://{zone}/{handle}"), "fsType": fs})
        },
        id: "volumeID",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/azure-disk",
        field: "azureDisk",
        source: |handle, _, fs| {
            let uri =
                format!("/subscriptions/simulated/resourceGroups/simulated/providers/Microsoft.Compute/disks/{handle}");
            json!({"diskName": handle, "diskURI": uri, "kind": "Managed", "cachingMode": "ReadOnly", "fsType": fs})
        },
        id: "diskURI",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/cinder",
        zone_parameter: "availability",
        field: "cinder",
        source: |handle, _, fs| json!({"volumeID": handle, "fsType": fs}),
        id: "volumeID",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/azure-file",
        copies: Copies::Anywhere,
        modes: &[RWO, ROX, RWX],
        field: "azureFile",
        source: |handle, _, _| {
            json!({"shareName": handle, "secretName": "azure-storage-account-simulated-secret",
                   "secretNamespace": "default"})
        },
        id: "shareName",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/vsphere-volume",
        copies: Copies::Anywhere,
        unit: 1 << 10,
        field: "vsphereVolume",
        source: |handle, _, fs| json!({"volumePath": format!("[simulated] kubevols/{handle}.vmdk"), "fsType": fs}),
        id: "volumePath",
        ..PLAIN
    },
    Flavour {
        plugin: "kubernetes.io/portworx-volume",
        copies: Copies::Anywhere,
        modes: &[RWO, RWX],
        field: "portworxVolume",
        source: |handle, _, fs| json!({"volumeID": handle, "fsType": fs}),
        id: "volumeID",
        ..PLAIN
    },
];

fn own_disk(handle: &str, _: &[String], fs: &str) -> Value {
    json!({"driver": "plimsoll.dev/disk", "fsType": fs, "options": {"disk": handle}})
}

impl Flavour {
    /// The disk's name for a volume: the same for every call, so that a repeated call finds what the first one made.
    pub fn handle(&self, volume: &str) -> String {
        match self.field {
            // EBS ids have no dashes; the volume's name ends in a uid.
            "awsElasticBlockStore" => format!("vol-{}", volume.strip_prefix("pvc-").unwrap_or(volume).replace('-', "")),
            "cinder" => volume.strip_prefix("pvc-").unwrap_or(volume).to_owned(),
            _ => format!("kubernetes-dynamic-{volume}"),
        }
    }

    /// The disk's name as a volume's source has it; `None` where the volume is of another kind.
    pub fn handle_of<'v>(&self, volume: &'v Value) -> Option<&'v str> {
        let id = &volume["spec"][self.field][self.id];
        let text = id.as_str().or_else(|| id["disk"].as_str())?;
        let last = text.rsplit('/').next().unwrap_or(text);
        Some(last.strip_suffix(".vmdk").unwrap_or(last)).filter(|handle| !handle.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FLAVOURS;

    #[test]
    fn every_source_leads_back_to_its_disk() {
        for flavour in FLAVOURS {
            let handle = flavour.handle("pvc-0b1c2d3e-0000-4000-8000-00000000000f");
            let source = (flavour.source)(&handle, &["us-east-1a".to_owned()], "ext4");
            let volume = json!({"spec": {flavour.field: source}});
            assert_eq!(flavour.handle_of(&volume), Some(handle.as_str()), "{}", flavour.plugin);
            assert_eq!(flavour.handle_of(&json!({"spec": {"csi": {}}})), None);
        }
    }

    #[test]
    fn regions_are_read_from_the_names_of_zones() {
        let region = |plugin: &str, zone: &str| {
            let flavour = FLAVOURS.iter().find(|f| f.plugin == plugin).unwrap();
            (flavour.region)(zone)
        };
        assert_eq!(region("kubernetes.io/gce-pd", "us-central1-a").as_deref(), Some("us-central1"));
        assert_eq!(region("kubernetes.io/gce-pd", "zone-a"), None);
        assert_eq!(region("kubernetes.io/aws-ebs", "us-east-1a").as_deref(), Some("us-east-1"));
        assert_eq!(region("kubernetes.io/aws-ebs", "a"), None);
    }
}
