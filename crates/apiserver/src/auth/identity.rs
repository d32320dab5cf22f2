//! Who is asking: users, and the bearer tokens that prove them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::auth::service_account::{Issuer, Lookup};
use crate::status::Status;

/// The name of a request without a token.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of requests without a token.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group of everyone who proved who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group that may do everything, whatever the roles say.
pub const MASTERS: &str = "system:masters";

/// Someone who makes requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The name that bindings name.
    pub name: String,
    /// Tells apart users that had the same name at different times.
    pub uid: String,
    /// The groups, in the order in which they were found.
    pub groups: Vec<String>,
    /// What else the credential says.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user without groups.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// A user in these groups.
    pub fn in_groups(name: impl Into<String>, groups: &[&str]) -> Self {
        Self { groups: groups.iter().map(|g| (*g).to_owned()).collect(), ..Self::new(name) }
    }

    /// Whoever sends no token.
    pub fn anonymous() -> Self {
        Self::in_groups(ANONYMOUS, &[UNAUTHENTICATED])
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// The user as someone who has proved who they are.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        if !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) && self.name != ANONYMOUS {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// The `UserInfo` of reviews.
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, text) in [("username", &self.name), ("uid", &self.uid)] {
            if !text.is_empty() {
                out.insert(key.into(), json!(text));
            }
        }
        if !self.groups.is_empty() {
            out.insert("groups".into(), json!(self.groups));
        }
        if !self.extra.is_empty() {
            out.insert("extra".into(), json!(self.extra));
        }
        Value::Object(out)
    }
}

/// Known tokens. Only their hashes are kept, so that neither a dump nor the time of a lookup gives one away.
#[derive(Default, Clone)]
pub struct Tokens {
    users: BTreeMap<[u8; 32], Arc<User>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.users.values().map(|u| &u.name)).finish()
    }
}

impl Tokens {
    /// Adds a token, or gives it to another user. An empty token is nobody's.
    pub fn insert(&mut self, token: &str, user: User) {
        if !token.is_empty() {
            self.users.insert(hash(token), Arc::new(user.authenticated()));
        }
    }

    /// Whose token it is; in `system:authenticated`.
    pub fn get(&self, token: &str) -> Option<&Arc<User>> {
        self.users.get(&hash(token))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.users.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// What a credential proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Who it is.
    pub user: Arc<User>,
    /// Of the audiences asked for, those that the token is for.
    pub audiences: Vec<String>,
}

/// Turns credentials into users.
#[derive(Debug)]
pub struct Authenticator {
    /// Tokens that were handed out by the operator.
    pub tokens: Tokens,
    /// Tokens of service accounts.
    pub service_accounts: Issuer,
    /// Whether requests without a token are let through as [`ANONYMOUS`].
    pub anonymous: bool,
    nobody: Arc<User>,
}

impl Authenticator {
    /// An authenticator that lets anonymous requests in, as upstream's default does.
    pub fn new(tokens: Tokens, service_accounts: Issuer) -> Self {
        Self { tokens, service_accounts, anonymous: true, nobody: Arc::new(User::anonymous()) }
    }

    /// The user of a request by its `Authorization` header; `Err` is the 401.
    pub fn request(
        &self,
        authorization: Option<&str>,
        now: Timestamp,
        lookup: &Lookup<'_>,
    ) -> Result<Arc<User>, Status> {
        match authorization.and_then(bearer) {
            Some(token) => match self.token(token, None, now, lookup) {
                Ok(proof) => Ok(proof.user),
                Err(_) => Err(unauthorized()),
            },
            None if self.anonymous => Ok(self.nobody.clone()),
            None => Err(unauthorized()),
        }
    }

    /// Who a token is. `audiences` are those of whoever wants to know; without any, it must be for this API. `Err` says why not, and
    /// never shows the token.
    pub fn token(
        &self,
        token: &str,
        audiences: Option<&[String]>,
        now: Timestamp,
        lookup: &Lookup<'_>,
    ) -> Result<Proof, String> {
        let wanted = audiences.filter(|a| !a.is_empty()).unwrap_or(self.service_accounts.audiences());
        // A static token says nothing of audiences: it is for this API's, and for no other.
        let own = self.service_accounts.audiences();
        let audiences: Vec<String> = wanted.iter().filter(|a| own.contains(a)).cloned().collect();
        if let Some(user) = self.tokens.get(token).filter(|_| !audiences.is_empty()) {
            return Ok(Proof { user: user.clone(), audiences });
        }
        self.service_accounts.authenticate(token, wanted, now, lookup)
    }
}

/// The token of an `Authorization` header. Another scheme counts as no token, as upstream has it.
pub fn bearer(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The 401.
pub fn unauthorized() -> Status {
    Status::new(401, "Unauthorized", "Unauthorized")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_headers() {
        for (header, want) in [
            ("Bearer abc", Some("abc")),
            ("bearer abc", Some("abc")),
            ("  Bearer abc  ", Some("abc")),
            ("Bearer abc def", Some("abc")),
            ("Bearer  abc", None),
            ("Bearer", None),
            ("Bearer ", None),
            ("Basic abc", None),
            ("", None),
        ] {
            assert_eq!(bearer(header), want, "{header:?}");
        }
    }

    #[test]
    fn tokens_are_users_and_are_never_shown() {
        let mut tokens = Tokens::default();
        tokens.insert("s3cret-value", User::in_groups("jane", &["dev"]));
        tokens.insert("", User::new("nobody"));
        assert_eq!(tokens.get("s3cret-value").unwrap().groups, ["dev", AUTHENTICATED]);
        assert!(tokens.get("").is_none() && tokens.get("s3cret").is_none());
        assert!(!format!("{tokens:?}").contains("s3cret"));
        assert_eq!(tokens.len(), 1);
    }

    #[test]
    fn static_tokens_are_for_this_api_only() {
        let mut tokens = Tokens::default();
        tokens.insert("t", User::new("jane"));
        let authenticator = Authenticator::new(tokens, Issuer::new("https://x", &[], b"k"));
        let ask = |audiences: &[&str]| {
            let audiences: Vec<String> = audiences.iter().map(|a| (*a).to_owned()).collect();
            let proof = authenticator.token("t", Some(&audiences), Timestamp::UNIX_EPOCH, &|_, _, _| None);
            proof.map(|proof| proof.audiences)
        };
        assert_eq!(ask(&[]), Ok(vec!["https://x".to_owned()]));
        assert_eq!(ask(&["zzz", "https://x"]), Ok(vec!["https://x".to_owned()]));
        assert_eq!(ask(&["zzz"]), Err("invalid bearer token".to_owned()));
    }

    #[test]
    fn a_bad_token_is_refused_and_none_is_anonymous() {
        let authenticator = Authenticator::new(Tokens::default(), Issuer::new("https://x", &[], b"k"));
        let lookup = |_: &str, _: &str, _: &str| None;
        let ask = |header| authenticator.request(header, Timestamp::UNIX_EPOCH, &lookup);
        assert_eq!(ask(None).unwrap().name, ANONYMOUS);
        assert_eq!(ask(None).unwrap().groups, [UNAUTHENTICATED]);
        assert_eq!(ask(Some("Basic eDp5")).unwrap().name, ANONYMOUS);
        let status = ask(Some("Bearer nope")).unwrap_err();
        assert_eq!((status.code, status.reason, status.message.as_str()), (401, "Unauthorized", "Unauthorized"));
        assert!(status.details.is_none());
    }
}
