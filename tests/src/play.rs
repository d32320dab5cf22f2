//! Plays a scenario on one server and returns its answers, one for each step, without what differs from run to run.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use jiff::Timestamp;
use plimsoll_schema::{Schema, Table, Type, protobuf};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::identities::{self, ADMIN};
use crate::normal::Normal;
use crate::scenario::{Scenario, Step};

/// The headers that are compared.
const HEADERS: [&str; 5] = ["content-type", "warning", "retry-after", "cache-control", "www-authenticate"];
/// How long an event may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long nothing must come where nothing may come.
const QUIET: Duration = Duration::from_millis(400);
/// The pause before something is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// Plays it; each answer is `{status, headers, body}`, or `{events}` of a read.
pub async fn play(client: &Client, scenario: &Scenario) -> Result<Vec<Value>> {
    let namespace = format!("c-{}", scenario.name);
    make_namespace(client, &namespace).await.with_context(|| scenario.name.clone())?;
    let mut player = Player {
        client,
        values: BTreeMap::from([("ns".to_owned(), namespace)]),
        normal: Normal::new(Timestamp::now()),
        streams: BTreeMap::new(),
    };
    let mut answers = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        let step = step.filled(&player.values);
        let answer = if step.until.is_empty() { player.step(&step).await } else { player.until(&step).await };
        answers.push(answer.with_context(|| format!("{}, step {} ({})", scenario.name, index + 1, step.call))?);
    }
    Ok(answers)
}

async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let step = Step { call: "POST /api/v1/namespaces".into(), body: Some(body), ..Step::default() };
    let response = client.send(request(&step)?).await?;
    if response.status().as_u16() != 201 {
        bail!(
            "the namespace was refused: {}",
            String::from_utf8_lossy(&response.into_body().collect().await?.to_bytes())
        );
    }
    Ok(())
}

struct Player<'a> {
    client: &'a Client,
    values: BTreeMap<String, String>,
    normal: Normal,
    streams: BTreeMap<String, mpsc::UnboundedReceiver<Value>>,
}

impl Player<'_> {
    async fn step(&mut self, step: &Step) -> Result<Value> {
        if let Some(stream) = &step.read {
            return self.read(stream, step).await;
        }
        let response = timeout(PATIENCE * 4, self.client.send(request(step)?)).await.context("no answer in time")??;
        let status = response.status().as_u16();
        let mut headers = self.headers(response.headers());
        let content_type = headers.get("content-type").cloned().unwrap_or_default();
        if let (Some(stream), 200) = (&step.watch, status) {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(follow(response.into_body(), sender));
            self.streams.insert(stream.clone(), receiver);
            return Ok(json!({"status": status, "headers": headers}));
        }
        let bytes =
            timeout(PATIENCE, response.into_body().collect()).await.context("the body does not end")??.to_bytes();
        let mut body = read_body(&bytes, &content_type);
        if content_type.starts_with("text/html") {
            headers.remove("content-type");
        }
        for (name, pointer) in &step.keep {
            let found =
                body.pointer(pointer).and_then(|v| v.as_str().map(str::to_owned).or_else(|| Some(v.to_string())));
            let found = found.with_context(|| format!("there is nothing at {pointer} to keep: {status} {body}"))?;
            self.values.insert(name.clone(), found);
        }
        for pointer in &step.unordered {
            if let Some(Value::Array(items)) = body.pointer_mut(pointer) {
                items.sort_by_key(Value::to_string);
            }
        }
        if !step.only.is_empty() {
            body = step.only.iter().map(|p| (p.clone(), body.pointer(p).cloned().unwrap_or_default())).collect();
        }
        let body = self.normal.value(body);
        Ok(json!({"status": status, "headers": headers, "body": body}))
    }

    /// Asks until the answer is as it must be. That it came to be so is all that is compared: how often it was asked says nothing.
    async fn until(&self, step: &Step) -> Result<Value> {
        let mut last = Value::Null;
        let asking = async {
            loop {
                let answer = self.client.send(request(step)?).await?.into_body().collect().await?.to_bytes();
                last = serde_json::from_slice(&answer).unwrap_or_default();
                if step.until.iter().all(|(pointer, wanted)| last.pointer(pointer) == Some(wanted)) {
                    return anyhow::Ok(json!({"until": step.until}));
                }
                sleep(PAUSE).await;
            }
        };
        let asked = timeout(PATIENCE, asking).await;
        asked.with_context(|| format!("the last answer is still {last}"))?
    }

    fn headers(&mut self, headers: &HeaderMap) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for name in HEADERS {
            let values: Vec<&str> = headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).collect();
            if !values.is_empty() {
                found.insert(name.to_owned(), self.normal.text("", values.join("\n")));
            }
        }
        found
    }

    async fn read(&mut self, stream: &str, step: &Step) -> Result<Value> {
        let receiver = self.streams.get_mut(stream).with_context(|| format!("there is no watch {stream}"))?;
        let mut events = Vec::new();
        let mut ended = Value::Null;
        while events.len() < step.count {
            match timeout(PATIENCE, receiver.recv()).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) => {
                    ended = "too early".into();
                    break;
                }
                Err(_) => {
                    ended = "no, but nothing came".into();
                    break;
                }
            }
        }
        if step.ends && ended.is_null() {
            ended = match timeout(PATIENCE, receiver.recv()).await {
                Ok(None) => true.into(),
                Ok(Some(event)) => event,
                Err(_) => "no".into(),
            };
        }
        if step.quiet
            && let Ok(Some(event)) = timeout(QUIET, receiver.recv()).await
        {
            events.push(json!({"unexpected": event}));
        }
        for event in &events {
            for (name, pointer) in &step.keep {
                if let Some(found) = event.pointer(pointer).and_then(Value::as_str) {
                    self.values.insert(name.clone(), found.to_owned());
                }
            }
        }
        let events = self.normal.value(events.into());
        Ok(json!({"events": events, "ended": ended}))
    }
}

