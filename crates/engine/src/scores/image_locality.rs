//! ImageLocality: images that are already on the node.

use std::borrow::Cow;

use crate::model::Pod;
use crate::nodes::NodeRow;
use crate::view::ClusterView;

use super::MAX;

const MIB: i64 = 1024 * 1024;
/// Images below this size are pulled quickly anyway.
const LEAST: i64 = 23 * MIB;
/// More than this per image makes no difference.
const MOST_PER_IMAGE: i64 = 1000 * MIB;

pub(super) fn scores(pod: &Pod, cluster: &ClusterView<'_>, rows: &[&NodeRow]) -> Vec<i64> {
    let images: Vec<Cow<'_, str>> = pod.images.all().map(|name| with_tag(name)).collect();
    rows.iter().map(|row| score(&images, cluster, row)).collect()
}

fn score(images: &[Cow<'_, str>], cluster: &ClusterView<'_>, row: &NodeRow) -> i64 {
    let sum = images.iter().fold(0i64, |sum, name| sum.saturating_add(weighed(name, cluster, row)));
    let most = MOST_PER_IMAGE.saturating_mul(i64::try_from(images.len()).unwrap_or(i64::MAX));
    // Without images `most` is below `least`: compared in this order, the score is then 0.
    let sum = if sum < LEAST { LEAST } else { sum.min(most) };
    if most == LEAST { 0 } else { MAX.saturating_mul(sum - LEAST) / (most - LEAST) }
}

/// An image's size, scaled by the share of nodes that have it: one that only this node has would draw every pod here.
fn weighed(name: &str, cluster: &ClusterView<'_>, row: &NodeRow) -> i64 {
    let Some(size) = row.image_size(name) else { return 0 };
    let spread = f64::from(cluster.nodes.nodes_with_image(name)) / cluster.nodes.len() as f64;
    (size as f64 * spread) as i64
}

/// The full name: nodes list `name:tag`. A digest's colon counts as a tag.
fn with_tag(name: &str) -> Cow<'_, str> {
    if name.rfind(':') <= name.rfind('/') { Cow::Owned(format!("{name}:latest")) } else { Cow::Borrowed(name) }
}
