//! One container, as its status tells of it: read, lived on, and written again.
//!
//! ```text
//!                     start-after is over             run-for is over, or it is stopped
//!   waiting (Creating) ─────────────────► running ─────────────────────────────────────► ended
//!                                            ▲                                             │ its policy says again
//!                                            │ back-off is over                            ▼
//!                                            └─────────────────── waiting (CrashLoopBackOff)
//! ```
//! All that is known of a container is in the pod's status, so that a node that was killed goes on where it was. What is
//! remembered beside it ([`Memory`]) only makes times exact: statuses have whole seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use plimsoll_clock::duration;
use serde_json::{Value, json};

use super::machine::hash;
use super::rule::{Restart, Role, Rule};
use super::time;

/// The wait before a container is restarted the second time; doubled by each further one. A kubelet's.
const FIRST_BACKOFF: Duration = Duration::from_secs(10);
/// The longest.
const LONGEST_BACKOFF: Duration = Duration::from_secs(300);
/// A container that ran for this long begins anew with its waits.
const FORGIVEN: Duration = Duration::from_secs(600);

/// What a process that was stopped before its end ends with: 128 and the signal.
const TERMINATED: i64 = 143;
const KILLED: i64 = 137;

/// What is remembered of a pod's containers in this life.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// When containers were started, with the fraction of the second that the status leaves out.
    started: BTreeMap<String, Timestamp>,
    /// How often containers had been restarted when they last ran for long: those restarts are forgiven.
    forgiven: BTreeMap<String, u64>,
}

/// How a container is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    Waiting { reason: String, message: String },
    Running { since: Timestamp },
    Ended(Ended),
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) code: i64,
    reason: String,
    message: String,
    from: Option<Timestamp>,
    pub(super) to: Option<Timestamp>,
    id: String,
}

/// What is to be told of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Started,
    BackOff,
    Killing,
    CannotBeMade(String),
}

/// A container of a pod.
#[derive(Clone, Debug)]
pub(super) struct Container<'p> {
    pub(super) spec: &'p Value,
    pub(super) name: &'p str,
    pub(super) role: Role,
    pub(super) rule: Rule,
    pub(super) state: State,
    pub(super) last: Option<Ended>,
    pub(super) restarts: u64,
    pub(super) ready: bool,
}

impl<'p> Container<'p> {
    /// The container as the pod's status tells of it.
    pub(super) fn of(pod: &'p Value, spec: &'p Value, role: Role) -> Self {
        let name = spec["name"].as_str().unwrap_or_default();
        let list = if role == Role::Main { "containerStatuses" } else { "initContainerStatuses" };
        let known = pod["status"][list].as_array().into_iter().flatten().find(|status| status["name"] == name);
        let known = known.unwrap_or(&Value::Null);
        let has_init = pod["spec"]["initContainers"].as_array().is_some_and(|list| !list.is_empty());
        let state = &known["state"];
        let state = if let Some(since) = time::read(&state["running"]["startedAt"]) {
            State::Running { since }
        } else if state["terminated"].is_object() {
            State::Ended(Ended::read(&state["terminated"]))
        } else if let Some(reason) = state["waiting"]["reason"].as_str() {
            let message = state["waiting"]["message"].as_str().unwrap_or_default();
            State::Waiting { reason: reason.to_owned(), message: message.to_owned() }
        } else {
            let reason = if has_init { "PodInitializing" } else { "ContainerCreating" };
            State::Waiting { reason: reason.to_owned(), message: String::new() }
        };
        let last = &known["lastState"]["terminated"];
        Self {
            spec,
            name,
            role,
            rule: Rule::of(pod, spec, role).0,
            state,
            last: last.is_object().then(|| Ended::read(last)),
            restarts: known["restartCount"].as_u64().unwrap_or(0),
            ready: known["ready"] == true,
        }
    }

