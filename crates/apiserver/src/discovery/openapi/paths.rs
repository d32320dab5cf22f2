//! `paths`: where a resource and its parts are found, and what can be done there.

use plimsoll_schema::{KindRef, Resource, Scope, Subresource, Table};
use serde_json::{Map, Value, json};

use super::components::{Owner, meta};
use super::operation::{Action, Forms, Operation, Parameter, list};
use crate::verbs::delete::ANSWERED_WITH_OBJECT;

/// A resource whose paths are written.
pub(super) struct Paths<'a> {
    pub table: &'a Table,
    pub owner: Owner<'a>,
    pub resource: &'a Resource,
    /// The component of its objects.
    pub object: String,
    /// The component of its lists.
    pub list: String,
    pub forms: Forms,
    pub tag: String,
    /// `CoreV1`: what operations are called after.
    pub group_word: String,
}

/// `rbac.authorization.k8s.io` as operations spell it: `RbacAuthorization`.
pub(super) fn word(text: &str, capital: bool) -> String {
    let mut capital = capital;
    let mut word = String::new();
    for (at, c) in text.char_indices() {
        if !(c.is_alphabetic() || c == '_' || (at != 0 && c.is_numeric())) {
            capital = true;
        } else if std::mem::take(&mut capital) {
            word.extend(c.to_uppercase());
        } else {
            word.push(c);
        }
    }
    word
}

/// How operations and tags call a group: core has a name here.
pub(super) fn group_name(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.strip_suffix(".k8s.io").unwrap_or(group) }
}

/// Where a group and version is.
pub(super) fn prefix(owner: Owner<'_>) -> String {
    match owner.group {
        "" => format!("/api/{}", owner.version),
        group => format!("/apis/{group}/{}", owner.version),
    }
}

impl<'a> Paths<'a> {
    fn namespaced(&self) -> bool {
        self.resource.scope == Scope::Namespaced
    }

    fn allows(&self, verb: &str) -> bool {
        self.resource.verbs.iter().any(|v| v == verb)
    }

    /// Adds all paths of the resource.
    pub(super) fn write(&self, into: &mut Map<String, Value>) {
        let prefix = prefix(self.owner);
        let name = &self.resource.resource;
        let scoped = if self.namespaced() { format!("namespaces/{{namespace}}/{name}") } else { name.clone() };
        let within: &[&str] = if self.namespaced() { &["namespace"] } else { &[] };
        let of_one: &[&str] = if self.namespaced() { &["name", "namespace"] } else { &["name"] };

        let wanted = [("list", Action::List), ("create", Action::Post), ("deletecollection", Action::DeleteCollection)];
        self.place(into, format!("{prefix}/{scoped}"), within, self.plain(&wanted, ""));
        let wanted =
            [("get", Action::Get), ("update", Action::Put), ("delete", Action::Delete), ("patch", Action::Patch)];
        self.place(into, format!("{prefix}/{scoped}/{{name}}"), of_one, self.plain(&wanted, ""));
        if self.namespaced() {
            let all = self.plain(&[("list", Action::List)], "ForAllNamespaces");
            self.place(into, format!("{prefix}/{name}"), &[], all);
        }
        if self.forms == Forms::Builtin {
            let lists = |suffix| self.plain(&[("watch", Action::WatchList)], suffix);
            if self.namespaced() {
                self.place(into, format!("{prefix}/watch/{name}"), &[], lists("ForAllNamespaces"));
            }
            self.place(into, format!("{prefix}/watch/{scoped}"), within, lists(""));
            let one = if self.allows("get") { self.plain(&[("watch", Action::Watch)], "") } else { Vec::new() };
            self.place(into, format!("{prefix}/watch/{scoped}/{{name}}"), of_one, one);
        }
        for part in &self.resource.subresources {
            self.part(into, &format!("{prefix}/{scoped}/{{name}}/{}", part.subresource), of_one, part);
        }
    }

    fn part(&self, into: &mut Map<String, Value>, path: &str, within: &[&str], part: &'a Subresource) {
        let kind = &part.response_kind;
        if !kind.kind.ends_with("Options") {
            return self.place(into, path.to_owned(), within, self.of_part(part));
        }
        self.place(into, path.to_owned(), within, self.connections(part, ""));
        if part.subresource == "proxy" {
            let within: Vec<&str> = within.iter().copied().chain(["path"]).collect();
            self.place(into, format!("{path}/{{path}}"), &within, self.connections(part, "WithPath"));
        }
    }

    /// `createCoreV1NamespacedPod`: verb, group, and what it is done to.
    fn id(&self, verb: &str, before: &str, after: &str, everywhere: bool) -> String {
        let scope = if self.namespaced() && !everywhere { "Namespaced" } else { "" };
        format!("{verb}{}{before}{scope}{}{after}", self.group_word, self.resource.response_kind.kind)
    }

