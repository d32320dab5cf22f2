//! What the input already has of what a workload would make.

use std::collections::BTreeMap;

use plimsoll_engine::Object;
use plimsoll_engine::collections::Set;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::{Node, Pod};

use crate::document::Document;

/// The input's pods, claims, nodes and ReplicaSets, as expanding a workload looks them up.
#[derive(Default)]
pub(crate) struct Existing<'a> {
    pods: BTreeMap<Name, Vec<&'a Pod>>,
    claims: Set<ObjectKey>,
    nodes: Vec<&'a Node>,
    /// (namespace, Deployment) → the names of its ReplicaSets.
    replica_sets: BTreeMap<(String, String), Vec<String>>,
    deployments: Set<(String, String)>,
}

impl<'a> Existing<'a> {
    /// Indexes the input.
    pub fn new(objects: impl Iterator<Item = &'a Object>, workloads: impl Iterator<Item = &'a Document>) -> Self {
        let mut existing = Self::default();
        for object in objects {
            match object {
                Object::Pod(pod) => existing.pods.entry(pod.key.namespace.clone()).or_default().push(pod),
                Object::Claim(claim) => {
                    existing.claims.insert(claim.key.clone());
                }
                Object::Node(node) => existing.nodes.push(node),
                _ => {}
            }
        }
        for workload in workloads {
            let meta = workload.meta();
            let namespace = meta.namespace_or_default().to_owned();
            match (workload, meta.controller()) {
                (Document::Deployment(_), _) => {
                    existing.deployments.insert((namespace, meta.name.clone()));
                }
                (Document::ReplicaSet(_), Some(owner)) if owner.kind == "Deployment" => {
                    let sets = existing.replica_sets.entry((namespace, owner.name.clone())).or_default();
                    sets.push(meta.name.clone());
                }
                _ => {}
            }
        }
        existing
    }

    /// The pods of a namespace.
    pub fn pods(&self, namespace: &str) -> &[&'a Pod] {
        self.pods.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// The names taken in a namespace.
    pub fn names(&self, namespace: &str) -> Set<String> {
        self.pods(namespace).iter().map(|p| p.key.name.to_string()).collect()
    }

    /// Whether the input has this claim.
    pub fn has_claim(&self, namespace: &str, name: &str) -> bool {
        self.claims.contains(&ObjectKey::new(namespace, name))
    }

    /// The nodes.
    pub fn nodes(&self) -> &[&'a Node] {
        &self.nodes
    }

    /// The names of a Deployment's ReplicaSets.
    pub fn replica_sets_of(&self, namespace: &str, deployment: &str) -> &[String] {
        self.replica_sets.get(&(namespace.to_owned(), deployment.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Whether the input has this Deployment.
    pub fn has_deployment(&self, namespace: &str, name: &str) -> bool {
        self.deployments.contains(&(namespace.to_owned(), name.to_owned()))
    }
}
