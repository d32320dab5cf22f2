//! Lives as simulated nodes on a cluster that is there already, a real kube-apiserver included, until Ctrl-C:
//!
//!     KUBECONFIG=… cargo run -p plimsoll-simulate --example fleet -- 3

use plimsoll_runtime::Context;
use plimsoll_simulate::{Fleet, Machine};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(3), |text| text.parse())?;
    let machine = |n: usize| Machine::new(&format!("node-{n}")).zone(["a", "b", "c"][n % 3]);
    let context = Context::system(kube::Client::try_default().await?);
    let fleet = Fleet::of((1..=count).map(machine));
    tokio::select! {
        () = fleet.live(context.clone()) => {}
        result = tokio::signal::ctrl_c() => result?,
    }
    context.tasks.shut_down(std::time::Duration::from_secs(5)).await;
    Ok(())
}
