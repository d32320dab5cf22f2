//! `--controllers`: which parts run, by kube-controller-manager's names, so that each can be left to the real one.

use std::collections::BTreeSet;

use plimsoll_apiserver::housekeeping::Housekeeping;

use crate::failure::Failure;
use crate::printer::Printer;

/// What the API server does itself, by the names of the controllers that do it elsewhere.
const GARBAGE: &str = "garbage-collector-controller";
const NAMESPACES: &str = "namespace-controller";
const ROLES: &str = "clusterrole-aggregation-controller";

/// The parts that run.
#[derive(Debug)]
pub struct Chosen {
    /// The controllers of claims and volumes.
    pub volumes: BTreeSet<plimsoll_controllers::Controller>,
    /// The controllers of workloads and nodes.
    pub workloads: BTreeSet<plimsoll_workloads::Controller>,
    /// What the API server does itself.
    pub housekeeping: Housekeeping,
}

impl Chosen {
    /// Reads the flag: `*` is all, `NAME` one more, `-NAME` one less; without `*` only those that are named.
    pub fn read(names: &[String], printer: &mut Printer) -> Result<Self, Failure> {
        let mut chosen = Self { volumes: BTreeSet::new(), workloads: BTreeSet::new(), housekeeping: Housekeeping::ALL };
        let all = names.iter().any(|name| name == "*");
        for name in Self::names() {
            chosen.set(name, all);
        }
        for name in names.iter().map(|name| name.trim()).filter(|name| !matches!(*name, "*" | "")) {
            let (name, on) = name.strip_prefix('-').map_or((name, true), |name| (name, false));
            if chosen.set(name, on) {
                continue;
            }
            // What kube-controller-manager has beside ours may be left out by name, as in a list made for it.
            if !on && name.ends_with("-controller") {
                printer.note(&format!("--controllers: {name} is not part of this cluster anyway"));
                continue;
            }
            let names = Self::names().collect::<Vec<_>>().join(", ");
            return Err(Failure::new(format!("--controllers: there is no controller {name}"))
                .help(format!("there are {names}; * is all of them, -NAME leaves one out")));
        }
        Ok(chosen)
    }

    /// The name of every controller there is.
    fn names() -> impl Iterator<Item = &'static str> {
        let volumes = plimsoll_controllers::Controller::ALL.into_iter().map(plimsoll_controllers::Controller::name);
        let workloads = plimsoll_workloads::Controller::ALL.into_iter().map(plimsoll_workloads::Controller::name);
        volumes.chain(workloads).chain([GARBAGE, NAMESPACES, ROLES])
    }

    /// Turns a controller on or off; false where there is none of that name.
    fn set(&mut self, name: &str, on: bool) -> bool {
        match name {
            GARBAGE => self.housekeeping.garbage = on,
            NAMESPACES => self.housekeeping.namespaces = on,
            ROLES => self.housekeeping.roles = on,
            _ => {
                if let Some(controller) = plimsoll_controllers::Controller::from_name(name) {
                    put(&mut self.volumes, controller, on);
                } else if let Some(controller) = plimsoll_workloads::Controller::from_name(name) {
                    put(&mut self.workloads, controller, on);
                } else {
                    return false;
                }
            }
        }
        true
    }
}

fn put<T: Ord>(set: &mut BTreeSet<T>, item: T, on: bool) {
    if on {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Output;

    fn read(names: &[&str]) -> Result<Chosen, Failure> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Chosen::read(&names, &mut Printer::new(Output::Table))
    }

    #[test]
    fn all_some_and_all_but_one() {
        let all = read(&["*"]).unwrap();
        assert_eq!(all.volumes.len(), plimsoll_controllers::Controller::ALL.len());
        assert_eq!(all.workloads.len(), plimsoll_workloads::Controller::ALL.len());
        assert_eq!(all.housekeeping, Housekeeping::ALL);

        let but = read(&["*", "-statefulset-controller", "-namespace-controller"]).unwrap();
        assert!(!but.workloads.contains(&plimsoll_workloads::Controller::StatefulSet));
        assert_eq!(but.workloads.len(), plimsoll_workloads::Controller::ALL.len() - 1);
        assert_eq!(but.housekeeping, Housekeeping { namespaces: false, ..Housekeeping::ALL });

        let only = read(&["job-controller"]).unwrap();
        assert_eq!(only.workloads, BTreeSet::from([plimsoll_workloads::Controller::Job]));
        assert!(only.volumes.is_empty());
        // Events expire whoever the controllers are: upstream's API server does that, too.
        let none = Housekeeping { events: true, ..Housekeeping::NONE };
        assert_eq!(only.housekeeping, none);
    }

    #[test]
    fn a_name_that_is_none_is_an_error() {
        assert!(read(&["*", "statefulset"]).is_err());
        assert!(read(&["*", "-endpoint-controller"]).is_ok());
        assert!(read(&["*", "endpoint-controller"]).is_err());
    }
}
