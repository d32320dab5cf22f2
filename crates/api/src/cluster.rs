//! A whole cluster from manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_engine::Object;
use plimsoll_engine::collections::Map;
use plimsoll_engine::labels::{Name, ObjectKey};
use plimsoll_engine::model::PodVolumeSource;

use crate::defaults::{self, BindingOf, DefaultClass, Priorities};
use crate::document::{Document, DocumentKind};
use crate::error::ConvertError;
use crate::interner::Interner;
use crate::kinds::{PersistentVolumeClaim, PriorityClass, StorageClass};
use crate::manifest::{self, Limits, ManifestError, Note, Place, Read, Sink, Source};
use crate::workloads::{self, Existing};

/// Reads clusters from manifests.
#[derive(Debug)]
pub struct Cluster;

/// A cluster that was read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Its objects in the order of the input; what a workload makes follows the workload.
    pub objects: Vec<Object>,
    /// The claims that came without a status, in the order of the input: the volume controller has not seen them yet.
    pub new_claims: Vec<ObjectKey>,
    /// What is worth saying about the input.
    pub notes: Vec<Note>,
}

impl Cluster {
    /// Reads `sources` as the API server would store them and its controllers complete them. Of an object that comes
    /// twice the later one counts. Either all of it is read, or every error is given back.
    pub fn read(sources: &[Source<'_>]) -> Result<Loaded, Vec<ManifestError>> {
        Self::read_within(sources, Limits::default())
    }

    /// The same with limits of one's own.
    pub fn read_within(sources: &[Source<'_>], limits: Limits) -> Result<Loaded, Vec<ManifestError>> {
        let mut reader = ClusterReader::default();
        for source in sources {
            reader.read(*source, limits);
        }
        reader.finish()
    }
}

/// An object on its way: most are converted at once and their decoded form is let go.
#[allow(clippy::large_enum_variant, reason = "nearly all slots are the large variant; a box would only cost")]
enum Slot {
    /// Converted.
    Done(Object),
    /// Waits until all of the input is known: a pod or claim without a status, or a workload.
    Waiting(Box<(Document, Place)>),
    /// Replaced by a later one, or only there for the others' sake.
    Empty,
}

/// Reads a cluster source by source, so that no more than one has to be held.
#[derive(Default)]
pub struct ClusterReader {
    names: Interner,
    slots: Vec<Slot>,
    /// Where each object stands in `slots`, so that a later one replaces it.
    seen: Map<(DocumentKind, Name, Name), usize>,
    skipped: BTreeMap<(Arc<str>, String, String), usize>,
    classes: BTreeMap<String, StorageClass>,
    priority_classes: BTreeMap<String, PriorityClass>,
    new_claims: Vec<ObjectKey>,
    notes: Vec<Note>,
    errors: Vec<ManifestError>,
}

/// The object as messages name it.
fn describe(document: &Document) -> String {
    let (kind, meta) = (document.kind(), document.meta());
    if kind.is_namespaced() {
        format!("{} {}/{}", kind.name(), meta.namespace_or_default(), meta.name)
    } else {
        format!("{} {}", kind.name(), meta.name)
    }
}

fn error_at(place: Place, document: &Document, error: ConvertError) -> ManifestError {
    ManifestError { place, object: describe(document), field: error.path, problem: error.problem }
}

impl Sink for ClusterReader {
    fn object(&mut self, read: Read) {
        let Read { place, mut document } = read;
        if document.meta().name.is_empty() && !self.make_up_name(&mut document) {
            let error = ConvertError::new("is missing").at("metadata.name");
            self.errors.push(error_at(place, &document, error));
            return;
        }
        self.remember(&document, &place);
        let slot = match &mut document {
            Document::Node(node) => {
                defaults::complete_node(node);
                self.convert(&document, place)
            }
            Document::Namespace(namespace) => {
                defaults::complete_namespace(namespace);
                self.convert(&document, place)
            }
            Document::Volume(volume) => {
                defaults::complete_volume(volume);
                self.convert(&document, place)
            }
            Document::Class(class) => {
                defaults::complete_class(class);
                if class.is_default() {
                    self.classes.insert(class.metadata.name.clone(), class.clone());
                } else {
                    self.classes.remove(&class.metadata.name);
                }
                self.convert(&document, place)
            }
            Document::PriorityClass(class) => {
                self.priority_classes.insert(class.metadata.name.clone(), class.clone());
                Slot::Empty
            }
            Document::Pod(pod) if !pod.status.phase.is_empty() => self.convert(&document, place),
            Document::Claim(claim) if !claim.status.phase.is_empty() => self.convert(&document, place),
            Document::Pod(_)
            | Document::Claim(_)
            | Document::Deployment(_)
            | Document::DaemonSet(_)
            | Document::Job(_)
            | Document::ReplicaSet(_)
            | Document::StatefulSet(_)
            | Document::ReplicationController(_) => Slot::Waiting(Box::new((document, place))),
            Document::Driver(_)
            | Document::CsiNode(_)
            | Document::Pool(_)
            | Document::Attachment(_)
            | Document::Service(_) => self.convert(&document, place),
        };
        self.slots.push(slot);
    }

    fn skipped(&mut self, source: &Arc<str>, api_version: &str, kind: &str) {
        *self.skipped.entry((source.clone(), api_version.to_owned(), kind.to_owned())).or_default() += 1;
    }

    fn error(&mut self, error: ManifestError) {
        self.errors.push(error);
    }
}

impl ClusterReader {
    /// Reads one more source.
    pub fn read(&mut self, source: Source<'_>, limits: Limits) {
        manifest::read(source, limits, self);
    }

    /// Takes out the errors met so far, for those who would rather skip a broken object than stop.
    pub fn take_errors(&mut self) -> Vec<ManifestError> {
        std::mem::take(&mut self.errors)
    }

    /// An object that only says what its name begins with gets the rest from where it stands in the input.
    fn make_up_name(&self, document: &mut Document) -> bool {
        let prefix = document.meta().generate_name.clone();
        if prefix.is_empty() {
            return false;
        }
        let name = format!("{prefix}{}", workloads::suffix(&[&prefix, &self.slots.len().to_string()], 5));
        document.meta_mut().name = name;
        true
    }

    /// Empties the slot of an earlier object of the same kind and name.
    fn remember(&mut self, document: &Document, place: &Place) {
        let (kind, meta) = (document.kind(), document.meta());
        let namespace = if kind.is_namespaced() { meta.namespace_or_default() } else { "" };
        let key = (kind, self.names.share(namespace), Name::from(meta.name.as_str()));
        if let Some(earlier) = self.seen.insert(key, self.slots.len()) {
            if let Some(slot) = self.slots.get_mut(earlier) {
                *slot = Slot::Empty;
            }
            self.notes.push(Note::Replaced { object: describe(document), place: place.clone() });
        }
    }

    fn convert(&mut self, document: &Document, place: Place) -> Slot {
        match document.to_engine(&mut self.names) {
            Ok(Some(object)) => Slot::Done(object),
            Ok(None) => Slot::Empty,
            Err(error) => {
                self.errors.push(error_at(place, document, error));
                Slot::Empty
            }
        }
    }

    /// Completes what waited, now that all of the input is known. Either all of it was read, or every error is given
    /// back.
    pub fn finish(mut self) -> Result<Loaded, Vec<ManifestError>> {
        let mut completer = Completer::default();
        self.classes.values().for_each(|c| completer.default_class.see(c));
        self.priority_classes.values().for_each(|c| completer.priorities.see(c));

        let waiting = self.take_waiting();
        completer.see_bindings(waiting.iter().map(|(_, w)| &w.0), &self.slots);
        let mut workloads = Vec::new();
        for (i, mut waiting) in waiting {
            if let Document::Claim(claim) = &waiting.0 {
                self.new_claims.push(claim_key(claim));
            }
            completer.complete(&mut waiting.0);
            self.slots[i] = self.convert(&waiting.0, waiting.1.clone());
            if !matches!(waiting.0, Document::Pod(_) | Document::Claim(_)) {
                workloads.push((i, waiting));
            }
        }
        let made = self.expand(&workloads, &mut completer);
        if !self.errors.is_empty() {
            return Err(self.errors);
        }

        let mut notes = self.notes;
        for ((source, api_version, kind), count) in self.skipped {
            notes.push(Note::SkippedKind { source, api_version, kind, count });
        }
        for (class, pods) in std::mem::take(&mut completer.unknown_classes) {
            notes.push(Note::UnknownPriorityClass { class, pods });
        }
        let mut objects = Vec::with_capacity(self.slots.len());
        let mut made = made.into_iter().peekable();
        for (i, slot) in self.slots.into_iter().enumerate() {
            if let Slot::Done(object) = slot {
                objects.push(object);
            }
            while let Some((_, more)) = made.next_if(|(at, _)| *at == i) {
                objects.extend(more);
            }
        }
        for object in &mut objects {
            completer.name_class_of_templates(object);
        }
        Ok(Loaded { objects, new_claims: self.new_claims, notes })
    }

    fn take_waiting(&mut self) -> Vec<(usize, Box<(Document, Place)>)> {
        let mut waiting = Vec::new();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            match std::mem::replace(slot, Slot::Empty) {
                Slot::Waiting(document) => waiting.push((i, document)),
                other => *slot = other,
            }
        }
        waiting
    }

    /// What each workload makes, with the slot that it follows, in the order of the slots.
    fn expand(
        &mut self,
        workloads: &[(usize, Box<(Document, Place)>)],
        completer: &mut Completer,
    ) -> Vec<(usize, Vec<Object>)> {
        let mut made: Vec<(usize, Vec<Document>)> = Vec::new();
        let objects = self.slots.iter().filter_map(|s| match s {
            Slot::Done(object) => Some(object),
            _ => None,
        });
        let existing = Existing::new(objects, workloads.iter().map(|(_, w)| &w.0));
        for (index, (_, workload)) in workloads.iter().enumerate() {
            match workloads::expand(&workload.0, &existing) {
                Ok(documents) => made.push((index, documents.into_documents().collect())),
                Err(error) => self.errors.push(error_at(workload.1.clone(), &workload.0, error)),
            }
        }
        completer.see_bindings(made.iter().flat_map(|(_, d)| d), &self.slots);
        let mut out = Vec::new();
        for (index, documents) in made {
            let (slot, workload) = &workloads[index];
            let mut objects = Vec::with_capacity(documents.len());
            for mut document in documents {
                if let Document::Claim(claim) = &document {
                    self.new_claims.push(claim_key(claim));
                }
                completer.complete(&mut document);
                match document.to_engine(&mut self.names) {
                    Ok(object) => objects.extend(object),
                    Err(error) => {
                        let field = match document {
                            Document::Claim(_) => "spec.volumeClaimTemplates",
                            _ => "spec.template",
                        };
                        // All its pods have the same fault: once is enough.
                        self.errors.push(error_at(workload.1.clone(), &workload.0, error.at(field)));
                        break;
                    }
                }
            }
            out.push((*slot, objects));
        }
        out
    }
}

/// What completing an object needs to know of the others.
#[derive(Default)]
struct Completer {
    default_class: DefaultClass,
    priorities: Priorities,
    /// The volumes that refer to each claim that is yet to be completed.
    bindings: Map<ObjectKey, Vec<BindingOf>>,
    /// How many pods name each PriorityClass that is not there.
    unknown_classes: BTreeMap<String, usize>,
}

fn claim_key(claim: &PersistentVolumeClaim) -> ObjectKey {
    ObjectKey::new(claim.metadata.namespace_or_default(), claim.metadata.name.as_str())
}

impl Completer {
    /// Looks up the volumes that refer to the claims among `documents`.
    fn see_bindings<'a>(&mut self, documents: impl Iterator<Item = &'a Document>, slots: &[Slot]) {
        let claims = documents.filter_map(|d| match d {
            Document::Claim(claim) => Some((claim_key(claim), Vec::new())),
            _ => None,
        });
        self.bindings = claims.collect();
        if self.bindings.is_empty() {
            return;
        }
        for slot in slots {
            if let Slot::Done(Object::Volume(volume)) = slot
                && let Some(claim_ref) = &volume.claim_ref
                && let Some(bindings) = self.bindings.get_mut(&claim_ref.claim)
            {
                bindings.push(BindingOf { volume: volume.name.clone(), uid: claim_ref.uid.clone() });
            }
        }
    }

    fn complete(&mut self, document: &mut Document) {
        match document {
            Document::Pod(pod) => {
                if let Some(class) = defaults::complete_pod(pod, &self.priorities) {
                    *self.unknown_classes.entry(class).or_default() += 1;
                }
            }
            Document::Claim(claim) => {
                let bindings = self.bindings.get(&claim_key(claim)).map_or(&[][..], Vec::as_slice);
                defaults::complete_claim(claim, &self.default_class, bindings);
            }
            _ => {}
        }
    }

    /// The claim that a pod's template becomes gets the default class when it is made, so it can be named now.
    fn name_class_of_templates(&self, object: &mut Object) {
        let (Object::Pod(pod), Some(default)) = (object, self.default_class.name()) else { return };
        for volume in &mut pod.volumes {
            if let PodVolumeSource::Ephemeral { template } = &mut volume.source {
                template.class.get_or_insert_with(|| default.clone());
            }
        }
    }
}
