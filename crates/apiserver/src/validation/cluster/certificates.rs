//! CertificateSigningRequest. The request's form is looked at, its signature is not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::found::Found;
use super::gojson::{self, Type};
use super::gotypes::CERTIFICATE_SIGNING_REQUEST_CONDITION;
use crate::field::{FieldError, go_quoted};
use crate::validation::names;
use crate::validation::path::{Path, get, list, number, same, str_value, text, texts};

/// In upstream's order.
const USAGES: &[&str] = &[
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";

pub(super) fn any_name(_name: &str, _prefix: bool) -> Vec<String> {
    Vec::new()
}

/// A new request.
pub(super) fn create(found: &mut Found, new: &Value) {
    request(found, new, None);
}

/// A request that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    replaced(found, new, old, false, false);
}

/// A request's status.
pub(super) fn update_status(found: &mut Found, new: &Value, old: &Value) {
    replaced(found, new, old, false, true);
}

/// A request's approval.
pub(super) fn update_approval(found: &mut Found, new: &Value, old: &Value) {
    replaced(found, new, old, true, false);
}

fn request(found: &mut Found, new: &Value, old: Option<&Value>) {
    found.metadata(new, false, any_name);
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let encoded = text(spec, "request");
    let pem = STANDARD.decode(encoded).unwrap_or_default();
    if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE REQUEST-----") {
        found.invalid(
            path.child("request"),
            get(spec, "request").clone(),
            "PEM block type must be CERTIFICATE REQUEST",
        );
    }
    let usages = texts(spec, "usages");
    let had = old.map(|old| texts(get(old, "spec"), "usages")).unwrap_or_default();
    let field = path.child("usages");
    if usages.is_empty() {
        found.required(&field, "");
    }
    if had.iter().all(|usage| USAGES.contains(usage)) {
        for (i, usage) in usages.iter().enumerate().filter(|(_, usage)| !USAGES.contains(usage)) {
            found.unsupported(&field.index(i), *usage, USAGES);
        }
    }
    if !had.iter().enumerate().any(|(i, usage)| had.iter().take(i).any(|other| other == usage)) {
        for (i, usage) in usages.iter().enumerate() {
            if usages.iter().take(i).any(|other| other == usage) {
                found.duplicate(field.index(i), *usage);
            }
        }
    }
    let signer = text(spec, "signerName");
    let had_legacy = old.is_some_and(|old| text(get(old, "spec"), "signerName") == LEGACY_SIGNER);
    if signer == LEGACY_SIGNER && !had_legacy {
        let said = "the legacy signerName is not allowed via this API version";
        found.invalid(path.child("signerName"), signer, said);
    } else {
        signer_name(found, signer, &path.child("signerName"));
    }
    if let Some(life) = number(spec, "expirationSeconds").filter(|life| *life < 600) {
        let said = "may not specify a duration less than 600 seconds (10 minutes)";
        found.invalid(path.child("expirationSeconds"), life, said);
    }
    let path = Path::new("status");
    let before = old.map(|old| list(get(old, "status"), "conditions")).unwrap_or_default();
    conditions(found, list(get(new, "status"), "conditions"), before, &path.child("conditions"));
    let encoded = text(get(new, "status"), "certificate");
    let known = old.is_some_and(|old| text(get(old, "status"), "certificate") == encoded);
    if !encoded.is_empty() && !known {
        let pem = STANDARD.decode(encoded).unwrap_or_default();
        if let Some(said) = certificate(&String::from_utf8_lossy(&pem)) {
            found.invalid(path.child("certificate"), "<certificate data>", said);
        }
    }
}

pub(super) fn signer_name(found: &mut Found, name: &str, path: &Path) {
    if name.is_empty() {
        found.required(path, "");
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, signer] = parts.as_slice() else {
        let said = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        found.invalid(path, name, said);
        return;
    };
    if domain.len() > names::SUBDOMAIN_MAX {
        found.too_long(path, names::SUBDOMAIN_MAX);
    }
    labels(found, domain, names::is_dns1123_label, path);
    if !domain.contains('.') {
        found.invalid(path, *domain, "should be a domain with at least two segments separated by dots");
    }
    labels(found, signer, names::is_dns1123_subdomain, path);
    let most = names::SUBDOMAIN_MAX + names::LABEL_MAX + 1;
    if signer.len() > most {
        found.too_long(path, most);
    }
}

