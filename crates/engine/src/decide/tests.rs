//! Decisions by a profile, with nodes that the caller refuses.

use crate::gates::Gates;
use crate::labels::Name;
use crate::model::Pod;
use crate::nodes::NodeIndex;
use crate::object::Object;
use crate::reason::{Code, Plugin, Refusal, Status};
use crate::rules::Rules;
use crate::testing::{container, name, node, pod};
use crate::{Catalog, Event};

fn three_nodes() -> Catalog {
    let mut catalog = Catalog::new();
    for n in ["c", "a", "b"] {
        catalog.apply(Event::Set(Object::Node(node(n, n))));
    }
    catalog
}

fn index(catalog: &Catalog, node: &str) -> NodeIndex {
    catalog.nodes().by_name(node).unwrap().index()
}

fn asking(cpu: &str) -> Pod {
    let mut p = pod("p");
    p.demand.containers = vec![container(&[("cpu", cpu)])];
    p
}

fn refusal(reason: &'static str, status: Status) -> Refusal {
    Refusal { plugin: Plugin::Extender, code: Code::EXTENDER, status, reason: reason.into(), detail: String::new() }
}

#[test]
fn nodes_that_the_caller_refuses_are_not_chosen() {
    let (catalog, rules) = (three_nodes(), Rules::default());
    let chosen = |except: &[&str]| {
        let except: Vec<NodeIndex> = except.iter().map(|n| index(&catalog, n)).collect();
        let choice = catalog.choose_by(&asking("1"), &rules, &except).unwrap();
        choice.map(|choice| (choice.node.to_string(), choice.feasible))
    };
    assert_eq!(chosen(&[]), Some(("a".into(), 3)));
    assert_eq!(chosen(&["a"]), Some(("b".into(), 2)));
    assert_eq!(chosen(&["b", "a", "a"]), Some(("c".into(), 1)));
    assert_eq!(chosen(&["a", "b", "c"]), None);
}

#[test]
fn a_ranking_has_every_node_that_fits_with_its_total() {
    let mut catalog = three_nodes();
    let busy = Pod { node: Some(name("b")), ..asking("2") };
    catalog.apply(Event::Set(Object::Pod(Box::new(Pod { key: crate::labels::ObjectKey::new("x", "busy"), ..busy }))));
    let rules = Rules::new(Gates::AS_UPSTREAM);
    let ranked = catalog.rank_by(&asking("1"), &rules, &[index(&catalog, "c")]).unwrap();
    let decision = catalog.decide_by(&asking("1"), &rules);
    let total = |at: usize| decision.nodes[at].total.unwrap();
    assert_eq!(ranked, [(name("a"), total(0)), (name("b"), total(1))]);
    assert!(total(0) > total(1));
    // Only the weight of the resources' score differs, by its own value.
    let heavier = catalog.rank_by(&asking("1"), &rules.weigh(Plugin::NodeResourcesFit, 11), &[]).unwrap();
    let fit =
        decision.nodes[0].scores.as_ref().unwrap().iter().find(|(p, _)| *p == Plugin::NodeResourcesFit).unwrap().1;
    assert_eq!(heavier[0].1, total(0) + 10 * fit);
}

#[test]
fn a_plan_is_only_for_a_node_that_fits() {
    let (catalog, rules) = (three_nodes(), Rules::default());
    let plan = |cpu: &str, node: &str| catalog.plan_on(&asking(cpu), &rules, &Name::from(node));
    assert!(plan("1", "a").is_some_and(|plan| plan.claims.is_empty()));
    assert_eq!(plan("9", "a"), None);
    assert_eq!(plan("1", "nowhere"), None);
    assert_eq!(catalog.plan_on(&Pod { gated: true, ..asking("1") }, &rules, &name("a")), None);
}

#[test]
fn the_callers_refusals_stand_in_the_place_of_the_nodes_own() {
    let (catalog, rules) = (three_nodes(), Rules::default());
    let except = [
        (index(&catalog, "a"), vec![refusal("no disk here", Status::Unschedulable)]),
        (index(&catalog, "b"), vec![refusal("never here", Status::UnschedulableAndUnresolvable)]),
    ];
    let diagnosis = catalog.diagnose_by(&asking("9"), &rules, &except);
    assert_eq!(diagnosis.summary, "0/3 nodes are available: 1 Insufficient cpu, 1 never here, 1 no disk here.");
    assert_eq!(diagnosis.preemptible, [index(&catalog, "a")]);
    assert!(diagnosis.refused_by.contains(&(Plugin::Extender, Code::EXTENDER)));
}

#[test]
fn a_pod_that_uses_what_nothing_decides_about_is_refused_and_told_so() {
    let (catalog, rules) = (three_nodes(), Rules::default());
    for (what, plugin) in
        [("spec.resourceClaims", Plugin::DynamicResources), ("spec.schedulingGroup", Plugin::GangScheduling)]
    {
        let p = Pod { undecided: Some(name(what)), ..asking("1") };
        let refused = catalog.choose_by(&p, &rules, &[]).unwrap_err();
        assert_eq!((refused.plugin, refused.code), (plugin, Code::UNDECIDED));
        assert_eq!(catalog.plan_on(&p, &rules, &name("a")), None);
        let diagnosis = catalog.diagnose_by(&p, &rules, &[]);
        assert_eq!(
            diagnosis.summary,
            format!("0/3 nodes are available: pod uses {what}, which this scheduler does not decide about.")
        );
        assert!(diagnosis.rejected && diagnosis.preemptible.is_empty());
    }
}
