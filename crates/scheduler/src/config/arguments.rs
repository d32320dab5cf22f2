//! The plugins' arguments: their defaults and rules, which are upstream's, and what they mean to the engine.

use plimsoll_api::Interner;
use plimsoll_api::kinds::pod::{NodeAffinity, SpreadConstraint};
use plimsoll_api::kinds::selectors::RawNodeSelector;
use plimsoll_engine::labels::Name;
use plimsoll_engine::rules::{AddedAffinity, DefaultSpread, ResourceWeight, Rules, ScoringStrategy};
use plimsoll_engine::selector::is_label_key;
use plimsoll_engine::volumes::Shape as Line;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::document::{API_VERSION, Span};
use super::fields::ARGUMENTS;
use super::gates::UpstreamGates;
use super::plugins;
use super::schema::{self, Findings, Shape};

/// The arguments of one plugin.
pub trait Arguments: Serialize + DeserializeOwned + Default {
    /// The plugin.
    const PLUGIN: &'static str;

    /// Fills in what was left out.
    fn complete(&mut self, gates: UpstreamGates);

    /// Says what is wrong. `path` is that of the arguments.
    fn check(&self, gates: UpstreamGates, path: &str, found: &mut Findings);

    /// As they are written.
    fn written(&self) -> Value {
        let mut map = Map::new();
        map.insert("apiVersion".to_owned(), json!(API_VERSION));
        map.insert("kind".to_owned(), json!(format!("{}Args", Self::PLUGIN)));
        if let Ok(Value::Object(own)) = serde_json::to_value(self) {
            map.extend(own);
        }
        Value::Object(map)
    }
}

/// Checks the arguments of the plugin that is named beside them against their type.
pub(super) fn check(plugin: Option<&Value>, value: &Value, path: &str, found: &mut Findings) {
    let Some(plugin) = plugin.and_then(Value::as_str) else {
        return; // That the name is missing is said elsewhere.
    };
    let Some((_, of)) = ARGUMENTS.iter().find(|(name, _)| *name == plugin) else {
        if plugins::find(plugin).is_some() {
            found.note(path, format!("changes nothing: {plugin} takes no arguments"));
        }
        return;
    };
    schema::check(value, Shape::Object(of), path, found);
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(kind) = text("kind").filter(|kind| *kind != of.name) {
        found.wrong(format!("{path}.kind"), format!("is {kind}, where the arguments of {plugin} are {}", of.name));
    }
    if let Some(version) = text("apiVersion").filter(|version| *version != API_VERSION) {
        found.wrong(format!("{path}.apiVersion"), format!("is {version}, where {API_VERSION} is wanted"));
    }
}

/// `DefaultPreemptionArgs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefaultPreemption {
    min_candidate_nodes_percentage: Option<i32>,
    min_candidate_nodes_absolute: Option<i32>,
}

impl DefaultPreemption {
    /// The share of nodes, in percent, and the number of them, of which the larger is tried.
    pub fn candidates(&self) -> (i32, i32) {
        (self.min_candidate_nodes_percentage.unwrap_or(10), self.min_candidate_nodes_absolute.unwrap_or(100))
    }
}

impl Arguments for DefaultPreemption {
    const PLUGIN: &'static str = "DefaultPreemption";

    fn complete(&mut self, _: UpstreamGates) {
        let (percentage, absolute) = self.candidates();
        (self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute) = (Some(percentage), Some(absolute));
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        let (percentage, absolute) = self.candidates();
        in_range(i64::from(percentage), 0, 100, || format!("{path}.minCandidateNodesPercentage"), found);
        if absolute < 0 {
            found
                .wrong(format!("{path}.minCandidateNodesAbsolute"), format!("is {absolute}, and must not be negative"));
        }
        if percentage == 0 && absolute == 0 {
            let both = "must not be 0 together with";
            found.wrong(
                format!("{path}.minCandidateNodesPercentage"),
                format!("{both} minCandidateNodesAbsolute: no node would be tried"),
            );
        }
    }
}

/// `DynamicResourcesArgs`: read and written, and otherwise without meaning here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DynamicResources {
    filter_timeout: Option<Span>,
    binding_timeout: Option<Span>,
}

impl Arguments for DynamicResources {
    const PLUGIN: &'static str = "DynamicResources";

