//! ClusterRoles that gather the rules of others by label (admin, edit, view).

use std::sync::Arc;

use crate::admission::Cluster;
use crate::auth::aggregation::aggregate;
use crate::core::Core;
use crate::store::Expect;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Brings every gathering role up to date.
pub(crate) async fn gather(core: &Arc<Core>) {
    let roles = core.list(GROUP, "clusterroles", None);
    let changed = aggregate(roles.iter().map(|role| &**role));
    let registry = core.registry();
    let Some(served) = registry.of_group(GROUP, "clusterroles") else { return };
    for role in roles {
        let Some(rules) = changed.get(crate::value::name(&role)) else { continue };
        let mut role = (*role).clone();
        let revision = role["metadata"]["resourceVersion"].as_str().and_then(|v| v.parse().ok()).unwrap_or(0);
        role["rules"] = rules.clone();
        // A conflict means a newer write, which queues this again.
        let _ = core.put(served, role, Expect::Revision(revision)).await;
    }
}
