//! The signals that end a long-running process: the first one in good order, the second at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;

/// Listens for them.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on.
    pub fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::new(format!("signals cannot be received: {error}")));
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Done at the first signal; from then on a second one ends the process.
    pub async fn first(mut self) {
        self.any().await;
        tokio::spawn(async move {
            self.any().await;
            std::process::exit(1);
        });
    }
}