    /// Whether it was never started.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.state, State::Waiting { .. }) && self.last.is_none()
    }

    /// Whether it runs.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }

    /// What it ended with, if it has and stays so.
    pub(super) fn ended_with(&self) -> Option<i64> {
        match &self.state {
            State::Ended(ended) => Some(ended.code),
            _ => None,
        }
    }

    /// Lives up to now, having been free to start at `free`. `unable` says why it cannot be made, if it cannot. Returns when
    /// something is due next.
    pub(super) fn live(
        &mut self,
        moment: Moment<'_>,
        free: Timestamp,
        unable: Option<&str>,
        memory: &mut Memory,
        tell: &mut Vec<(String, Told)>,
    ) -> Option<Timestamp> {
        let now = moment.now;
        loop {
            match self.state.clone() {
                State::Waiting { .. } if self.last.is_none() => {
                    let start = time::after(free, self.rule.start_after);
                    if now < start {
                        return Some(start);
                    }
                    if let Some(why) = unable {
                        let reason = "CreateContainerConfigError".to_owned();
                        let state = State::Waiting { reason, message: why.to_owned() };
                        if state != self.state {
                            self.state = state;
                            tell.push((self.name.to_owned(), Told::CannotBeMade(why.to_owned())));
                        }
                        return None;
                    }
                    self.start(now, memory, tell);
                }
                State::Waiting { .. } => {
                    let resume = time::after(self.last_end().unwrap_or(now), self.backoff(memory));
                    if now < resume {
                        return Some(resume);
                    }
                    self.start_again(now, memory, tell);
                }
                State::Running { since } => {
                    let since = memory.exactly(self.name, since);
                    let end = self.rule.run_for.map(|time| time::after(since, time));
                    if let Some(end) = end.filter(|end| *end <= now) {
                        self.end(moment, self.rule.code, end);
                        if end.duration_since(since).unsigned_abs() >= FORGIVEN {
                            memory.forgiven.insert(self.name.to_owned(), self.restarts);
                        }
                        continue;
                    }
                    let ready = time::after(since, self.rule.ready_after);
                    self.ready = ready <= now;
                    return end.into_iter().chain((!self.ready).then_some(ready)).min();
                }
                State::Ended(ended) => {
                    if !self.rule.restarts(ended.code) {
                        return None;
                    }
                    let backoff = self.backoff(memory);
                    let resume = time::after(ended.to.unwrap_or(now), backoff);
                    if resume <= now {
                        self.last = Some(ended);
                        self.start_again(now, memory, tell);
                        continue;
                    }
                    let pod = moment.described();
                    let message = format!(
                        "back-off {} restarting failed container={} pod={pod}",
                        duration::format(backoff),
                        self.name
                    );
                    self.last = Some(ended);
                    self.state = State::Waiting { reason: "CrashLoopBackOff".to_owned(), message };
                    tell.push((self.name.to_owned(), Told::BackOff));
                }
            }
        }
    }

    fn start(&mut self, now: Timestamp, memory: &mut Memory, tell: &mut Vec<(String, Told)>) {
        self.state = State::Running { since: now };
        self.ready = false;
        memory.started.insert(self.name.to_owned(), now);
        tell.push((self.name.to_owned(), Told::Started));
    }

    fn start_again(&mut self, now: Timestamp, memory: &mut Memory, tell: &mut Vec<(String, Told)>) {
        self.restarts += 1;
        self.start(now, memory, tell);
    }

    fn last_end(&self) -> Option<Timestamp> {
        self.last.as_ref().and_then(|last| last.to)
    }

    /// The first restart is at once; those after it wait longer and longer.
    fn backoff(&self, memory: &Memory) -> Duration {
        match memory.streak(self.name, self.restarts) {
            0 => Duration::ZERO,
            n => FIRST_BACKOFF.saturating_mul(1 << (n - 1).min(16)).min(LONGEST_BACKOFF),
        }
    }

    fn end(&mut self, moment: Moment<'_>, code: i64, to: Timestamp) {
        let from = match self.state {
            State::Running { since } => Some(since),
            _ => None,
        };
        let reason = if code == 0 { "Completed" } else { "Error" };
        self.state = State::Ended(Ended {
            code,
            reason: reason.to_owned(),
            message: String::new(),
            from,
            to: Some(to),
            id: self.id(moment.uid),
        });
        self.ready = false;
    }

    /// When it ends if it is asked to at `asked`.
    pub(super) fn stops_at(&self, asked: Timestamp, grace: Duration) -> Timestamp {
        time::after(asked, self.rule.stop_after.min(grace))
    }

    /// Ends it, by the signal that asks for it or the one that does not ask. A server ends well; work that is cut off does not.
    pub(super) fn stop(&mut self, moment: Moment<'_>, grace: Duration) {
        match &self.state {
            State::Running { .. } => {
                let code = match self.rule.restart {
                    _ if self.rule.stop_after > grace => KILLED,
                    Restart::Always => 0,
                    Restart::OnFailure | Restart::Never => TERMINATED,
                };
                self.end(moment, code, moment.now);
            }
            // It is not started again: its last end is its end.
            State::Waiting { .. } => {
                if let Some(last) = self.last.take() {
                    self.state = State::Ended(last);
                }
            }
            State::Ended(_) => {}
        }
        self.ready = self.role == Role::Init && self.ended_with() == Some(0);
    }

    /// Gives up on it: nobody knows how it ended, as it is said of a container that the node never had.
    pub(super) fn lose(&mut self) {
        if !matches!(self.state, State::Ended(_)) {
            self.state = State::Ended(Ended {
                code: KILLED,
                reason: "ContainerStatusUnknown".to_owned(),
                message: "The container could not be located when the pod was terminated".to_owned(),
                from: None,
                to: None,
                id: String::new(),
            });
            self.ready = false;
        }
    }

    /// An id that follows from the pod, the name and the count of restarts.
    fn id(&self, uid: &str) -> String {
        let count = self.restarts.to_string();
        let part = |seed| format!("{:016x}", hash(&[uid, self.name, &count], seed));
        format!("simulated://{}", (0..4).map(part).collect::<String>())
    }

    /// Its status, as a kubelet writes it.
    pub(super) fn status(&self, uid: &str) -> Value {
        let done = self.role == Role::Init && self.ended_with() == Some(0);
        let mut status = json!({
            "name": self.name, "image": self.spec["image"], "imageID": "", "ready": self.ready || done,
            "started": self.is_running(), "restartCount": self.restarts, "lastState": {},
            "state": match &self.state {
                State::Waiting { reason, message } if message.is_empty() => json!({"waiting": {"reason": reason}}),
                State::Waiting { reason, message } => json!({"waiting": {"reason": reason, "message": message}}),
                State::Running { since } => json!({"running": {"startedAt": time::text(*since)}}),
                State::Ended(ended) => json!({"terminated": ended.write()}),
            },
        });
        if let Some(last) = &self.last {
            status["lastState"] = json!({"terminated": last.write()});
        }
        let was_made = match &self.state {
            State::Running { .. } => true,
            State::Ended(ended) => !ended.id.is_empty(),
            State::Waiting { .. } => self.last.is_some(),
        };
        if was_made {
            status["imageID"] = json!(format!("simulated://{}", self.spec["image"].as_str().unwrap_or_default()));
            status["containerID"] = match &self.state {
                State::Ended(ended) => json!(ended.id),
                _ => json!(self.id(uid)),
            };
            let resources = &self.spec["resources"];
            status["resources"] = if resources.is_object() { resources.clone() } else { json!({}) };
            if resources["requests"].as_object().is_some_and(|requests| !requests.is_empty()) {
                status["allocatedResources"] = resources["requests"].clone();
            }
        }
        let mounts: Vec<Value> = self.spec["volumeMounts"].as_array().into_iter().flatten().map(mount).collect();
        if !mounts.is_empty() {
            status["volumeMounts"] = json!(mounts);
        }
        status
    }
}

