//! The claims of a StatefulSet's pods: what they look like, and who owns them, which says when they go.
//!
//! | whenScaled | whenDeleted | owner of a wanted pod's claim | of a pod's that is scaled away |
//! | --- | --- | --- | --- |
//! | Retain | Retain | nobody | nobody |
//! | Retain | Delete | the set | the set |
//! | Delete | Retain | nobody | the pod |
//! | Delete | Delete | the set | the pod |
//!
//! The garbage collector does the rest. A claim that another controller has is left to it.

use serde_json::{Map, Value, json};

use super::identity::claim_name;
use super::spec::{Retention, Spec};
use crate::children::Owner;

/// The claims of the pod with this number, as they are made.
pub(super) fn of(spec: &Spec, ordinal: i64) -> Vec<Value> {
    spec.claim_templates.iter().map(|template| claim(spec, template, ordinal)).collect()
}

fn claim(spec: &Spec, template: &Value, ordinal: i64) -> Value {
    let mut meta = Map::new();
    for field in ["annotations", "finalizers", "ownerReferences"] {
        if let Some(value) = template["metadata"].get(field).filter(|value| !value.is_null()) {
            meta.insert(field.to_owned(), value.clone());
        }
    }
    let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    labels.extend(spec.match_labels.clone());
    if !labels.is_empty() {
        meta.insert("labels".to_owned(), Value::Object(labels));
    }
    meta.insert("name".to_owned(), json!(claim_name(template, &spec.owner.name, ordinal)));
    meta.insert("namespace".to_owned(), json!(spec.owner.namespace));
    let body = template.get("spec").cloned().unwrap_or_else(|| json!({}));
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": body})
}

/// Who may own a claim for its set's sake.
pub(super) struct Kin<'a> {
    /// The set.
    pub set: &'a Owner,
    /// The pod that uses it.
    pub pod: &'a Owner,
    /// What becomes of claims.
    pub retention: Retention,
    /// Whether the pod is no longer wanted.
    pub scaled_away: bool,
}

/// Whether a reference is to that object by its name; its uid may be another's that had the name before.
fn names(owner: &Owner, reference: &Value) -> bool {
    reference["apiVersion"] == owner.resource.api_version().as_str()
        && reference["kind"] == owner.resource.kind
        && reference["name"] == owner.name.as_str()
}

fn is(owner: &Owner, reference: &Value) -> bool {
    reference["uid"] == owner.uid.as_str()
}

/// Whether the object's name is in the references, and another's uid with it.
fn is_stale(owner: &Owner, references: &[Value]) -> bool {
    references.iter().find(|r| names(owner, r)).is_some_and(|r| !is(owner, r))
}

fn is_controller(reference: &Value) -> bool {
    reference["controller"] == true
}

impl Kin<'_> {
    /// The owners that the set gives a claim by its policy.
    fn wanted(&self) -> Option<&Owner> {
        match (self.retention.when_scaled, self.retention.when_deleted) {
            (false, false) => None,
            (false, true) => Some(self.set),
            (true, _) if self.scaled_away => Some(self.pod),
            (true, deleted) => deleted.then_some(self.set),
        }
    }

    /// Whether a claim is of a pod or a set that had the name before and is gone: the garbage collector will take it.
    fn is_of_predecessor(&self, references: &[Value]) -> bool {
        is_stale(self.set, references) || self.is_of_earlier_pod(references)
    }

    /// Whether a claim is of a pod that had the name before.
    pub(super) fn is_of_earlier_pod(&self, references: &[Value]) -> bool {
        is_stale(self.pod, references)
    }

    /// Whether somebody else manages the claim. Where claims are kept anyway that is nobody's trouble.
    pub(super) fn has_rival(&self, references: &[Value]) -> bool {
        if self.retention == Retention::default() {
            return false;
        }
        references.iter().any(|reference| {
            match [self.set, self.pod].into_iter().find(|owner| names(owner, reference)) {
                Some(owner) => !is(owner, reference),
                None => is_controller(reference),
            }
        })
    }

    /// The references that a claim is to have instead of `references`; `None` where those are right.
    pub(super) fn correct(&self, references: &[Value]) -> Option<Vec<Value>> {
        if self.is_of_predecessor(references) {
            return None;
        }
        let owns = |owner: &Owner| references.iter().any(|r| is(owner, r));
        let mut others: Vec<Value> = references.to_vec();
        others.retain(|reference| !names(self.set, reference) && !names(self.pod, reference));
        if self.has_rival(references) {
            return (owns(self.set) || owns(self.pod)).then_some(others);
        }
        let wanted = self.wanted();
        let half = references.iter().any(|r| (is(self.set, r) || is(self.pod, r)) && !is_controller(r));
        let right = [self.set, self.pod]
            .into_iter()
            .all(|owner| owns(owner) == wanted.is_some_and(|wanted| wanted.uid == owner.uid));
        if right && !half {
            return None;
        }
        others.extend(wanted.map(Owner::reference));
        Some(others)
    }
}

