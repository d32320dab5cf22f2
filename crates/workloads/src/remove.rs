//! Deleting one object, that one and no other of its name, with its mirror told of the outcome at once: who looks again
//! must not count, and delete, what is on its way out already.

use std::sync::Arc;

use http::Method;
use plimsoll_runtime::mirror::key_of;
use plimsoll_runtime::{Error, Mirror, Mirrored, Objects, Whole};
use serde_json::json;
use serde_json::value::RawValue;

/// What must still be true of an object for it to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// It is the one that was seen, whatever became of it since.
    Same,
    /// It did not change since it was seen.
    Unchanged,
}

/// Deletes an object. Returns whether this did it: one that is gone, or whose name another has by now, is no trouble.
pub async fn remove<T: Mirrored>(
    objects: &Objects,
    mirror: &Mirror<Whole<T>>,
    seen: &Whole<T>,
    only: Only,
) -> Result<bool, Error> {
    let (meta, key) = (seen.meta(), key_of(seen));
    let mut conditions = json!({"uid": meta.uid});
    if only == Only::Unchanged {
        conditions["resourceVersion"] = json!(meta.resource_version);
    }
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions});
    let path = T::RESOURCE.path(&meta.namespace, &meta.name);
    match objects.send::<Box<RawValue>>(Method::DELETE, &path, Some(&options)).await {
        Ok(raw) => {
            match left::<T>(&raw) {
                Left::Going(object) => mirror.set(Arc::new(*object)),
                Left::Gone(version) => mirror.gone(&key, version.max(meta.version())),
            };
            Ok(true)
        }
        Err(Error::NotFound(_)) => {
            mirror.gone(&key, meta.version());
            Ok(false)
        }
        Err(error @ Error::Conflict(_)) if only == Only::Same => {
            // Another has the name by now; or it is still there, and the server could not do it for others' writes.
            if look(objects, mirror, seen).await? { Err(error) } else { Ok(false) }
        }
        Err(error) => {
            // Whether it was done is not known, or it is another by now: who tries again decides by what is true.
            if matches!(error, Error::Unknown(_) | Error::Conflict(_)) {
                look(objects, mirror, seen).await?;
            }
            Err(error)
        }
    }
}

/// What an answer to a deletion says is left of the object.
enum Left<T> {
    /// It waits for its time, or for its finalizers.
    Going(Box<Whole<T>>),
    /// Nothing, as of this version; 0 where the answer does not say.
    Gone(u64),
}

fn left<T: Mirrored>(raw: &RawValue) -> Left<T> {
    let Ok(object) = Whole::<T>::read(raw.get()) else { return Left::Gone(0) };
    let meta = object.meta();
    // Most kinds answer with a Status where nothing is left, which has no metadata to speak of.
    let waits = !meta.finalizers.is_empty() || meta.deletion_grace_period_seconds.is_some_and(|grace| grace > 0);
    if meta.deletion_timestamp.0 && waits { Left::Going(Box::new(object)) } else { Left::Gone(meta.version()) }
}

/// Reads the object as it is now, for the mirror to know. Returns whether it is the one that was seen, and not yet on its way out.
async fn look<T: Mirrored>(objects: &Objects, mirror: &Mirror<Whole<T>>, seen: &Whole<T>) -> Result<bool, Error> {
    let meta = seen.meta();
    match objects.get::<Box<RawValue>>(T::RESOURCE, &meta.namespace, &meta.name).await? {
        Some(raw) => {
            let object =
                Whole::<T>::read(raw.get()).map_err(|e| Error::Unknown(format!("the answer cannot be read: {e}")))?;
            let same = object.meta().uid == meta.uid && !object.meta().deletion_timestamp.0;
            mirror.set(Arc::new(object));
            Ok(same)
        }
        None => {
            mirror.gone(&key_of(seen), meta.version());
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_api::kinds::Pod;
    use serde_json::Value;

    fn outcome(answer: Value) -> Result<String, u64> {
        match left::<Pod>(&serde_json::value::to_raw_value(&answer).unwrap()) {
            Left::Going(object) => Ok(object.meta().name.clone()),
            Left::Gone(version) => Err(version),
        }
    }

    #[test]
    fn an_answer_says_whether_anything_is_left() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        assert_eq!(outcome(status), Err(0));
        let pod = |more: Value| {
            let mut pod = json!({"kind": "Pod", "metadata": {"name": "p", "resourceVersion": "7"}});
            for (key, value) in more.as_object().unwrap() {
                pod["metadata"][key] = value.clone();
            }
            outcome(pod)
        };
        let time = "2026-01-01T00:00:00Z";
        assert_eq!(pod(json!({})), Err(7));
        assert_eq!(pod(json!({"deletionTimestamp": time, "deletionGracePeriodSeconds": 0})), Err(7));
        assert_eq!(pod(json!({"deletionTimestamp": time, "deletionGracePeriodSeconds": 30})), Ok("p".to_owned()));
        assert_eq!(pod(json!({"deletionTimestamp": time, "finalizers": ["x"]})), Ok("p".to_owned()));
    }
}
