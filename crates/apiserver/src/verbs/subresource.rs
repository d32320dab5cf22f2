//! Parts of objects: status, scale, binding, eviction, tokens.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::admission::{self, Cluster, binding, eviction};
use crate::codec::{self, Expected};
use crate::kind::Kind;
use crate::reply::Reply;
use crate::request::WriteOptions;
use crate::status::{GroupResource, Status};
use crate::store::Expect;
use crate::value::name;
use crate::verbs::delete::{DeleteOptions, preconditions};
use crate::verbs::{Call, Verb};

impl Call {
    pub(super) async fn part(&mut self, verb: Verb, body: Bytes) -> Result<Reply, Status> {
        let served = self.served.clone();
        let sub = self.path.subresource.clone();
        let Some(part) = served.subresource(&sub) else {
            let custom = served.custom.is_some();
            return Err(if custom {
                Status::not_found(served.name(), &self.path.name)
            } else {
                Status::no_such_path()
            });
        };
        if matches!(sub.as_str(), "log" | "exec" | "attach" | "portforward" | "proxy") {
            return self.needs_a_node(&sub);
        }
        if !part.verbs.iter().any(|v| v == verb.word()) {
            return Err(Status::method_not_allowed());
        }
        match (sub.as_str(), verb) {
            ("scale", Verb::Get) => self.get_scale(),
            ("scale", Verb::Update | Verb::Patch) => self.set_scale(verb, body).await,
            ("binding", Verb::Create) => self.bind_from_body(body).await,
            ("eviction", Verb::Create) => self.evict(body).await,
            ("token", Verb::Create) => self.issue_token(body).await,
            (_, Verb::Get) => self.get(),
            (_, Verb::Update) => self.update(body).await,
            (_, Verb::Patch) => self.patch(body).await,
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// A body of a part's own kind.
    pub(super) fn part_body(&mut self, body: &Bytes, options: &WriteOptions) -> Result<Value, Status> {
        let part = self.served.subresource(&self.path.subresource).ok_or_else(Status::no_such_path)?;
        let kind = &part.response_kind;
        let group = if kind.version.is_empty() { self.served.group.clone() } else { kind.group.clone() };
        let version = if kind.version.is_empty() { self.served.version.clone() } else { kind.version.clone() };
        let kind = kind.kind.clone();
        let ty =
            codec::builtin_type(&group, &version, &kind).ok_or_else(|| Status::internal(format!("no type {kind}")))?;
        let table = plimsoll_schema::Table::builtin();
        let expected = Expected {
            group: &group,
            version: &version,
            kind: &kind,
            schema: plimsoll_schema::Schema::new(&table, &ty),
            custom: None,
        };
        let decoded = codec::body(body, self.body_format()?, expected, options.field_validation)?;
        self.warnings.extend(decoded.warnings);
        Ok(decoded.object)
    }

    async fn bind_from_body(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = WriteOptions::parse(&self.query, "CreateOptions")?;
        let binding = self.part_body(&body, &options)?;
        let name = self.path.name.clone();
        self.bind(&name, &binding, "binding", &options).await
    }

    /// Gives a pod its node. Admission knows bindings as a part of pods; by the older path it lets them pass as they are.
    async fn bind(&mut self, pod: &str, binding: &Value, part: &str, options: &WriteOptions) -> Result<Reply, Status> {
        let core = self.core.clone();
        let registry = core.registry();
        let pods = registry.of_group("", "pods").ok_or_else(Status::no_such_path)?;
        let namespace = self.path.namespace.clone();
        binding::check(binding, pod)?;
        let mut wanted = binding.clone();
        let request = admission::Request {
            kind: Kind::new("", "v1", "Binding"),
            resource: GroupResource { group: "", resource: if part.is_empty() { "bindings" } else { "pods" } },
            subresource: part,
            ..self.admission(admission::Operation::Create, None, pod, options.dry_run)
        };
        admission::mutate(&request, &mut wanted, &*core)?;
        for _ in 0..32 {
            let object =
                core.store.get(&pods.key, &namespace, pod).ok_or_else(|| Status::not_found(pods.name(), pod))?;
            let mut value = core.value(pods, &object)?;
            binding::assign(&mut value, &wanted, &core.now_text())?;
            if options.dry_run || core.put(pods, value, Expect::Revision(object.revision)).await?.is_ok() {
                return Ok(Reply::Other(
                    201,
                    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
                ));
            }
        }
        // Others were always first: nothing is bound, and the scheduler must know.
        Err(self.changed())
    }

    /// Creates that store nothing under their own name: a binding by the older path.
    pub(super) async fn created_otherwise(
        &mut self,
        object: &Value,
        options: &WriteOptions,
    ) -> Result<Option<Reply>, Status> {
        if (self.served.group.as_str(), self.served.resource.resource.as_str()) != ("", "bindings") {
            return Ok(None);
        }
        let pod = name(object).to_owned();
        self.bind(&pod, object, "", options).await.map(Some)
    }

    /// Deletes a pod if the disruption budgets allow it.
    async fn evict(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = WriteOptions::parse(&self.query, "CreateOptions")?;
        let body = as_newer_eviction(&body).unwrap_or(body);
        let wanted = self.part_body(&body, &options)?;
        let home = crate::value::namespace(&wanted);
        if !home.is_empty() && home != self.path.namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let named = name(&wanted);
        if !named.is_empty() && named != self.path.name {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        let delete = delete_options(&wanted["deleteOptions"], options.dry_run);
        let core = self.core.clone();
        let namespace = self.path.namespace.clone();
        let name = self.path.name.clone();
        for _ in 0..32 {
            let object = core
                .store
                .get(&self.served.key, &namespace, &name)
                .ok_or_else(|| Status::not_found(self.served.name(), &name))?;
            let pod = core.value(&self.served, &object)?;
            let budgets = core.list("policy", "poddisruptionbudgets", Some(&namespace));
            let verdict = eviction::decide(&pod, &budgets, &core.now_text())?;
            if let Some(mut budget) = verdict.budget
                && !delete.dry_run
            {
                let registry = core.registry();
                let served = registry.of_group("policy", "poddisruptionbudgets").ok_or_else(Status::no_such_path)?;
                let revision = budget["metadata"]["resourceVersion"].as_str().and_then(|v| v.parse().ok()).unwrap_or(0);
                let called = crate::value::name(&budget).to_owned();
                let old = budgets.iter().find(|old| crate::value::name(old) == called);
                let call = Call::internal(core.clone(), served.clone(), &namespace, &called);
                call.own(old.map(|old| &**old), &mut budget, "kube-apiserver", "status");
                if core.put(served, budget, Expect::Revision(revision)).await?.is_err() {
                    continue;
                }
            }
            delete.check()?;
            // An eviction that is meant for another pod leaves no mark on this one.
            preconditions(&self.served, &name, &pod, &delete)?;
            let mut delete = delete.clone();
            let mut revision = object.revision;
            if !delete.dry_run {
                let mut marked = pod.clone();
                eviction::mark(&mut marked, &core.now_text());
                if marked != pod {
                    match core.put(&self.served, marked, Expect::Revision(object.revision)).await? {
                        Ok(object) => revision = object.revision,
                        Err(_) => continue,
                    }
                }
            }
            if verdict.this_version && delete.version.is_none() {
                delete.version = Some(revision.to_string());
            }
            match self.delete_one(&namespace, &name, &delete).await {
                Ok(_) => {}
                Err(status) if status.code == 409 && verdict.this_version => match &verdict.unhealthy {
                    Some(budget) => return Err(eviction::too_busy(budget)),
                    None => continue,
                },
                Err(status) => return Err(status),
            }
            return Ok(Reply::Other(
                201,
                json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}),
            ));
        }
        Err(self.changed())
    }

    /// A token for a service account.
    async fn issue_token(&mut self, body: Bytes) -> Result<Reply, Status> {
        let options = WriteOptions::parse(&self.query, "CreateOptions")?;
        let request = self.part_body(&body, &options)?;
        crate::reviews::token(&self.core, self.scope(), &self.path.name, &request)
            .map(|answer| Reply::Other(201, answer))
    }
}

fn delete_options(value: &Value, dry_run: bool) -> DeleteOptions {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    DeleteOptions {
        grace: value["gracePeriodSeconds"].as_i64(),
        uid: text(&value["preconditions"]["uid"]),
        version: text(&value["preconditions"]["resourceVersion"]),
        propagation: text(&value["propagationPolicy"]),
        orphan: value["orphanDependents"].as_bool(),
        dry_run: dry_run || value["dryRun"].as_array().is_some_and(|words| !words.is_empty()),
    }
}

/// An eviction of the version before, which has the same fields and is still taken.
fn as_newer_eviction(body: &Bytes) -> Option<Bytes> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    if value["apiVersion"] != "policy/v1beta1" || value["kind"] != "Eviction" {
        return None;
    }
    value["apiVersion"] = "policy/v1".into();
    serde_json::to_vec(&value).ok().map(Bytes::from)
}
