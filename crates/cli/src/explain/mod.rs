//! `plimsoll explain`: where a pod fits, and every reason why not elsewhere. Changes nothing.

mod codes;
mod decisions;
mod fold;
mod place;
mod report;
mod subject;
mod table;

use plimsoll_engine::Catalog;
use plimsoll_engine::gates::Gates;
use plimsoll_engine::labels::ObjectKey;
use plimsoll_engine::model::Pod;

use crate::Found;
use crate::args::ExplainArgs;
use crate::explain::report::{Explanation, ExplanationList};
use crate::explain::subject::Subject;
use crate::failure::Failure;
use crate::load::{self, Source};
use crate::printer::Printer;

/// Runs the command.
pub fn run(args: &ExplainArgs, printer: &mut Printer) -> Result<Found, Failure> {
    if args.codes {
        return codes::explain_all(printer);
    }
    if args.cluster.all_namespaces && !args.subject.is_empty() {
        return Err(Failure::usage("a pod is in one namespace, and -A means all of them")
            .help("leave -A out, and write the pod as NAMESPACE/NAME or with -n NAMESPACE"));
    }
    let subject = Subject::parse(&args.subject, args.cluster.namespace.as_deref())?;
    if let Some(log) = &args.decision_log {
        return decisions::explain(log, &subject, printer);
    }
    match subject {
        Subject::Code(code) => codes::explain(&code, printer),
        Subject::Pod { namespace, name } => {
            let mut source = load::load(&args.cluster, printer)?;
            let key = ObjectKey::new(namespace.as_deref().unwrap_or(&source.default_namespace), name);
            let explanation = explain(&mut source.catalog, &key, args.gates.gates());
            let explanation = explanation.ok_or_else(|| missing(&source, &key))?;
            if let Some(note) = source.catalog.pod(&key).and_then(|pod| placed_note(&source, pod)) {
                printer.note(&note);
            }
            tell_troubles(&source, std::slice::from_ref(&key), printer);
            printer.data(&explanation, table::explanation)?;
            Ok(found(&[explanation]))
        }
        Subject::Waiting { namespace } => {
            let mut source = load::load(&args.cluster, printer)?;
            let keys = waiting(&source.catalog, namespace.as_deref());
            if let Some(namespace) = namespace.filter(|name| !source.catalog.has_namespace(name)) {
                printer.note(&format!("{} has no namespace {namespace}", source.name));
            }
            let gates = args.gates.gates();
            // The table has a line per pod: what only the data holds need not be found out.
            let judge = if printer.is_table() { brief } else { explain };
            let items = keys.iter().filter_map(|key| judge(&mut source.catalog, key, gates)).collect();
            let list = ExplanationList::new(items);
            tell_troubles(&source, &keys, printer);
            printer.data(&list, table::list)?;
            Ok(found(&list.items))
        }
    }
}

/// Tells why volumes of pods that wait were not made when that was tried: to the nodes it is no reason, so no verdict has it.
fn tell_troubles(source: &Source, pods: &[ObjectKey], printer: &mut Printer) {
    /// More than these would hide the answer.
    const TOLD: usize = 5;
    let waiting = pods.iter().filter_map(|key| source.catalog.pod(key)).filter(|pod| pod.node.is_none());
    let claims = waiting.flat_map(|pod| Catalog::claims_of(pod).map(|claim| (claim, &pod.key)));
    let is_unbound = |claim: &ObjectKey| source.catalog.observed_claim(claim).is_some_and(|c| c.volume.is_empty());
    let claims: Vec<_> = claims.filter(|(claim, _)| is_unbound(claim)).collect();
    let troubles = source.troubles(&claims.iter().map(|(claim, _)| claim.namespace.to_string()).collect());
    let told: Vec<_> = claims.iter().filter_map(|(claim, pod)| Some((claim, pod, troubles.get(claim)?))).collect();
    for (claim, pod, said) in told.iter().take(TOLD) {
        printer.note(&format!("no volume could be made for claim {claim} of pod {pod} so far: {said}"));
    }
    if let Some(more) = told.len().checked_sub(TOLD).filter(|more| *more > 0) {
        printer.note(&format!("the same of {more} more claims: `kubectl describe` says why"));
    }
}

