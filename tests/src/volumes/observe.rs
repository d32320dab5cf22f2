//! One observer for all scenarios of a server: it lists what they are about and hands each its own part.
//!
//! Sixty scenarios that each asked for themselves would be most of the load on two cores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::templates::Kind;
use super::verdict;
use crate::client::{Client, Connection};
use crate::identities::{ADMIN, token};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// The kinds that are looked at in scenarios of claims and volumes.
pub const OBSERVED: [&str; 3] = ["pv", "pvc", "pod"];

/// What there is of one scenario.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The objects as they are, by `KIND/NAME`.
    pub objects: BTreeMap<String, Value>,
    /// The set of events, each as `OBJECT TYPE REASON (COMPONENT) MESSAGE`, and ` [ACTION]` behind where it has one.
    /// Not the related object: kube-scheduler 1.37.1 means to name whom a victim went for, but hands its recorder an object of no known kind.
    pub events: BTreeSet<String>,
}

/// What there was when somebody looked.
#[derive(Debug, Clone)]
pub struct Look {
    /// When the look began: what was written before is in it.
    pub began: Instant,
    lists: Arc<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    objects: Vec<(Kind, Value)>,
    events: Vec<Value>,
}

impl Look {
    /// All objects of a kind, whosever they are.
    pub fn all(&self, short: &str) -> impl Iterator<Item = &Value> {
        self.lists.objects.iter().filter(move |(kind, _)| kind.short == short).map(|(_, object)| object)
    }

    /// The part of the scenario with this id.
    pub fn of(&self, id: &str) -> Seen {
        let mut seen = Seen::default();
        let text = |object: &Value, pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        for (kind, object) in &self.lists.objects {
            let name = text(object, "/metadata/name");
            let namespace = text(object, "/metadata/namespace");
            let mine = namespace == id || namespace.is_empty() && name.contains(id);
            if mine {
                let mut object = object.clone();
                if kind.short == "pod" {
                    // Under a name of its own, so that scenarios need not know where in the list it stands.
                    object["verdict"] = verdict::of(&object);
                }
                seen.objects.insert(format!("{}/{name}", kind.short), object);
            }
        }
        for event in &self.lists.events {
            let name = text(event, "/involvedObject/name");
            let namespace = text(event, "/involvedObject/namespace");
            if namespace != id && !(namespace.is_empty() && name.contains(id)) {
                continue;
            }
            let kind = text(event, "/involvedObject/kind");
            let kind = Kind::named(&kind).map_or(kind, |kind| kind.short.to_owned());
            let component = match text(event, "/source/component") {
                none if none.is_empty() => text(event, "/reportingComponent"),
                component => component,
            };
            let (class, reason) = (text(event, "/type"), text(event, "/reason"));
            let message = verdict::without_others(&text(event, "/message"));
            let action = match text(event, "/action") {
                none if none.is_empty() => none,
                action => format!(" [{action}]"),
            };
            seen.events.insert(format!("{kind}/{name} {class} {reason} ({component}) {message}{action}"));
        }
        seen
    }
}

/// Looks at these kinds again and again, until nobody listens any more.
pub async fn observe(client: Client, kinds: &'static [&'static str]) -> Result<watch::Receiver<Look>> {
    let mut connection = client.connect().await?;
    let (sender, receiver) = watch::channel(look(&mut connection, kinds).await?);
    tokio::spawn(async move {
        while !sender.is_closed() {
            sleep(PAUSE).await;
            // A server that is busy for a moment is asked again; the players' patience ends if it stays so.
            if let Ok(look) = look(&mut connection, kinds).await {
                sender.send_replace(look);
            } else if let Ok(another) = client.connect().await {
                connection = another;
            }
        }
    });
    Ok(receiver)
}

async fn look(connection: &mut Connection, kinds: &[&str]) -> Result<Look> {
    let began = Instant::now();
    let mut lists = Lists::default();
    for short in kinds {
        let kind = Kind::of(short)?;
        lists.objects.extend(list(connection, &kind.everywhere()).await?.into_iter().map(|object| (kind, object)));
    }
    lists.events = list(connection, "/api/v1/events").await?;
    Ok(Look { began, lists: Arc::new(lists) })
}

async fn list(connection: &mut Connection, path: &str) -> Result<Vec<Value>> {
    let request = Request::get(path).header("authorization", format!("Bearer {}", token(ADMIN)));
    let response = connection.send(request.body(Full::default())?).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    if code != 200 {
        bail!("GET {path}: {code} {}", String::from_utf8_lossy(&body));
    }
    let mut list: Value = serde_json::from_slice(&body).with_context(|| path.to_owned())?;
    match list["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}
