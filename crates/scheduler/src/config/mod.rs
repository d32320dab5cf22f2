//! KubeSchedulerConfiguration: how the scheduler works, as kube-scheduler's users write it.

pub mod document;
pub mod extender;

pub use extender::ExtenderConfig;
