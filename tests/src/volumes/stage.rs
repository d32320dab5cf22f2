//! A place on a server where one scenario or story is played: its namespace, what it kept, and what there is to see of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::observe::{Look, Seen};
use super::provisioner::{Answer, answers};
use super::scenario::fill;
use super::templates::path;
use crate::client::Client;
use crate::identities::{ADMIN, token};

/// How long a condition may take: sixty scenarios share two cores, and kube-controller-manager's own backoffs are seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// How a body is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// An object.
    Object,
    /// A patch whose lists replace those that are there.
    Merge,
    /// A patch whose lists are merged by their keys, as kubectl sends it.
    Strategic,
}

impl Body {
    fn media_type(self) -> &'static str {
        match self {
            Self::Object => "application/json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
        }
    }
}

/// The place.
#[derive(Debug)]
pub struct Stage {
    client: Client,
    looks: watch::Receiver<Look>,
    /// The namespace, and a part of every name of the cluster's objects.
    pub id: String,
    /// What later steps may use.
    pub kept: BTreeMap<String, String>,
    /// What was written last: only a look that began later shows it.
    wrote: Instant,
    /// What the stand-in of a provisioner does.
    provisioner: BTreeMap<String, Answer>,
    /// What it has answered already: the claim's uid and its selected node.
    answered: BTreeSet<(String, String)>,
}

impl Stage {
    /// Under an id that no other of this server has.
    pub fn new(
        client: Client,
        looks: watch::Receiver<Look>,
        id: String,
        provisioner: BTreeMap<String, Answer>,
    ) -> Self {
        let (kept, answered) = (BTreeMap::new(), BTreeSet::new());
        Self { client, looks, id, kept, wrote: Instant::now(), provisioner, answered }
    }

    /// Makes the namespace.
    pub async fn open(&mut self) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.id}});
        self.write(&Method::POST, "/api/v1/namespaces", Some(&namespace)).await?;
        Ok(())
    }

    /// The path of `KIND/NAME`, with what was kept filled in.
    pub fn path(&self, reference: &str) -> Result<String> {
        path(&fill(reference, &self.id, &self.kept), &self.id)
    }

    /// Talks to the server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The last look, whenever it was.
    pub fn glance(&self) -> Look {
        self.looks.borrow().clone()
    }

    /// What there is after the last write; the stand-in of a provisioner answers first.
    pub async fn look(&mut self) -> Result<(Look, Seen)> {
        loop {
            let look = self.looks.borrow_and_update().clone();
            if look.began > self.wrote {
                let seen = look.of(&self.id);
                if !self.provision(&seen).await? {
                    return Ok((look, seen));
                }
            }
            self.next().await?;
        }
    }

    async fn next(&mut self) -> Result<()> {
        self.looks.changed().await.context("nobody looks any more")
    }

    /// Does what a provisioner would; returns whether there was something to do.
    async fn provision(&mut self, seen: &Seen) -> Result<bool> {
        let calls = answers(seen, &self.id, &self.provisioner, &mut self.answered);
        for (method, reference, body) in &calls {
            let path = match reference {
                Some(reference) => self.path(reference)?,
                None => String::from("/api/v1/persistentvolumes"),
            };
            self.write(method, &path, Some(body)).await.context("the stand-in of the provisioner")?;
        }
        Ok(!calls.is_empty())
    }

    /// Waits until nothing is wrong any more; otherwise says what was wrong last.
    pub async fn until(&mut self, wrong: impl Fn(&Seen) -> Result<Vec<String>>) -> Result<Seen> {
        let mut last = vec![String::from("nothing was seen")];
        let watched = timeout(PATIENCE, async {
            loop {
                let (_, seen) = self.look().await?;
                last = wrong(&seen)?;
                if last.is_empty() {
                    return Ok(seen);
                }
                self.next().await?;
            }
        });
        match watched.await {
            Ok(seen) => seen,
            Err(_) => bail!("waited in vain: {}", last.join("; ")),
        }
    }

    /// Waits until the state stays the same for a while.
    pub async fn rest(
        &mut self,
        quiet: Duration,
        state: impl Fn(&Self, &Look, &Seen) -> Value,
    ) -> Result<(Look, Seen)> {
        let mut last = (Value::Null, Instant::now());
        let watched = timeout(PATIENCE, async {
            loop {
                let (look, seen) = self.look().await?;
                let now = state(self, &look, &seen);
                if now != last.0 {
                    last = (now, look.began);
                } else if look.began - last.1 >= quiet {
                    return Ok((look, seen));
                }
                self.next().await?;
            }
        });
        watched.await.unwrap_or_else(|_| bail!("it does not come to rest"))
    }

    /// A write that must be taken.
    pub async fn write(&mut self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let (code, answer) = self.ask(method, path, body).await?;
        if code >= 300 {
            bail!("{method} {path}: {code} {answer}");
        }
        self.wrote();
        Ok(answer)
    }

    /// Only what is seen from now on counts.
    pub fn wrote(&mut self) {
        self.wrote = Instant::now();
    }

    /// Asks for something; patches are merge patches.
    pub async fn ask(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<(u16, Value)> {
        let meant = if method == Method::PATCH { Body::Merge } else { Body::Object };
        self.ask_as(method, path, body, meant).await
    }

    /// Asks for something with a body that is meant so.
    pub async fn ask_as(&self, method: &Method, path: &str, body: Option<&Value>, meant: Body) -> Result<(u16, Value)> {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header("authorization", format!("Bearer {}", token(ADMIN)));
        request = request.header("user-agent", "volumes/1.0").header("content-type", meant.media_type());
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let response = self.client.send(request.body(Full::new(body))?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}
