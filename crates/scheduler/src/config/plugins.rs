//! Which plugins run where: a profile's sets, merged with the default profile and spread over the extension points.
//!
//! The merge is upstream's: the default profile is one list at `multiPoint`. What a profile disables there leaves the list,
//! what it enables takes its place or is appended; `*` disables all. What is enabled at a single point, too, goes before the
//! rest of `multiPoint`, what is enabled only there goes after it, and what is disabled at a point, or all of it by `*`, is not
//! taken from `multiPoint`. `conformance/points.jsonl.gz` has what kube-scheduler makes of some hundred random sets.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_runtime::Treatment::{self, Noted, Refused, Taken};

use super::document;
use super::schema::Findings;

/// Where a plugin can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// `preEnqueue`.
    PreEnqueue,
    /// `queueSort`.
    QueueSort,
    /// `preFilter`.
    PreFilter,
    /// `filter`.
    Filter,
    /// `postFilter`.
    PostFilter,
    /// `preScore`.
    PreScore,
    /// `score`.
    Score,
    /// `reserve`.
    Reserve,
    /// `permit`.
    Permit,
    /// `preBind`.
    PreBind,
    /// `bind`.
    Bind,
    /// `postBind`.
    PostBind,
}

use Point::{Bind, Filter, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve, Score};

impl Point {
    /// Every point at which a single pod is dealt with.
    pub const ALL: [Point; 12] = [
        PreEnqueue,
        QueueSort,
        PreFilter,
        Filter,
        PostFilter,
        PreScore,
        Score,
        Reserve,
        Point::Permit,
        PreBind,
        Bind,
        Point::PostBind,
    ];

    /// Its field's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PostBind => "postBind",
        }
    }

    fn set(self, of: &document::Plugins) -> &document::PluginSet {
        match self {
            Self::PreEnqueue => &of.pre_enqueue,
            Self::QueueSort => &of.queue_sort,
            Self::PreFilter => &of.pre_filter,
            Self::Filter => &of.filter,
            Self::PostFilter => &of.post_filter,
            Self::PreScore => &of.pre_score,
            Self::Score => &of.score,
            Self::Reserve => &of.reserve,
            Self::Permit => &of.permit,
            Self::PreBind => &of.pre_bind,
            Self::Bind => &of.bind,
            Self::PostBind => &of.post_bind,
        }
    }
}

/// A plugin of kube-scheduler's.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name.
    pub name: &'static str,
    /// Where it runs.
    pub points: &'static [Point],
    /// What enabling it means.
    pub treatment: Treatment,
    /// Its weight in the default profile; `None` where it is not part of that.
    pub by_default: Option<i32>,
}

const fn known(name: &'static str, points: &'static [Point], weight: i32) -> Known {
    Known { name, points, treatment: Taken, by_default: Some(weight) }
}

const fn refused(name: &'static str, why: &'static str) -> Known {
    Known { name, points: &[], treatment: Refused(why), by_default: None }
}

const FILTERS: &[Point] = &[PreFilter, Filter];
const SCORES: &[Point] = &[PreScore, Score];
const BOTH: &[Point] = &[PreFilter, Filter, PreScore, Score];
const GROUPS: &str = "pods of scheduling groups are not placed by this scheduler";

/// Every plugin of kube-scheduler 1.37, those of the default profile in its order.
pub const PLUGINS: [Known; 24] = [
    known("SchedulingGates", &[PreEnqueue], 0),
    known("PrioritySort", &[QueueSort], 0),
    known("NodeName", FILTERS, 0),
    known("NodeUnschedulable", FILTERS, 0),
    known("TaintToleration", BOTH, 3),
    known("NodeAffinity", BOTH, 2),
    known("NodePorts", FILTERS, 0),
    known("NodeResourcesFit", BOTH, 1),
    known("VolumeRestrictions", FILTERS, 0),
    known("NodeVolumeLimits", FILTERS, 0),
    known("VolumeBinding", &[PreFilter, Filter, PreScore, Score, Reserve, PreBind], 0),
    known("VolumeZone", FILTERS, 0),
    known("PodTopologySpread", BOTH, 2),
    known("InterPodAffinity", BOTH, 2),
    Known {
        name: "DynamicResources",
        points: &[PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind],
        treatment: Noted(
            "pods with spec.resourceClaims are not placed by this scheduler; they wait, with a reason that says so",
        ),
        by_default: Some(2),
    },
    known("DefaultPreemption", &[PreEnqueue, PostFilter], 0),
    known("NodeResourcesBalancedAllocation", SCORES, 1),
    known("ImageLocality", &[Score], 1),
    known("DefaultBinder", &[Bind], 0),
    known("NodeDeclaredFeatures", FILTERS, 0),
    refused("DeferredPodScheduling", "a resize that a node cannot take yet preempts nobody"),
    refused("GangScheduling", GROUPS),
    refused("PodGroupPodsCount", GROUPS),
    refused("TopologyPlacementGenerator", GROUPS),
];

