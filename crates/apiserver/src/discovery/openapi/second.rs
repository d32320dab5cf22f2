//! OpenAPI v2, made from the v3 documents: kubectl asks it about kinds that no v3 document has, such as `List`, and about unknown ones.

use serde_json::{Map, Value, json};

const THIRD: &str = "#/components/schemas/";
const SECOND: &str = "#/definitions/";
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// What version 2 has no word for, or leaves out.
const LEFT_OUT: [&str; 7] = ["oneOf", "anyOf", "allOf", "not", "nullable", "default", "enum"];

/// One document of all that the others say.
pub(super) fn document(third: &[Value]) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for document in third {
        for (path, item) in fields(&document["paths"]) {
            paths.insert(path.clone(), path_item(item));
        }
        for (name, component) in fields(&document["components"]["schemas"]) {
            let new = schema(component);
            match definitions.get_mut(name) {
                Some(known) => join_kinds(known, &new),
                None => {
                    definitions.insert(name.clone(), new);
                }
            }
        }
    }
    json!({
        "swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.37"}, "paths": paths, "definitions": definitions,
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    })
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A type that several groups share is a kind of all of them.
fn join_kinds(known: &mut Value, new: &Value) {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    let Some(all) = known.get_mut(KINDS).and_then(Value::as_array_mut) else { return };
    for kind in new[KINDS].as_array().into_iter().flatten() {
        if !all.contains(kind) {
            all.push(kind.clone());
        }
    }
}

fn reference(value: &Value) -> Option<Value> {
    let name = value.get("$ref")?.as_str()?.strip_prefix(THIRD)?;
    Some(json!({"$ref": format!("{SECOND}{name}")}))
}

fn schema(third: &Value) -> Value {
    if let Some(found) = reference(third) {
        return found;
    }
    // Version 3 wraps a reference so that it can say more beside it.
    let wrapped = third["allOf"].as_array().and_then(|all| all.first()).and_then(reference);
    let mut second = wrapped.unwrap_or_else(|| json!({}));
    for (name, value) in fields(third) {
        let value = match name.as_str() {
            name if LEFT_OUT.contains(&name) => continue,
            "properties" => {
                fields(value).map(|(name, value)| (name.clone(), schema(value))).collect::<Map<_, _>>().into()
            }
            "items" | "additionalProperties" if value.is_object() => schema(value),
            _ => value.clone(),
        };
        second[name] = value;
    }
    if third.get("oneOf").is_some() && second.get("type").is_none() {
        second["type"] = "string".into();
    }
    second
}

fn path_item(third: &Value) -> Value {
    let mut item = json!({});
    for (name, value) in fields(third) {
        if METHODS.contains(&name.as_str()) {
            item[name] = operation(value);
        }
    }
    if let Some(shared) = third["parameters"].as_array() {
        item["parameters"] = shared.iter().map(parameter).collect::<Vec<_>>().into();
    }
    item
}

fn operation(third: &Value) -> Value {
    let mut second = json!({"schemes": ["https"], "consumes": ["*/*"]});
    let mut parameters: Vec<Value> = third["parameters"].as_array().into_iter().flatten().map(parameter).collect();
    for (name, value) in fields(third) {
        match name.as_str() {
            "parameters" | "responses" => {}
            "requestBody" => {
                let contents = &value["content"];
                let schema = fields(contents).next().map(|(_, content)| schema(&content["schema"])).unwrap_or_default();
                parameters.insert(0, json!({"name": "body", "in": "body", "required": true, "schema": schema}));
                if third["x-kubernetes-action"] == "patch" {
                    second["consumes"] = fields(contents).map(|(media, _)| media.clone()).collect::<Vec<_>>().into();
                }
            }
            _ => second[name] = value.clone(),
        }
    }
    if !parameters.is_empty() {
        second["parameters"] = parameters.into();
    }
    let mut responses = json!({});
    for (code, response) in fields(&third["responses"]) {
        let mut answer = json!({"description": response["description"].as_str().unwrap_or_default()});
        if let Some((_, content)) = fields(&response["content"]).next() {
            answer["schema"] = schema(&content["schema"]);
            let media: Vec<&String> = fields(&response["content"]).map(|(media, _)| media).collect();
            second["produces"] = json!(media);
        }
        responses[code] = answer;
    }
    second["responses"] = responses;
    second
}

fn parameter(third: &Value) -> Value {
    let mut second = json!({});
    for (name, value) in fields(third) {
        match name.as_str() {
            "schema" => fields(value).for_each(|(name, value)| second[name] = value.clone()),
            _ => second[name] = value.clone(),
        }
    }
    second
}
