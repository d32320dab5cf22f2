//! Counts of volumes and claims under upstream's names, made when somebody asks for them (pv-controller.md 4.14).

use std::collections::BTreeMap;

use plimsoll_runtime::Context;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::world::World;

/// Lets `/metrics` count what there is.
pub fn start(context: &Context, world: &World) {
    context.metrics.collect(Figures { world: world.clone() });
}

struct Figures {
    world: World,
}

impl std::fmt::Debug for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Figures")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct Plugin {
    plugin_name: String,
    volume_mode: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct Class {
    storage_class: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EncodeLabelSet)]
struct Claims {
    namespace: String,
    storage_class: String,
    volume_attributes_class: String,
}

type Counts<L> = BTreeMap<L, i64>;

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (mut plugins, mut bound, mut unbound) = (Counts::new(), Counts::new(), Counts::new());
        for volume in self.world.volumes.all() {
            let (spec, status) = (&volume.slim.spec, &volume.slim.status);
            let plugin_name = match &spec.csi {
                Some(csi) => format!("kubernetes.io/csi:{}", csi.driver),
                None => "N/A".to_owned(),
            };
            let volume_mode = if spec.volume_mode.is_empty() { "Filesystem" } else { &spec.volume_mode }.to_owned();
            *plugins.entry(Plugin { plugin_name, volume_mode }).or_default() += 1;
            let class = Class { storage_class: spec.storage_class_name.clone() };
            let counts = if status.phase == "Bound" { &mut bound } else { &mut unbound };
            *counts.entry(class).or_default() += 1;
        }
        let (mut bound_claims, mut unbound_claims) = (Counts::new(), Counts::new());
        for claim in self.world.claims.all() {
            let labels = Claims {
                namespace: claim.slim.metadata.namespace.clone(),
                storage_class: claim.slim.class_name().unwrap_or_default().to_owned(),
                volume_attributes_class: claim.slim.spec.volume_attributes_class_name.clone(),
            };
            let is_bound = claim.slim.status.phase == "Bound";
            *if is_bound { &mut bound_claims } else { &mut unbound_claims }.entry(labels).or_default() += 1;
        }
        write(&mut encoder, "pv_collector_total_pv_count", "PersistentVolumes by plugin and mode", &plugins)?;
        write(&mut encoder, "pv_collector_bound_pv_count", "Bound PersistentVolumes by class", &bound)?;
        write(&mut encoder, "pv_collector_unbound_pv_count", "Other PersistentVolumes by class", &unbound)?;
        write(&mut encoder, "pv_collector_bound_pvc_count", "Bound claims", &bound_claims)?;
        write(&mut encoder, "pv_collector_unbound_pvc_count", "Other claims", &unbound_claims)
    }
}

fn write<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    counts: &Counts<L>,
) -> Result<(), std::fmt::Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, count) in counts {
        ConstGauge::new(*count).encode(metric.encode_family(labels)?)?;
    }
    Ok(())
}