/// The plugin of that name.
pub fn find(name: &str) -> Option<&'static Known> {
    PLUGINS.iter().find(|known| known.name == name)
}

/// What runs where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Running {
    points: BTreeMap<Point, Vec<String>>,
    /// All that are enabled, even where every point of theirs is disabled: upstream makes them, and writes their arguments.
    made: BTreeSet<String>,
    weights: BTreeMap<String, i32>,
}

impl Running {
    /// Whether a plugin runs at a point.
    pub fn at(&self, point: Point, plugin: &str) -> bool {
        self.points.get(&point).is_some_and(|names| names.iter().any(|name| name == plugin))
    }

    /// All that run at a point.
    pub fn all_at(&self, point: Point) -> &[String] {
        self.points.get(&point).map_or(&[], Vec::as_slice)
    }

    /// Whether a plugin is enabled anywhere.
    pub fn is_made(&self, plugin: &str) -> bool {
        self.made.contains(plugin)
    }

    /// What a plugin's score weighs; 0 where it does not score.
    pub fn weight(&self, plugin: &str) -> i64 {
        let weight = || self.weights.get(plugin).copied().filter(|weight| *weight != 0).unwrap_or(1);
        if self.at(Score, plugin) { i64::from(weight()) } else { 0 }
    }
}

/// The default profile's sets.
fn defaults() -> document::PluginSet {
    let plugin =
        |known: &Known| Some(document::Plugin { name: known.name.to_owned(), weight: Some(known.by_default?) });
    document::PluginSet { enabled: PLUGINS.iter().filter_map(plugin).collect(), disabled: Vec::new() }
}

/// Merges a profile's sets with the default profile, in place, and spreads them. `path` is that of the sets.
pub fn run(sets: &mut document::Plugins, path: &str, found: &mut Findings) -> Running {
    let before = found.problems.len();
    check_names(&sets.multi_point, &format!("{path}.multiPoint"), None, found);
    for point in Point::ALL {
        check_names(point.set(sets), &format!("{path}.{}", point.name()), Some(point), found);
    }
    sets.multi_point = merged(&sets.multi_point);
    for set in [
        &mut sets.pre_enqueue,
        &mut sets.queue_sort,
        &mut sets.pre_filter,
        &mut sets.filter,
        &mut sets.post_filter,
        &mut sets.pre_score,
        &mut sets.score,
        &mut sets.reserve,
        &mut sets.permit,
        &mut sets.pre_bind,
        &mut sets.bind,
        &mut sets.post_bind,
        &mut sets.multi_point,
        &mut sets.placement_generate,
        &mut sets.placement_score,
        &mut sets.pod_group_post_filter,
    ] {
        set.enabled.iter_mut().for_each(|plugin| plugin.weight = plugin.weight.or(Some(0)));
        set.disabled.iter_mut().for_each(|plugin| plugin.weight = Some(0));
    }
    let mut running = Running::default();
    for plugin in sets.multi_point.enabled.iter().chain(&sets.score.enabled) {
        // The point's own weight comes last, and so wins.
        running.weights.insert(plugin.name.clone(), plugin.weight.unwrap_or(0));
    }
    running.made.extend(sets.multi_point.enabled.iter().map(|plugin| plugin.name.clone()));
    for point in Point::ALL {
        let names = spread(point, sets);
        running.made.extend(names.iter().cloned());
        running.points.insert(point, names);
    }
    if found.problems.len() == before {
        check_running(&running, path, found);
    }
    running
}

/// A profile's `multiPoint` over the default one.
fn merged(own: &document::PluginSet) -> document::PluginSet {
    let is_disabled = |name: &str| own.disabled.iter().any(|d| d.name == name || d.name == "*");
    let mut enabled: Vec<document::Plugin> =
        defaults().enabled.into_iter().filter(|plugin| !is_disabled(&plugin.name)).collect();
    for plugin in &own.enabled {
        match enabled.iter_mut().find(|known| known.name == plugin.name) {
            Some(known) => known.clone_from(plugin),
            None => enabled.push(plugin.clone()),
        }
    }
    document::PluginSet { enabled, disabled: own.disabled.clone() }
}

/// What runs at one point, in order: what is enabled both here and at `multiPoint`, as it stands here; then the rest of
/// `multiPoint`; then what is enabled only here.
fn spread(point: Point, sets: &document::Plugins) -> Vec<String> {
    let own = point.set(sets);
    let enabled = |name: &str| own.enabled.iter().any(|plugin| plugin.name == name);
    let disabled = |name: &str| own.disabled.iter().any(|plugin| plugin.name == name);
    let runs_here = |name: &str| find(name).is_some_and(|known| known.points.contains(&point));
    let mut general: Vec<&str> = sets.multi_point.enabled.iter().map(|plugin| &*plugin.name).collect();
    general.retain(|name| !disabled("*") && !disabled(name) && runs_here(name));
    let both = own.enabled.iter().map(|plugin| &*plugin.name).filter(|name| general.contains(name));
    let rest = general.iter().copied().filter(|name| !enabled(name));
    let here = own.enabled.iter().map(|plugin| &*plugin.name).filter(|name| !general.contains(name));
    both.chain(rest).chain(here).map(str::to_owned).collect()
}

