//! Reviews: questions about who may do what, answered instead of stored.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::auth::attributes::Attributes;
use crate::auth::identity::{Authenticator, User};
use crate::auth::rbac::Rbac;
use crate::auth::selectors;
use crate::auth::service_account::Lookup;
use crate::field::{FieldError, Wrong};
use crate::status::Status;
use crate::validation::path::Path;

const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const ONE_OF: &str = "exactly one of nonResourceAttributes or resourceAttributes must be specified";

/// What a review is answered from.
pub struct Reviewer<'a> {
    /// Who asks.
    pub user: &'a User,
    /// The namespace of the request's path; empty for none.
    pub namespace: &'a str,
    /// The roles and bindings.
    pub rbac: &'a Rbac,
    /// The credentials.
    pub authenticator: &'a Authenticator,
    /// The time.
    pub now: Timestamp,
    /// The objects that tokens are bound to.
    pub lookup: &'a Lookup<'a>,
}

/// Whether a kind of one of the two review groups is answered by [`Reviewer::answer`].
pub fn is_review(group: &str, kind: &str) -> bool {
    match group {
        AUTHORIZATION => matches!(
            kind,
            "SubjectAccessReview" | "SelfSubjectAccessReview" | "LocalSubjectAccessReview" | "SelfSubjectRulesReview"
        ),
        AUTHENTICATION => matches!(kind, "TokenReview" | "SelfSubjectReview"),
        _ => false,
    }
}

impl Reviewer<'_> {
    /// The answer (201) to a review. `body` is the request's object with what the server adds to every created object.
    pub fn answer(&self, kind: &str, body: &Value) -> Result<Value, Status> {
        match kind {
            "SubjectAccessReview" | "SelfSubjectAccessReview" | "LocalSubjectAccessReview" => self.access(kind, body),
            "SelfSubjectRulesReview" => self.rules(body),
            "TokenReview" => self.token(body),
            "SelfSubjectReview" => Ok(self.whoami()),
            other => Err(Status::bad_request(format!("not a review: {other}"))),
        }
    }

    fn access(&self, kind: &str, body: &Value) -> Result<Value, Status> {
        let mut body = body.clone();
        let local = kind == "LocalSubjectAccessReview";
        if local && body.pointer("/metadata/namespace").is_none() && body.get("metadata").is_some_and(Value::is_object)
        {
            body["metadata"]["namespace"] = json!(self.namespace);
        }
        let errors = access_errors(kind, &body);
        if !errors.is_empty() {
            return Err(Status::invalid(AUTHORIZATION, "", "", &errors));
        }
        if local {
            let named = text(body.get("metadata"), "namespace");
            if self.namespace.is_empty() {
                return Err(Status::bad_request(format!("namespace is required on this type: {}", self.namespace)));
            }
            if named != self.namespace {
                let why = format!("spec.resourceAttributes.namespace must match namespace: {}", self.namespace);
                return Err(Status::bad_request(why));
            }
        }
        let spec = body.get("spec").cloned().unwrap_or_default();
        let subject = subject_of(&spec);
        let user = if kind == "SelfSubjectAccessReview" { self.user } else { &subject };
        let resource = spec.get("resourceAttributes").filter(|v| v.is_object());
        let of = resource.or(spec.get("nonResourceAttributes"));
        let request = match resource {
            Some(_) => Attributes {
                subresource: text(of, "subresource"),
                namespace: text(of, "namespace"),
                name: text(of, "name"),
                ..Attributes::resource(
                    user,
                    text(of, "verb"),
                    text(of, "group"),
                    text(of, "version"),
                    text(of, "resource"),
                )
            },
            None => Attributes::path(user, text(of, "verb"), text(of, "path")),
        };
        let decision = self.rbac.authorize(&request);
        let mut status = json!({ "allowed": decision.allowed });
        if !decision.reason.is_empty() {
            status["reason"] = json!(decision.reason);
        }
        let ignored = resource.map(selectors::unread).unwrap_or_default();
        if !ignored.is_empty() {
            status["evaluationError"] = json!(ignored.join("; "));
        }
        Ok(named(AUTHORIZATION, kind, body, status))
    }

    fn rules(&self, body: &Value) -> Result<Value, Status> {
        let namespace = text(body.get("spec"), "namespace");
        if namespace.is_empty() {
            return Err(Status::bad_request("no namespace on request"));
        }
        let (rules, lost) = self.rbac.rules_for(self.user, namespace);
        let (mut resources, mut paths) = (Vec::new(), Vec::new());
        for rule in rules {
            let mut resource = rule.to_value();
            let path = resource.as_object_mut().and_then(|rule| rule.remove("nonResourceURLs"));
            if !rule.resources.is_empty() {
                resources.push(resource);
            }
            if let Some(urls) = path {
                paths.push(json!({ "verbs": rule.verbs, "nonResourceURLs": urls }));
            }
        }
        let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
        if let Some(lost) = lost {
            status["evaluationError"] = json!(lost);
        }
        let fresh = json!({ "metadata": {}, "spec": {} });
        Ok(named(AUTHORIZATION, "SelfSubjectRulesReview", fresh, status))
    }

    fn token(&self, body: &Value) -> Result<Value, Status> {
        let spec = body.get("spec");
        let token = text(spec, "token");
        if token.is_empty() {
            return Err(Status::bad_request("token is required for TokenReview in authentication"));
        }
        let audiences = texts(spec.and_then(|spec| spec.get("audiences")));
        let status = match self.authenticator.token(token, Some(&audiences), self.now, self.lookup) {
            Ok(proof) => {
                json!({ "authenticated": true, "user": proof.user.to_value(), "audiences": proof.audiences })
            }
            Err(error) => json!({ "user": {}, "error": error }),
        };
        Ok(named(AUTHENTICATION, "TokenReview", body.clone(), status))
    }

    fn whoami(&self) -> Value {
        let now = self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let fresh = json!({ "metadata": { "creationTimestamp": now } });
        named(AUTHENTICATION, "SelfSubjectReview", fresh, json!({ "userInfo": self.user.to_value() }))
    }
}

