//! Which controllers there are, and starting them on one set of mirrors.

use std::collections::BTreeSet;
use std::time::Duration;

use plimsoll_runtime::{Context, reflector};

use crate::world::World;
use crate::{
    daemon_set, deployment, disruption, job, node_lifecycle, pod_gc, replica_set, service_account, stateful_set,
    taint_eviction,
};

/// A controller that can be turned off, because somebody else does its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Rolls ReplicaSets out and back.
    Deployment,
    /// Keeps as many pods as asked for.
    ReplicaSet,
    /// The same for what came before ReplicaSets.
    ReplicationController,
    /// Keeps pods with names and claims of their own.
    StatefulSet,
    /// Keeps a pod on every node.
    DaemonSet,
    /// Runs pods to their end.
    Job,
    /// Reckons what budgets allow.
    Disruption,
    /// Notices nodes that no longer answer, and taints them.
    NodeLifecycle,
    /// Removes pods from nodes whose taints they do not stand.
    TaintEviction,
    /// Removes pods whose node is gone.
    PodGc,
    /// Removes jobs that have been over for long enough.
    TtlAfterFinished,
    /// Gives every namespace a ServiceAccount.
    ServiceAccount,
    /// Gives every namespace the API server's certificate, where [`Options::root_ca`] has one.
    RootCa,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::ReplicationController,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::Disruption,
        Self::NodeLifecycle,
        Self::TaintEviction,
        Self::PodGc,
        Self::TtlAfterFinished,
        Self::ServiceAccount,
        Self::RootCa,
    ];

    /// The name that `--controllers` knows it by: upstream's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "deployment-controller",
            Self::ReplicaSet => "replicaset-controller",
            Self::ReplicationController => "replicationcontroller-controller",
            Self::StatefulSet => "statefulset-controller",
            Self::DaemonSet => "daemonset-controller",
            Self::Job => "job-controller",
            Self::Disruption => "disruption-controller",
            Self::NodeLifecycle => "node-lifecycle-controller",
            Self::TaintEviction => "taint-eviction-controller",
            Self::PodGc => "pod-garbage-collector-controller",
            Self::TtlAfterFinished => "ttl-after-finished-controller",
            Self::ServiceAccount => "serviceaccount-controller",
            Self::RootCa => "root-ca-certificate-publisher-controller",
        }
    }

    /// The controller of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// How the controllers work.
#[derive(Clone)]
pub struct Options {
    /// Those that run.
    pub run: BTreeSet<Controller>,
    /// How nodes are watched.
    pub node_lifecycle: node_lifecycle::Options,
    /// Which pods are kept.
    pub pod_gc: pod_gc::Options,
    /// The certificate (PEM) that every namespace is given to know the API server by.
    pub root_ca: Option<String>,
    /// How long until everything is listed again, in case a watch skipped something.
    pub relist: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            run: Controller::ALL.into(),
            node_lifecycle: node_lifecycle::Options::default(),
            pod_gc: pod_gc::Options::default(),
            root_ca: None,
            relist: reflector::RELIST,
        }
    }
}

/// Starts the controllers as tasks of the context. Returns what they look at.
pub fn start(context: &Context, options: &Options) -> World {
    let world = World::default();
    for controller in &options.run {
        match controller {
            Controller::Deployment => deployment::start(context, &world),
            Controller::ReplicaSet => replica_set::start(context, &world),
            Controller::ReplicationController => replica_set::start_controllers(context, &world),
            Controller::StatefulSet => stateful_set::start(context, &world),
            Controller::DaemonSet => daemon_set::start(context, &world),
            Controller::Job => job::start(context, &world),
            Controller::Disruption => disruption::start(context, &world),
            Controller::NodeLifecycle => node_lifecycle::start(context, &world, options.node_lifecycle),
            Controller::TaintEviction => taint_eviction::start(context, &world),
            Controller::PodGc => pod_gc::start(context, &world, options.pod_gc),
            Controller::TtlAfterFinished => job::ttl::start(context, &world),
            Controller::ServiceAccount => service_account::start(context),
            Controller::RootCa => {
                if let Some(certificate) = &options.root_ca {
                    service_account::start_root_ca(context, certificate);
                }
            }
        }
    }
    world.start(context, options.relist);
    world
}
