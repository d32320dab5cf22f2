//! A limit on how many requests a process sends, for those who ask for one: the API server protects itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

/// The same client, sending at most `per_second` requests in the long run and `burst` more at once. Must be called
/// inside a runtime.
pub fn throttled(client: &Client, per_second: f32, burst: u32) -> Client {
    let namespace = client.default_namespace().to_owned();
    let gap = Duration::from_secs_f32((1.0 / per_second.max(0.001)).min(3600.0));
    let turns = Arc::new(Turns { gap, burst: gap.saturating_mul(burst), next: Mutex::new(Instant::now()) });
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| -> BoxFuture<'static, Result<Response<Body>, BoxError>> {
        let (client, turn) = (client.clone(), turns.take());
        Box::pin(async move {
            tokio::time::sleep_until(turn).await;
            client.send(request).await.map_err(BoxError::from)
        })
    });
    Client::new(service, namespace)
}

/// Hands out the moments at which requests may be sent. An unused moment is kept, up to the burst.
struct Turns {
    gap: Duration,
    burst: Duration,
    /// The next moment that nobody has.
    next: Mutex<Instant>,
}

impl Turns {
    fn take(&self) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = Instant::now().checked_sub(self.burst).unwrap_or_else(Instant::now);
        let turn = (*next).max(oldest);
        *next = turn + self.gap;
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bursts_are_let_through_and_the_rest_is_spread() {
        let gap = Duration::from_millis(100);
        let start = Instant::now();
        tokio::time::advance(Duration::from_secs(10)).await;
        let now = Instant::now();
        let turns = Turns { gap, burst: gap * 3, next: Mutex::new(start) };
        let waits: Vec<_> = (0..6).map(|_| turns.take().saturating_duration_since(now)).collect();
        let ms = Duration::from_millis;
        assert_eq!(waits, [ms(0), ms(0), ms(0), ms(0), ms(100), ms(200)]);
    }
}
