//! The schemas of a CustomResourceDefinition: that they are structural, that defaults fit, and what the extensions ask for.
//!
//! Structural means that the shape of objects is said once, outside of `allOf`, `anyOf`, `oneOf` and `not`, which may only narrow it:
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>.
//! Rules in CEL are checked for their words only.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::Found;
use crate::custom;
use crate::validation::path::{Path, entries, flag, get, has, list, text, texts};

/// Where in a schema a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What has words that OpenAPI has and definitions have not. Such a schema has no structure to speak of.
const UNSUPPORTED: [&str; 7] =
    ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];

/// The junctors that hold lists of schemas.
const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Whether something is true of any place of a schema.
pub(super) fn any(schema: &Value, is: &dyn Fn(&Value) -> bool) -> bool {
    let deeper = |schema: &Value| any(schema, is);
    schema.is_object()
        && (is(schema)
            || ["items", "additionalProperties", "not"].iter().any(|name| deeper(get(schema, name)))
            || entries(schema, "properties").any(|(_, property)| deeper(property))
            || JUNCTORS.iter().any(|name| list(schema, name).iter().any(deeper)))
}

/// The schema of a version, or of all.
pub(super) fn check(found: &mut Found, holder: &Value, path: &Path) {
    let schema = get(holder, "openAPIV3Schema");
    if schema.is_null() {
        return;
    }
    let path = path.child("openAPIV3Schema");
    let mut all = Found::default();
    if flag(schema, "nullable") {
        all.forbidden(path.child("nullable"), "nullable cannot be true at the root");
    }
    if !any(schema, &|node| UNSUPPORTED.iter().any(|name| has(node, name))) {
        let mut wrong = Found::default();
        node(&mut wrong, schema, Level::Root, &path);
        narrows(&mut wrong, schema, Some(schema), &path, &path);
        // Upstream sorts these by what they say.
        let mut errors = wrong.finish();
        errors.sort_by_key(ToString::to_string);
        if errors.is_empty() {
            defaults(&mut all, schema, &path, true);
        }
        all.extend(errors);
    }
    sane(&mut all, schema, &path, Place { root: true, ..Place::default() });
    // The other words are forbidden one by one; this one is found by upstream only when it looks for the structure.
    if all.is_empty() && any(schema, &|node| has(node, "$schema")) {
        all.invalid(&path, "", "OpenAPIV3Schema 'schema' is not supported");
    }
    found.extend(all.finish_plainly());
}

/// The shape of one place, and of all below it.
fn node(found: &mut Found, schema: &Value, level: Level, path: &Path) {
    let kind = text(schema, "type");
    let items = get(schema, "items");
    if kind == "array" && items.is_null() {
        found.required(path.child("items"), "must be specified");
    }
    if items.is_object() {
        node(found, items, Level::Item, &path.child("items"));
    }
    for (name, property) in entries(schema, "properties") {
        node(found, property, Level::Field, &path.child("properties").key(name));
    }
    let more = get(schema, "additionalProperties");
    if !more.is_null() {
        if level == Level::Root {
            found.forbidden(path.child("additionalProperties"), "must not be used at the root");
        }
        if more.is_object() {
            node(found, more, Level::Field, &path.child("additionalProperties"));
        }
    }
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if int_or_string && flag(schema, name) {
            found.invalid(path.child(name), true, "must be false if x-kubernetes-int-or-string is true");
        }
    }
    junctors(found, schema, is_int_or_string(schema), is_int_or_string(first(schema, "allOf")), path);
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let keeps_unknown = flag(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && kind != "object" {
        must_be(found, kind, "must be object if x-kubernetes-embedded-resource is true", path);
    } else if kind.is_empty() && !int_or_string && !keeps_unknown {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        found.required(path.child("type"), &format!("must not be empty {place}"));
    }
    if embedded && !more.is_null() {
        let said = "must not be used if x-kubernetes-embedded-resource is set";
        found.forbidden(path.child("additionalProperties"), said);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        found.invalid(path.child("type"), kind, "must be object at the root");
    }
    if level == Level::Root || embedded {
        for (name, must_be) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
            let property = get(get(schema, "properties"), name);
            if !property.is_null() && text(property, "type") != must_be {
                let path = path.child("properties").key(name).child("type");
                found.invalid(&path, text(property, "type"), format!("must be {must_be}"));
            }
        }
    }
    let metadata = get(get(schema, "properties"), "metadata");
    if level == Level::Root && !metadata.is_null() && !is_plain_metadata(metadata) {
        let said = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        found.forbidden(path.child("properties").key("metadata"), said);
    }
    if embedded && !keeps_unknown && entries(schema, "properties").next().is_none() {
        let said =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        found.required(path.child("properties"), said);
    }
}

