//! The last word on "unused": a namespace's pods as the API server has them now.
//!
//! A thousand claims that are deleted together must not ask for the same list a thousand times. Who asks while a list is
//! on its way waits for the next one, and all who wait share that: a list that was begun after the question answers it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use plimsoll_engine::labels::Name;
use plimsoll_runtime::reflector::escape;
use plimsoll_runtime::{Error, Objects, Resource};
use serde::Deserialize;

use super::pods::{LivePod, Usage};

/// Pods per page of a list.
const PAGE: usize = 500;

pub(super) struct LivePods {
    objects: Objects,
    /// The namespaces that somebody asks about now.
    slots: Mutex<BTreeMap<Name, Arc<Slot>>>,
}

#[derive(Default)]
struct Slot {
    /// How many questions there were.
    asked: Mutex<u64>,
    /// Held while a list is on its way: how many questions it answers, and the pods.
    last: tokio::sync::Mutex<Option<(u64, Arc<Vec<Usage>>)>>,
}

impl LivePods {
    pub(super) fn new(objects: Objects) -> Self {
        Self { objects, slots: Mutex::default() }
    }

    /// The pods of a namespace, by a list that is begun after this question.
    pub(super) async fn of(&self, namespace: &Name) -> Result<Arc<Vec<Usage>>, Error> {
        let slot =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(namespace.clone()).or_default().clone();
        let answer = self.ask(namespace, &slot).await;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // The last one to leave takes the list along: this one's hold, and the map's own.
        if Arc::strong_count(&slot) <= 2 {
            slots.remove(namespace);
        }
        answer
    }

    async fn ask(&self, namespace: &str, slot: &Slot) -> Result<Arc<Vec<Usage>>, Error> {
        let count = |add: u64| {
            let mut asked = slot.asked.lock().unwrap_or_else(PoisonError::into_inner);
            *asked += add;
            *asked
        };
        let mine = count(1);
        let mut last = slot.last.lock().await;
        if let Some((answers, pods)) = &*last
            && *answers >= mine
        {
            return Ok(pods.clone());
        }
        let answers = count(0);
        let pods = Arc::new(self.list(namespace).await?);
        *last = Some((answers, pods.clone()));
        Ok(pods)
    }

    async fn list(&self, namespace: &str) -> Result<Vec<Usage>, Error> {
        let collection = Resource::PODS.collection(Some(namespace));
        let mut pods = Vec::new();
        let mut token = String::new();
        loop {
            let path = match token.as_str() {
                "" => format!("{collection}?limit={PAGE}"),
                token => format!("{collection}?limit={PAGE}&continue={}", escape(token)),
            };
            let page: Page = self.objects.send(Method::GET, &path, None).await?;
            pods.extend(page.items.unwrap_or_default().into_iter().map(Usage::from));
            token = page.metadata.token.unwrap_or_default();
            if token.is_empty() {
                return Ok(pods);
            }
        }
    }
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    // null where Go has an empty slice.
    items: Option<Vec<LivePod>>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    token: Option<String>,
}
