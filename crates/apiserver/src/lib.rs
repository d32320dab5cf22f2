//! The embedded Kubernetes API: one tower service that stores, watches, patches, admits and describes Kubernetes' kinds as a real
//! kube-apiserver does. It knows kinds through [`plimsoll_schema`]'s table and decides nothing about volumes.

pub mod admission;
pub mod defaults;
pub mod field;
pub mod kind;
pub mod status;
pub mod strategy;
pub mod value;
