//! A ReplicaSet as its Deployment sees it.

use std::sync::Arc;

use plimsoll_api::names::POD_TEMPLATE_HASH;
use plimsoll_runtime::Whole;
use serde_json::Value;

use super::annotations;
use super::numbers::{Room, Size};
use crate::kinds::ReplicaSet;

/// A ReplicaSet with its JSON.
#[derive(Clone)]
pub(super) struct Set {
    pub(super) whole: Arc<Whole<ReplicaSet>>,
    pub(super) value: Value,
}

impl Set {
    pub(super) fn new(whole: Arc<Whole<ReplicaSet>>) -> Self {
        let value = whole.value();
        Self { whole, value }
    }

    pub(super) fn name(&self) -> &str {
        &self.whole.slim.0.metadata.name
    }

    pub(super) fn uid(&self) -> &str {
        &self.whole.slim.0.metadata.uid
    }

    /// When it was made, and its name: the order in which sets are looked at.
    pub(super) fn age(&self) -> (&str, &str) {
        (&self.whole.slim.0.metadata.creation_timestamp, self.name())
    }

    /// The replicas it is to have.
    pub(super) fn replicas(&self) -> i64 {
        self.value["spec"]["replicas"].as_i64().unwrap_or(1)
    }

    /// A number of its status.
    pub(super) fn says(&self, field: &str) -> i64 {
        self.value["status"][field].as_i64().unwrap_or(0)
    }

    /// Which revision it is; `None` where it says something that is no number.
    pub(super) fn revision(&self) -> Option<i64> {
        annotations::revision(&self.value)
    }

    /// A number that an annotation has.
    pub(super) fn noted(&self, key: &str) -> Option<i64> {
        let number = annotations::get(&self.value, key)?.parse::<u32>().ok()?;
        i32::try_from(number).ok().map(i64::from)
    }

    /// Whether it has all that the Deployment is to have, all available, and knows so.
    pub(super) fn is_saturated(&self, room: &Room) -> bool {
        let all = [Some(self.replicas()), self.noted(annotations::DESIRED), Some(self.says("availableReplicas"))];
        all.iter().all(|number| *number == Some(room.replicas))
    }

    /// As far as numbers go.
    pub(super) fn size(&self) -> Size {
        let (created, name) = self.age();
        Size {
            name: name.to_owned(),
            created: created.to_owned(),
            replicas: self.replicas(),
            available: self.says("availableReplicas"),
            most_then: self.noted(annotations::MAX),
        }
    }

    /// Whether its pods are made from this template.
    pub(super) fn has_template(&self, template: &Value) -> bool {
        same_template(&self.value["spec"]["template"], template)
    }
}

/// Whether two templates describe the same pods; the hash that is on a set's own one does not count. Nothing is copied for
/// it: every look asks this of every set.
pub(super) fn same_template(one: &Value, other: &Value) -> bool {
    let (meta, others) = (&one["metadata"], &other["metadata"]);
    equal(&one["spec"], &other["spec"], "")
        && equal(meta, others, "labels")
        && equal(&meta["labels"], &others["labels"], POD_TEMPLATE_HASH)
}

/// Whether two values say the same, the field `except` of theirs aside. What is null is the same as not there.
fn equal(one: &Value, other: &Value, except: &str) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let says = |(key, value): &(&String, &Value)| !value.is_null() && *key != except;
            let same = |(key, value): (&String, &Value)| other.get(key).is_some_and(|there| equal(value, there, ""));
            one.iter().filter(says).count() == other.iter().filter(says).count() && one.iter().filter(says).all(same)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other, ""))
        }
        _ => one == other,
    }
}

/// A template without its hash and without what is null, which is the same as not there.
pub(super) fn plain(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(POD_TEMPLATE_HASH);
    }
    without_nulls(&mut template);
    template
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_runtime::Mirrored;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn set(value: Value) -> Set {
        Set::new(Arc::new(Whole::read(&to_raw_value(&value).unwrap()).unwrap()))
    }

    #[test]
    fn a_template_is_the_same_with_and_without_its_hash() {
        let template = json!({"metadata": {"creationTimestamp": null, "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v", "emptyDir": {}}]}});
        let mut own = template.clone();
        own["metadata"]["labels"][POD_TEMPLATE_HASH] = json!("5d4f");
        own["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
        let set = set(json!({"metadata": {"name": "s"}, "spec": {"template": own}}));
        assert!(set.has_template(&template) && set.has_template(&own));
        let mut other = template.clone();
        other["spec"]["containers"][0]["image"] = json!("j");
        assert!(!set.has_template(&other));
        let mut other = template;
        other["spec"]["volumes"][0].as_object_mut().unwrap().remove("emptyDir");
        assert!(!set.has_template(&other), "an empty object says something");
        let mut other = own.clone();
        other["metadata"]["labels"]["app"] = json!("db");
        assert!(!set.has_template(&other), "other labels count");
        let mut other = own;
        other["metadata"]["annotations"] = json!({"a": "b"});
        assert!(!set.has_template(&other));
    }

    #[test]
    fn a_set_is_saturated_when_it_has_all_and_knows_so() {
        let room = Room { replicas: 3, surge: 1, unavailable: 0, rolling: true };
        for (replicas, desired, available, saturated) in [
            (3, Some("3"), 3, true),
            (2, Some("3"), 3, false),
            (3, Some("4"), 3, false),
            (3, None, 3, false),
            (3, Some("many"), 3, false),
            (3, Some("3"), 2, false),
        ] {
            let set = set(json!({"metadata": {"name": "s", "annotations": {annotations::DESIRED: desired}},
                "spec": {"replicas": replicas}, "status": {"availableReplicas": available}}));
            assert_eq!(set.is_saturated(&room), saturated, "{replicas} {desired:?} {available}");
        }
    }

    #[test]
    fn numbers_in_annotations_are_not_negative() {
        for (text, number) in [("3", Some(3)), ("-1", None), ("4294967295", None), ("x", None)] {
            let set = set(json!({"metadata": {"name": "s", "annotations": {annotations::MAX: text}}}));
            assert_eq!(set.noted(annotations::MAX), number, "{text}");
        }
    }
}