    /// The operations on the resource itself that its verbs allow.
    fn plain(&self, wanted: &[(&str, Action)], suffix: &str) -> Vec<Operation<'_>> {
        let everywhere = !suffix.is_empty();
        let kind = &self.resource.response_kind;
        wanted
            .iter()
            .filter(|(verb, _)| self.allows(verb))
            .map(|(_, action)| {
                let (verb, before, after) = match action {
                    Action::List => ("list", "", ""),
                    Action::Post => ("create", "", ""),
                    Action::DeleteCollection => ("delete", "Collection", ""),
                    Action::Get | Action::Log => ("read", "", ""),
                    Action::Put => ("replace", "", ""),
                    Action::Delete => ("delete", "", ""),
                    Action::Patch => ("patch", "", ""),
                    Action::WatchList => ("watch", "", "List"),
                    Action::Watch => ("watch", "", ""),
                    Action::Connect(_) => ("connect", "", ""),
                };
                let answer = match action {
                    Action::List => self.list.clone(),
                    Action::WatchList | Action::Watch => meta("WatchEvent"),
                    Action::DeleteCollection => meta("Status"),
                    Action::Delete if !self.answers_with_object() => meta("Status"),
                    _ => self.object.clone(),
                };
                let id = self.id(verb, before, &format!("{after}{suffix}"), everywhere);
                self.operation(*action, id, self.object.clone(), answer, self.full(kind))
            })
            .collect()
    }

    /// The published documents say Status of a namespace too, though it answers with itself.
    fn answers_with_object(&self) -> bool {
        let kind = self.resource.response_kind.kind.as_str();
        kind != "Namespace" && ANSWERED_WITH_OBJECT.contains(&(self.owner.group, kind))
    }

    fn of_part(&self, part: &'a Subresource) -> Vec<Operation<'_>> {
        let kind = self.full(&part.response_kind);
        let ty = match self.table.kind(kind.0, kind.1, kind.2) {
            Some(id) => self.table.get(id).name.to_string(),
            None => self.object.clone(),
        };
        let wanted = [
            ("get", "read", Action::Get),
            ("update", "replace", Action::Put),
            ("create", "create", Action::Post),
            ("patch", "patch", Action::Patch),
        ];
        let allowed = wanted.into_iter().filter(|(verb, ..)| part.verbs.iter().any(|v| v == verb));
        allowed
            .map(|(_, verb, action)| {
                let id = self.id(verb, "", &word(&part.subresource, true), false);
                let log = part.subresource == "log" && self.resource.resource == "pods";
                let action = if log { Action::Log } else { action };
                let options = log.then_some("io.k8s.api.core.v1.PodLogOptions");
                Operation { options, ..self.operation(action, id, ty.clone(), ty.clone(), kind) }
            })
            .collect()
    }

    fn connections(&self, part: &'a Subresource, suffix: &str) -> Vec<Operation<'_>> {
        let kind = self.full(&part.response_kind);
        let options = self.table.kind(kind.0, kind.1, kind.2).map(|id| &*self.table.get(id).name);
        // What is passed on whole is passed on with any method.
        let methods: &[&str] = match part.subresource.as_str() {
            "proxy" => &["get", "put", "post", "delete", "options", "head", "patch"],
            _ => &["get", "post"],
        };
        let one = |method: &&'static str| {
            let after = format!("{}{suffix}", word(&part.subresource, true));
            let id = self.id("connect", &word(method, true), &after, false);
            Operation { options, ..self.operation(Action::Connect(method), id, String::new(), String::new(), kind) }
        };
        methods.iter().map(one).collect()
    }

    fn full(&self, kind: &'a KindRef) -> (&'a str, &'a str, &'a str) {
        if kind.version.is_empty() {
            (self.owner.group, self.owner.version, &kind.kind)
        } else {
            (&kind.group, &kind.version, &kind.kind)
        }
    }

    fn operation<'b>(
        &'b self,
        action: Action,
        id: String,
        body: String,
        answer: String,
        kind: (&'b str, &'b str, &'b str),
    ) -> Operation<'b> {
        Operation { action, id, tag: &self.tag, forms: self.forms, body, answer, kind, options: None }
    }

    /// Writes the operations of a path; what is a parameter of all of them stands once.
    fn place(&self, into: &mut Map<String, Value>, path: String, within: &[&str], operations: Vec<Operation<'_>>) {
        let each: Vec<Vec<Parameter>> = operations.iter().map(|o| o.parameters(self.table)).collect();
        let Some((first, others)) = each.split_first() else { return };
        let mut common: Vec<Parameter> =
            first.iter().filter(|p| others.iter().all(|other| other.contains(p))).cloned().collect();
        let mut item = json!({});
        for (operation, parameters) in operations.iter().zip(&each) {
            let own: Vec<Parameter> = parameters.iter().filter(|p| !common.contains(p)).cloned().collect();
            item[operation.action.method()] = operation.to_value(&own);
        }
        common.extend(within.iter().map(|name| Parameter::path(name)));
        if !common.is_empty() {
            item["parameters"] = list(&common);
        }
        into.insert(path, item);
    }
}
