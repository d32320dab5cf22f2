//! ClusterTrustBundle: certificates that are trusted, by themselves or on behalf of a signer.

use std::collections::BTreeMap;

use serde_json::Value;

use super::certificates::{any_name, signer_name};
use super::found::{Found, IMMUTABLE};
use crate::pem;
use crate::validation::names::name_is_dns_subdomain;
use crate::validation::path::{Path, get, text};

/// A megabyte.
const LONGEST: usize = 1 << 20;

/// A new bundle.
pub(super) fn create(found: &mut Found, new: &Value) {
    bundle(found, new, None);
}

/// A bundle that replaces another.
pub(super) fn update(found: &mut Found, new: &Value, old: &Value) {
    bundle(found, new, Some(old));
    found.metadata_update(new, old);
    let signer = |bundle| text(get(bundle, "spec"), "signerName");
    if signer(new) != signer(old) {
        found.invalid("spec.signerName", signer(new), IMMUTABLE);
    }
}

fn bundle(found: &mut Found, new: &Value, old: Option<&Value>) {
    let (path, spec) = (Path::new("spec"), get(new, "spec"));
    let signer = text(spec, "signerName");
    let metadata = get(new, "metadata");
    for (field, is_prefix) in [("generateName", true), ("name", false)] {
        let name = text(metadata, field);
        if !name.is_empty() {
            found.complain(&Path::new("metadata").child(field), name, name_complaints(signer, name, is_prefix));
        }
    }
    found.metadata(new, false, any_name);
    if !signer.is_empty() {
        signer_name(found, signer, &path.child("signerName"));
    }
    let bundle = text(spec, "trustBundle");
    if old.is_none_or(|old| text(get(old, "spec"), "trustBundle") != bundle) {
        anchors(found, bundle, &path.child("trustBundle"));
    }
}

/// The bundles of a signer begin with its name.
fn name_complaints(signer: &str, name: &str, is_prefix: bool) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return name_is_dns_subdomain(name, is_prefix);
    }
    let prefix = signer.replace('/', ":") + ":";
    match name.strip_prefix(&prefix) {
        Some(rest) => name_is_dns_subdomain(rest, is_prefix),
        None => vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")],
    }
}

fn anchors(found: &mut Found, bundle: &str, path: &Path) {
    if bundle.len() > LONGEST {
        found.too_long(path, LONGEST);
        return;
    }
    let omitted = "<value omitted>";
    let blocks = pem::blocks(bundle);
    let mut broken = false;
    for (i, block) in blocks.iter().enumerate() {
        let said = if block.kind != "CERTIFICATE" {
            format!("entry {i} has bad block type: {}", block.kind)
        } else if block.has_headers {
            format!("entry {i} has PEM block headers")
        } else if !pem::is_certificate(&block.der) {
            format!("entry {i} does not parse as X.509")
        } else {
            continue;
        };
        broken = true;
        found.invalid(path, omitted, said);
    }
    if broken {
        return;
    }
    if blocks.is_empty() {
        found.invalid(path, omitted, "at least one trust anchor must be provided");
    }
    let mut places: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (i, block) in blocks.iter().enumerate() {
        places.entry(&block.der).or_default().push(i);
    }
    let mut twice: Vec<Vec<usize>> = places.into_values().filter(|places| places.len() > 1).collect();
    twice.sort();
    for places in twice {
        let all: Vec<String> = places.iter().map(usize::to_string).collect();
        found.invalid(path, omitted, format!("duplicate trust anchor (indices [{}])", all.join(" ")));
    }
}
