//! Tokens of service accounts: signed (HS256), bound to the account's uid, and gone with it.
//!
//! Upstream signs with RSA so that others can verify; here only the server that issued a token reads it, so a shared secret in the
//! data folder is enough.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::auth::hmac;
use crate::auth::identity::{Proof, User};
use crate::auth::rules::go_quoted_list;

/// Finds an object by resource, namespace (empty for the cluster's) and name.
pub type Lookup<'a> = dyn Fn(&str, &str, &str) -> Option<Value> + 'a;

/// Clocks may differ by this much, in seconds, before a token counts as expired (upstream's).
const LEEWAY: i64 = 60;
/// What upstream's signature check says.
const BAD_SIGNATURE: &str = "go-jose/go-jose: error in cryptographic primitive";

/// The user name of a service account.
pub fn username(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The groups of a namespace's service accounts.
pub fn groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name of the service account with this user name.
pub fn split_username(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (is_label(namespace) && name.split('.').all(is_label_of_any_length) && name.len() <= 253)
        .then_some((namespace, name))
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_label_of_any_length(text)
}

fn is_label_of_any_length(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// An object that a token is bound to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Reference {
    fn to_value(&self) -> Value {
        if self.uid.is_empty() { json!({ "name": self.name }) } else { json!({ "name": self.name, "uid": self.uid }) }
    }

    fn read(claims: &Value, kind: &str) -> Option<Self> {
        let entry = claims.get("kubernetes.io")?.get(kind)?;
        let text = |key| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self { name: text("name"), uid: text("uid") })
    }
}

/// What a token is to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The account's namespace.
    pub namespace: String,
    /// The account.
    pub account: Reference,
    /// Who may accept the token.
    pub audiences: Vec<String>,
    /// How long it is valid, in seconds.
    pub seconds: i64,
    /// The token's own id, a uuid.
    pub id: String,
    /// The pod that it is bound to.
    pub pod: Option<Reference>,
    /// The node of that pod, or the node that it is bound to.
    pub node: Option<Reference>,
    /// The secret that it is bound to.
    pub secret: Option<Reference>,
}

/// Issues and reads tokens.
pub struct Issuer {
    name: String,
    audiences: Vec<String>,
    secret: Vec<u8>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("name", &self.name).field("audiences", &self.audiences).finish_non_exhaustive()
    }
}

impl Issuer {
    /// An issuer of this name (`https://kubernetes.default.svc`). Without audiences, tokens for this API are for the issuer.
    pub fn new(name: &str, audiences: &[String], secret: &[u8]) -> Self {
        let audiences = if audiences.is_empty() { vec![name.to_owned()] } else { audiences.to_vec() };
        Self { name: name.to_owned(), audiences, secret: secret.to_vec() }
    }

    /// The audiences of this API.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// A token.
    pub fn issue(&self, claims: &Claims, now: Timestamp) -> String {
        let issued = now.as_second();
        let mut kubernetes = json!({ "namespace": claims.namespace, "serviceaccount": claims.account.to_value() });
        for (key, reference) in [("pod", &claims.pod), ("node", &claims.node), ("secret", &claims.secret)] {
            if let Some(reference) = reference {
                kubernetes[key] = reference.to_value();
            }
        }
        let body = json!({
            "aud": claims.audiences, "exp": issued.saturating_add(claims.seconds), "iat": issued, "nbf": issued,
            "iss": self.name, "jti": claims.id, "kubernetes.io": kubernetes,
            "sub": username(&claims.namespace, &claims.account.name),
        });
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&json!({ "alg": "HS256", "typ": "JWT" })), encode(&body));
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&self.secret, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Who a token is, if it is one of ours, for one of the `wanted` audiences, still valid, and the account and whatever the
    /// token is bound to still exist. `Err` is upstream's sentence.
    pub fn authenticate(
        &self,
        token: &str,
        wanted: &[String],
        now: Timestamp,
        lookup: &Lookup<'_>,
    ) -> Result<Proof, String> {
        let claims = self.claims(token).ok_or("invalid bearer token")?;
        let checked = self.verified(token).and_then(|()| self.proof(&claims, wanted, now, lookup));
        checked.map_err(|why| format!("[invalid bearer token, {why}]"))
    }

    /// The claims of a token that says it is from this issuer, not yet verified.
    fn claims(&self, token: &str) -> Option<Value> {
        let mut parts = token.split('.');
        let (_header, body, _signature, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
            return None;
        };
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
        (claims.get("iss").and_then(Value::as_str) == Some(&self.name)).then_some(claims)
    }

    fn verified(&self, token: &str) -> Result<(), String> {
        let good = token.rsplit_once('.').is_some_and(|(signed, signature)| {
            let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
            hmac::equal(&signature, &hmac::sign(&self.secret, signed.as_bytes()))
        });
        if good { Ok(()) } else { Err(BAD_SIGNATURE.into()) }
    }

    fn proof(&self, claims: &Value, wanted: &[String], now: Timestamp, lookup: &Lookup<'_>) -> Result<Proof, String> {
        let listed = claims.get("aud").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let own: Vec<String> = listed.map(str::to_owned).collect();
        let audiences: Vec<String> = wanted.iter().filter(|a| own.contains(a)).cloned().collect();
        if audiences.is_empty() {
            let (own, wanted) = (go_quoted_list(&own), go_quoted_list(wanted));
            return Err(format!("token audiences {own} is invalid for the target audiences {wanted}"));
        }
        let time = |key| claims.get(key).and_then(Value::as_i64).unwrap_or_default();
        let second = now.as_second();
        if second > time("exp").saturating_add(LEEWAY) {
            return Err("service account token has expired".into());
        }
        if second < time("nbf").saturating_sub(LEEWAY) {
            return Err("service account token is not valid yet".into());
        }
        let user = bound_user(claims, now, lookup)?;
        Ok(Proof { user: Arc::new(user.authenticated()), audiences })
    }
}