/// Whether every plugin exists, runs at the point, and is named once.
fn check_names(set: &document::PluginSet, path: &str, point: Option<Point>, found: &mut Findings) {
    for (index, plugin) in set.enabled.iter().enumerate() {
        let path = format!("{path}.enabled[{index}]");
        if plugin.weight.is_some_and(|weight| weight < 0) {
            found.wrong(format!("{path}.weight"), "must not be negative");
        }
        let path = format!("{path}.name");
        let name = &plugin.name;
        if set.enabled[..index].iter().any(|other| other.name == *name) {
            found.wrong(&path, format!("{name} is enabled already"));
        }
        let Some(known) = find(name) else {
            found.wrong(&path, unknown(name));
            continue;
        };
        match known.treatment {
            Refused(why) => found.wrong(&path, format!("{name} cannot be had: {why}")),
            Noted(why) => found.note(&path, format!("{name} changes nothing: {why}")),
            Taken => {}
        }
        if let Some(point) = point.filter(|point| !known.points.is_empty() && !known.points.contains(point)) {
            found.wrong(&path, format!("{name} has nothing to do at {}", point.name()));
        }
    }
    for (index, plugin) in set.disabled.iter().enumerate() {
        if plugin.name != "*" && find(&plugin.name).is_none() {
            found.note(
                format!("{path}.disabled[{index}].name"),
                format!("changes nothing: there is no plugin {}", plugin.name),
            );
        }
    }
}

/// Why there is no plugin of that name.
pub fn unknown(name: &str) -> String {
    match name {
        "*" => "* can only be disabled".to_owned(),
        "" => "must be given".to_owned(),
        "AzureDiskLimits" | "CinderLimits" | "EBSLimits" | "GCEPDLimits" => {
            format!("there is no plugin {name} any more; NodeVolumeLimits counts these volumes")
        }
        _ => format!("there is no plugin {name}; what is not part of kube-scheduler can be had as an extender"),
    }
}

/// Whether what runs makes sense, and can be had here. Upstream parts what belongs together, and then fails with every pod.
fn check_running(running: &Running, path: &str, found: &mut Findings) {
    /// What these do before they filter refuses nothing, so that without their filter nothing is left of them.
    const HARMLESS: [&str; 8] = [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodePorts",
        "NodeResourcesFit",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "InterPodAffinity",
    ];
    if running.all_at(QueueSort) != ["PrioritySort"] {
        found.wrong(format!("{path}.queueSort"), "PrioritySort must be the one that is enabled");
    }
    if running.all_at(Bind).is_empty() {
        found.wrong(format!("{path}.bind"), "DefaultBinder must be enabled: a pod that is not bound is not placed");
    }
    if !running.at(PreEnqueue, "SchedulingGates") {
        found.wrong(
            format!("{path}.preEnqueue"),
            "SchedulingGates cannot be disabled: the API server refuses to bind a pod that has gates",
        );
    }
    let mut parted = |plugin: &str, one: Point, other: Point| {
        found.wrong(
            format!("{path}.{}", other.name()),
            format!("{plugin} is enabled at {} and not here; enable or disable both", one.name()),
        );
    };
    for known in PLUGINS.iter().filter(|known| known.treatment == Taken) {
        let (name, at) = (known.name, |point| running.at(point, known.name));
        let has = |point| known.points.contains(&point);
        if has(PreFilter) && at(Filter) && !at(PreFilter) {
            parted(name, Filter, PreFilter);
        }
        if has(PreFilter) && !at(Filter) && at(PreFilter) && !HARMLESS.contains(&name) {
            parted(name, PreFilter, Filter);
        }
        if has(PreScore) && at(Score) && !at(PreScore) {
            parted(name, Score, PreScore);
        }
        if has(PostFilter) && at(PostFilter) && !at(PreEnqueue) {
            parted(name, PostFilter, PreEnqueue);
        }
        for point in [Reserve, PreBind].into_iter().filter(|point| has(*point)) {
            match (at(Filter), at(point)) {
                (true, false) => parted(name, Filter, point),
                (false, true) => parted(name, point, Filter),
                _ => {}
            }
        }
    }
    // VolumeBinding scores what its filter has planned.
    if running.at(Score, "VolumeBinding") && !running.at(Filter, "VolumeBinding") {
        parted("VolumeBinding", Score, Filter);
    }
}
