//! `serviceaccounts/NAME/token`: a token for an account, for a time, for an audience, bound to an object.

use jiff::{SignedDuration, Timestamp};
use rand::RngCore;
use serde_json::{Value, json};

use crate::auth::service_account::{Claims, Issuer, Lookup, Reference};
use crate::field::FieldError;
use crate::status::{GroupResource, Status};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
const HOUR: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;

/// The answer (201) to a TokenRequest for a service account. The body is the request's object, with what the server adds to every
/// created object; the account and bound objects come from `lookup`.
pub fn answer(
    body: &Value,
    (namespace, name): (&str, &str),
    issuer: &Issuer,
    now: Timestamp,
    random: &mut dyn RngCore,
    lookup: &Lookup<'_>,
) -> Result<Value, Status> {
    let mut body = if body.is_object() { body.clone() } else { json!({}) };
    for (key, own) in [("name", name), ("namespace", namespace)] {
        let given = text(&body, &format!("/metadata/{key}"));
        if !given.is_empty() && given != own {
            let detail = format!("must match the service account {key} if specified");
            let error = FieldError::invalid(format!("metadata.{key}"), &json!(given), detail);
            return Err(Status::invalid(GROUP, KIND, name, &[error]));
        }
    }
    let core = |resource| GroupResource { group: "", resource };
    let account =
        lookup("serviceaccounts", namespace, name).ok_or_else(|| Status::not_found(core("serviceaccounts"), name))?;
    let uid = text(&account, "/metadata/uid");
    let given = text(&body, "/metadata/uid");
    if !given.is_empty() && given != uid {
        let why =
            format!("the UID in the token request ({given}) does not match the UID of the service account ({uid})");
        return Err(Status::conflict(GroupResource { group: GROUP, resource: KIND }, name, &why));
    }
    let mut claims = Claims {
        namespace: namespace.to_owned(),
        account: Reference { name: name.to_owned(), uid: uid.to_owned() },
        audiences: audiences(&body, issuer),
        seconds: body.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(HOUR),
        id: uuid(random),
        ..Claims::default()
    };
    let errors = spec_errors(&body, claims.seconds);
    if !errors.is_empty() {
        return Err(Status::invalid(GROUP, KIND, "", &errors));
    }
    if let Some(bound) = body.pointer("/spec/boundObjectRef").filter(|b| b.is_object()) {
        bind(&mut claims, bound, lookup)?;
    }

    let expires = now.checked_add(SignedDuration::from_secs(claims.seconds)).unwrap_or(Timestamp::MAX);
    let shown = |time: Timestamp| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    for key in ["metadata", "spec"] {
        if !body.get(key).is_some_and(Value::is_object) {
            body[key] = json!({});
        }
    }
    body["apiVersion"] = json!(format!("{GROUP}/v1"));
    body["kind"] = json!(KIND);
    body["metadata"]["name"] = json!(name);
    body["metadata"]["namespace"] = json!(namespace);
    body["metadata"]["uid"] = json!(uid);
    body["metadata"]["creationTimestamp"] = json!(shown(now));
    body["spec"]["audiences"] = json!(claims.audiences);
    body["spec"]["expirationSeconds"] = json!(claims.seconds);
    if body.pointer("/spec/boundObjectRef").is_none() {
        body["spec"]["boundObjectRef"] = Value::Null;
    }
    body["status"] = json!({ "token": issuer.issue(&claims, now), "expirationTimestamp": shown(expires) });
    Ok(body)
}

fn audiences(body: &Value, issuer: &Issuer) -> Vec<String> {
    let listed = body.pointer("/spec/audiences").and_then(Value::as_array).into_iter().flatten();
    let listed: Vec<String> = listed.filter_map(Value::as_str).map(str::to_owned).collect();
    if listed.is_empty() { issuer.audiences().to_vec() } else { listed }
}

fn spec_errors(body: &Value, seconds: i64) -> Vec<FieldError> {
    if let Some(attestations) =
        body.pointer("/spec/attestations").filter(|a| a.as_object().is_some_and(|a| !a.is_empty()))
    {
        let detail = "attestations may only be specified with a webhook bound object reference";
        return vec![FieldError::invalid("spec.attestations", attestations, detail)];
    }
    let detail = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Vec::new(),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    vec![FieldError::invalid("spec.expirationSeconds", &json!(seconds), detail)]
}

