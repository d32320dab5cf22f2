//! What the API says when the answer is no: upstream's `Status` bodies, word for word.

use serde_json::{Value, json};

use crate::field::FieldError;

/// A refusal (or a plain "done") as it goes over the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about, and the causes. Boxed, so that results stay small.
    pub details: Option<Box<Details>>,
}

/// What a [`Status`] is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// The kind, or the resource, as upstream has it for this reason.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// One entry per field that is wrong.
    pub causes: Vec<Cause>,
    /// When to try again.
    pub retry_after_seconds: u32,
    /// How a list that cannot be continued as it began can be continued all the same. It goes to the metadata.
    pub continue_token: String,
}

/// One reason for a refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Such as `FieldValueInvalid`.
    pub reason: String,
    /// The sentence.
    pub message: String,
    /// The field's path.
    pub field: String,
}

/// A group and resource, as refusals name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupResource<'a> {
    /// The group; empty for core.
    pub group: &'a str,
    /// The plural name.
    pub resource: &'a str,
}

impl std::fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        Ok(())
    }
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None }
    }

    fn about(mut self, of: GroupResource<'_>, name: &str) -> Self {
        self.details = Some(Box::new(Details {
            name: name.into(),
            group: of.group.into(),
            kind: of.resource.into(),
            ..Details::default()
        }));
        self
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404 for an object.
    pub fn not_found(of: GroupResource<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{of} \"{name}\" not found")).about(of, name)
    }

    /// 404 for a path that nothing serves.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(404, "NotFound", "the server could not find the requested resource");
        status.details = Some(Box::default());
        status
    }

    /// 409 for a name that is taken.
    pub fn already_exists(of: GroupResource<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{of} \"{name}\" already exists")).about(of, name)
    }

    /// 409 for an object that has changed since.
    pub fn conflict(of: GroupResource<'_>, name: &str, why: &str) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {of} \"{name}\": {why}")).about(of, name)
    }

    /// 403 with upstream's sentence around the reason.
    pub fn forbidden(of: GroupResource<'_>, name: &str, why: &str) -> Self {
        let what = match (of.resource.is_empty(), name.is_empty()) {
            (true, _) => "forbidden".to_owned(),
            (false, true) => format!("{of} is forbidden"),
            (false, false) => format!("{of} \"{name}\" is forbidden"),
        };
        Self::new(403, "Forbidden", format!("{what}: {why}")).about(of, name)
    }

    /// 422 with one cause per wrong field. `group` and `kind` are the object's.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let full = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let list = match errors {
            [] => "<nil>".to_owned(),
            [one] => one.to_string(),
            many => match crate::field::aggregate(many).as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            },
        };
        let mut status = Self::new(422, "Invalid", format!("{full} \"{name}\" is invalid: {list}"));
        status.details = Some(Box::new(Details {
            name: name.into(),
            group: group.into(),
            kind: kind.into(),
            causes: errors.iter().map(FieldError::cause).collect(),
            ..Details::default()
        }));
        status
    }

    /// 405: the path is there, the verb is not.
    pub fn method_not_allowed() -> Self {
        let mut status =
            Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
        status.details = Some(Box::default());
        status
    }

    /// 500: ours to mend.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let mut status = Self::new(500, "InternalError", format!("Internal error occurred: {message}"));
        status.details = Some(Box::new(Details {
            causes: vec![Cause { reason: String::new(), message, field: String::new() }],
            ..Details::default()
        }));
        status
    }

    /// 410: the version asked for is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The body.
    pub fn to_value(&self) -> Value {
        let mut out = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": if self.code < 400 { "Success" } else { "Failure" },
            "code": self.code,
        });
        if !self.message.is_empty() {
            out["message"] = json!(self.message);
        }
        if !self.reason.is_empty() {
            out["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            if !details.continue_token.is_empty() {
                out["metadata"]["continue"] = json!(details.continue_token);
                return out;
            }
            out["details"] = details.to_value();
        }
        out
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut out = json!({});
        for (key, text) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)] {
            if !text.is_empty() {
                out[key] = json!(text);
            }
        }
        if self.retry_after_seconds > 0 {
            out["retryAfterSeconds"] = json!(self.retry_after_seconds);
        }
        if !self.causes.is_empty() {
            out["causes"] = self.causes.iter().map(Cause::to_value).collect();
        }
        out
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut out = json!({});
        for (key, text) in [("reason", &self.reason), ("message", &self.message), ("field", &self.field)] {
            if !text.is_empty() {
                out[key] = json!(text);
            }
        }
        out
    }
}
