//! The way of a pod on its node.
//!
//! ```text
//!                    no room, wrong labels …
//!   pod bound here ───────────────────────────► Failed
//!        │ admitted: startTime is written                          all ended, none is started again
//!        ▼                    volumes there, sandbox made                 ▲
//!     Pending ─┬─────────────────────────────────────────► Running ───────┤
//!              │ ▲ not there: told, tried again               │ ▲         ▼
//!              └─┘                                            └─┘     Succeeded, Failed
//!                                                          a restart
//!   from any of them: deletion ──► containers stop ──► Succeeded, Failed ──► deleted for good
//! ```
//! Each look at a pod brings it as far as it can be brought now, writes its status if it is another, and says when to look
//! again. The write is conditional on the version that was looked at; events are told when it is done, so that a node that
//! dies between tells too little rather than twice.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_api::kinds::Pod;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_runtime::write::Part;
use plimsoll_runtime::{Error, Next, Resource, Severity, Whole};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::container::{Container, Moment, State, Told};
use super::fleet::{Site, is_over};
use super::kubelet::{Kubelet, Standing};
use super::rule::{Role, Rule, misnamed};
use super::status::{self, Shape};
use super::time;
use super::volumes::Search;
use crate::laboratory::lock;

/// How long a pod has to end unless it says otherwise.
const GRACE: u64 = 30;
/// How often it is looked whether a container can be made by now.
const AGAIN: Duration = Duration::from_secs(10);
/// How long after its Node was deleted a node's pods are ended. A cluster's pod collector does it within a minute; where
/// there is none, they would be shown as running on a machine that nobody has.
const ORPHANED: Duration = Duration::from_secs(90);

/// What a pod is said to have failed of whose time is up; a kubelet's words.
const DEADLINE: (&str, &str) = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline");

/// A pod that is looked at.
struct Look<'a> {
    kubelet: &'a Kubelet,
    pod: &'a Arc<Whole<Pod>>,
    value: &'a Value,
    moment: Moment<'a>,
}

impl Site {
    /// Brings a pod on.
    pub(super) async fn sync_pod(&self, key: &ObjectKey) -> Result<Next, Error> {
        let Some(pod) = self.pods.get(key) else { return Ok(Next::Done) };
        let Some(kubelet) = self.kubelets.get(&pod.slim.spec.node_name) else { return Ok(Next::Done) };
        let next = self.bring_on(kubelet, &pod).await;
        let uid = &pod.slim.metadata.uid;
        if self.pods.get(key).is_none_or(|now| now.slim.metadata.uid != *uid) {
            // It went meanwhile, and was perhaps forgotten before it was given a seat, which nobody would ever free.
            kubelet.forget(uid);
        }
        next
    }

    async fn bring_on(&self, kubelet: &Kubelet, pod: &Arc<Whole<Pod>>) -> Result<Next, Error> {
        let standing = kubelet.standing();
        if matches!(standing, Standing::Unregistered | Standing::CutOff) {
            // Looked at when that changes.
            return Ok(Next::Done);
        }
        let value = pod.value();
        let meta = &pod.slim.metadata;
        let now = self.context.clock.now();
        let moment = Moment { now, namespace: &meta.namespace, pod: &meta.name, uid: &meta.uid };
        let look = Look { kubelet, pod, value: &value, moment };
        let over = is_over(&pod.slim.status.phase);
        if over {
            kubelet.forget(&meta.uid);
        }
        if meta.deletion_timestamp.0 {
            return if over { self.delete(&look).await } else { self.end(&look).await };
        }
        if let Standing::Deregistered(since) = standing {
            let left = ORPHANED.saturating_sub(Instant::now() - since);
            return if left.is_zero() { self.delete(&look).await } else { Ok(Next::After(left)) };
        }
        if over {
            return Ok(Next::Done);
        }
        if pod.slim.status.start_time.is_empty() { self.admit(&look).await } else { self.live(&look).await }
    }