    fn complete(&mut self, _: UpstreamGates) {
        self.filter_timeout.get_or_insert(Span::seconds(10));
        self.binding_timeout.get_or_insert(Span::seconds(600));
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        if self.binding_timeout.is_some_and(|timeout| timeout < Span::seconds(1)) {
            found.wrong(format!("{path}.bindingTimeout"), "must be a second at least");
        }
    }
}

/// `InterPodAffinityArgs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InterPodAffinity {
    hard_pod_affinity_weight: Option<i32>,
    ignore_preferred_terms_of_existing_pods: bool,
}

impl InterPodAffinity {
    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules) -> Rules {
        rules
            .hard_affinity_weight(self.hard_pod_affinity_weight.unwrap_or(1))
            .ignore_placed_preferences(self.ignore_preferred_terms_of_existing_pods)
    }
}

impl Arguments for InterPodAffinity {
    const PLUGIN: &'static str = "InterPodAffinity";

    fn complete(&mut self, _: UpstreamGates) {
        self.hard_pod_affinity_weight.get_or_insert(1);
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        let weight = i64::from(self.hard_pod_affinity_weight.unwrap_or(1));
        in_range(weight, 0, 100, || format!("{path}.hardPodAffinityWeight"), found);
    }
}

/// `NodeAffinityArgs`. The affinity stays as it is written; its type was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AddedNodeAffinity {
    #[serde(skip_serializing_if = "Value::is_null")]
    added_affinity: Value,
}

impl AddedNodeAffinity {
    fn read(&self) -> NodeAffinity {
        serde_json::from_value(self.added_affinity.clone()).unwrap_or_default()
    }

    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules, names: &mut Interner) -> Rules {
        let affinity = self.read();
        let preferred = affinity.preferred.iter().enumerate();
        rules.add_affinity(AddedAffinity {
            required: affinity.required.as_ref().map(|required| required.compile(names)),
            preferred: preferred
                .map(|(index, term)| term.preference.compile_preferred(index, term.weight, names))
                .collect(),
        })
    }
}

impl Arguments for AddedNodeAffinity {
    const PLUGIN: &'static str = "NodeAffinity";

    fn complete(&mut self, _: UpstreamGates) {}

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        let affinity = self.read();
        let mut names = Interner::new();
        let mut terms = |selector: &RawNodeSelector, path: &dyn Fn(usize) -> String| {
            for (index, term) in selector.compile(&mut names).terms().iter().enumerate() {
                if let Err(error) = term {
                    found.wrong(path(index), error.0.clone());
                }
            }
        };
        let path = format!("{path}.addedAffinity");
        if let Some(required) = &affinity.required {
            terms(required, &|index| {
                format!("{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]")
            });
        }
        for (index, term) in affinity.preferred.iter().enumerate().filter(|(_, term)| term.weight != 0) {
            let alone = RawNodeSelector { node_selector_terms: vec![term.preference.clone()] };
            terms(&alone, &|_| format!("{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].preference"));
        }
    }
}

/// A resource and its weight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSpec {
    name: String,
    weight: i64,
}

/// What upstream scores where nothing else is said.
fn usual_resources() -> Vec<ResourceSpec> {
    ["cpu", "memory"].map(|name| ResourceSpec { name: name.to_owned(), weight: 1 }).into()
}

fn complete_resources(resources: &mut Vec<ResourceSpec>) {
    if resources.is_empty() {
        *resources = usual_resources();
    }
    // A weight of 0 is one that was left out.
    resources.iter_mut().filter(|resource| resource.weight == 0).for_each(|resource| resource.weight = 1);
}

/// `NodeResourcesBalancedAllocationArgs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BalancedAllocation {
    resources: Vec<ResourceSpec>,
}

impl BalancedAllocation {
    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules) -> Rules {
        rules.balance(self.resources.iter().map(|resource| Name::from(resource.name.as_str())).collect())
    }
}

impl Arguments for BalancedAllocation {
    const PLUGIN: &'static str = "NodeResourcesBalancedAllocation";

    fn complete(&mut self, _: UpstreamGates) {
        complete_resources(&mut self.resources);
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        for (index, resource) in self.resources.iter().enumerate() {
            let path = format!("{path}.resources[{index}]");
            if self.resources[..index].iter().any(|other| other.name == resource.name) {
                found.wrong(format!("{path}.name"), format!("{} is named already", resource.name));
            }
            if resource.weight != 1 {
                found.wrong(format!("{path}.weight"), format!("is {}, and must be 1", resource.weight));
            }
        }
    }
}