fn must_be(found: &mut Found, kind: &str, said: &str, path: &Path) {
    if kind.is_empty() {
        found.required(path.child("type"), said);
    } else {
        found.invalid(path.child("type"), kind, said);
    }
}

/// Metadata has a type of its own; a schema may only say more of names.
fn is_plain_metadata(schema: &Value) -> bool {
    let known = |name: &str| matches!(name, "name" | "generateName");
    schema.as_object().into_iter().flatten().all(|(field, value)| match field.as_str() {
        "type" | "default" => true,
        "properties" => value.as_object().is_some_and(|all| all.keys().all(|name| known(name))),
        _ => false,
    })
}

fn first<'a>(schema: &'a Value, junctor: &str) -> &'a Value {
    list(schema, junctor).first().unwrap_or(&Value::Null)
}

/// `anyOf` a number and a text: the one place where types may stand below a junctor.
fn is_int_or_string(schema: &Value) -> bool {
    let alone = |schema: &Value, kind: &str| {
        schema.as_object().is_some_and(|all| all.len() == 1) && text(schema, "type") == kind
    };
    matches!(list(schema, "anyOf"), [number, word] if alone(number, "integer") && alone(word, "string"))
}

/// What stands below `allOf` and its like. `excused`: the exception of numbers and texts is this one; `first_excused`: it is in the first
/// of `allOf`.
fn junctors(found: &mut Found, schema: &Value, excused: bool, first_excused: bool, path: &Path) {
    for name in JUNCTORS {
        for (i, inner) in list(schema, name).iter().enumerate() {
            if !(excused && name == "anyOf") {
                let excused = first_excused && name == "allOf" && i == 0;
                nested(found, inner, excused, &path.child(name).index(i));
            }
        }
    }
    if get(schema, "not").is_object() {
        nested(found, get(schema, "not"), false, &path.child("not"));
    }
    let pattern = text(schema, "pattern");
    if let Some(why) = custom::wrong_pattern(pattern) {
        let said = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        found.invalid(path.child("pattern"), pattern, said);
    }
}

/// A schema below a junctor: it may narrow, and say nothing of the shape.
fn nested(found: &mut Found, schema: &Value, excused: bool, path: &Path) {
    junctors(found, schema, excused, false, path);
    if get(schema, "items").is_object() {
        nested(found, get(schema, "items"), false, &path.child("items"));
    }
    for (name, property) in entries(schema, "properties") {
        nested(found, property, false, &path.child("properties").key(name));
    }
    for name in ["type", "title", "description"] {
        if !text(schema, name).is_empty() {
            found.forbidden(path.child(name), "must be empty to be structural");
        }
    }
    // `false` is as good as nothing here.
    let more = get(schema, "additionalProperties").as_bool() != Some(false);
    for name in ["additionalProperties", "default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if has(schema, name) && (more || name != "additionalProperties") {
            found.forbidden(path.child(name), "must be undefined to be structural");
        }
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if flag(schema, name) {
            found.forbidden(path.child(name), "must be false to be structural");
        }
    }
    for name in ["x-kubernetes-list-map-keys", "x-kubernetes-validations"] {
        if !list(schema, name).is_empty() {
            found.forbidden(path.child(name), "must be empty to be structural");
        }
    }
    if has(get(schema, "properties"), "metadata") {
        let path = path.child("properties").key("metadata");
        found.forbidden(&path, "must not be specified in a nested context");
    }
}