    /// Takes a pod in, or refuses it.
    async fn admit(&self, look: &Look<'_>) -> Result<Next, Error> {
        let Look { kubelet, pod, value, moment } = *look;
        let node = self.nodes.named(kubelet.name());
        let node = node.map_or_else(|| kubelet.machine.node(), |node| node.slim.clone());
        let admitted = lock(&kubelet.seats).admit(&pod.slim, value, &node);
        if let Err(refusal) = admitted {
            let status = status::refused(value, &refusal.reason, &refusal.message, moment.now);
            self.write(look, status).await?;
            kubelet.say(pod, "", Severity::Warning, &refusal.reason, &refusal.message);
            return Ok(Next::Done);
        }
        let unread = specs(value).flat_map(|(spec, role)| Rule::of(value, spec, role).1);
        for wrong in unread.chain(misnamed(value)) {
            kubelet.say(pod, "", Severity::Warning, "IgnoredAnnotation", &wrong);
        }
        let shape = Shape { host: kubelet.machine.address().to_string(), ..self.shape(look) };
        let status = status::compose(value, &containers(value), &shape, moment.now);
        // What comes next follows at once: the mirror learns of the write, and wants the pod looked at.
        self.write(look, status).await?;
        Ok(Next::Done)
    }

    /// Brings an admitted pod on: its volumes, its sandbox, its containers.
    async fn live(&self, look: &Look<'_>) -> Result<Next, Error> {
        let Look { kubelet, pod, value, moment } = *look;
        if let Some(deadline) = deadline(value)
            && deadline <= moment.now
        {
            return self.exceed(look).await;
        }
        let node = self.nodes.named(kubelet.name());
        let node = node.map_or_else(|| kubelet.machine.node(), |node| node.slim.clone());
        let search = Search { objects: &self.objects, node: &node, pod: &pod.slim, value };
        let mut shape = self.shape(look);
        if !shape.sandbox {
            let troubles = search.volumes().await?;
            if !troubles.is_empty() {
                return Ok(Next::After(kubelet.complain(pod, &troubles)));
            }
            kubelet.is_content(moment.uid);
            match self.address(look) {
                Some(address) => shape.address = Some(address),
                None => {
                    let message = "Failed to create pod sandbox: no address is left in the node's network of pods";
                    kubelet.say(pod, "", Severity::Warning, "FailedCreatePodSandBox", message);
                    return Ok(Next::After(AGAIN));
                }
            }
            shape.sandbox = true;
        }
        let mut all = containers(value);
        let new: Vec<&Value> = all.iter().filter(|c| c.is_new()).map(|c| c.spec).collect();
        let unable = search.environment(&new).await?;
        let mut told = Vec::new();
        let due = kubelet.with_memory(moment.uid, |memory| {
            let mut due = None;
            let free = time::read(&value["status"]["startTime"]).unwrap_or(moment.now);
            let mut free = Some(free);
            for container in &mut all {
                let Some(from) = free else { break };
                let unable = unable.get(container.name).map(String::as_str);
                let next = container.live(moment, from, unable, memory, &mut told);
                due = due.into_iter().chain(next).min();
                free = match (&container.state, container.role) {
                    (State::Ended(ended), Role::Init) if ended.code == 0 => Some(ended.to.unwrap_or(from).max(from)),
                    (_, Role::Init) => None,
                    (State::Running { .. }, Role::Sidecar) => Some(from),
                    (_, Role::Sidecar) => None,
                    (_, Role::Main) => Some(from),
                };
            }
            due
        });
        if is_done(&all) {
            // Sidecars stay only for the others.
            for sidecar in all.iter_mut().filter(|c| c.role == Role::Sidecar && c.is_running()) {
                sidecar.stop(moment, grace_of(value));
                told.push((sidecar.name.to_owned(), Told::Killing));
            }
        }
        let again = (!unable.is_empty()).then(|| time::after(moment.now, AGAIN));
        let due = due.into_iter().chain(deadline(value)).chain(again).min();
        self.finish(look, &all, shape, &told, due).await
    }