/// `NodeResourcesFitArgs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourcesFit {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_resource_groups: Vec<String>,
    scoring_strategy: Option<Strategy>,
}

/// `scoringStrategy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    kind: String,
    resources: Vec<ResourceSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_to_capacity_ratio: Option<Ratio>,
}

/// `requestedToCapacityRatio`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ratio {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shape: Vec<ShapePoint>,
}

impl ResourcesFit {
    /// Leaves further resources to others: extenders, that is.
    pub fn ignore(&mut self, resources: impl IntoIterator<Item = String>) {
        self.ignored_resources.extend(resources);
    }

    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules) -> Rules {
        let names = |names: &[String]| names.iter().map(|name| Name::from(name.as_str())).collect();
        let rules = rules.ignore_resources(names(&self.ignored_resources), names(&self.ignored_resource_groups));
        let Some(strategy) = &self.scoring_strategy else { return rules };
        let how = match (strategy.kind.as_str(), &strategy.requested_to_capacity_ratio) {
            ("MostAllocated", _) => ScoringStrategy::MostAllocated,
            ("RequestedToCapacityRatio", Some(ratio)) => {
                ScoringStrategy::RequestedToCapacityRatio(line(&ratio.shape).unwrap_or_default())
            }
            _ => ScoringStrategy::LeastAllocated,
        };
        let weighed = |spec: &ResourceSpec| ResourceWeight { resource: spec.name.as_str().into(), weight: spec.weight };
        rules.score_resources(how, strategy.resources.iter().map(weighed).collect())
    }
}

impl Arguments for ResourcesFit {
    const PLUGIN: &'static str = "NodeResourcesFit";

    fn complete(&mut self, _: UpstreamGates) {
        let usual = || Strategy { kind: "LeastAllocated".to_owned(), ..Strategy::default() };
        complete_resources(&mut self.scoring_strategy.get_or_insert_with(usual).resources);
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        for (index, name) in self.ignored_resources.iter().enumerate().filter(|(_, name)| !is_label_key(name)) {
            found.wrong(format!("{path}.ignoredResources[{index}]"), format!("{name} is not a resource's name"));
        }
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            if group.contains('/') || !is_label_key(group) {
                found.wrong(
                    format!("{path}.ignoredResourceGroups[{index}]"),
                    format!("{group} is not what stands before the slash of a resource's name"),
                );
            }
        }
        let Some(strategy) = &self.scoring_strategy else { return };
        let path = format!("{path}.scoringStrategy");
        let kind = strategy.kind.as_str();
        if !["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"].contains(&kind) {
            found.wrong(
                format!("{path}.type"),
                format!("is {kind:?}, where LeastAllocated, MostAllocated or RequestedToCapacityRatio is wanted"),
            );
        }
        for (index, resource) in strategy.resources.iter().enumerate() {
            in_range(resource.weight, 1, 100, || format!("{path}.resources[{index}].weight"), found);
        }
        let path = format!("{path}.requestedToCapacityRatio");
        match (kind, &strategy.requested_to_capacity_ratio) {
            ("RequestedToCapacityRatio", None) => {
                found.wrong(path, "must be given where the type is RequestedToCapacityRatio");
            }
            ("RequestedToCapacityRatio", Some(ratio)) => {
                check_shape(&ratio.shape, &format!("{path}.shape"), found);
            }
            (_, Some(_)) => found.wrong(path, "must not be given unless the type is RequestedToCapacityRatio"),
            (_, None) => {}
        }
    }
}

/// `PodTopologySpreadArgs`. The constraints stay as they are written; their types were checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySpread {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default_constraints: Vec<Value>,
    defaulting_type: String,
}

impl TopologySpread {
    fn read(&self) -> Vec<SpreadConstraint> {
        let read = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
        self.default_constraints.iter().map(read).collect()
    }

    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules, names: &mut Interner) -> Rules {
        rules.spread_by_default(match self.defaulting_type.as_str() {
            "List" => DefaultSpread::List(self.read().iter().map(|constraint| constraint.to_engine(names)).collect()),
            _ => DefaultSpread::System,
        })
    }
}

impl Arguments for TopologySpread {
    const PLUGIN: &'static str = "PodTopologySpread";

    fn complete(&mut self, _: UpstreamGates) {
        if self.defaulting_type.is_empty() {
            "System".clone_into(&mut self.defaulting_type);
        }
    }

