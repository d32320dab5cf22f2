//! The one thread that writes to the disk.

use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{mpsc, oneshot};

use super::change::{Write, WriteError, Written};
use super::disk::Disk;
use super::folder::{Folder, HighWater};
use super::shared::Shared;
use super::stage::Stage;

/// How many writes may wait; who comes later waits to be let in.
const QUEUE: usize = 1024;
/// How many writes one fsync may serve.
const BATCH_WRITES: usize = 512;
/// After how many bytes of objects a batch is closed, so that one commit does not take long.
const BATCH_BYTES: usize = 4 << 20;

enum Job {
    Write(Write, oneshot::Sender<Result<Written, WriteError>>),
    Close(oneshot::Sender<()>),
}

/// The way to the thread. Dropping it lets the thread finish what is queued and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        shared: Arc<Shared>,
        disk: Disk,
        high_water: Box<dyn HighWater>,
        folder: Option<Folder>,
    ) -> std::io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let work = Work { shared, disk, high_water, _folder: folder };
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(move || work.run(jobs))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    pub(super) async fn write(&self, shared: &Shared, write: Write) -> Result<Written, WriteError> {
        let gone = || shared.stopped().unwrap_or(WriteError::Closed);
        let (answer, answered) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue.send(Job::Write(write, answer)).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    pub(super) async fn close(&self) {
        let (answer, answered) = oneshot::channel();
        if let Some(queue) = &self.queue
            && queue.send(Job::Close(answer)).await.is_ok()
        {
            // An error only says that the thread had ended already.
            let _ = answered.await;
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            // The last handle may die inside an encoder, which runs on that thread.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

struct Work {
    shared: Arc<Shared>,
    disk: Disk,
    high_water: Box<dyn HighWater>,
    /// Last, so that the folder is free only after the file is closed.
    _folder: Option<Folder>,
}

impl Work {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>) {
        while let Some(first) = jobs.blocking_recv() {
            if let Some(closed) = self.batch(first, &mut jobs) {
                self.shared.stop(WriteError::Closed);
                self.high_water.sync();
                drop(self);
                let _ = closed.send(());
                return;
            }
        }
        self.high_water.sync();
    }

    /// Commits the first job and what else is queued. Gives back whom to tell when the store is to be closed.
    fn batch(&mut self, first: Job, jobs: &mut mpsc::Receiver<Job>) -> Option<oneshot::Sender<()>> {
        let shared = self.shared.clone();
        let mut stage = Stage::new(&shared);
        let mut answers = Vec::new();
        let mut close = None;
        let mut job = Some(first);
        while let Some(next) = job.take() {
            match next {
                Job::Write(write, answer) => {
                    let outcome = match shared.stopped() {
                        Some(why) => Err(why),
                        None => stage.add(write),
                    };
                    answers.push((answer, outcome));
                }
                Job::Close(answer) => {
                    close = Some(answer);
                    break;
                }
            }
            if answers.len() < BATCH_WRITES && stage.bytes() < BATCH_BYTES {
                job = jobs.try_recv().ok();
            }
        }
        let mut failed = None;
        if !stage.is_empty() {
            match self.disk.commit(&stage) {
                Ok(()) => {
                    self.high_water.note(stage.revision());
                    stage.publish();
                }
                Err(error) => {
                    tracing::error!(%error, "the store cannot write and takes no more changes until it is restarted");
                    failed = Some(shared.stop(WriteError::Failed(error)));
                }
            }
        }
        for (answer, outcome) in answers {
            // Refusals too may rest on what was staged in this batch, so none is told before the batch is durable.
            let outcome = failed.as_ref().map_or(outcome, |why| Err(why.clone()));
            // Nobody listening is well: the write stands.
            let _ = answer.send(outcome);
        }
        close
    }
}
