//! Names that somebody made up, and the stable ones that stand for them.
//!
//! ```text
//!  ReplicaSet web-7d9f6c5b8d        ─►  web-<revision 2>            (the hash, wherever it stands)
//!  Pod        web-7d9f6c5b8d-x2x4z  ─►  web-<revision 2>-<1>        (the first of those in the order of what they are)
//!  in events  web-7d9f6c5b8d-x2x4z  ─►  web-<revision 2>-<name>     (which of them it was, nobody knows)
//! ```

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::volumes::observe::Seen;

/// The letters that generated names and hashes are made of: no vowels, so that no word comes of it.
const LETTERS: &str = "[bcdfghjklmnpqrstvwxz2456789]";

static UID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").ok());
static GENERATED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"-{LETTERS}{{5}}\b")).ok());
static HASHED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!(r"-{LETTERS}{{6,10}}\b")).ok());

static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("kube-api-access-{LETTERS}{{5}}")).ok());

/// What stands for what in one story.
#[derive(Debug, Default)]
pub struct Names {
    id: String,
    hashes: Vec<(String, String)>,
    generated: Vec<(String, String)>,
    uids: BTreeMap<String, String>,
    nodes: Vec<(String, String)>,
}

impl Names {
    /// Of what was seen. The nodes have the same name all, unless it is known where each pod is.
    pub fn of(seen: &Seen, id: &str, nodes: &[String], placed: bool) -> Self {
        let shown = |index: usize| if placed { format!("node-{}", index + 1) } else { "<node>".to_owned() };
        let nodes = nodes.iter().enumerate().map(|(index, name)| (name.clone(), shown(index))).collect();
        let mut names = Self { id: id.to_owned(), nodes, ..Self::default() };
        for object in seen.objects.values() {
            names.hashes.extend(hash(object));
        }
        names
    }

    /// Learns the stable names of generated ones, then those of all uids.
    pub fn learn(&mut self, generated: Vec<(String, String)>, seen: &Seen) {
        self.generated = generated;
        // The longest first: one may be the beginning of another.
        self.generated.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        for (reference, object) in &seen.objects {
            if let Some(uid) = object.pointer("/metadata/uid").and_then(Value::as_str) {
                let named = self.plain(reference);
                self.uids.insert(uid.to_owned(), format!("<uid of {named}>"));
            }
        }
    }

    fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in self.generated.iter().chain(&self.hashes).chain(&self.nodes) {
            if text.contains(from.as_str()) {
                text = text.replace(from, to);
            }
        }
        text.replace(&self.id, "$ID")
    }

    /// A text of an object.
    pub fn text(&self, text: &str) -> String {
        let uid = |found: &Captures<'_>| self.uids.get(&found[0]).cloned().unwrap_or_else(|| "<another uid>".into());
        let text = UID.as_ref().map_or_else(|| text.to_owned(), |pattern| pattern.replace_all(text, uid).into_owned());
        let text = self.plain(&text);
        TOKENS
            .as_ref()
            .map_or_else(|| text.clone(), |pattern| pattern.replace_all(&text, "kube-api-access-<name>").into_owned())
    }

    /// A text of an event: it may be about what is gone.
    pub fn event(&self, text: &str) -> String {
        let mut text = UID.as_ref().map_or_else(|| text.to_owned(), |uid| uid.replace_all(text, "<uid>").into_owned());
        for (hash, shown) in &self.hashes {
            text = text.replace(hash, shown);
        }
        for (node, shown) in &self.nodes {
            text = text.replace(node, shown);
        }
        text = text.replace(&self.id, "$ID");
        for (pattern, word) in [(&GENERATED, "-<name>"), (&HASHED, "-<hash>")] {
            if let Some(pattern) = pattern.as_ref() {
                text = pattern.replace_all(&text, word).into_owned();
            }
        }
        text
    }
}

/// The hash in the name of a revision, and the number that stands for it.
fn hash(object: &Value) -> Option<(String, String)> {
    let name = object.pointer("/metadata/name")?.as_str()?;
    let owner = object.pointer("/metadata/ownerReferences/0/name").and_then(Value::as_str);
    let revision = match object.get("revision").and_then(Value::as_i64) {
        Some(number) => number.to_string(),
        None => object["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str()?.to_owned(),
    };
    let hash = match (owner, object.pointer("/metadata/labels/pod-template-hash").and_then(Value::as_str)) {
        (_, Some(hash)) => hash,
        (Some(owner), None) => name.strip_prefix(owner)?.strip_prefix('-')?,
        // Its owner is gone and left it behind.
        (None, None) => name.rsplit_once('-')?.1,
    };
    // A Deployment has the annotation, too, and no hash.
    (hash.len() > 5).then(|| (hash.to_owned(), format!("<revision {revision}>")))
}

/// What a name was generated from: `web-7d9f6c5b8d-` of `web-7d9f6c5b8d-x2x4z`.
pub fn prefix(object: &Value) -> Option<&str> {
    let name = object.pointer("/metadata/name")?.as_str()?;
    let prefix = object.pointer("/metadata/generateName")?.as_str()?;
    name.strip_prefix(prefix).filter(|made| made.len() == 5).map(|_| prefix)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn made_up_names_get_stable_ones() {
        let set = json!({"metadata": {"name": "web-7d9f6c5b8d", "uid": "6fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10",
            "labels": {"pod-template-hash": "7d9f6c5b8d"}, "annotations": {"deployment.kubernetes.io/revision": "2"}}});
        let pod = json!({"metadata": {"name": "web-7d9f6c5b8d-x2x4z", "generateName": "web-7d9f6c5b8d-",
            "uid": "7fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10"}});
        assert_eq!(prefix(&pod), Some("web-7d9f6c5b8d-"));
        let mut seen = Seen::default();
        seen.objects.insert("replicaset/web-7d9f6c5b8d".into(), set);
        seen.objects.insert("pod/web-7d9f6c5b8d-x2x4z".into(), pod);
        let mut names = Names::of(&seen, "own007", &["node-a".into()], false);
        names.learn(vec![("web-7d9f6c5b8d-x2x4z".into(), "web-7d9f6c5b8d-<1>".into())], &seen);
        for (text, expected) in [
            ("web-7d9f6c5b8d-x2x4z on node-a in own007", "web-<revision 2>-<1> on <node> in $ID"),
            ("7fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10", "<uid of pod/web-<revision 2>-<1>>"),
            ("kube-api-access-x2x4z", "kube-api-access-<name>"),
            ("8fb1a3f1-96a5-4e54-8bd9-8e3c9c0f5b10", "<another uid>"),
        ] {
            assert_eq!(names.text(text), expected);
        }
        assert_eq!(
            names.event("Created pod: web-7d9f6c5b8d-x2x4z, deleted web-5c8d7f6b5-24xzk, update-ready-set"),
            "Created pod: web-<revision 2>-<name>, deleted web-<hash>-<name>, update-ready-set"
        );
    }
}
