use crate::gates::Gates;
use crate::reason::Plugin;
use crate::rules::Rules;

#[test]
fn the_default_profile_is_upstreams() {
    let rules = Rules::new(Gates::AS_UPSTREAM);
    assert!(Plugin::ALL.into_iter().all(|plugin| rules.filters(plugin)));
    let weights: Vec<(&str, i64)> =
        Plugin::ALL.into_iter().map(|p| (p.name(), rules.weight(p))).filter(|(_, w)| *w != 0).collect();
    assert_eq!(
        weights,
        [
            ("TaintToleration", 3),
            ("NodeAffinity", 2),
            ("NodeResourcesFit", 1),
            ("VolumeBinding", 1),
            ("PodTopologySpread", 2),
            ("InterPodAffinity", 2),
            ("NodeResourcesBalancedAllocation", 1),
            ("ImageLocality", 1),
        ]
    );
}

#[test]
fn a_setter_changes_one_plugin() {
    let rules = Rules::default().filter(Plugin::VolumeZone, false).weigh(Plugin::ImageLocality, 0);
    assert!(!rules.filters(Plugin::VolumeZone) && rules.filters(Plugin::VolumeBinding));
    assert_eq!((rules.weight(Plugin::ImageLocality), rules.weight(Plugin::TaintToleration)), (0, 3));
    // What has no score cannot be given one.
    assert_eq!(rules.weigh(Plugin::NodePorts, 7).weight(Plugin::NodePorts), 0);
}

#[test]
fn without_storage_capacity_scoring_volumes_weigh_nothing() {
    let rules = Rules::default().weigh(Plugin::VolumeBinding, 5).storage_capacity_scoring(false);
    assert_eq!(rules.weight(Plugin::VolumeBinding), 0);
    assert_eq!(rules.storage_capacity_scoring(true).weight(Plugin::VolumeBinding), 5);
}
