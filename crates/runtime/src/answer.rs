//! How long an answer is waited for. The clock runs while the request is with the API server, not while it stands in line at
//! this side's own throttle: a line of a minute would otherwise fail every request in it, again and again.
//!
//! ```text
//!              joins a line                        the limit passes
//!   on its way ────────────► in line      on its way ──────────────► given up
//!       ▲                       │
//!       └── its turn: the limit ┘ begins anew
//! ```

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use tokio::sync::watch;

use crate::error::Error;

/// How long an answer is waited for: as long as the API server lets a request take. A connection that died without a word
/// would be waited for without end.
pub(crate) const ANSWER: Duration = Duration::from_secs(60);

/// Tells the one who waits for an answer whether the request stands in line. It travels among the request's extensions.
#[derive(Clone)]
pub(crate) struct InLine(Arc<watch::Sender<bool>>);

impl InLine {
    /// What a request carries; `None` where nobody counts.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        request.extensions().get::<Self>().cloned()
    }

    /// The request joins a line, or leaves it.
    pub(crate) fn set(&self, waits: bool) {
        self.0.send_replace(waits);
    }
}

/// Waits for the answer to a request that `ask` sends.
pub(crate) async fn within<B, T, E, F>(mut request: Request<B>, ask: impl FnOnce(Request<B>) -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, E>>,
    Error: From<E>,
{
    let (line, mut waits) = watch::channel(false);
    // Kept here, too: a request that is done with its extensions must not look like one that has left.
    let line = InLine(Arc::new(line));
    request.extensions_mut().insert(line.clone());
    let mut answer = pin!(ask(request));
    let silence = async {
        loop {
            let _ = waits.wait_for(|waits| !waits).await;
            if tokio::time::timeout(ANSWER, waits.wait_for(|waits| *waits)).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        answer = &mut answer => Ok(answer?),
        () = silence => Err(Error::Unknown(format!("no answer within {} s", ANSWER.as_secs()))),
    }
}