/// The user of verified claims; everything that the token is bound to must still be there.
fn bound_user(claims: &Value, now: Timestamp, lookup: &Lookup<'_>) -> Result<User, String> {
    let namespace = claims.pointer("/kubernetes.io/namespace").and_then(Value::as_str).unwrap_or_default();
    let account = Reference::read(claims, "serviceaccount").unwrap_or_default();
    let found = lookup("serviceaccounts", namespace, &account.name)
        .ok_or_else(|| format!("serviceaccounts \"{}\" not found", account.name))?;
    if uid(&found) != account.uid {
        return Err(format!("service account UID ({}) does not match claim ({})", uid(&found), account.uid));
    }
    if deleted(&found, now) {
        return Err(format!("service account {namespace}/{} has been deleted", account.name));
    }
    let mut user =
        User { uid: account.uid, groups: groups(namespace), ..User::new(username(namespace, &account.name)) };
    let mut say = |key: &str, value: String| {
        user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
    };
    if let Some(id) = claims.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty()) {
        say("credential-id", format!("JTI={id}"));
    }
    if let Some(secret) = Reference::read(claims, "secret") {
        still_there(lookup("secrets", namespace, &secret.name), &secret, "secret", now)?;
    }
    let pod = Reference::read(claims, "pod");
    if let Some(pod) = &pod {
        still_there(lookup("pods", namespace, &pod.name), pod, "pod", now)?;
        say("pod-name", pod.name.clone());
        say("pod-uid", pod.uid.clone());
    }
    if let Some(node) = Reference::read(claims, "node") {
        if pod.is_none() {
            still_there(lookup("nodes", "", &node.name), &node, "node", now)?;
        }
        say("node-name", node.name);
        if !node.uid.is_empty() {
            say("node-uid", node.uid);
        }
    }
    Ok(user)
}

fn still_there(found: Option<Value>, bound: &Reference, kind: &str, now: Timestamp) -> Result<(), String> {
    const GONE: &str = "service account token has been invalidated";
    let found = found.ok_or(GONE)?;
    if uid(&found) != bound.uid {
        return Err(format!(
            "{kind} UID ({}) does not match service account {kind} ref claim ({})",
            uid(&found),
            bound.uid
        ));
    }
    if deleted(&found, now) { Err(GONE.into()) } else { Ok(()) }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

/// Whether it was deleted longer ago than clocks may differ.
fn deleted(object: &Value, now: Timestamp) -> bool {
    let at = object.pointer("/metadata/deletionTimestamp").and_then(Value::as_str);
    let at: Option<Timestamp> = at.and_then(|text| text.parse().ok());
    at.is_some_and(|at| at.as_second() < now.as_second().saturating_sub(LEEWAY))
}

#[cfg(test)]
mod tests;