    fn check(&self, _: UpstreamGates, path: &str, found: &mut Findings) {
        match self.defaulting_type.as_str() {
            "System" if self.default_constraints.is_empty() => {}
            "System" => found.wrong(
                format!("{path}.defaultingType"),
                "must be List where there are defaultConstraints: System has its own",
            ),
            "List" => {}
            other => {
                found.wrong(format!("{path}.defaultingType"), format!("is {other:?}, where System or List is wanted"));
            }
        }
        let constraints = self.read();
        for (index, constraint) in constraints.iter().enumerate() {
            let path = format!("{path}.defaultConstraints[{index}]");
            if constraint.max_skew <= 0 {
                found.wrong(format!("{path}.maxSkew"), format!("is {}, and must be above 0", constraint.max_skew));
            }
            if !is_label_key(&constraint.topology_key) {
                found.wrong(format!("{path}.topologyKey"), format!("{:?} is not a label", constraint.topology_key));
            }
            if !["DoNotSchedule", "ScheduleAnyway"].contains(&constraint.when_unsatisfiable.as_str()) {
                let given = &constraint.when_unsatisfiable;
                found.wrong(
                    format!("{path}.whenUnsatisfiable"),
                    format!("is {given:?}, where DoNotSchedule or ScheduleAnyway is wanted"),
                );
            }
            let same = |other: &SpreadConstraint| {
                other.topology_key == constraint.topology_key
                    && other.when_unsatisfiable == constraint.when_unsatisfiable
            };
            if constraints[..index].iter().any(same) {
                found.wrong(path, "repeats the topologyKey and whenUnsatisfiable of another");
            }
        }
    }
}

/// A point of a line from use to score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ShapePoint {
    utilization: i32,
    score: i32,
}

fn line(points: &[ShapePoint]) -> Option<Line> {
    let points: Vec<_> = points.iter().map(|p| (i64::from(p.utilization), i64::from(p.score))).collect();
    Line::new(&points)
}

fn check_shape(points: &[ShapePoint], path: &str, found: &mut Findings) {
    if points.is_empty() {
        found.wrong(path, "must have a point at least");
    }
    let falls = points.windows(2).position(|pair| pair[0].utilization >= pair[1].utilization);
    if let Some(index) = falls {
        found.wrong(format!("{path}[{}].utilization", index + 1), "must be above the one before");
    }
    for (index, point) in points.iter().enumerate() {
        in_range(i64::from(point.utilization), 0, 100, || format!("{path}[{index}].utilization"), found);
        in_range(i64::from(point.score), 0, 10, || format!("{path}[{index}].score"), found);
    }
}

/// `VolumeBindingArgs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeBinding {
    bind_timeout_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<ShapePoint>>,
}

impl VolumeBinding {
    /// How long a pod's volumes may take to be bound, in seconds.
    pub fn bind_timeout(&self) -> u64 {
        self.bind_timeout_seconds.map_or(600, |seconds| u64::try_from(seconds).unwrap_or(0))
    }

    /// The rules with these arguments.
    #[must_use]
    pub fn apply(&self, rules: Rules) -> Rules {
        match self.shape.as_deref().and_then(line) {
            Some(line) => rules.volume_shape(line),
            None => rules,
        }
    }
}

impl Arguments for VolumeBinding {
    const PLUGIN: &'static str = "VolumeBinding";

    fn complete(&mut self, gates: UpstreamGates) {
        self.bind_timeout_seconds.get_or_insert(600);
        if gates.storage_capacity_scoring && self.shape.as_ref().is_none_or(Vec::is_empty) {
            let point = |utilization, score| ShapePoint { utilization, score };
            self.shape = Some(vec![point(0, 10), point(100, 0)]);
        }
    }

    fn check(&self, gates: UpstreamGates, path: &str, found: &mut Findings) {
        if self.bind_timeout_seconds.is_some_and(|seconds| seconds < 0) {
            found.wrong(format!("{path}.bindTimeoutSeconds"), "must not be negative");
        }
        match &self.shape {
            Some(points) if gates.storage_capacity_scoring => check_shape(points, &format!("{path}.shape"), found),
            Some(_) => found.wrong(
                format!("{path}.shape"),
                "means nothing while the feature gate StorageCapacityScoring is off; remove it, or turn the gate on",
            ),
            None => {}
        }
    }
}

fn in_range(value: i64, least: i64, most: i64, path: impl FnOnce() -> String, found: &mut Findings) {
    if !(least..=most).contains(&value) {
        found.wrong(path(), format!("is {value}, and must be from {least} to {most}"));
    }
}