/// What is narrowed below a junctor must have its shape outside of it. Upstream looks at the junctors of the root only.
fn narrows(found: &mut Found, inner: &Value, outer: Option<&Value>, outer_path: &Path, inner_path: &Path) {
    let each =
        JUNCTORS.iter().flat_map(|name| list(inner, name).iter().enumerate().map(move |(i, one)| (*name, i, one)));
    for (name, i, one) in each {
        covered(found, one, outer, outer_path, &inner_path.child(name).index(i));
    }
    if get(inner, "not").is_object() {
        covered(found, get(inner, "not"), outer, outer_path, &inner_path.child("not"));
    }
}

fn covered(found: &mut Found, inner: &Value, outer: Option<&Value>, outer_path: &Path, inner_path: &Path) {
    let Some(outer) = outer else {
        found.required(outer_path, &format!("because it is defined in {inner_path}"));
        return;
    };
    narrows(found, inner, Some(outer), outer_path, inner_path);
    if get(inner, "items").is_object() {
        let items = Some(get(outer, "items")).filter(|items| items.is_object());
        covered(found, get(inner, "items"), items, &outer_path.child("items"), &inner_path.child("items"));
    }
    for (name, property) in entries(inner, "properties") {
        let (outer_path, inner_path) =
            (outer_path.child("properties").key(name), inner_path.child("properties").key(name));
        let of = Some(get(get(outer, "properties"), name)).filter(|property| !property.is_null());
        covered(found, property, of, &outer_path, &inner_path);
    }
}

/// Defaults must fit. Those of metadata are forbidden elsewhere.
fn defaults(found: &mut Found, schema: &Value, path: &Path, resource: bool) {
    let default = get(schema, "default");
    if !default.is_null() {
        found.extend(custom::check_default(schema, default, path.child("default").as_str()));
    }
    let resource = resource || flag(schema, "x-kubernetes-embedded-resource");
    if get(schema, "items").is_object() {
        defaults(found, get(schema, "items"), &path.child("items"), false);
    }
    for (name, property) in entries(schema, "properties") {
        if !(resource && is_meta(name)) {
            defaults(found, property, &path.child("properties").key(name), false);
        }
    }
}

fn is_meta(name: &str) -> bool {
    matches!(name, "metadata" | "apiVersion" | "kind")
}

/// Where a place is, as far as its rules depend on it.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    root: bool,
    /// Inside of the metadata of a resource.
    meta: bool,
    /// Why there may be no default.
    no_default: Option<&'static str>,
}