/// What is said of a pod that has a node.
fn placed_note(source: &Source, pod: &Pod) -> Option<String> {
    let (key, node) = (&pod.key, pod.node.as_deref()?);
    let gone = source.catalog.nodes().by_name(node).is_none();
    Some(match (pod.deleting, gone) {
        (true, true) => format!("pod {key} is being deleted, and its node {node} is no longer in {}", source.name),
        (true, false) => format!("pod {key} is being deleted: it ends on {node}, where it is"),
        (false, true) => format!("pod {key} is on {node}, which is not in {}", source.name),
        (false, false) => format!("pod {key} is on {node} already: it is judged as a new pod that names that node"),
    })
}

fn explain(catalog: &mut Catalog, key: &ObjectKey, gates: Gates) -> Option<Explanation> {
    let explanation = catalog.explain(key, gates)?;
    let mut explanation = Explanation::new(key, &explanation, catalog.nodes().len());
    place::add(&mut explanation, catalog);
    Some(explanation)
}

/// The same without nodes, differences and remedies: many times quicker.
fn brief(catalog: &mut Catalog, key: &ObjectKey, gates: Gates) -> Option<Explanation> {
    let pod = catalog.set_aside(key)?;
    let decision = catalog.decide(&pod, gates);
    catalog.put_back(key);
    Some(Explanation::brief(key, &decision, catalog.nodes().len()))
}

/// The pods that have no node, in order of namespace and name.
fn waiting(catalog: &Catalog, namespace: Option<&str>) -> Vec<ObjectKey> {
    let pods = catalog.pods().filter(|pod| pod.node.is_none() && !pod.ended);
    let here = pods.filter(|pod| namespace.is_none_or(|n| *pod.key.namespace == *n));
    here.map(|pod| pod.key.clone()).collect()
}

fn found(explanations: &[Explanation]) -> Found {
    if explanations.iter().all(|e| e.schedulable) { Found::Placeable } else { Found::Unplaceable }
}

/// A pod that is not there, with those that may be meant.
fn missing(source: &Source, key: &ObjectKey) -> Failure {
    /// More than these would hide the one that is meant.
    const SUGGESTED: usize = 5;
    /// Kinds that make pods, as kubectl lets one write them before a slash.
    const MAKERS: [&str; 10] =
        ["deploy", "deployment", "sts", "statefulset", "ds", "daemonset", "rs", "replicaset", "rc", "job"];
    let failure = Failure::new(format!("pod {key} is not in {}", source.name));
    let is_maker =
        MAKERS.iter().any(|kind| key.namespace.strip_prefix(*kind).is_some_and(|end| matches!(end, "" | "s")));
    if is_maker && !source.catalog.has_namespace(&key.namespace) {
        return failure.help("only pods are placed: `kubectl get pods` lists those that a workload has made");
    }
    let near = |other: &ObjectKey| {
        let same_place = if other.namespace == key.namespace { 0.0 } else { 0.3 };
        1.0 - strsim::jaro_winkler(&other.name, &key.name) + same_place
    };
    let mut pods: Vec<(f64, &ObjectKey)> = source.catalog.pods().map(|p| (near(&p.key), &p.key)).collect();
    pods.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
    let likely: Vec<String> =
        pods.iter().filter(|(distance, _)| *distance < 0.4).take(SUGGESTED).map(|(_, k)| k.to_string()).collect();
    if !likely.is_empty() {
        return failure.help(format!("did you mean {}?", likely.join(", ")));
    }
    match pods.len() {
        0 => failure.help(format!("there are no pods in {}", source.name)),
        1 => failure.help(format!("the only pod in {} is {}", source.name, pods[0].1)),
        count => failure.help(format!(
            "there are {count} pods in {}, none of a similar name; leave POD out to see those that have no node",
            source.name
        )),
    }
}
