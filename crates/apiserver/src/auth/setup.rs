//! Everything about identities that a data folder keeps.
//!
//! ```text
//! DIR/tokens.csv            who has which token (upstream's token file)
//! DIR/service-account.key   signs the tokens of service accounts
//! DIR/pki/…                 the certificates (see [`tls`])
//! ```

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use rand::RngCore;

use crate::auth::files;
use crate::auth::identity::{Authenticator, Tokens, User};
use crate::auth::kubeconfig::{Kubeconfig, ensure_tokens};
use crate::auth::service_account::Issuer;
use crate::auth::tls;
use crate::auth::token_file::Entry;

/// The issuer of service account tokens, and the audience of this API.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// The identities of a data folder.
#[derive(Debug)]
pub struct Setup {
    /// Turns credentials into users.
    pub authenticator: Authenticator,
    /// The server's certificate.
    pub tls: tls::Identity,
    entries: Vec<Entry>,
}

impl Setup {
    /// Opens a folder; makes whatever is not there yet: a token for each of `users`, a signing key, certificates for `hosts`.
    pub fn open(
        folder: &Path,
        users: &[User],
        hosts: &[String],
        now: Timestamp,
        random: &mut dyn RngCore,
    ) -> Result<Self, tls::Error> {
        let told = |name: &str| {
            let path = folder.join(name).display().to_string();
            move |error: io::Error| tls::Error::File(path, error)
        };
        let pki = folder.join("pki");
        fs::create_dir_all(&pki).map_err(told("pki"))?;
        let entries = ensure_tokens(&folder.join("tokens.csv"), users, random).map_err(told("tokens.csv"))?;
        let secret = files::secret(&folder.join("service-account.key"), random).map_err(told("service-account.key"))?;
        let mut tokens = Tokens::default();
        tokens.extend(entries.clone());
        let authenticator = Authenticator::new(tokens, Issuer::new(ISSUER, &[], &secret));
        Ok(Self { authenticator, tls: tls::identity(&pki, hosts, now)?, entries })
    }

    /// Identities that no folder keeps: for a server in memory. Without certificates there is nothing to serve TLS with.
    pub fn in_memory(users: &[User], random: &mut dyn RngCore) -> (Authenticator, Vec<Entry>) {
        let mut tokens = Tokens::default();
        let entry = |user: &User| Entry { token: crate::auth::kubeconfig::new_token(&mut *random), user: user.clone() };
        let entries: Vec<Entry> = users.iter().map(entry).collect();
        tokens.extend(entries.clone());
        let mut secret = [0u8; 32];
        random.fill_bytes(&mut secret);
        (Authenticator::new(tokens, Issuer::new(ISSUER, &[], &secret)), entries)
    }

    /// The token of a user, for a client in the same process.
    pub fn token(&self, user: &str) -> Option<&str> {
        self.entries.iter().find(|entry| entry.user.name == user).map(|entry| entry.token.as_str())
    }

    /// Writes the kubeconfig of a user who has a token.
    pub fn write_kubeconfig(&self, path: &Path, server: &str, user: &str) -> io::Result<()> {
        let token = self.token(user).ok_or_else(|| io::Error::other(format!("no token for user {user}")))?;
        Kubeconfig { server, ca: Some(&self.tls.ca), user, token }.write(path)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;
    use crate::auth::kubeconfig::{ADMIN, identities};

    #[test]
    fn a_folder_keeps_its_identities() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let open = |seed| Setup::open(&data, &identities(), &[], now, &mut StdRng::seed_from_u64(seed)).unwrap();
        let (first, second) = (open(1), open(2));
        let token = first.token(ADMIN).unwrap();
        assert_eq!(second.token(ADMIN), Some(token));
        assert_eq!(first.tls.ca, second.tls.ca);
        let header = format!("Bearer {token}");
        let user = second.authenticator.request(Some(&header), now, &|_, _, _| None).unwrap();
        assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
        first.write_kubeconfig(&data.join("kubeconfig"), "https://127.0.0.1:1", ADMIN).unwrap();
        assert!(first.write_kubeconfig(&data.join("x"), "https://127.0.0.1:1", "nobody").is_err());
        assert!(!format!("{first:?}").contains(token));
    }
}