/// Words and extensions, at every place.
fn sane(found: &mut Found, schema: &Value, path: &Path, place: Place) {
    const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
    let kind = text(schema, "type");
    if !kind.is_empty() && !TYPES.contains(&kind) {
        found.unsupported(&path.child("type"), kind, TYPES);
    }
    if let Some(why) = place.no_default.filter(|_| has(schema, "default")) {
        found.forbidden(path.child("default"), &format!("must not be set {why}"));
    }
    for name in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if has(schema, name) {
            found.forbidden(path.child(name), &format!("{name} is not supported"));
        }
    }
    if kind == "null" {
        found.forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative");
    }
    if get(schema, "items").is_array() {
        found.forbidden(path.child("items"), "items must be a schema object and not an array");
    }
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    if place.meta && embedded {
        found.forbidden(path.child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
    }
    if flag(schema, "uniqueItems") {
        let said = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        found.forbidden(path.child("uniqueItems"), said);
    }
    let below = Place { root: false, ..place };
    let more = get(schema, "additionalProperties");
    if !more.is_null() && more.as_bool() != Some(true) && entries(schema, "properties").next().is_some() {
        let said = "additionalProperties and properties are mutual exclusive";
        found.forbidden(path.child("additionalProperties"), said);
    }
    if more.is_object() {
        let why = "inside additionalProperties applying to object metadata";
        let no_default = if place.meta { Some(why) } else { below.no_default };
        sane(found, more, &path.child("additionalProperties"), Place { no_default, ..below });
    }
    for (name, property) in entries(schema, "properties") {
        let mut below = below;
        if (place.root || embedded) && is_meta(name) {
            below.meta = true;
            if place.root {
                below.no_default = Some(match name.as_str() {
                    "metadata" => "in top-level metadata",
                    "kind" => "in top-level kind",
                    _ => "in top-level apiVersion",
                });
            }
        }
        sane(found, property, &path.child("properties").key(name), below);
    }
    if get(schema, "not").is_object() {
        sane(found, get(schema, "not"), &path.child("not"), below);
    }
    for name in ["allOf", "oneOf", "anyOf"] {
        for (i, inner) in list(schema, name).iter().enumerate() {
            sane(found, inner, &path.child(name).index(i), below);
        }
    }
    if get(schema, "items").is_object() {
        sane(found, get(schema, "items"), &path.child("items"), below);
    }
    if get(schema, "x-kubernetes-preserve-unknown-fields").as_bool() == Some(false) {
        found.invalid(path.child("x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined");
    }
    extensions(found, schema, path);
    rules(found, schema, path);
}

/// How lists and maps are merged.
fn extensions(found: &mut Found, schema: &Value, path: &Path) {
    let kind = text(schema, "type");
    let word = |name: &str| get(schema, name).as_str();
    if let Some(map) = word("x-kubernetes-map-type") {
        if kind != "object" {
            must_be(found, kind, "must be object if x-kubernetes-map-type is specified", path);
        }
        if !matches!(map, "atomic" | "granular") {
            found.unsupported(&path.child("x-kubernetes-map-type"), map, &["atomic", "granular"]);
        }
    }
    let (items, of) = (get(schema, "items"), word("x-kubernetes-list-type"));
    if of.is_some() && kind != "array" {
        must_be(found, kind, "must be array if x-kubernetes-list-type is specified", path);
    } else if of == Some("set") && items.is_object() {
        const SAID: &str = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let list_type = get(items, "x-kubernetes-list-type");
        let (name, fits) = match text(items, "type") {
            "array" => ("x-kubernetes-list-type", matches!(list_type.as_str(), None | Some("atomic"))),
            "object" => ("x-kubernetes-map-type", text(items, "x-kubernetes-map-type") == "atomic"),
            _ => ("", true),
        };
        if !fits {
            found.invalid(path.child("items").child(name), list_type.clone(), SAID);
        }
    }
    let list_path = path.child("x-kubernetes-list-type");
    if let Some(other) = of.filter(|of| !matches!(*of, "atomic" | "set" | "map")) {
        found.unsupported(&list_path, other, &["atomic", "set", "map"]);
    }
    let keys = texts(schema, "x-kubernetes-list-map-keys");
    if !keys.is_empty() {
        const SAID: &str = "must be map if x-kubernetes-list-map-keys is non-empty";
        match of {
            None => found.required(&list_path, SAID),
            Some("map") => {}
            Some(other) => found.invalid(&list_path, other, SAID),
        }
    }
    if of == Some("map") {
        map_list(found, schema, &keys, path);
    }
    if items.is_object() && matches!(of, Some("set" | "map")) && flag(items, "nullable") {
        let said = format!("cannot be nullable when x-kubernetes-list-type is {}", of.unwrap_or_default());
        found.forbidden(path.children(&["items", "nullable"]), &said);
    }
    if items.is_object() && of == Some("map") {
        let required = texts(items, "required");
        for key in keys {
            let property = get(get(items, "properties"), key);
            let path = path.children(&["items", "properties"]).key(key);
            if property.is_null() {
                continue;
            }
            if !required.contains(&key) && !has(property, "default") {
                let said = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                found.required(path.child("default"), said);
            }
            if flag(property, "nullable") {
                let said = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                found.forbidden(path.child("nullable"), said);
            }
        }
    }
}

/// A list whose elements are told apart by their keys.
fn map_list(found: &mut Found, schema: &Value, keys: &[&str], path: &Path) {
    let (items, keys_path) = (get(schema, "items"), path.child("x-kubernetes-list-map-keys"));
    if keys.is_empty() {
        found.required(&keys_path, "must not be empty if x-kubernetes-list-type is map");
    }
    if items.is_null() {
        found.required(path.child("items"), "must have a schema if x-kubernetes-list-type is map");
        return;
    }
    let kind = text(items, "type");
    if kind != "object" {
        let said = "must be object if parent array's x-kubernetes-list-type is map";
        found.invalid(path.children(&["items", "type"]), kind, said);
        return;
    }
    let mut seen = BTreeSet::new();
    let all = get(schema, "x-kubernetes-list-map-keys");
    for key in keys {
        let property = get(get(items, "properties"), key);
        if property.is_null() {
            found.invalid(&keys_path, all.clone(), "entries must all be names of item properties");
        } else if matches!(text(property, "type"), "array" | "object") {
            let path = path.children(&["items", "properties"]).key(key).child("type");
            found.invalid(&path, kind, "must be a scalar type if parent array's x-kubernetes-list-type is map");
        }
        if !seen.insert(*key) {
            found.invalid(&keys_path, all.clone(), "must not contain duplicate entries");
        }
    }
}

/// The words of rules in CEL; what they say is not looked at.
fn rules(found: &mut Found, schema: &Value, path: &Path) {
    const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    for (i, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        let path = path.child("x-kubernetes-validations").index(i);
        let (said, message) = (text(rule, "rule").trim(), text(rule, "message"));
        let broken = |text: &str| text.contains(['\n', '\r']);
        if said.is_empty() {
            found.required(path.child("rule"), "rule is not specified");
        } else if !message.is_empty() && message.trim().is_empty() {
            found.invalid(path.child("message"), message, "must be non-empty if specified");
        } else if broken(message.trim()) {
            found.invalid(path.child("message"), message, "must not contain line breaks");
        } else if broken(said) && message.is_empty() {
            found.required(path.child("message"), "message must be specified if rule contains line breaks");
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            found.required(path.child("messageExpression"), "messageExpression must be non-empty if specified");
        }
        if let Some(reason) = get(rule, "reason").as_str().filter(|reason| !REASONS.contains(reason)) {
            found.unsupported(&path.child("reason"), reason, REASONS);
        }
        let field = text(rule, "fieldPath");
        if !field.is_empty() && field.trim().is_empty() {
            found.invalid(path.child("fieldPath"), field, "must be non-empty if specified");
        }
        if broken(field) {
            found.invalid(path.child("fieldPath"), field, "must not contain line breaks");
        }
    }
}

/// How many fields can be selected by; upstream's number.
const SELECTABLE: usize = 8;

/// Fields by which objects can be selected must be there, and be scalars.
pub(super) fn selectable(found: &mut Found, fields: &[Value], schema: &Value, path: &Path) {
    let mut seen = BTreeSet::new();
    for (i, field) in fields.iter().enumerate() {
        let (target, path) = (text(field, "jsonPath"), path.index(i).child("jsonPath"));
        if target.is_empty() {
            found.required(&path, "");
            continue;
        }
        let names = target.strip_prefix('.').unwrap_or_default();
        let of = names.split('.').try_fold(schema, |schema, name| {
            let property = get(get(schema, "properties"), name);
            let other = get(schema, "additionalProperties");
            let of = if has(schema, "properties") { property } else { other };
            of.is_object().then_some(of)
        });
        let Some(of) = of.filter(|_| target.starts_with('.')) else {
            let first = target.split(['.', '[', ']']).next().unwrap_or_default();
            let why = if target.starts_with('.') {
                "does not refer to a valid field".to_owned()
            } else {
                format!("expected [ or . but got: {first}")
            };
            found.invalid(&path, target, format!("is an invalid path: {why}"));
            continue;
        };
        if names.split('.').next() == Some("metadata") {
            found.invalid(&path, target, "must not point to fields in metadata");
        }
        if !matches!(text(of, "type"), "string" | "boolean" | "integer") {
            let said = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are \
                        allowed.";
            found.invalid(&path, target, said);
        }
        if !seen.insert(target) {
            found.duplicate(&path, target);
        }
    }
    if seen.len() > SELECTABLE {
        found.too_many(path, seen.len(), SELECTABLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(schema: Value) -> Vec<String> {
        let mut found = Found::default();
        check(&mut found, &json!({"openAPIV3Schema": schema}), &Path::new("s"));
        let errors = found.finish().into_iter();
        errors.map(|error| error.to_string().trim_start_matches("s.openAPIV3Schema.").to_owned()).collect()
    }

    fn of(property: Value) -> Vec<String> {
        said(json!({"type": "object", "properties": {"a": property}}))
    }

    #[test]
    fn a_schema_says_its_shape_once() {
        let none = Vec::<String>::new();
        assert_eq!(
            of(json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})),
            none
        );
        assert_eq!(
            of(json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true})),
            none
        );
        assert_eq!(
            of(json!({"type": "string", "anyOf": [{"type": "string"}]})),
            ["properties[a].anyOf[0].type: Forbidden: must be empty to be structural"]
        );
        assert_eq!(
            said(json!({"type": "object", "oneOf": [{"properties": {"b": {"minLength": 1}}}]})),
            ["properties[b]: Required value: because it is defined in s.openAPIV3Schema.oneOf[0].properties[b]"]
        );
        assert_eq!(of(json!({"$ref": "#/x"})), ["properties[a].$ref: Forbidden: $ref is not supported"]);
        let closed = |more: Value| {
            of(
                json!({"type": "object", "properties": {"b": {"type": "string"}}, "not": {"additionalProperties": more}}),
            )
        };
        assert_eq!(closed(json!(false)), none);
        for more in [json!(true), json!({"minLength": 1})] {
            let said = "properties[a].not.additionalProperties: Forbidden: must be undefined to be structural";
            assert_eq!(closed(more), [said]);
        }
        let metadata = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}});
        assert_eq!(said(json!({"type": "object", "properties": {"metadata": metadata}})), none);
    }

    #[test]
    fn what_has_no_structure_is_refused() {
        let at = "https://json-schema.org/draft-04/schema";
        assert_eq!(
            of(json!({"type": "string", "$schema": at})),
            ["s.openAPIV3Schema: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"]
        );
        assert_eq!(
            of(json!({"type": "word", "$schema": at})),
            [
                r#"properties[a].type: Unsupported value: "word": supported values: "array", "boolean", "integer", "number", "object", "string""#
            ]
        );
    }

    #[test]
    fn patterns_are_read_as_go_reads_them() {
        let none = Vec::<String>::new();
        assert_eq!(of(json!({"type": "string", "pattern": "^a{2}$"})), none);
        assert_eq!(of(json!({"type": "string", "pattern": "a{"})), none);
        assert_eq!(of(json!({"type": "string", "pattern": "^[^[]+$", "default": "a"})), none);
        // Larger than what Rust matches: it refuses nothing.
        assert_eq!(of(json!({"type": "string", "pattern": r"^(\pL{100}|\pN{100}){10}$", "default": "a"})), none);
        let but = "must be a valid regular expression, but isn't: error parsing regexp";
        for (pattern, why) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
            ("a(?<!b)", "invalid named capture: `(?<!b)`"),
        ] {
            let expected = format!("properties[a].pattern: Invalid value: \"{pattern}\": {but}: {why}");
            assert_eq!(of(json!({"type": "string", "pattern": pattern})), [expected]);
        }
    }

    #[test]
    fn defaults_fit_and_keys_of_lists_are_there() {
        assert_eq!(
            of(json!({"type": "object", "default": {"kind": "K"}, "properties": {"c": {"type": "string"}}})),
            ["properties[a].default: Invalid value: {\"kind\":\"K\"}: must not have unknown fields"]
        );
        assert_eq!(
            of(json!({"type": "object", "default": {"b": 1}, "properties": {"c": {"type": "string"}}})),
            ["properties[a].default: Invalid value: {\"b\":1}: must not have unknown fields"]
        );
        let items = json!({"type": "object", "properties": {"k": {"type": "string"}}});
        let list = json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
        assert_eq!(
            of(list),
            [
                "properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it \
              must have a default or be a required property"
            ]
        );
    }
}
