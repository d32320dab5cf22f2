//! Volumes of files that the kubelet writes: fields of the pod, and many sources in one.

use std::collections::BTreeSet;

use serde_json::Value;

use super::volume_sources::{key_to_path, local_unreserved, mode, user};
use super::{Options, env};
use crate::field::go_quoted;
use crate::validation::found::Found;
use crate::validation::internal;
use crate::validation::names;
use crate::validation::path::{Path, entries, get, has, list, number, text};
use crate::validation::selectors;
use crate::validation::shown;

/// What a file can take from its pod.
const FROM_POD: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
const CONFLICT: &str = "conflicting duplicate paths";

/// A volume of fields of the pod.
pub fn downward_api(out: &mut Found, from: &Value, path: &Path) {
    mode(out, from, "defaultMode", path);
    user(out, from, "defaultUser", path);
    for file in list(from, "items") {
        downward_file(out, file, path);
    }
}

fn downward_file(out: &mut Found, file: &Value, path: &Path) {
    if text(file, "path").is_empty() {
        out.required(&path.child("path"), "");
    }
    local_unreserved(out, text(file, "path"), &path.child("path"));
    if has(file, "fieldRef") {
        env::field_ref(out, get(file, "fieldRef"), FROM_POD, &path.child("fieldRef"));
        if has(file, "resourceFieldRef") {
            out.invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
        }
    } else if has(file, "resourceFieldRef") {
        env::resource_ref(out, get(file, "resourceFieldRef"), true, &path.child("resourceFieldRef"));
    } else {
        out.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    mode(out, file, "mode", path);
    user(out, file, "user", path);
}

/// A volume of many sources.
pub fn check(out: &mut Found, from: &Value, path: &Path, options: &Options) {
    mode(out, from, "defaultMode", path);
    user(out, from, "defaultUser", path);
    let mut taken: BTreeSet<&str> = BTreeSet::new();
    for (i, source) in list(from, "sources").iter().enumerate() {
        let field = path.child("sources").index(i);
        let mut count = 0;
        for kind in ["secret", "configMap"] {
            if has(source, kind) {
                count += 1;
                keys(out, get(source, kind), &mut taken, path, &field.child(kind));
            }
        }
        if has(source, "downwardAPI") {
            count += 1;
            for file in list(get(source, "downwardAPI"), "items") {
                downward_file(out, file, &field.child("downwardAPI"));
                let target = text(file, "path");
                if !target.is_empty() && !taken.insert(target) {
                    out.invalid(path, target, CONFLICT);
                }
            }
        }
        if has(source, "serviceAccountToken") {
            count += 1;
            token(out, get(source, "serviceAccountToken"), path, &field.child("serviceAccountToken"), options);
        }
        if has(source, "clusterTrustBundle") {
            count += 1;
            let bundle = get(source, "clusterTrustBundle");
            trust_bundle(out, bundle, &field.child("clusterTrustBundle"));
            let target = text(bundle, "path");
            if !taken.insert(target) {
                out.invalid(path, target, CONFLICT);
            }
        }
        if has(source, "podCertificate") {
            count += 1;
            certificate(out, get(source, "podCertificate"), &mut taken, path, &field.child("podCertificate"));
        }
        if count > 1 {
            out.forbidden(&field, "may not specify more than 1 volume type per source");
        }
    }
}

fn keys<'a>(out: &mut Found, from: &'a Value, taken: &mut BTreeSet<&'a str>, path: &Path, field: &Path) {
    let name = text(from, "name");
    if name.is_empty() {
        out.required(&field.child("name"), "");
    }
    for (i, item) in list(from, "items").iter().enumerate() {
        key_to_path(out, item, &field.child("items").index(i));
        let target = text(item, "path");
        if !target.is_empty() && !taken.insert(target) {
            out.invalid(path, name, CONFLICT);
        }
    }
}

fn token(out: &mut Found, from: &Value, path: &Path, field: &Path, options: &Options) {
    let seconds_path = field.child("expirationSeconds");
    match number(from, "expirationSeconds") {
        None => out.required(&seconds_path, ""),
        Some(seconds) if seconds < 600 => {
            out.invalid(&seconds_path, seconds, "may not specify a duration less than 10 minutes");
        }
        Some(seconds) if seconds > 1 << 32 => {
            out.invalid(&seconds_path, seconds, "may not specify a duration larger than 2^32 seconds");
        }
        Some(_) => {}
    }
    let target = text(from, "path");
    if target.is_empty() {
        out.required(&path.child("path"), "");
    } else if !options.token_paths {
        local_unreserved(out, target, &path.child("path"));
    }
    user(out, from, "user", field);
}

