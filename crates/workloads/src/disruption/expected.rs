//! How many pods there are to be: what the controllers of a budget's pods are asked for, added up.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_api::kinds::{OwnerReference, Pod};
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::{Error, Mirror, Mirrored, Whole};
use serde_json::Value;

use super::Disruption;
use super::reckon::Spec;

/// What a budget is to be measured by.
pub(super) struct Expected {
    /// How many pods there are to be.
    pub(super) count: i64,
    /// How many of them must be healthy.
    pub(super) desired: i64,
    /// Pods that nobody controls: they are in no controller's scale.
    pub(super) unmanaged: Vec<String>,
}

/// Why the number of pods is not known. The text is upstream's.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error("{0}")]
    Ask(Error),
    #[error("{0}")]
    Kind(String),
    #[error("found no controllers for pod {0:?}")]
    NoController(String),
}

impl Trouble {
    /// The error to be tried again after; `None` where only a change of the objects helps.
    pub(super) fn into_retry(self) -> Option<Error> {
        match self {
            Self::Ask(error) => Some(error),
            Self::Kind(_) | Self::NoController(_) => None,
        }
    }
}

impl Disruption {
    /// Measures a budget.
    pub(super) async fn expected(&self, spec: &Spec, pods: &[Arc<Whole<Pod>>]) -> Result<Expected, Trouble> {
        let mut unmanaged = Vec::new();
        let count = if spec.asks_controllers() {
            // By the uids of those that are scaled: two ReplicaSets of a Deployment are one.
            let mut scales: BTreeMap<String, i64> = BTreeMap::new();
            let mut asked: BTreeMap<&str, ()> = BTreeMap::new();
            for pod in pods {
                let meta = pod.meta();
                let Some(owner) = meta.controller() else {
                    unmanaged.push(meta.name.clone());
                    continue;
                };
                if asked.insert(&owner.uid, ()).is_some() {
                    continue;
                }
                let found = self.scale(&meta.namespace, owner).await?;
                let (uid, scale) = found.ok_or_else(|| Trouble::NoController(meta.name.clone()))?;
                scales.insert(uid, scale);
            }
            scales.values().sum()
        } else {
            i64::try_from(pods.len()).unwrap_or(i64::MAX)
        };
        let desired = spec.desired(count).map_err(Trouble::Kind)?;
        Ok(Expected { count, desired, unmanaged })
    }

    /// Who is scaled to have the pods of an owner, and to how many. The kinds that are mirrored are not asked for.
    async fn scale(&self, namespace: &str, owner: &OwnerReference) -> Result<Option<(String, i64)>, Trouble> {
        let key = ObjectKey::new(namespace, owner.name.as_str());
        match (owner.api_version.as_str(), owner.kind.as_str()) {
            ("apps/v1", "StatefulSet") => {
                Ok(mirrored(&self.world.stateful_sets, &key, &owner.uid).map(|set| replicas(&*set)))
            }
            ("v1", "ReplicationController") => {
                Ok(mirrored(&self.world.replication_controllers, &key, &owner.uid).map(|set| replicas(&*set)))
            }
            ("apps/v1", "ReplicaSet") => {
                let Some(set) = mirrored(&self.world.replica_sets, &key, &owner.uid) else {
                    return self.ask(namespace, owner).await;
                };
                let Some(above) = set.meta().controller().filter(|above| above.kind == "Deployment") else {
                    return Ok(Some(replicas(&*set)));
                };
                let key = ObjectKey::new(namespace, above.name.as_str());
                match mirrored(&self.world.deployments, &key, &above.uid) {
                    Some(deployment) => Ok(Some(replicas(&*deployment))),
                    None => self.ask(namespace, owner).await,
                }
            }
            _ => self.ask(namespace, owner).await,
        }
    }

    /// Asks for the scale of any kind that has one.
    async fn ask(&self, namespace: &str, owner: &OwnerReference) -> Result<Option<(String, i64)>, Trouble> {
        let root = if owner.api_version.contains('/') { "apis" } else { "api" };
        let base = format!("/{root}/{}", owner.api_version);
        let get = async |path: String| match self.objects.send::<Value>(http::Method::GET, &path, None).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(Trouble::Ask(error)),
        };
        let served = get(base.clone()).await?.unwrap_or_default();
        let names: Vec<&Value> = served["resources"].as_array().into_iter().flatten().collect();
        let is_kind = |r: &&&Value| r["kind"] == owner.kind.as_str() && !text(&r["name"]).contains('/');
        let Some(plural) = names.iter().find(is_kind).map(|r| text(&r["name"])) else {
            let message = format!("no matches for kind {:?} in version {:?}", owner.kind, owner.api_version);
            return Err(Trouble::Kind(message));
        };
        let scale = get(format!("{base}/namespaces/{namespace}/{plural}/{}/scale", owner.name)).await?;
        let Some(scale) = scale else {
            if names.iter().any(|r| text(&r["name"]) == format!("{plural}/scale")) {
                return Ok(None);
            }
            let group = owner.api_version.split_once('/').map(|(group, _)| format!(".{group}")).unwrap_or_default();
            return Err(Trouble::Kind(format!("{plural}{group} does not implement the scale subresource")));
        };
        let uid = text(&scale["metadata"]["uid"]);
        let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
        Ok((uid == owner.uid).then(|| (uid.to_owned(), replicas)))
    }
}

fn mirrored<T: Mirrored>(mirror: &Mirror<Whole<T>>, key: &ObjectKey, uid: &str) -> Option<Arc<Whole<T>>> {
    mirror.get(key).filter(|found| found.meta().uid == uid)
}

fn replicas<T: Mirrored>(object: &Whole<T>) -> (String, i64) {
    (object.meta().uid.clone(), object.value()["spec"]["replicas"].as_i64().unwrap_or(1))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A selector as Go prints one: upstream's message has it so.
pub(super) fn shown(selector: &Value) -> String {
    if selector.is_null() {
        return "nil".to_owned();
    }
    let mut labels: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}: {},", text(value)))
        .collect();
    labels.sort();
    let expressions: Vec<String> = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| {
            let values: Vec<&str> = e["values"].as_array().into_iter().flatten().map(text).collect();
            let (key, operator, values) = (text(&e["key"]), text(&e["operator"]), values.join(" "));
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    let labels = labels.concat();
    let expressions = expressions.concat();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
