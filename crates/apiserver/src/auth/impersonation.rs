//! Acting as someone else (`kubectl --as`).
//!
//! Upstream tries several modes and takes the first that allows it: the narrow ones (`impersonate:user-info` together with
//! `impersonate-on:user-info:VERB` on what the request is about, and their like for nodes and service accounts), then the plain
//! `impersonate` verb of old. When none does, the refusal shown is that of the mode that last worked for the requester, or else of
//! the first mode that applied.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use http::HeaderMap;

use crate::auth::attributes::Attributes;
use crate::auth::identity::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User};
use crate::auth::rbac::Rbac;
use crate::auth::service_account;
use crate::field::go_quoted;
use crate::status::Status;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// How many requesters' last modes are remembered; beyond that, all are forgotten, which changes nothing but which refusal is shown.
const REMEMBERED: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

impl Mode {
    fn word(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// Whether the mode is for this pair at all.
    fn applies(self, wanted: &User, requester: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let account = service_account::split_username(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = requester.extra.get("authentication.kubernetes.io/node-name").map(Vec::as_slice);
                only_name
                    && service_account::split_username(&requester.name).is_some()
                    && node.is_some_and(|node| own == Some(&[node.to_owned()]))
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

/// Decides about impersonation.
#[derive(Debug, Default)]
pub struct Impersonation {
    last: Mutex<BTreeMap<String, Mode>>,
}

impl Impersonation {
    /// The user that the request acts as: `None` where the headers ask for nobody else. `request` is what the request is about,
    /// with the requester as its user.
    pub fn user(&self, headers: &HeaderMap, request: &Attributes<'_>, rbac: &Rbac) -> Result<Option<User>, Status> {
        let Some(wanted) = wanted(headers)? else { return Ok(None) };
        let remembered = self.last.lock().unwrap_or_else(PoisonError::into_inner).get(&request.user.name).copied();
        let others = MODES.into_iter().filter(|mode| Some(*mode) != remembered);
        let mut refusal = None;
        for mode in remembered.into_iter().chain(others).filter(|mode| mode.applies(&wanted, request.user)) {
            match attempt(mode, &wanted, request, rbac) {
                Ok(user) => {
                    self.remember(&request.user.name, mode);
                    return Ok(Some(user));
                }
                Err(status) => refusal = refusal.or(Some(status)),
            }
        }
        Err(refusal.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
    }

    fn remember(&self, requester: &str, mode: Mode) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(requester) == Some(&mode) {
            return;
        }
        if last.len() >= REMEMBERED {
            last.clear();
        }
        last.insert(requester.to_owned(), mode);
    }
}

/// Whom the headers ask for.
pub fn wanted(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let one = |key: &str| headers.get(key).map(text).unwrap_or_default();
    let mut user = User { name: one(USER), uid: one(UID), ..User::default() };
    user.groups = headers.get_all(GROUP).iter().map(text).collect();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let values = headers.get_all(name).iter().map(text);
            user.extra.entry(unescaped(key)).or_default().extend(values);
        }
    }
    let anything = !user.uid.is_empty() || !user.groups.is_empty() || !user.extra.is_empty();
    match (user.name.is_empty(), anything) {
        (false, _) => Ok(Some(user)),
        (true, false) => Ok(None),
        (true, true) => {
            Err(Status::bad_request(format!("requested {} without impersonating a user name", go_shown(&user))))
        }
    }
}

fn attempt(mode: Mode, wanted: &User, request: &Attributes<'_>, rbac: &Rbac) -> Result<User, Status> {
    let constrained = mode != Mode::Legacy;
    let verb = if constrained { format!("impersonate:{}", mode.word()) } else { "impersonate".to_owned() };
    if constrained {
        let on = format!("impersonate-on:{}:{}", mode.word(), request.verb);
        rbac.check(&Attributes { verb: &on, ..*request })?;
    }
    let mut user = wanted.clone();
    let group = if constrained { AUTHENTICATION } else { "" };
    let ask = Attributes::resource(request.user, &verb, group, "v1", "users");

    let mut name = ask.named(&wanted.name);
    if let Some(node) = node_name(&wanted.name).filter(|_| constrained) {
        // The associated node is whichever node the requester is on, so the right must be for all of them.
        let node = if mode == Mode::AssociatedNode { "*" } else { node };
        name = Attributes { resource: "nodes", name: node, ..ask };
        user.groups = vec!["system:nodes".into()];
    }
    if let Some((namespace, account)) = service_account::split_username(&wanted.name) {
        name = Attributes { resource: "serviceaccounts", namespace, name: account, ..ask };
        if wanted.groups.is_empty() {
            user.groups = service_account::groups(namespace);
        }
    }
    rbac.check(&name)?;
    if !wanted.uid.is_empty() {
        rbac.check(&Attributes { group: AUTHENTICATION, resource: "uids", name: &wanted.uid, ..ask })?;
    }
    groups_allowed(constrained, wanted, &Attributes { resource: "groups", ..ask }, rbac)?;
    let extras = Attributes { group: AUTHENTICATION, resource: "userextras", ..ask };
    extras_allowed(constrained, wanted, &extras, rbac)?;

    if user.name == ANONYMOUS {
        add_group(&mut user, UNAUTHENTICATED);
    } else if !user.is_in(UNAUTHENTICATED) {
        add_group(&mut user, AUTHENTICATED);
    }
    Ok(user)
}

/// From this many values on, the narrow modes first ask whether all are allowed (upstream's number).
const MANY: usize = 4;

fn groups_allowed(constrained: bool, wanted: &User, ask: &Attributes<'_>, rbac: &Rbac) -> Result<(), Status> {
    if constrained {
        if wanted.is_in("") {
            return Err(ask.forbidden("impersonating the empty string group is not allowed"));
        }
        if wanted.is_in(MASTERS) {
            return Err(ask.named(MASTERS).forbidden("impersonating the system:masters group is not allowed"));
        }
        if wanted.groups.len() >= MANY && rbac.allows(&ask.named("*")) {
            return Ok(());
        }
    }
    wanted.groups.iter().try_for_each(|group| rbac.check(&ask.named(group)))
}

fn extras_allowed(constrained: bool, wanted: &User, ask: &Attributes<'_>, rbac: &Rbac) -> Result<(), Status> {
    if constrained {
        if let Some(why) = bad_extra(wanted) {
            return Err(ask.forbidden(&why));
        }
        let many = wanted.extra.len() >= MANY || wanted.extra.values().map(Vec::len).sum::<usize>() >= MANY;
        if many && rbac.allows(&Attributes { subresource: "*", name: "*", ..*ask }) {
            return Ok(());
        }
    }
    for (key, values) in &wanted.extra {
        for value in values {
            rbac.check(&Attributes { subresource: key, name: value, ..*ask })?;
        }
    }
    Ok(())
}

/// What the narrow modes refuse in extras whatever the roles say.
fn bad_extra(wanted: &User) -> Option<String> {
    for (key, values) in &wanted.extra {
        if key.is_empty() {
            return Some("impersonating the empty string key in extra is not allowed".into());
        }
        let wrong = bad_key(key);
        if !wrong.is_empty() {
            let shown = match wrong.as_slice() {
                [one] => one.clone(),
                many => format!("[{}]", many.join(", ")),
            };
            return Some(format!("impersonating an invalid key in extra is not allowed: {shown}"));
        }
        if values.is_empty() {
            return Some("impersonating empty values in extra is not allowed".into());
        }
        if values.iter().any(String::is_empty) {
            return Some("impersonating the empty string value in extra is not allowed".into());
        }
    }
    None
}

/// What is wrong with a key that should be a domain and a path, such as `acme.io/foo`.
fn bad_key(key: &str) -> Vec<String> {
    let invalid = |value: &str, detail: &str| format!("extra.key: Invalid value: {}: {detail}", go_quoted(value));
    let Some((domain, path)) = key.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return vec![invalid(key, "must be a domain-prefixed path (such as \"acme.io/foo\")")];
    };
    let mut out = Vec::new();
    if domain.len() > 253 {
        out.push(invalid(domain, "must be no more than 253 bytes"));
    }
    if !domain.split('.').all(is_label) {
        out.push(invalid(
            domain,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
    if !path.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c)) {
        let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        out.push(invalid(path, detail));
    }
    out
}

fn add_group(user: &mut User, group: &str) {
    if !user.is_in(group) {
        user.groups.push(group.to_owned());
    }
}

/// The node of a node's user name.
fn node_name(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    (name.len() <= 253 && name.split('.').all(is_label)).then_some(name)
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// A key with its `%xx` decoded; as it stands where that makes no sense.
fn unescaped(key: &str) -> String {
    fn decoded(key: &str) -> Option<String> {
        let mut bytes = Vec::with_capacity(key.len());
        let mut rest = key.bytes();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                bytes.push(byte);
                continue;
            }
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        }
        String::from_utf8(bytes).ok()
    }
    decoded(key).unwrap_or_else(|| key.to_owned())
}

/// A user as Go's `%#v` shows it: upstream's sentence has it.
fn go_shown(user: &User) -> String {
    let list = |values: &[String]| {
        let quoted: Vec<String> = values.iter().map(|v| go_quoted(v)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let mut extra = String::new();
    if user.extra.is_empty() {
        extra.push_str("map[string][]string(nil)");
    } else {
        let entries: Vec<String> = user.extra.iter().map(|(k, v)| format!("{}:{}", go_quoted(k), list(v))).collect();
        let _ = write!(extra, "map[string][]string{{{}}}", entries.join(", "));
    }
    let (name, uid) = (go_quoted(&user.name), go_quoted(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}

#[cfg(test)]
mod tests;
