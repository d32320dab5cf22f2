//! The real kubectl drives both servers: what it prints and how it ends must be the same.
//!
//! The sessions are in `tests/kubectl`; `ONLY=name,name` plays some of them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test: what is missing is a failure")]

use std::path::Path;

use plimsoll_tests::embedded::Embedded;
use plimsoll_tests::session::{Player, difference, parse};
use plimsoll_tests::takes::{Take, Wrong, takes};
use plimsoll_tests::upstream::{Content, Options, Upstream, kube_controller_manager};

/// What the embedded server does itself. Without it no namespace would ever end.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,clusterrole-aggregation-controller";

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_sees_no_difference() {
    let played = takes(async |take| {
        let upstream = Upstream::start(Options::default()).await?;
        let embedded = Embedded::start(true).await?;
        let _controllers =
            kube_controller_manager(upstream.folder(), &upstream.kubeconfig, CONTROLLERS, Content::Protobuf)?;
        let (theirs, ours) = (upstream.client.url(), embedded.client.url());
        let (their_config, our_config) = (upstream.kubeconfig.clone(), embedded.kubeconfig.clone());
        let take = take.clone();
        let played = tokio::task::spawn_blocking(move || {
            let theirs = Player::new(&their_config, &theirs).unwrap();
            let ours = Player::new(&our_config, &ours).unwrap();
            play_all(&theirs, &ours, &take)
        });
        Ok(played.await?)
    });
    if let Err(differences) = played.await {
        panic!("{differences:#}");
    }
}

fn play_all(theirs: &Player, ours: &Player, take: &Take) -> Wrong {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubectl");
    let mut sessions: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    sessions.retain(|path| path.extension().is_some_and(|end| end == "session"));
    sessions.sort();
    let mut wrong = Wrong::new();
    for path in sessions {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !take.plays(&name) {
            continue;
        }
        let steps = parse(&std::fs::read_to_string(&path).unwrap());
        let (theirs, ours) = std::thread::scope(|scope| {
            let theirs = scope.spawn(|| theirs.play(&steps).unwrap());
            let ours = ours.play(&steps).unwrap();
            (theirs.join().unwrap(), ours)
        });
        for ((step, theirs), ours) in steps.iter().zip(&theirs).zip(&ours) {
            let found = difference(theirs, ours);
            if step.differs.is_none() && !found.is_empty() {
                *wrong.entry(name.clone()).or_default() += &format!("line {}: {}\n{found}", step.line, step.command);
            }
        }
    }
    wrong
}
