//! One observer for all scenarios of a server: it lists what they are about and hands each its own part.
//!
//! Sixty scenarios that each asked for themselves would be most of the load on two cores.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::templates::Kind;
use super::verdict;
use crate::client::Client;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(300);

/// The kinds that are looked at.
pub const OBSERVED: [&str; 3] = ["pv", "pvc", "pod"];

/// What there is of one scenario.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The objects as they are, by `KIND/NAME`.
    pub objects: BTreeMap<String, Value>,
    /// The set of events, each as `OBJECT TYPE REASON (COMPONENT) MESSAGE`, and ` [ACTION, RELATED OBJECT]` behind where it has these.
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
            let more = match (text(event, "/action"), text(event, "/related/kind"), text(event, "/related/name")) {
                (action, ..) if action.is_empty() => String::new(),
                (action, kind, _) if kind.is_empty() => format!(" [{action}]"),
                (action, kind, name) => {
                    format!(" [{action}, {}/{name}]", Kind::named(&kind).map_or(&*kind, |kind| kind.short))
                }
            };
            seen.events.insert(format!("{kind}/{name} {class} {reason} ({component}) {message}{more}"));
        }
        seen
    }
}

/// Looks again and again, until nobody listens any more.
pub async fn observe(client: Client) -> Result<watch::Receiver<Look>> {
    let (sender, receiver) = watch::channel(look(&client).await?);
    tokio::spawn(async move {
        while !sender.is_closed() {
            sleep(PAUSE).await;
            // A server that is busy for a moment is asked again; the players' patience ends if it stays so.
            if let Ok(look) = look(&client).await {
                sender.send_replace(look);
            }
        }
    });
    Ok(receiver)
}

async fn look(client: &Client) -> Result<Look> {
    let began = Instant::now();
    let mut lists = Lists::default();
    for short in OBSERVED {
        let kind = Kind::of(short)?;
        lists.objects.extend(list(client, &kind.everywhere()).await?.into_iter().map(|object| (kind, object)));
    }
    lists.events = list(client, "/api/v1/events").await?;
    Ok(Look { began, lists: Arc::new(lists) })
}

async fn list(client: &Client, path: &str) -> Result<Vec<Value>> {
    let (code, body) = client.get(path).await?;
    if code != 200 {
        bail!("GET {path}: {code} {}", String::from_utf8_lossy(&body));
    }
    let mut list: Value = serde_json::from_slice(&body).with_context(|| path.to_owned())?;
    match list["items"].take() {
        Value::Array(items) => Ok(items),
        _ => Ok(Vec::new()),
    }
}