    /// Writes what became of the containers, tells it, and says when to look again.
    async fn finish(
        &self,
        look: &Look<'_>,
        all: &[Container<'_>],
        mut shape: Shape,
        told: &[(String, Told)],
        due: Option<jiff::Timestamp>,
    ) -> Result<Next, Error> {
        let now = look.moment.now;
        let mut status = status::compose(look.value, all, &shape, now);
        if is_over(status["phase"].as_str().unwrap_or_default()) {
            // With its last container the sandbox goes.
            (shape.sandbox, shape.had_sandbox) = (false, true);
            status = status::compose(look.value, all, &shape, now);
        }
        self.write(look, status).await?;
        self.tell(look, told);
        Ok(due.map_or(Next::Done, |due| Next::After(time::until(due, now))))
    }

    /// Ends a pod whose time is up.
    async fn exceed(&self, look: &Look<'_>) -> Result<Next, Error> {
        let mut all = containers(look.value);
        let mut told = Vec::new();
        for container in &mut all {
            if container.is_running() {
                told.push((container.name.to_owned(), Told::Killing));
            }
            container.stop(look.moment, grace_of(look.value));
        }
        let shape = Shape { failed: Some(DEADLINE), over: true, ..self.shape(look) };
        self.finish(look, &all, shape, &told, None).await?;
        look.kubelet.say(look.pod, "", Severity::Normal, DEADLINE.0, DEADLINE.1);
        Ok(Next::Done)
    }

    /// Stops the containers of a pod that is being deleted: each takes the time it says, and the grace at most.
    async fn end(&self, look: &Look<'_>) -> Result<Next, Error> {
        let Look { kubelet, value, moment, .. } = *look;
        let meta = &value["metadata"];
        let grace = Duration::from_secs(meta["deletionGracePeriodSeconds"].as_u64().unwrap_or(GRACE));
        // The server says when the grace is over: it began that much earlier.
        let over = time::read(&meta["deletionTimestamp"]).unwrap_or(moment.now);
        let asked = over.checked_sub(jiff::SignedDuration::try_from(grace).unwrap_or_default()).unwrap_or(moment.now);
        let mut all = containers(value);
        let running: Vec<&Container<'_>> = all.iter().filter(|c| c.is_running()).collect();
        if !running.is_empty() && kubelet.begins_to_kill(moment.uid) {
            let told: Vec<_> = running.iter().map(|c| (c.name.to_owned(), Told::Killing)).collect();
            self.tell(look, &told);
        }
        let stopped = running.iter().map(|c| c.stops_at(asked, grace)).max();
        if let Some(stopped) = stopped.filter(|stopped| *stopped > moment.now) {
            return Ok(Next::After(time::until(stopped, moment.now)));
        }
        let initialized = is_initialized(&all);
        for container in &mut all {
            container.stop(moment, grace);
            if container.role == Role::Main && initialized {
                container.lose();
            }
        }
        let shape = self.shape(look);
        let had_sandbox = shape.sandbox || shape.had_sandbox;
        let shape = Shape { over: true, sandbox: false, had_sandbox, ..shape };
        let status = status::compose(value, &all, &shape, moment.now);
        // The mirror learns of it, and the pod comes back here to be deleted.
        self.write(look, status).await?;
        Ok(Next::Done)
    }

    /// Deletes a pod for good, that one and no other of its name.
    async fn delete(&self, look: &Look<'_>) -> Result<Next, Error> {
        let meta = &look.pod.slim.metadata;
        if meta.deletion_timestamp.0 && meta.deletion_grace_period_seconds == Some(0) {
            // Said already: what still keeps it is somebody's finalizer.
            return Ok(Next::Done);
        }
        let path = Resource::PODS.path(&meta.namespace, &meta.name);
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
            "preconditions": {"uid": meta.uid}});
        match self.objects.send::<Value>(http::Method::DELETE, &path, Some(&options)).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(Next::Done),
            Err(error) => Err(error),
        }
    }

    /// What there is of a pod beside its containers.
    fn shape(&self, look: &Look<'_>) -> Shape {
        let status = &look.value["status"];
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let sandbox = conditions.into_iter().find(|c| c["type"] == "PodReadyToStartContainers");
        let host = look.kubelet.machine.address().to_string();
        // A pod on its node's network has its node's address from the first.
        let own = (look.value["spec"]["hostNetwork"] == true).then(|| host.clone());
        Shape {
            sandbox: sandbox.is_some_and(|c| c["status"] == "True"),
            had_sandbox: sandbox.is_some_and(|c| c["message"] == "pod sandbox is not ready"),
            host,
            address: status["podIP"].as_str().map(str::to_owned).or(own),
            ..Shape::default()
        }
    }

    /// The address that a pod has, or is given.
    fn address(&self, look: &Look<'_>) -> Option<String> {
        let machine = &look.kubelet.machine;
        if let Some(known) = self.shape(look).address {
            return Some(known);
        }
        let given = lock(&look.kubelet.seats).address(look.moment.uid)?;
        Some(machine.pod_address(given).to_string())
    }

    /// Writes a status if it says something else, to the version that was looked at and to no other.
    async fn write(&self, look: &Look<'_>, status: Value) -> Result<(), Error> {
        if status::same(&look.value["status"], &status) {
            return Ok(());
        }
        let mut after = look.value.clone();
        after["status"] = status;
        match self.pod_writer.replace(look.pod, Part::Status, &after).await {
            Ok(_) => Ok(()),
            // It went meanwhile; the mirror knows.
            Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn tell(&self, look: &Look<'_>, told: &[(String, Told)]) {
        let Look { kubelet, pod, value, moment } = *look;
        for (name, what) in told {
            let Some((spec, role)) = specs(value).find(|(spec, _)| spec["name"] == name.as_str()) else { continue };
            let list = if role == Role::Main { "containers" } else { "initContainers" };
            let field = format!("spec.{list}{{{name}}}");
            let say = |severity, reason: &str, message: &str| kubelet.say(pod, &field, severity, reason, message);
            match what {
                Told::Started => {
                    let image = spec["image"].as_str().unwrap_or_default();
                    let pulled = format!(
                        "Container image \"{image}\" already present on machine and can be accessed by the pod"
                    );
                    say(Severity::Normal, "Pulled", &pulled);
                    say(Severity::Normal, "Created", "Container created");
                    say(Severity::Normal, "Started", "Container started");
                }
                Told::BackOff => {
                    let pod = moment.described();
                    let message = format!("Back-off restarting failed container {name} in pod {pod}");
                    say(Severity::Warning, "BackOff", &message);
                }
                Told::Killing => say(Severity::Normal, "Killing", &format!("Stopping container {name}")),
                Told::CannotBeMade(why) => say(Severity::Warning, "Failed", &format!("Error: {why}")),
            }
        }
    }
}

/// The containers of a pod in the order in which they start, with their roles.
fn specs(pod: &Value) -> impl Iterator<Item = (&Value, Role)> {
    let of = |list: &str| pod["spec"][list].as_array().into_iter().flatten();
    let init = of("initContainers").map(|spec| {
        let role = if spec["restartPolicy"] == "Always" { Role::Sidecar } else { Role::Init };
        (spec, role)
    });
    init.chain(of("containers").map(|spec| (spec, Role::Main)))
}

fn containers(pod: &Value) -> Vec<Container<'_>> {
    specs(pod).map(|(spec, role)| Container::of(pod, spec, role)).collect()
}

/// Whether all containers but sidecars have ended, for good.
fn is_done(all: &[Container<'_>]) -> bool {
    let mut main = all.iter().filter(|c| c.role == Role::Main);
    main.all(|c| c.ended_with().is_some_and(|code| !c.rule.restarts(code)))
}

/// Whether a pod came so far that its containers might have run.
fn is_initialized(all: &[Container<'_>]) -> bool {
    let last = all.iter().rfind(|c| c.role != Role::Main);
    all.iter().any(|c| c.role == Role::Main && !c.is_new())
        || last.is_none_or(|last| match last.role {
            Role::Sidecar => last.is_running(),
            _ => last.ended_with() == Some(0),
        })
}

fn grace_of(pod: &Value) -> Duration {
    Duration::from_secs(pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap_or(GRACE))
}

/// When a pod's time is up, if it has one.
fn deadline(pod: &Value) -> Option<jiff::Timestamp> {
    let seconds = pod["spec"]["activeDeadlineSeconds"].as_u64()?;
    Some(time::after(time::read(&pod["status"]["startTime"])?, Duration::from_secs(seconds)))
}
