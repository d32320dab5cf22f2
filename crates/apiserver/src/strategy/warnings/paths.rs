//! Warnings about files of volumes that hide one another.

use serde_json::Value;

use crate::field::go_quoted;
use crate::value::{get, list, text};

/// A path in a volume, and what puts a file there; nothing where the volume has one source only.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    path: String,
    source: String,
}

impl File {
    fn shown(&self) -> String {
        let path = go_quoted(&self.path);
        if self.source.is_empty() { path } else { format!("{path} ({})", self.source) }
    }
}

/// The volumes of a pod.
pub(super) fn overlapping(volumes: &[Value], out: &mut Vec<String>) {
    for volume in volumes {
        let name = go_quoted(text(volume, &["name"]));
        for (field, shown, of) in [
            ("configMap", "ConfigMap", Some("name")),
            ("secret", "Secret", Some("secretName")),
            ("downwardAPI", "DownwardAPI", None),
        ] {
            let Some(source) = get(volume, &[field]) else { continue };
            let shown = named(shown, of.map(|of| text(source, &[of])));
            within(&name, &shown, items(source, ""), out);
        }
        let Some(projected) = get(volume, &["projected"]) else { continue };
        let mut files = Vec::new();
        for source in list(projected, &["sources"]) {
            if source.as_object().is_none_or(serde_json::Map::is_empty) {
                out.push(format!("volume {name} (Projected) has no sources provided"));
            }
            files.extend(projection(source));
        }
        within(&name, "Projected", files, out);
    }
}

fn named(what: &str, name: Option<&str>) -> String {
    name.map_or_else(|| what.to_owned(), |name| format!("{what} {}", go_quoted(name)))
}

fn items(source: &Value, shown: &str) -> Vec<File> {
    let all = list(source, &["items"]).iter();
    all.map(|item| File { path: text(item, &["path"]).to_owned(), source: shown.to_owned() }).collect()
}

/// What one source of a projected volume puts where.
fn projection(source: &Value) -> Vec<File> {
    let one = |path: &str, source: String| File { path: path.to_owned(), source };
    if let Some(map) = get(source, &["configMap"]) {
        items(map, &named("ConfigMap", Some(text(map, &["name"]))))
    } else if let Some(secret) = get(source, &["secret"]) {
        items(secret, &named("Secret", Some(text(secret, &["name"]))))
    } else if let Some(fields) = get(source, &["downwardAPI"]) {
        items(fields, "DownwardAPI")
    } else if let Some(token) = get(source, &["serviceAccountToken"]) {
        vec![one(text(token, &["path"]), "ServiceAccountToken".into())]
    } else if let Some(bundle) = get(source, &["clusterTrustBundle"]) {
        let name = ["name", "signerName"].into_iter().map(|field| text(bundle, &[field])).find(|name| !name.is_empty());
        vec![one(text(bundle, &["path"]), named("ClusterTrustBundle", Some(name.unwrap_or_default())))]
    } else if let Some(certificate) = get(source, &["podCertificate"]) {
        let parts = [
            ("certificateChainPath", "PodCertificate chain"),
            ("keyPath", "PodCertificate key"),
            ("credentialBundlePath", "PodCertificate credential bundle"),
        ];
        let parts = parts.into_iter().map(|(field, shown)| one(text(certificate, &[field]), shown.into()));
        parts.filter(|file| !file.path.is_empty()).collect()
    } else {
        Vec::new()
    }
}

/// How many warnings are looked for. An answer has room for 4096 letters of them, so nobody misses the others.
const MOST: usize = 4096;

/// Whether a path is another, or within it.
fn holds(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Each file against those before it: the same path, or one within the other.
fn within(volume: &str, shown: &str, files: Vec<File>, out: &mut Vec<String>) {
    let mut before: Vec<File> = Vec::new();
    for mut file in files {
        file.path.truncate(file.path.trim_end_matches('/').len());
        for other in before.iter().filter(|other| !other.path.is_empty() && !file.path.is_empty()) {
            if holds(&other.path, &file.path) || holds(&file.path, &other.path) {
                if out.len() >= MOST {
                    return;
                }
                out.push(format!(
                    "volume {volume} ({shown}): overlapping paths: {} with {}",
                    file.shown(),
                    other.shown()
                ));
            }
        }
        before.push(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_that_hide_one_another_are_named() {
        let volumes = [
            json!({"name": "c", "configMap": {"name": "m", "items": [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}, {"key": "c", "path": "xy"}]}}),
            json!({"name": "p", "projected": {"sources": [
                {}, {"secret": {"name": "s", "items": [{"key": "a", "path": "t/"}]}}, {"serviceAccountToken": {"path": "t"}},
            ]}}),
        ];
        let mut out = Vec::new();
        overlapping(&volumes, &mut out);
        assert_eq!(
            out,
            [
                r#"volume "c" (ConfigMap "m"): overlapping paths: "x/y" with "x""#,
                r#"volume "p" (Projected) has no sources provided"#,
                r#"volume "p" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")"#,
            ]
        );
    }
    #[test]
    fn of_many_that_hide_one_another_some_are_named() {
        let items: Vec<Value> = (0..2000).map(|_| json!({"key": "a", "path": "x"})).collect();
        let mut out = Vec::new();
        overlapping(&[json!({"name": "c", "secret": {"secretName": "s", "items": items}})], &mut out);
        assert_eq!(out.len(), MOST);
    }
}
