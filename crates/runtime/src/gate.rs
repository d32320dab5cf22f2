//! A gate in front of a process's tasks, so that a test can stop them where they stand and let them go on later, as
//! SIGSTOP and SIGCONT do: time passes, answers and events arrive, and nobody looks at them.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Open in every real process: only the test bed closes it.
#[derive(Clone, Default)]
pub struct Gate {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    closed: bool,
    /// Who was woken while it was closed.
    waiting: Vec<Waker>,
}

impl Gate {
    /// From now on no task is polled.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// All go on, in the order in which they came to the gate.
    pub fn open(&self) {
        let waiting = {
            let mut state = self.state();
            state.closed = false;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The same work, polled only while the gate is open.
    pub(crate) fn guard<F: Future<Output = ()>>(&self, work: F) -> Guarded<F> {
        Guarded { gate: self.clone(), work: Box::pin(work) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work behind a gate.
pub(crate) struct Guarded<F> {
    gate: Gate,
    work: Pin<Box<F>>,
}

impl<F: Future<Output = ()>> Future for Guarded<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        {
            let mut state = self.gate.state();
            if state.closed {
                state.waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
        }
        self.work.as_mut().poll(cx)
    }
}