fn named(group: &str, kind: &str, mut body: Value, status: Value) -> Value {
    if let Some(object) = body.as_object_mut() {
        object.insert("apiVersion".into(), json!(format!("{group}/v1")));
        object.insert("kind".into(), json!(kind));
        object.entry("metadata").or_insert_with(|| json!({}));
        object.insert("status".into(), status);
    }
    body
}

fn subject_of(spec: &Value) -> User {
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flatten();
    User {
        name: text(Some(spec), "user").to_owned(),
        uid: text(Some(spec), "uid").to_owned(),
        groups: texts(spec.get("groups")),
        extra: extra.map(|(key, values)| (key.clone(), texts(Some(values)))).collect(),
    }
}

fn access_errors(kind: &str, body: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let none = Value::Null;
    let spec = body.get("spec").unwrap_or(&none);
    let resource = spec.get("resourceAttributes").filter(|v| v.is_object());
    let path = spec.get("nonResourceAttributes").filter(|v| v.is_object());
    if resource.is_some() == path.is_some() {
        errors.push(as_shown("spec", path.map_or_else(|| "null".into(), path_shown), ONE_OF));
    }
    let no_subject = text(Some(spec), "user").is_empty() && texts(spec.get("groups")).is_empty();
    if kind != "SelfSubjectAccessReview" && no_subject {
        errors.push(FieldError::invalid("spec.user", &json!(""), "at least one of user or group must be specified"));
    }
    if let Some(resource) = resource {
        errors.extend(selectors::errors(resource, &Path::new("spec.resourceAttributes")));
    }
    let local = kind == "LocalSubjectAccessReview";
    let empty = Map::new();
    let metadata = body.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    let allowed = |key: &str| key == "managedFields" || (local && key == "namespace");
    if metadata.keys().any(|key| !allowed(key)) {
        let detail = if local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(as_shown("metadata", metadata_shown(metadata), detail));
    }
    if local {
        let namespace = text(body.get("metadata"), "namespace");
        if let Some(own) = resource.map(|r| text(Some(r), "namespace")).filter(|own| *own != namespace) {
            let field = "spec.resourceAttributes.namespace";
            errors.push(FieldError::invalid(field, &json!(own), "must match metadata.namespace"));
        }
        if let Some(path) = path {
            let detail = "disallowed on this kind of request";
            errors.push(as_shown("spec.nonResourceAttributes", path_shown(path), detail));
        }
    }
    errors
}

fn as_shown(field: &str, value: String, detail: &str) -> FieldError {
    FieldError { wrong: Wrong::Invalid, field: field.into(), value, detail: detail.into() }
}

/// As upstream's internal type is shown, which has no JSON names.
fn path_shown(path: &Value) -> String {
    json!({ "Path": text(Some(path), "path"), "Verb": text(Some(path), "verb") }).to_string()
}

/// Metadata with its fields in the order of their declaration, as Go prints it.
fn metadata_shown(metadata: &Map<String, Value>) -> String {
    const FIELDS: [&str; 15] = [
        "name",
        "generateName",
        "namespace",
        "selfLink",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ];
    const MANAGED: [&str; 7] = ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let ordered = |object: &Map<String, Value>, order: &[&str], shown: &dyn Fn(&str, &Value) -> String| {
        let entries = order.iter().filter_map(|key| Some(format!("{}:{}", json!(key), shown(key, object.get(*key)?))));
        format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
    };
    let plain = |_: &str, value: &Value| value.to_string();
    ordered(metadata, &FIELDS, &|key, value| match value.as_array() {
        Some(entries) if key == "managedFields" => {
            let entries = entries.iter().filter_map(Value::as_object).map(|e| ordered(e, &MANAGED, &plain));
            format!("[{}]", entries.collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    })
}

fn text<'a>(object: Option<&'a Value>, key: &str) -> &'a str {
    object.and_then(|o| o.get(key)).and_then(Value::as_str).unwrap_or_default()
}

fn texts(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
