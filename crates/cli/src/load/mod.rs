//! The cluster that a command looks at: from files, or from a live API server.

pub mod files;
pub mod live;
pub mod troubles;

use std::collections::BTreeSet;

use kube::Client;
use plimsoll_api::{Loaded, Note};
use plimsoll_engine::{Catalog, Event};
use tokio::runtime::Runtime;

use crate::args::ClusterArgs;
use crate::failure::Failure;
use crate::load::live::Live;
use crate::load::troubles::Troubles;
use crate::printer::Printer;

/// A cluster that was read.
pub struct Source {
    /// What is in it.
    pub catalog: Catalog,
    /// The namespace of a pod that is named without one.
    pub default_namespace: String,
    /// The cluster as messages call it: `the input` or `the cluster`.
    pub name: &'static str,
    /// Who can be asked for more, where the cluster is a live one.
    live: Option<(Runtime, Client)>,
}

impl Source {
    /// What provisioners complain of in these namespaces; nothing where the cluster is not a live one.
    pub fn troubles(&self, namespaces: &BTreeSet<String>) -> Troubles {
        match &self.live {
            Some((runtime, client)) if !namespaces.is_empty() => runtime.block_on(troubles::read(client, namespaces)),
            _ => Troubles::new(),
        }
    }
}

/// Reads the cluster that the arguments name.
pub fn load(args: &ClusterArgs, printer: &mut Printer) -> Result<Source, Failure> {
    if args.file.is_empty() {
        let runtime = live::runtime()?;
        let Live { loaded, namespace, client } = live::read(args, &runtime, printer)?;
        let catalog = catalog(loaded);
        return Ok(Source {
            catalog,
            default_namespace: namespace,
            name: "the cluster",
            live: Some((runtime, client)),
        });
    }
    let loaded = files::read(&args.file)?;
    for note in &loaded.notes {
        printer.note(&note.to_string());
    }
    let source =
        Source { catalog: catalog(loaded), default_namespace: "default".to_owned(), name: "the input", live: None };
    if source.catalog.nodes().iter().next().is_none() {
        printer.note(
            "the input has no nodes, so nothing can be placed: add them, for example from `kubectl get nodes -o yaml`",
        );
    }
    Ok(source)
}

fn catalog(loaded: Loaded) -> Catalog {
    let mut catalog = Catalog::new();
    for object in loaded.objects {
        catalog.apply(Event::Set(object));
    }
    catalog.bind_as_controller(&loaded.new_claims);
    catalog
}

/// Whether a note matters to somebody who looks at a live cluster: an object that was listed twice changed meanwhile,
/// which is nobody's mistake.
fn is_for_live(note: &Note) -> bool {
    !matches!(note, Note::Replaced { .. })
}