fn bind(claims: &mut Claims, bound: &Value, lookup: &Lookup<'_>) -> Result<(), Status> {
    let (kind, version, name) = (text(bound, "/kind"), text(bound, "/apiVersion"), text(bound, "/name"));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let (resource, namespace) = match (group, kind) {
        ("", "Pod") => ("pods", claims.namespace.as_str()),
        ("", "Secret") => ("secrets", claims.namespace.as_str()),
        ("", "Node") => ("nodes", ""),
        _ => {
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(why));
        }
    };
    let found = lookup(resource, namespace, name)
        .ok_or_else(|| Status::not_found(GroupResource { group: "", resource }, name))?;
    if kind == "Pod" && text(&found, "/spec/serviceAccountName") != claims.account.name {
        return Err(Status::bad_request(format!(
            "cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
            claims.account.name
        )));
    }
    let (uid, given) = (text(&found, "/metadata/uid"), text(bound, "/uid"));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(GroupResource { group, resource: kind }, name, &why));
    }
    let reference = Reference { name: name.to_owned(), uid: uid.to_owned() };
    match kind {
        "Pod" => {
            let node = text(&found, "/spec/nodeName");
            if !node.is_empty() {
                let uid = lookup("nodes", "", node).map(|n| text(&n, "/metadata/uid").to_owned()).unwrap_or_default();
                claims.node = Some(Reference { name: node.to_owned(), uid });
            }
            claims.pod = Some(reference);
        }
        "Secret" => claims.secret = Some(reference),
        _ => claims.node = Some(reference),
    }
    Ok(())
}

/// A random (version 4) uuid.
pub fn uuid(random: &mut dyn RngCore) -> String {
    let high = (random.next_u64() & !0xf000) | 0x4000;
    let low = (random.next_u64() & !(0b11 << 62)) | (0b10 << 62);
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    fn ask(body: &Value) -> Result<Value, (u16, String)> {
        let issuer = Issuer::new("https://kubernetes.default.svc", &[], b"k");
        let lookup = |resource: &str, _: &str, name: &str| {
            (name != "nope" && name != "zip").then(|| {
                json!({ "metadata": { "name": name, "uid": format!("{resource}-uid") }, "spec": { "serviceAccountName": "bot" } })
            })
        };
        let now = Timestamp::from_second(1_794_797_196).unwrap();
        let name = if body.get("zip").is_some() { "zip" } else { "bot" };
        answer(body, ("auth", name), &issuer, now, &mut StdRng::seed_from_u64(7), &lookup)
            .map_err(|status| (status.code, status.message))
    }

    #[test]
    fn the_answer_is_upstreams() {
        let mut got = ask(&json!({ "spec": {} })).unwrap();
        let token = got["status"]["token"].take();
        assert_eq!(token.as_str().unwrap().split('.').count(), 3);
        let want = json!({
            "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
            "metadata": { "name": "bot", "namespace": "auth", "uid": "serviceaccounts-uid", "creationTimestamp": "2026-11-16T02:46:36Z" },
            "spec": { "audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3600, "boundObjectRef": null },
            "status": { "token": null, "expirationTimestamp": "2026-11-16T03:46:36Z" },
        });
        assert_eq!(got, want);
    }

    #[test]
    fn refusals_are_upstreams() {
        let bound = |kind: &str, name: &str| json!({ "spec": { "boundObjectRef": { "kind": kind, "apiVersion": "v1", "name": name } } });
        let mut uid = bound("Secret", "s");
        uid["spec"]["boundObjectRef"]["uid"] = json!("x");
        for (body, code, want) in [
            (
                json!({ "spec": { "expirationSeconds": 5 } }),
                422,
                "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
            ),
            (
                json!({ "metadata": { "name": "other" } }),
                422,
                "TokenRequest.authentication.k8s.io \"bot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified",
            ),
            (
                json!({ "metadata": { "uid": "other" } }),
                409,
                "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"bot\": the UID in the token request (other) does not match the UID of the service account (serviceaccounts-uid)",
            ),
            (bound("Pod", "nope"), 404, "pods \"nope\" not found"),
            (bound("ConfigMap", "x"), 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
            (json!({ "zip": true }), 404, "serviceaccounts \"zip\" not found"),
            (
                uid,
                409,
                "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated",
            ),
        ] {
            assert_eq!(ask(&body), Err((code, want.to_owned())));
        }
        assert!(ask(&bound("Pod", "p")).is_ok());
    }

    #[test]
    fn uuids_are_version_four() {
        let id = uuid(&mut StdRng::seed_from_u64(3));
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
    }
}