fn trust_bundle(out: &mut Found, from: &Value, path: &Path) {
    let (name, signer) = (get(from, "name").as_str(), get(from, "signerName").as_str());
    let selector = get(from, "labelSelector");
    match (name, signer) {
        (Some(_), Some(_)) => {
            let shown = internal::shown("core.ClusterTrustBundleProjection", from);
            out.invalid_shown(path, shown, "only one of name and signerName may be used");
        }
        (Some(name), None) => {
            let field = path.child("name");
            if name.is_empty() {
                out.required(&field, "must be a valid object name");
            }
            for said in bundle_name(name) {
                out.invalid(&field, name, format!("not a valid clustertrustbundlename: {said}"));
            }
            if !selector.is_null() {
                let shown = shown::published(selectors::LABEL_SELECTOR, selector);
                let said = "labelSelector must be unset if name is specified";
                out.invalid_shown(&path.child("labelSelector"), shown, said);
            }
        }
        (None, Some(signer)) => {
            let field = path.child("signerName");
            if signer.is_empty() {
                out.required(&field, "must be a valid signer name");
            }
            signer_name(out, signer, &field);
            out.extend(selectors::label_selector(selector, false, &path.child("labelSelector")));
        }
        (None, None) => out.required(path, "either name or signerName must be specified"),
    }
    let target = text(from, "path");
    if target.is_empty() {
        out.required(&path.child("path"), "");
    }
    user(out, from, "user", path);
    local_unreserved(out, target, &path.child("path"));
}

fn bundle_name(name: &str) -> Vec<String> {
    let Some((signer, _)) = name.rsplit_once(':') else { return names::is_dns1123_subdomain(name) };
    let signer = signer.replace(':', "/");
    let prefix = format!("{}:", signer.replace('/', ":"));
    if signer.is_empty() {
        return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".into()];
    }
    names::is_dns1123_subdomain(name.strip_prefix(&prefix).unwrap_or(name))
}

/// The name of a signer: a domain and a path.
pub fn signer_name(out: &mut Found, name: &str, path: &Path) {
    if name.is_empty() {
        out.required(path, "");
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, rest] = parts.as_slice() else {
        let said = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        out.invalid(path, name, said);
        return;
    };
    if domain.len() > names::SUBDOMAIN_MAX {
        out.too_long(path, names::SUBDOMAIN_MAX);
    }
    let complain = |out: &mut Found, whole: &str, rule: fn(&str) -> Vec<String>| {
        for label in whole.split('.') {
            let said = rule(label);
            if !said.is_empty() {
                for said in said {
                    out.invalid(path, whole, format!("validating label {}: {said}", go_quoted(label)));
                }
                break;
            }
        }
    };
    complain(out, domain, names::is_dns1123_label);
    if !domain.contains('.') {
        out.invalid(path, *domain, "should be a domain with at least two segments separated by dots");
    }
    complain(out, rest, names::is_dns1123_subdomain);
    let most = names::SUBDOMAIN_MAX + names::SUBDOMAIN_MAX + names::LABEL_MAX + 2;
    if name.len() > most {
        out.too_long(path, most);
    }
}

fn certificate<'a>(out: &mut Found, from: &'a Value, taken: &mut BTreeSet<&'a str>, path: &Path, field: &Path) {
    const KEYS: &[&str] = &["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
    let signer = text(from, "signerName");
    signer_name(out, signer, &field.child("signerName"));
    let mut size = 0;
    for (key, value) in entries(from, "userAnnotations") {
        size += key.len() + value.as_str().map(str::len).unwrap_or_default();
        out.extend(names::is_domain_prefixed_key(&field.child("userAnnotations"), &key.to_lowercase()));
    }
    if size > 256 * 1024 {
        out.too_long(&field.child("userAnnotations"), 256 * 1024);
    }
    user(out, from, "user", field);
    out.one_of(&field.child("keyType"), text(from, "keyType"), KEYS);
    if let Some(seconds) = number(from, "maxExpirationSeconds") {
        let seconds_path = field.child("maxExpirationSeconds");
        if seconds < 3600 {
            out.invalid(&seconds_path, seconds, "if provided, maxExpirationSeconds must be >= 3600");
        }
        let host = signer.split_once('/').map_or(signer, |(host, _)| host);
        let own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        // A day for Kubernetes' own signers, 91 days for others.
        let most = if own { 24 * 60 * 60 } else { 91 * 24 * 60 * 60 };
        if seconds > most {
            out.invalid(&seconds_path, seconds, format!("if provided, maxExpirationSeconds must be <= {most}"));
        }
    }
    let mut count = 0;
    for name in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let target = text(from, name);
        if target.is_empty() {
            continue;
        }
        count += 1;
        local_unreserved(out, target, &field.child(name));
        if !taken.insert(target) {
            out.invalid(path, target, CONFLICT);
        }
    }
    if count == 0 {
        let said = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        out.required(field, said);
    }
}