fn labels(found: &mut Found, text: &str, rule: fn(&str) -> Vec<String>, path: &Path) {
    for label in text.split('.') {
        let complaints = rule(label);
        if !complaints.is_empty() {
            for complaint in complaints {
                found.invalid(path, text, format!("validating label {}: {complaint}", go_quoted(label)));
            }
            // One bad part is enough to say.
            break;
        }
    }
}

fn conditions(found: &mut Found, conditions: &[Value], before: &[Value], path: &Path) {
    let mut approved = false;
    let mut denied = false;
    for (i, condition) in conditions.iter().enumerate() {
        let (kind, status) = (text(condition, "type"), text(condition, "status"));
        if kind.is_empty() {
            found.required(path.index(i).child("type"), "");
        }
        let words: &[&str] =
            if matches!(kind, "Approved" | "Denied" | "Failed") { &["True"] } else { &["False", "True", "Unknown"] };
        if status.is_empty() {
            found.required(path.index(i).child("status"), "");
        } else if !words.contains(&status) {
            found.unsupported(&path.index(i).child("status"), status, words);
        }
        approved |= kind == "Approved";
        denied |= kind == "Denied";
        if conditions.iter().take(i).any(|other| text(other, "type") == kind) {
            found.duplicate(path.index(i).child("type"), kind);
        }
    }
    let both = |conditions: &[Value]| {
        ["Approved", "Denied"].iter().all(|kind| conditions.iter().any(|condition| text(condition, "type") == *kind))
    };
    if approved && denied && !both(before) {
        let said =
            "must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, `conditions[{\"type\": \"Denied\"}]`";
        let value = str_value("{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}");
        found.late(FieldError::invalid(path, &value, said));
    }
}

/// What is wrong with a certificate, as far as its blocks go; what is in them is not looked at.
fn certificate(pem: &str) -> Option<String> {
    let mut blocks = pem.match_indices("-----BEGIN ").map(|(at, begin)| {
        let rest = pem.get(at + begin.len()..).unwrap_or_default();
        rest.split_once("-----").map_or("", |(kind, _)| kind)
    });
    match blocks.find(|kind| *kind != "CERTIFICATE") {
        Some(kind) => Some(format!("only CERTIFICATE PEM blocks are allowed, found {}", go_quoted(kind))),
        None if !pem.contains("-----BEGIN CERTIFICATE-----") => {
            Some("must contain at least one CERTIFICATE PEM block".to_owned())
        }
        None => None,
    }
}

fn replaced(found: &mut Found, new: &Value, old: &Value, may_approve: bool, may_certify: bool) {
    request(found, new, Some(old));
    let of = |object, kind: &str| -> Vec<Value> {
        list(get(object, "status"), "conditions").iter().filter(|it| text(it, "type") == kind).cloned().collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        if of(new, kind).len() < of(old, kind).len() {
            found.forbidden("status.conditions", &format!("updates may not remove a condition of type \"{kind}\""));
        }
    }
    for kind in ["Approved", "Denied"].into_iter().filter(|_| !may_approve) {
        let (after, before) = (json!(of(new, kind)), json!(of(old, kind)));
        let count = |list: &Value| list.as_array().map_or(0, Vec::len);
        if count(&after) > count(&before) {
            found.forbidden("status.conditions", &format!("updates may not add a condition of type \"{kind}\""));
        } else if count(&after) == count(&before) && !same(&after, &before) {
            let diff = gojson::diff(Type::List(&Type::Struct(CERTIFICATE_SIGNING_REQUEST_CONDITION)), &before, &after);
            let said = format!("updates may not modify a condition of type \"{kind}\"\n{diff}");
            found.forbidden("status.conditions", &said);
        }
    }
    let certificate = |object| text(get(object, "status"), "certificate");
    if certificate(new) != certificate(old) {
        if !may_certify {
            found.forbidden("status.certificate", "updates may not set certificate content");
        } else if !certificate(old).is_empty() {
            found.forbidden("status.certificate", "updates may not modify existing certificate content");
        }
    }
    found.metadata_update(new, old);
}