/// The owners of an object, as written.
pub(super) fn references(object: &Value) -> Vec<Value> {
    object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use plimsoll_runtime::Resource;

    use super::*;

    fn owner(resource: Resource, name: &str, uid: &str) -> Owner {
        Owner { resource, namespace: "n".into(), name: name.into(), uid: uid.into(), deleting: false }
    }

    fn reference(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
        let group = if kind == "Pod" { "v1" } else { "apps/v1" };
        json!({"apiVersion": group, "kind": kind, "name": name, "uid": uid, "controller": controller})
    }

    /// The uids of the owners that a claim with these references gets; `None` where it stays as it is.
    fn corrected(policy: (bool, bool), scaled_away: bool, references: &[Value]) -> Option<Vec<String>> {
        let (set, pod) = (owner(Resource::STATEFUL_SETS, "web", "set-uid"), owner(Resource::PODS, "web-1", "pod-uid"));
        let retention = Retention { when_scaled: policy.0, when_deleted: policy.1 };
        let kin = Kin { set: &set, pod: &pod, retention, scaled_away };
        let corrected = kin.correct(references)?;
        // What was corrected is right.
        assert_eq!(kin.correct(&corrected), None);
        Some(corrected.iter().map(|r| r["uid"].as_str().unwrap_or_default().to_owned()).collect())
    }

    const KEEP: bool = false;
    const DELETE: bool = true;

    #[test]
    fn a_claim_gets_the_owner_of_its_sets_policy() {
        for (scaled, deleted, away, wanted) in [
            (KEEP, KEEP, false, None),
            (KEEP, KEEP, true, None),
            (KEEP, DELETE, false, Some("set-uid")),
            (KEEP, DELETE, true, Some("set-uid")),
            (DELETE, KEEP, false, None),
            (DELETE, KEEP, true, Some("pod-uid")),
            (DELETE, DELETE, false, Some("set-uid")),
            (DELETE, DELETE, true, Some("pod-uid")),
        ] {
            let case = format!("scaled {scaled}, deleted {deleted}, away {away}");
            let wish: Vec<String> = wanted.into_iter().map(str::to_owned).collect();
            let bare = corrected((scaled, deleted), away, &[]);
            assert_eq!(bare, (!wish.is_empty()).then(|| wish.clone()), "{case}");
            // A policy that changed takes the other owner away.
            let (set, pod) =
                (reference("StatefulSet", "web", "set-uid", true), reference("Pod", "web-1", "pod-uid", true));
            let both = corrected((scaled, deleted), away, &[set, pod]);
            assert_eq!(both, Some(wish), "{case}");
        }
    }

    #[test]
    fn an_owner_that_does_not_manage_is_made_to() {
        let half = reference("StatefulSet", "web", "set-uid", false);
        assert_eq!(corrected((KEEP, DELETE), false, std::slice::from_ref(&half)), Some(vec!["set-uid".to_owned()]));
        assert_eq!(corrected((KEEP, KEEP), false, &[half]), Some(vec![]));
    }

    #[test]
    fn claims_of_others_are_left_alone() {
        let rival = reference("Backup", "b", "rival", true);
        let friend = reference("Backup", "b", "friend", false);
        let set = reference("StatefulSet", "web", "set-uid", true);
        assert_eq!(corrected((DELETE, DELETE), false, std::slice::from_ref(&rival)), None);
        assert_eq!(corrected((KEEP, KEEP), false, std::slice::from_ref(&rival)), None);
        // Two who manage it cannot be: the set gives way.
        assert_eq!(corrected((KEEP, DELETE), false, &[rival, set]), Some(vec!["rival".to_owned()]));
        let wish = Some(vec!["friend".to_owned(), "set-uid".to_owned()]);
        assert_eq!(corrected((KEEP, DELETE), false, &[friend]), wish);
    }

    #[test]
    fn what_a_predecessor_had_is_the_collectors() {
        let set = reference("StatefulSet", "web", "an older one", true);
        let pod = reference("Pod", "web-1", "an older one", true);
        for policy in [(KEEP, KEEP), (KEEP, DELETE), (DELETE, KEEP), (DELETE, DELETE)] {
            assert_eq!(corrected(policy, false, std::slice::from_ref(&set)), None);
            assert_eq!(corrected(policy, true, std::slice::from_ref(&pod)), None);
        }
    }
}
