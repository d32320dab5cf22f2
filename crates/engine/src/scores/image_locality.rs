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
    let mut sums = vec![0i64; cluster.nodes.capacity()];
    for name in pod.images.all() {
        let name = with_tag(name);
        let nodes = cluster.nodes.with_image(&name);
        // An image that only one node has would draw every pod there: sizes are scaled by the share of nodes that have it.
        let spread = nodes.len() as f64 / cluster.nodes.len() as f64;
        for (index, size) in nodes {
            if let Some(sum) = sums.get_mut(index.as_usize()) {
                *sum = sum.saturating_add((size as f64 * spread) as i64);
            }
        }
    }
    let images = i64::try_from(pod.images.all().count()).unwrap_or(i64::MAX);
    rows.iter().map(|row| score(sums.get(row.index().as_usize()).copied().unwrap_or(0), images)).collect()
}

fn score(sum: i64, images: i64) -> i64 {
    let most = MOST_PER_IMAGE.saturating_mul(images);
    if sum <= LEAST { 0 } else { MAX.saturating_mul(sum.min(most) - LEAST) / (most - LEAST) }
}

/// The full name: nodes list `name:tag`. A digest's colon counts as a tag.
fn with_tag(name: &str) -> Cow<'_, str> {
    if name.rfind(':') <= name.rfind('/') { Cow::Owned(format!("{name}:latest")) } else { Cow::Borrowed(name) }
}
