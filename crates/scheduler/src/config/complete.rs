//! What a configuration says where it says nothing: upstream's defaults, and where this scheduler does otherwise, what it does.

use super::arguments::{
    AddedNodeAffinity, Arguments, BalancedAllocation, DefaultPreemption, DynamicResources, InterPodAffinity,
    ResourcesFit, TopologySpread, VolumeBinding,
};
use super::document::{API_VERSION, Document, KIND, PluginConfig, Profile, Span};
use super::gates::UpstreamGates;
use super::plugins::Running;
use super::schema::Findings;

/// The name of the scheduler that pods ask for where they ask for none.
const DEFAULT_NAME: &str = "default-scheduler";

/// Fills in everything but the profiles' plugins.
pub fn document(document: &mut Document) {
    API_VERSION.clone_into(&mut document.api_version);
    KIND.clone_into(&mut document.kind);
    document.parallelism.get_or_insert(16);
    // What is not said is what is done: no profiling, every node, JSON, no limit.
    document.enable_profiling.get_or_insert(false);
    document.percentage_of_nodes_to_score.get_or_insert(100);
    let client = &mut document.client_connection;
    if client.content_type.is_empty() {
        "application/json".clone_into(&mut client.content_type);
    }
    if client.qps == 0.0 {
        client.qps = -1.0;
    }
    if client.burst == 0 {
        client.burst = 100;
    }
    document.pod_initial_backoff_seconds.get_or_insert(1);
    document.pod_max_backoff_seconds.get_or_insert(10);
    let lease = &mut document.leader_election;
    lease.leader_elect.get_or_insert(true);
    for (span, seconds) in
        [(&mut lease.lease_duration, 15), (&mut lease.renew_deadline, 10), (&mut lease.retry_period, 2)]
    {
        if span.0.is_zero() {
            *span = Span::seconds(seconds);
        }
    }
    for (text, default) in [
        (&mut lease.resource_lock, "leases"),
        (&mut lease.resource_name, "kube-scheduler"),
        (&mut lease.resource_namespace, "kube-system"),
    ] {
        if text.is_empty() {
            default.clone_into(text);
        }
    }
    if document.profiles.is_empty() {
        document.profiles.push(Profile::default());
    }
    // Of several profiles each must say its name.
    if let [only] = document.profiles.as_mut_slice() {
        only.scheduler_name.get_or_insert_with(|| DEFAULT_NAME.to_owned());
    }
}

/// The arguments of all plugins of a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllArguments {
    /// DefaultPreemption's.
    pub preemption: DefaultPreemption,
    /// DynamicResources', which have no meaning here.
    pub devices: DynamicResources,
    /// InterPodAffinity's.
    pub affinity: InterPodAffinity,
    /// NodeAffinity's.
    pub node_affinity: AddedNodeAffinity,
    /// NodeResourcesBalancedAllocation's.
    pub balance: BalancedAllocation,
    /// NodeResourcesFit's.
    pub fit: ResourcesFit,
    /// PodTopologySpread's.
    pub spread: TopologySpread,
    /// VolumeBinding's.
    pub volumes: VolumeBinding,
}

impl AllArguments {
    /// Reads a profile's arguments, with what is left out, and says what is wrong. `path` is the profile's.
    pub fn read(profile: &Profile, gates: UpstreamGates, path: &str, found: &mut Findings) -> Self {
        let mut reader = Reader { profile, gates, path, found };
        Self {
            preemption: reader.read(),
            devices: reader.read(),
            affinity: reader.read(),
            node_affinity: reader.read(),
            balance: reader.read(),
            fit: reader.read(),
            spread: reader.read(),
            volumes: reader.read(),
        }
    }

    /// As they are written: those of plugins that run, by name.
    pub fn written(&self, running: &Running) -> Vec<PluginConfig> {
        fn one<T: Arguments>(arguments: &T) -> PluginConfig {
            PluginConfig { name: T::PLUGIN.to_owned(), args: arguments.written() }
        }
        let all = [
            one(&self.preemption),
            one(&self.devices),
            one(&self.affinity),
            one(&self.node_affinity),
            one(&self.balance),
            one(&self.fit),
            one(&self.spread),
            one(&self.volumes),
        ];
        all.into_iter().filter(|config| running.anywhere(&config.name)).collect()
    }
}

struct Reader<'a> {
    profile: &'a Profile,
    gates: UpstreamGates,
    path: &'a str,
    found: &'a mut Findings,
}

impl Reader<'_> {
    fn read<T: Arguments>(&mut self) -> T {
        let given = self.profile.plugin_config.iter().position(|config| config.name == T::PLUGIN);
        let path = |index| format!("{}.pluginConfig[{index}].args", self.path);
        let mut arguments = T::default();
        if let Some(index) = given {
            let args = &self.profile.plugin_config[index].args;
            if !args.is_null() {
                match serde_json::from_value(args.clone()) {
                    Ok(read) => arguments = read,
                    Err(error) => self.found.wrong(path(index), error.to_string()),
                }
            }
        }
        arguments.complete(self.gates);
        if let Some(index) = given {
            arguments.check(self.gates, &path(index), self.found);
        }
        arguments
    }
}
