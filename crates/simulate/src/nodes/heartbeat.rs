//! Heartbeats: leases that say that a node lives, all of a fleet's in one go.
//!
//! ```text
//!            known: written once more                       refused: read, or made
//!   lease ─────────────────────────────► renewed    lease ──────────────────────────► renewed, and known
//! ```

use std::time::Duration;

use futures_util::StreamExt;
use plimsoll_runtime::{Error, Resource};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::fleet::Site;
use super::kubelet::{Kubelet, Standing};
use super::time;
use crate::laboratory::lock;

/// Where the nodes' leases are.
const LEASES: &str = "kube-node-lease";
/// How long a lease lasts, and how often it is renewed: a kubelet's.
const LEASE: Duration = Duration::from_secs(40);
const RENEW: Duration = Duration::from_secs(10);
/// How many are renewed at a time. Together, so that a server that flushes its writes flushes few times.
const TOGETHER: usize = 32;

impl Site {
    /// Renews leases for ever.
    pub(super) async fn beat(&self) {
        let mut next = Instant::now() + RENEW;
        loop {
            tokio::time::sleep_until(next).await;
            next = Instant::now() + RENEW;
            let alive = self.kubelets.values().filter(|kubelet| kubelet.standing() == Standing::OnDuty);
            futures_util::stream::iter(alive)
                .for_each_concurrent(TOGETHER, |kubelet| async move {
                    if let Err(error) = self.renew(kubelet).await {
                        tracing::debug!(node = kubelet.name(), %error, "the lease is not renewed");
                    }
                })
                .await;
        }
    }

    /// Renews a node's lease, or makes it.
    pub(super) async fn renew(&self, kubelet: &Kubelet) -> Result<(), Error> {
        // Nobody else writes it, so that the version of the last time is tried first.
        let known = lock(&kubelet.lease).take();
        if let Some(known) = known {
            match self.write_lease(kubelet, known).await {
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                other => return other,
            }
        }
        match self.objects.get::<Value>(Resource::LEASES, LEASES, kubelet.name()).await? {
            Some(lease) => self.write_lease(kubelet, lease).await,
            None => {
                let mut lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": kubelet.name(), "namespace": LEASES}});
                self.fill(kubelet, &mut lease);
                let made = self.objects.create::<Value>(Resource::LEASES, LEASES, &lease).await?;
                keep(kubelet, made);
                Ok(())
            }
        }
    }

    async fn write_lease(&self, kubelet: &Kubelet, mut lease: Value) -> Result<(), Error> {
        self.fill(kubelet, &mut lease);
        let written = self.objects.replace::<Value>(Resource::LEASES, &lease).await?;
        keep(kubelet, written);
        Ok(())
    }

    fn fill(&self, kubelet: &Kubelet, lease: &mut Value) {
        let name = kubelet.name();
        // So that it goes with the Node.
        lease["metadata"]["ownerReferences"] = json!([owner(kubelet)]);
        lease["spec"] = json!({"holderIdentity": name, "leaseDurationSeconds": LEASE.as_secs(),
            "renewTime": time::micro(self.context.clock.now())});
    }
}

/// A reference to the kubelet's Node, for what belongs to it.
pub(super) fn owner(kubelet: &Kubelet) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "name": kubelet.name(), "uid": kubelet.node_uid()})
}

/// Keeps a lease as it was written, less what only a server reads.
fn keep(kubelet: &Kubelet, mut lease: Value) {
    if let Some(meta) = lease["metadata"].as_object_mut() {
        meta.remove("managedFields");
    }
    *lock(&kubelet.lease) = Some(lease);
}
