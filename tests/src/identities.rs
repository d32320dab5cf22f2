//! Who asks: the same users with the same tokens on every server, so that refusals that name them compare equal.

use std::path::Path;

use anyhow::{Context as _, Result};
use plimsoll_apiserver::auth::kubeconfig::Kubeconfig;

/// Users and their groups. The token of a user is `USER-token`, its uid `USER-uid`.
const USERS: [(&str, &str); 9] = [
    (ADMIN, "system:masters"),
    ("system:kube-scheduler", ""),
    ("system:kube-controller-manager", ""),
    ("plimsoll:scheduler", ""),
    ("plimsoll:controller", ""),
    ("plimsoll:provisioner", ""),
    ("plimsoll:viewer", "plimsoll:viewers"),
    ("viewer", "viewers"),
    ("nobody", ""),
];

/// Who may do everything.
pub const ADMIN: &str = "admin";

/// The bearer token of a user.
pub fn token(user: &str) -> String {
    format!("{user}-token")
}

/// The token file with all users.
pub fn token_file() -> String {
    let line = |(user, groups): &(&str, &str)| match *groups {
        "" => format!("{},{user},{user}-uid\n", token(user)),
        groups => format!("{},{user},{user}-uid,\"{groups}\"\n", token(user)),
    };
    USERS.iter().map(line).collect()
}

/// Writes a kubeconfig for one of the users.
pub fn kubeconfig(path: &Path, server: &str, ca: &str, user: &str) -> Result<()> {
    let config = Kubeconfig { server, ca: Some(ca), user, token: &token(user) };
    config.write(path).with_context(|| format!("cannot write {}", path.display()))
}
