//! ServiceAccount: who a pod is, and the token that proves it.

use serde_json::{Value, json};

use super::{Cluster, Request};
use crate::status::Status;
use crate::value::{ensure, ensure_list, get, list, list_mut, text};

/// Where containers expect the token.
const MOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What the volume with the token is called, before the part made up.
const VOLUME: &str = "kube-api-access-";
/// How long the token is good for. The odd seconds tell the issuer that the pod did not ask for it itself.
const TOKEN_SECONDS: i64 = 3607;

pub(super) fn admit(request: &Request<'_>, pod: &mut Value, cluster: &dyn Cluster) -> Result<(), Status> {
    // Pods that a kubelet made and only shows: they cannot have a token.
    if get(pod, &["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some() {
        if !text(pod, &["spec", "serviceAccountName"]).is_empty() {
            return Err(request.forbidden(pod, "a mirror pod may not reference service accounts"));
        }
        return Ok(());
    }
    if text(pod, &["spec", "serviceAccountName"]).is_empty() {
        let spec = ensure(pod, &["spec"]);
        spec.insert("serviceAccountName".into(), "default".into());
        spec.insert("serviceAccount".into(), "default".into());
    }
    let name = text(pod, &["spec", "serviceAccountName"]).to_owned();
    let Some(account) = cluster.get("", "serviceaccounts", request.namespace, &name) else {
        let why = format!(
            "error looking up service account {}/{name}: serviceaccount \"{name}\" not found",
            request.namespace
        );
        return Err(request.forbidden(pod, &why));
    };
    let mount = get(pod, &["spec", "automountServiceAccountToken"])
        .or_else(|| get(&account, &["automountServiceAccountToken"]))
        .and_then(Value::as_bool)
        .unwrap_or(true);
    if mount {
        mount_token(pod, request.suffix);
    }
    let secrets = list(&account, &["imagePullSecrets"]);
    if list(pod, &["spec", "imagePullSecrets"]).is_empty() && !secrets.is_empty() {
        let names: Vec<Value> = secrets.iter().map(|s| json!({"name": text(s, &["name"])})).collect();
        ensure(pod, &["spec"]).insert("imagePullSecrets".into(), names.into());
    }
    Ok(())
}

fn mount_token(pod: &mut Value, suffix: &str) {
    let there = list(pod, &["spec", "volumes"])
        .iter()
        .map(|v| text(v, &["name"]))
        .find(|name| name.starts_with(VOLUME))
        .map(str::to_owned);
    let volume = there.clone().unwrap_or_else(|| format!("{VOLUME}{suffix}"));
    let mut needed = false;
    for key in ["initContainers", "containers"] {
        for container in list_mut(pod, &["spec", key]) {
            if list(container, &["volumeMounts"]).iter().any(|m| text(m, &["mountPath"]) == MOUNT) {
                continue;
            }
            let mounts = ensure_list(crate::value::as_fields(container), "volumeMounts");
            mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT}));
            needed = true;
        }
    }
    if there.is_some() || !needed {
        return;
    }
    ensure_list(ensure(pod, &["spec"]), "volumes").push(json!({
        "name": volume,
        "projected": {"defaultMode": 0o644, "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]},
    }));
}
