//! Kubeconfig files, and the tokens that stand in them.

use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rand::RngCore;
use serde_json::json;

use crate::auth::files::{read_if_there, write_private};
use crate::auth::identity::{MASTERS, User};
use crate::auth::token_file::{Entry, parse, render};

/// The administrator's user name.
pub const ADMIN: &str = "admin";

/// A kubeconfig: where the server is, how to know it, and who the client is.
#[derive(Clone)]
pub struct Kubeconfig<'a> {
    /// The server's address, such as `https://127.0.0.1:6443`.
    pub server: &'a str,
    /// The CA's certificate (PEM); none for plain HTTP.
    pub ca: Option<&'a str>,
    /// The user's name in the file.
    pub user: &'a str,
    /// The bearer token.
    pub token: &'a str,
}

impl std::fmt::Debug for Kubeconfig<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kubeconfig").field("server", &self.server).field("user", &self.user).finish_non_exhaustive()
    }
}

impl Kubeconfig<'_> {
    /// The file's text. Texts are quoted as JSON quotes them, which YAML reads.
    pub fn render(&self) -> String {
        let ca = self
            .ca
            .map(|pem| format!("\n    certificate-authority-data: {}", STANDARD.encode(pem)))
            .unwrap_or_default();
        let (server, user, token) = (json!(self.server), json!(self.user), json!(self.token));
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: plimsoll\n  cluster:\n    server: {server}{ca}\nusers:\n- name: {user}\n  user:\n    token: {token}\ncontexts:\n- name: plimsoll\n  context:\n    cluster: plimsoll\n    user: {user}\ncurrent-context: plimsoll\n"
        )
    }

    /// Writes the file, readable only by its owner, in one step.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        write_private(path, self.render().as_bytes())
    }
}

/// Who gets a token at the first start: the administrator, and one user per component, so that each runs with its own rights.
pub fn identities() -> Vec<User> {
    let user = |name: &str, groups: &[&str]| User { uid: name.to_owned(), ..User::in_groups(name, groups) };
    vec![
        user(ADMIN, &[MASTERS]),
        user("system:kube-scheduler", &[]),
        user("system:kube-controller-manager", &[]),
        user("plimsoll:scheduler", &[]),
        user("plimsoll:controller", &[]),
        user("plimsoll:provisioner", &[]),
        user("plimsoll:viewer", &["plimsoll:viewers"]),
    ]
}

/// A token that cannot be guessed.
pub fn new_token(random: &mut dyn RngCore) -> String {
    let mut bytes = [0u8; 32];
    random.fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The entries of the token file at `path`, with a new token for each of `users` that has none yet. The file keeps them, so that
/// kubeconfigs stay valid over restarts.
pub fn ensure_tokens(path: &Path, users: &[User], random: &mut dyn RngCore) -> io::Result<Vec<Entry>> {
    let text = read_if_there(path)?.unwrap_or_default();
    let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
    let text = String::from_utf8(text).map_err(|_| bad("is not UTF-8".into()))?;
    let mut entries = parse(&text).map_err(bad)?;
    let known = entries.len();
    for user in users {
        if !entries.iter().any(|entry| entry.user.name == user.name) {
            entries.push(Entry { token: new_token(random), user: user.clone() });
        }
    }
    if entries.len() > known {
        write_private(path, render(&entries).as_bytes())?;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn tokens_stay_and_the_file_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.csv");
        let mut random = StdRng::seed_from_u64(5);
        let first = ensure_tokens(&path, &identities(), &mut random).unwrap();
        assert_eq!(first.len(), identities().len());
        let second = ensure_tokens(&path, &identities(), &mut random).unwrap();
        assert_eq!(first, second);
        assert!(first.iter().all(|entry| entry.token.len() == 43));

        let file = folder.path().join("kubeconfig");
        let admin = &first[0];
        let config =
            Kubeconfig { server: "https://127.0.0.1:1", ca: Some("PEM"), user: &admin.user.name, token: &admin.token };
        config.write(&file).unwrap();
        #[cfg(unix)]
        for path in [&path, &file] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let read = kube::config::Kubeconfig::read_from(&file).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("plimsoll"));
        assert_eq!(read.clusters[0].cluster.as_ref().unwrap().certificate_authority_data.as_deref(), Some("UEVN"));
        assert!(!format!("{config:?}").contains(&admin.token));
    }

    #[test]
    fn a_broken_token_file_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.csv");
        std::fs::write(&path, "a,b\n").unwrap();
        let error = ensure_tokens(&path, &[], &mut StdRng::seed_from_u64(5)).unwrap_err();
        assert!(error.to_string().contains("line 1: must have at least 3 columns"), "{error}");
    }
}