fn mount(mount: &Value) -> Value {
    let mut status = json!({"name": mount["name"], "mountPath": mount["mountPath"]});
    if mount["readOnly"] == true {
        status["readOnly"] = json!(true);
        status["recursiveReadOnly"] = json!("Disabled");
    }
    status
}

impl Ended {
    fn read(value: &Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        Self {
            code: value["exitCode"].as_i64().unwrap_or(KILLED),
            reason: text("reason"),
            message: text("message"),
            from: time::read(&value["startedAt"]),
            to: time::read(&value["finishedAt"]),
            id: text("containerID"),
        }
    }

    fn write(&self) -> Value {
        let mut value = json!({
            "exitCode": self.code, "reason": self.reason,
            "startedAt": self.from.map(time::text), "finishedAt": self.to.map(time::text),
        });
        for (field, text) in [("message", &self.message), ("containerID", &self.id)] {
            if !text.is_empty() {
                value[field] = json!(text);
            }
        }
        value
    }
}

/// When a pod is looked at, and whose containers these are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment<'p> {
    pub(super) now: Timestamp,
    pub(super) namespace: &'p str,
    pub(super) pod: &'p str,
    pub(super) uid: &'p str,
}

impl Moment<'_> {
    /// The pod as a kubelet names it in messages.
    pub(super) fn described(&self) -> String {
        format!("{}_{}({})", self.pod, self.namespace, self.uid)
    }
}

impl Memory {
    /// The moment that the status tells in whole seconds.
    fn exactly(&self, container: &str, told: Timestamp) -> Timestamp {
        let known = self.started.get(container).filter(|known| known.as_second() == told.as_second());
        known.copied().unwrap_or(told)
    }

    /// How often the container was restarted without a long run between.
    fn streak(&self, container: &str, restarts: u64) -> u32 {
        let forgiven = self.forgiven.get(container).copied().unwrap_or(0);
        u32::try_from(restarts.saturating_sub(forgiven)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
