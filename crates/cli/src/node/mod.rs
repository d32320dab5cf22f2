//! `plimsoll node cut` and `restore`: what no kubectl command does to a node of `plimsoll up`.

pub mod args;

use http::Request;
use kube::Client;
use plimsoll_simulate::nodes::CUT_OFF;
use serde_json::{Value, json};

use crate::Found;
use crate::failure::Failure;
use crate::load::live;
use crate::printer::Printer;

use args::{NodeArgs, NodeVerb, OneNode};

/// What runs the containers of a simulated node.
const SIMULATED: &str = "simulated://";

/// Runs the command.
pub fn run(args: &NodeArgs, printer: &mut Printer) -> Result<Found, Failure> {
    let (node, cut) = match &args.verb {
        NodeVerb::Cut(node) => (node, true),
        NodeVerb::Restore(node) => (node, false),
    };
    let said = live::runtime()?.block_on(set(node, cut))?;
    printer.sentences(&said)?;
    Ok(Found::Placeable)
}

/// Sets or takes away the annotation, and says what happens next.
async fn set(node: &OneNode, cut: bool) -> Result<String, Failure> {
    let name = &node.name;
    let config = live::config(node.kubeconfig.as_deref(), node.context.as_deref()).await?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| live::unreachable(&server, &error))?;
    let failed = |error: kube::Error| match error {
        kube::Error::Api(status) => Failure::new(format!("node {name} cannot be changed: {}", status.message)),
        error => live::unreachable(&server, &error),
    };
    let all: Value = get(&client, "/api/v1/nodes").await.map_err(failed)?;
    let nodes = all["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(found) = nodes.iter().find(|found| found["metadata"]["name"] == name.as_str()) else {
        let names: Vec<&str> = nodes.iter().filter_map(|node| node["metadata"]["name"].as_str()).collect();
        let failure = Failure::new(format!("there is no node {name} in the cluster {server}"));
        return Err(failure.help(if names.is_empty() {
            "there are no nodes at all".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        }));
    };
    let runtime = found["status"]["nodeInfo"]["containerRuntimeVersion"].as_str().unwrap_or_default();
    if !runtime.is_empty() && !runtime.starts_with(SIMULATED) {
        return Err(Failure::new(format!("node {name} is a real one ({runtime}), which this command cannot cut off"))
            .help("it is for the nodes of `plimsoll up`: name its kubeconfig with --kubeconfig .plimsoll/kubeconfig"));
    }
    let is_cut = found["metadata"]["annotations"][CUT_OFF] == "true";
    if is_cut == cut {
        return Ok(if cut {
            format!("Node {name} is cut off already.")
        } else {
            format!("Node {name} is not cut off.")
        });
    }
    let value = if cut { json!("true") } else { Value::Null };
    let patch = json!({"metadata": {"annotations": {CUT_OFF: value}}}).to_string().into_bytes();
    let request = Request::patch(format!("/api/v1/nodes/{name}?fieldManager=plimsoll-node"))
        .header("content-type", "application/merge-patch+json")
        .body(patch)
        .map_err(|error| Failure::new(format!("{name} cannot be the name of a node: {error}")))?;
    client.request::<Value>(request).await.map_err(failed)?;
    Ok(if cut {
        format!(
            "Node {name} is cut off: it no longer reports. After about 50 s it is NotReady and tainted; pods that do not tolerate \
             that are evicted 5 minutes later, and stay Terminating until the node is back.\n\
             Bring it back: plimsoll node restore {name}"
        )
    } else {
        format!(
            "Node {name} is back: it reports within some seconds, is Ready again, and ends the pods that were evicted meanwhile."
        )
    })
}

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}
