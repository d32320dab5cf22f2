//! Writing: a change of one object, made only if the object is still what the change was decided from.

use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::context::Context;
use crate::error::Error;
use crate::mirror::{Mirror, Mirrored, key_of};
use crate::objects::Objects;
use crate::recorder::About;
use crate::whole::Whole;

/// Which part of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    Object,
    /// The status.
    Status,
}

/// Changes objects of one kind and tells its mirror of the outcome at once.
#[derive(Clone)]
pub struct Writer<T> {
    objects: Objects,
    mirror: Arc<Mirror<Whole<T>>>,
}

impl<T: Mirrored> Writer<T> {
    /// For the objects of this mirror.
    pub fn new(context: &Context, mirror: &Arc<Mirror<Whole<T>>>) -> Self {
        Self { objects: context.objects(), mirror: mirror.clone() }
    }

    /// Makes a change to the version that `seen` is, and to no other. Where `edit` changes nothing, nothing is written.
    /// Returns the object as it is then.
    pub async fn change(
        &self,
        seen: &Arc<Whole<T>>,
        part: Part,
        edit: impl FnOnce(&mut Value),
    ) -> Result<Arc<Whole<T>>, Error> {
        let before = seen.value();
        let mut after = before.clone();
        edit(&mut after);
        if after == before {
            return Ok(seen.clone());
        }
        self.replace(seen, part, &after).await
    }

    /// Puts `after` in the place of the version that `seen` is, and of no other. Returns the object as it is then.
    ///
    /// A conflict or absence means that the mirror is behind: the object is read, so that whoever tries again decides by
    /// what is true.
    pub async fn replace(&self, seen: &Arc<Whole<T>>, part: Part, after: &Value) -> Result<Arc<Whole<T>>, Error> {
        let answer: Result<Box<RawValue>, Error> = match part {
            Part::Object => self.objects.replace(T::RESOURCE, after).await,
            Part::Status => self.objects.replace_status(T::RESOURCE, after).await,
        };
        match answer {
            Ok(raw) => {
                let object = self.read(&raw)?;
                self.mirror.written(object.clone());
                Ok(object)
            }
            Err(error) => {
                if matches!(error, Error::Conflict(_) | Error::NotFound(_)) {
                    let meta = seen.meta();
                    if self.look(&meta.namespace, &meta.name).await?.is_none() {
                        // Gone as it was seen; one that was made under its name since is newer and stays.
                        self.mirror.gone(&key_of(&**seen), meta.version());
                    }
                }
                Err(error)
            }
        }
    }

    /// Reads an object from the API server, past the mirror, which learns of it. `None` where there is none.
    pub async fn look(&self, namespace: &str, name: &str) -> Result<Option<Arc<Whole<T>>>, Error> {
        match self.objects.get::<Box<RawValue>>(T::RESOURCE, namespace, name).await? {
            Some(raw) => self.learn(&raw).map(Some),
            None => Ok(None),
        }
    }

    /// Takes an object that the API server answered with.
    pub fn learn(&self, raw: &RawValue) -> Result<Arc<Whole<T>>, Error> {
        let object = self.read(raw)?;
        self.mirror.set(object.clone());
        Ok(object)
    }

    fn read(&self, raw: &RawValue) -> Result<Arc<Whole<T>>, Error> {
        let unreadable = |e: serde_json::Error| Error::Unknown(format!("the answer cannot be read: {e}"));
        Whole::<T>::read(raw.get()).map(Arc::new).map_err(unreadable)
    }
}

/// What an event about the object refers to.
pub fn about<T: Mirrored>(object: &T) -> About {
    let meta = object.meta();
    About {
        resource: T::RESOURCE,
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        version: meta.resource_version.clone(),
    }
}
