//! What the API server's refusals mean to the one who asked.

use std::time::Duration;

use crate::lease::Fenced;

/// Why a request did not do what it was meant to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object changed since it was read, or is not the one that was meant.
    #[error("{0}")]
    Conflict(String),
    /// There is no such object.
    #[error("{0}")]
    NotFound(String),
    /// There is one of that name already.
    #[error("{0}")]
    AlreadyExists(String),
    /// The version asked for is too old to be served.
    #[error("{0}")]
    Expired(String),
    /// The server does not know who asks. Nothing was done; a token may be on its way to being replaced.
    #[error("{0}")]
    Unauthenticated(String),
    /// The identity may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// The server does not accept the object, and will not accept it unchanged.
    #[error("{0}")]
    Invalid(String),
    /// The server has too much to do.
    #[error("{message}")]
    Busy {
        /// What it said.
        message: String,
        /// When it asked to be asked again.
        after: Option<Duration>,
    },
    /// The process is no longer the leader: the request was not sent, or its answer not waited for.
    #[error("{0}")]
    Fenced(String),
    /// The server failed, or could not be reached; whether it did what was asked is not known.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    /// Whether the same request may be tried again as it is: nothing about the object has to be learnt first.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Unknown(_) | Self::Unauthenticated(_))
    }

    /// Whether somebody else's write was in the way. It is retried quietly: nothing is wrong.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }

    /// Whether the identity lacks a right, by the sentence that every API server has for it. Admission forbids, too, but for what the
    /// object is, which may pass; a right comes only from an administrator.
    pub fn is_missing_right(&self) -> bool {
        matches!(self, Self::Forbidden(message) if message.contains("forbidden: User \"") && message.contains(" cannot "))
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }

    /// Whether a creation was refused because the whole namespace is on its way out: nobody need be told, nor try again.
    pub fn is_ending_namespace(&self) -> bool {
        matches!(self, Self::Forbidden(message) if message.ends_with("because it is being terminated"))
    }

    /// The same for a status that came inside a watch.
    pub fn from_status(code: u16, reason: &str, message: String) -> Self {
        match (code, reason) {
            (_, "AlreadyExists") => Self::AlreadyExists(message),
            (409, _) => Self::Conflict(message),
            (404, _) => Self::NotFound(message),
            (410, _) | (_, "Expired" | "Gone") => Self::Expired(message),
            (401, _) => Self::Unauthenticated(message),
            (403, _) => Self::Forbidden(message),
            (400 | 405 | 406 | 413 | 415 | 422, _) => Self::Invalid(message),
            (429, _) => Self::Busy { message, after: None },
            _ => Self::Unknown(message),
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let after = status.details.as_ref().map(|d| d.retry_after_seconds).filter(|s| *s > 0);
                match Self::from_status(status.code, &status.reason, status.message.clone()) {
                    Self::Busy { message, .. } => {
                        Self::Busy { message, after: after.map(|s| Duration::from_secs(u64::from(s))) }
                    }
                    other => other,
                }
            }
            kube::Error::Service(cause) if cause.is::<Fenced>() => Self::Fenced(cause.to_string()),
            other => Self::Unknown(chain(&other)),
        }
    }
}

/// An error with the causes that its own message leaves out.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn a_namespace_that_ends_is_told_from_other_refusals() {
        let ends =
            "pods \"a-\" is forbidden: unable to create new content in namespace n because it is being terminated";
        assert!(Error::Forbidden(ends.to_owned()).is_ending_namespace());
        assert!(!Error::Forbidden("pods \"a-\" is forbidden: exceeded quota".to_owned()).is_ending_namespace());
    }

    #[test]
    fn a_missing_right_is_told_from_what_admission_refuses() {
        let forbidden = |message: &str| Error::Forbidden(message.to_owned()).is_missing_right();
        assert!(forbidden(
            "pods \"x\" is forbidden: User \"plimsoll:nodes\" cannot update resource \"pods/status\" in API group \"\" in the \
             namespace \"default\""
        ));
        assert!(forbidden("forbidden: User \"somebody\" cannot get path \"/metrics\""));
        assert!(!forbidden(
            "pods \"x\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1"
        ));
        assert!(!forbidden(
            "pods \"x\" is forbidden: error looking up service account n/default: serviceaccount not found"
        ));
    }
}
