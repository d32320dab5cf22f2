//! The real API server: kube-controller-manager's controllers still reach the recorded ends, and ours reach the same.
//!
//! `UPDATE=1` records again; `ONLY=name,name` plays some; `OUTCOMES=folder` keeps what each came to; `WHO=upstream` leaves out ours.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::sync::OnceLock;

use plimsoll_tests::volumes::cluster::{Cast, Keeper, Server};
use plimsoll_tests::volumes::suite::{Outcomes, play_all};

struct Both {
    theirs: Outcomes,
    ours: Option<Outcomes>,
}

fn both() -> &'static Both {
    static PLAYED: OnceLock<Both> = OnceLock::new();
    PLAYED.get_or_init(|| {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let server = Server::real().await.unwrap();
            let folder = std::env::var_os("OUTCOMES").map(std::path::PathBuf::from);
            // One after the other: two binders on one server would both bind everything.
            let theirs = play_all(&server, Cast::volumes(&server, Keeper::Upstream), "kcm").await.unwrap();
            theirs.record().unwrap();
            if let Some(folder) = &folder {
                theirs.write(&folder.join("theirs")).unwrap();
            }
            let mut ours = None;
            if std::env::var("WHO").is_ok_and(|who| who == "upstream") {
                return Both { theirs, ours };
            }
            let outcomes = play_all(&server, Cast::volumes(&server, Keeper::Ours), "own").await.unwrap();
            if let Some(folder) = &folder {
                outcomes.write(&folder.join("ours")).unwrap();
            }
            ours.replace(outcomes);
            Both { theirs, ours }
        })
    })
}

fn ours() -> &'static Outcomes {
    both().ours.as_ref().unwrap()
}

plimsoll_tests::volume_statements!(crate::ours);

#[test]
fn upstream_still_reaches_the_recorded_ends() {
    if let Err(wrong) = both().theirs.check_all(|_| true) {
        panic!("{wrong:#}");
    }
}

#[test]
fn ours_reach_the_ends_of_upstream() {
    if let Err(wrong) = ours().check_all(|_| true) {
        panic!("{wrong:#}");
    }
}