fn request(step: &Step) -> Result<Request<Full<Bytes>>> {
    let (method, path) = step.call.split_once(' ').with_context(|| format!("no METHOD and path: {}", step.call))?;
    // Scenarios are written for people: what a URL may not hold is escaped here.
    let path: String = path.trim().chars().map(escaped).collect();
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("accept", step.accept.as_deref().unwrap_or("application/json"))
        .header("user-agent", step.user_agent.as_deref().unwrap_or("conformance/1.0"));
    match step.user.as_deref().unwrap_or(ADMIN) {
        "none" => {}
        user => request = request.header("authorization", format!("Bearer {}", identities::token(user))),
    }
    let body = match (&step.raw, &step.body) {
        (Some(raw), _) => raw.clone().into_bytes(),
        (None, Some(body)) => serde_json::to_vec(body)?,
        (None, None) => Vec::new(),
    };
    if !body.is_empty() || step.content_type.is_some() {
        request = request.header("content-type", step.content_type.as_deref().unwrap_or("application/json"));
    }
    for (name, value) in &step.headers {
        request = request.header(name, value);
    }
    Ok(request.body(Full::new(body.into()))?)
}

fn escaped(c: char) -> String {
    match c {
        ' ' | '"' | '<' | '>' | '{' | '}' | '|' | '\\' | '^' | '`' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    }
}

/// Sends the lines of a stream on until it ends.
async fn follow(mut body: Incoming, sender: mpsc::UnboundedSender<Value>) {
    let mut rest = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event =
                serde_json::from_slice(&line).unwrap_or_else(|_| String::from_utf8_lossy(&line).into_owned().into());
            if sender.send(event).is_err() {
                return;
            }
        }
    }
}

/// JSON as it is, YAML and protobuf as the object in them, anything else as text. How YAML is quoted and folded says nothing.
fn read_body(bytes: &[u8], content_type: &str) -> Value {
    let media = content_type.split(';').next().unwrap_or_default();
    let text = || String::from_utf8_lossy(bytes).into_owned();
    match media {
        "application/json" => serde_json::from_slice(bytes).unwrap_or_else(|_| text().into()),
        "application/yaml" => serde_saphyr::from_str(&text()).unwrap_or_else(|_| text().into()),
        "application/vnd.kubernetes.protobuf" => {
            from_protobuf(bytes).unwrap_or_else(|why| format!("not protobuf: {why:#}").into())
        }
        _ => text().into(),
    }
}

fn from_protobuf(bytes: &[u8]) -> Result<Value> {
    let envelope = protobuf::decode(bytes)?;
    let (group, version) = envelope.api_version.split_once('/').unwrap_or(("", &envelope.api_version));
    let table = Table::builtin();
    let id = match envelope.kind.as_str() {
        "Status" => table.named("io.k8s.apimachinery.pkg.apis.meta.v1.Status"),
        kind => table.kind(group, version, kind),
    };
    let mut object = match id {
        Some(id) => protobuf::decode_message(Schema::new(&table, &Type::Struct(id)), envelope.raw)?,
        // Its bytes differ from run to run; that it is this kind is compared.
        None => json!({}),
    };
    object["kind"] = envelope.kind.clone().into();
    object["apiVersion"] = envelope.api_version.clone().into();
    Ok(object)
}
