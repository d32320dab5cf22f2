//! Manifests as they are: whole objects of any kind, for whoever hands them on rather than decides about them.

use std::sync::Arc;

use serde_json::Value;

use super::{Limits, ManifestError, Place, Source, decode, json, yaml};
use crate::document::without_place;

/// An object as it was written, and where.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Where.
    pub place: Place,
    /// All of it.
    pub object: Value,
}

/// The objects of a source, in its order, and what could not be read. Lists are taken apart.
pub fn whole(source: Source<'_>, limits: Limits) -> (Vec<Whole>, Vec<ManifestError>) {
    let mut reader = Reader { source: Arc::from(source.name), objects: Vec::new(), errors: Vec::new() };
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    if text.len() > limits.max_bytes {
        let problem = format!("{} bytes are more than the limit of {}", text.len(), limits.max_bytes);
        reader.error(1, None, problem);
    } else if json::looks_like(text) {
        reader.json(text);
    } else {
        reader.yaml(text, limits);
    }
    (reader.objects, reader.errors)
}

struct Reader {
    source: Arc<str>,
    objects: Vec<Whole>,
    errors: Vec<ManifestError>,
}

impl Reader {
    fn json(&mut self, text: &str) {
        for (document, value) in (1..).zip(serde_json::Deserializer::from_str(text).into_iter::<Value>()) {
            match value {
                Ok(Value::Array(items)) => self.items(items, None, document),
                Ok(value) => self.document(value, document, None),
                Err(error) => return self.error(document, Some(error.line()), without_place(&error)),
            }
        }
    }

    fn yaml(&mut self, text: &str, limits: Limits) {
        let mut document = 0;
        for (first_line, chunk) in yaml::split(text) {
            if chunk.lines().all(yaml::is_blank) {
                continue;
            }
            document += 1;
            match serde_saphyr::from_str_with_options::<Value>(chunk, yaml::options(chunk.len(), limits)) {
                Ok(value) => self.document(value, document, Some(first_line)),
                Err(error) => {
                    let line = error.location().and_then(|l| usize::try_from(l.line()).ok());
                    let line = line.map_or(first_line, |l| l + first_line - 1);
                    self.error(document, Some(line), yaml::problem(&error));
                }
            }
        }
    }

    fn document(&mut self, mut value: Value, document: usize, line: Option<usize>) {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let is_list = decode::list_item_kind(&kind).is_some_and(|_| kind == "List" || value["items"].is_array());
        if is_list {
            let items = match value["items"].take() {
                Value::Array(items) => items,
                _ => Vec::new(),
            };
            let of = decode::list_item_kind(&kind).filter(|of| !of.is_empty()).map(|of| (api_version.as_str(), of));
            return self.items(items, of, document);
        }
        if !value.is_null() {
            self.object(value, Place { source: self.source.clone(), document, item: None, line });
        }
    }

    /// The items of a list; `of` says what an item without a kind is.
    fn items(&mut self, items: Vec<Value>, of: Option<(&str, &str)>, document: usize) {
        for (item, mut value) in (1..).zip(items) {
            if let Some((api_version, kind)) = of
                && let Some(fields) = value.as_object_mut()
                && !fields.contains_key("kind")
            {
                fields.insert("apiVersion".into(), api_version.into());
                fields.insert("kind".into(), kind.into());
            }
            self.object(value, Place { source: self.source.clone(), document, item: Some(item), line: None });
        }
    }

    fn object(&mut self, object: Value, place: Place) {
        let problem = if !object.is_object() {
            Some(("", "not a Kubernetes object"))
        } else {
            let missing = |field: &str| object[field].as_str().is_none_or(str::is_empty);
            let missing = ["apiVersion", "kind"].into_iter().find(|field| missing(field));
            missing.map(|field| (field, "is missing: not a Kubernetes object"))
        };
        match problem {
            None => self.objects.push(Whole { place, object }),
            Some((field, problem)) => self.errors.push(ManifestError {
                place,
                object: String::new(),
                field: field.to_owned(),
                problem: problem.to_owned(),
            }),
        }
    }

    fn error(&mut self, document: usize, line: Option<usize>, problem: String) {
        let place = Place { source: self.source.clone(), document, item: None, line };
        self.errors.push(ManifestError { place, object: String::new(), field: String::new(), problem });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let (objects, errors) = whole(Source { name: "f", text }, Limits::default());
        let shown =
            |w: &Whole| format!("{}: {} {}", w.place, w.object["apiVersion"], w.object["kind"]).replace('"', "");
        (objects.iter().map(shown).collect(), errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn documents_lists_and_what_is_none() {
        let (objects, errors) = read(
            "# first\n---\napiVersion: v1\nkind: Pod\nunknown: {kept: true}\n---\nkind: x\n---\napiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}}, 3]\n---\na: [\n",
        );
        assert_eq!(objects, ["f: document 1, line 2: v1 Pod", "f: document 3, item 1: v1 Pod"]);
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert_eq!(errors[0], "f: document 2, line 6: apiVersion: is missing: not a Kubernetes object");
        assert_eq!(errors[1], "f: document 3, item 2: not a Kubernetes object");
        assert!(errors[2].starts_with("f: document 4, line 1"), "{}", errors[2]);
    }

    #[test]
    fn json_streams_and_arrays() {
        let (objects, errors) =
            read("{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}\n[{\"apiVersion\":\"v1\",\"kind\":\"Node\"}]\n{");
        assert_eq!(objects, ["f: document 1: v1 Pod", "f: document 2, item 1: v1 Node"]);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].starts_with("f: document 3, line 3: "), "{}", errors[0]);
    }
}
