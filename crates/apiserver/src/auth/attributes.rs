//! What a request wants to do, as the authorizer sees it.

use crate::auth::identity::User;
use crate::field::go_quoted;
use crate::status::{GroupResource, Status};

/// A request. It borrows from the request's own path, because every request makes one.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// What is to be done: `get`, `list`, `create`, …; the HTTP method in small letters for a plain path.
    pub verb: &'a str,
    /// Whether it is about a resource; otherwise it is about [`Self::path`].
    pub resource_request: bool,
    /// The group; empty for core.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The plural name.
    pub resource: &'a str,
    /// What stands under the object's path.
    pub subresource: &'a str,
    /// The namespace; empty for the whole cluster.
    pub namespace: &'a str,
    /// The object's name; empty where the path names none.
    pub name: &'a str,
    /// The path of a request that is about no resource.
    pub path: &'a str,
}

impl<'a> Attributes<'a> {
    /// A request about a resource in the whole cluster; namespace, name and subresource are set on the result.
    pub fn resource(user: &'a User, verb: &'a str, group: &'a str, version: &'a str, resource: &'a str) -> Self {
        Self { resource_request: true, group, version, resource, ..Self::path(user, verb, "") }
    }

    /// A request about a path.
    pub fn path(user: &'a User, verb: &'a str, path: &'a str) -> Self {
        Self {
            user,
            verb,
            resource_request: false,
            group: "",
            version: "",
            resource: "",
            subresource: "",
            namespace: "",
            name: "",
            path,
        }
    }

    /// Another namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &'a str) -> Self {
        Self { namespace, ..self }
    }

    /// Another name.
    #[must_use]
    pub fn named(self, name: &'a str) -> Self {
        Self { name, ..self }
    }

    /// The 403 that says no, with the authorizer's reason where it has one.
    pub fn forbidden(&self, reason: &str) -> Status {
        let mut why = html_safe(&self.sentence());
        if !reason.is_empty() {
            why.push_str(": ");
            why.push_str(reason);
        }
        Status::forbidden(GroupResource { group: self.group, resource: self.resource }, self.name, &why)
    }

    fn sentence(&self) -> String {
        let user = go_quoted(&self.user.name);
        if !self.resource_request {
            return format!("User {user} cannot {} path {}", self.verb, go_quoted(self.path));
        }
        let resource = if self.subresource.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        };
        let place = if self.namespace.is_empty() {
            "at the cluster scope".to_owned()
        } else {
            format!("in the namespace {}", go_quoted(self.namespace))
        };
        let (resource, group) = (go_quoted(&resource), go_quoted(self.group));
        format!("User {user} cannot {} resource {resource} in API group {group} {place}", self.verb)
    }
}

/// A browser that shows the sentence must not take a path in it for markup.
fn html_safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_is_upstreams() {
        let user = User::new("jane");
        let at = Attributes::resource(&user, "list", "", "v1", "pods");
        let sub = Attributes { subresource: "log", ..at.in_namespace("default").named("p") };
        let cases: [(Attributes<'_>, &str, &str); 6] = [
            (
                at,
                "",
                "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" at the cluster scope",
            ),
            (
                at.in_namespace("default"),
                "",
                "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\"",
            ),
            (
                sub,
                "",
                "pods \"p\" is forbidden: User \"jane\" cannot list resource \"pods/log\" in API group \"\" in the namespace \"default\"",
            ),
            (
                Attributes::resource(&user, "get", "apps", "v1", "deployments"),
                "rbac: RBAC: role.rbac.authorization.k8s.io \"x\" not found",
                "deployments.apps is forbidden: User \"jane\" cannot get resource \"deployments\" in API group \"apps\" at the cluster scope: rbac: RBAC: role.rbac.authorization.k8s.io \"x\" not found",
            ),
            (Attributes::path(&user, "get", "/x"), "", "forbidden: User \"jane\" cannot get path \"/x\""),
            (
                Attributes::path(&user, "get", "/<b>&"),
                "",
                "forbidden: User \"jane\" cannot get path \"/&lt;b&gt;&amp;\"",
            ),
        ];
        for (attributes, reason, want) in cases {
            let status = attributes.forbidden(reason);
            assert_eq!(status.message, want);
            assert_eq!(status.code, 403);
        }
    }
}
