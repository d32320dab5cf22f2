//! A limit on how many requests a process sends, for those who ask for one: the API server protects itself.
//!
//! Requests stand in one line, and who comes first is sent first. A turn is taken when the request is sent, not when it joins
//! the line: one that is given up meanwhile leaves, and those behind it move up.

use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use crate::answer::InLine;
use crate::pace::Pace;

/// The same client, sending at most `per_second` requests in the long run and `burst` more at once. Must be called
/// inside a runtime.
pub fn throttled(client: &Client, per_second: f32, burst: u32) -> Client {
    let namespace = client.default_namespace().to_owned();
    let gap = Duration::from_secs_f32((1.0 / per_second.max(0.001)).min(3600.0));
    let turns = std::sync::Arc::new(Turns::new(gap, burst));
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| -> BoxFuture<'static, Result<Response<Body>, BoxError>> {
        let (client, turns) = (client.clone(), turns.clone());
        Box::pin(async move {
            let line = InLine::of(&request);
            line.iter().for_each(|line| line.set(true));
            turns.wait().await;
            line.iter().for_each(|line| line.set(false));
            client.send(request).await.map_err(BoxError::from)
        })
    });
    Client::new(service, namespace)
}

/// The moments at which requests may be sent.
struct Turns {
    /// The lock is the line: it is given in the order in which it was asked for, and who stands first holds it until the
    /// moment comes.
    pace: Mutex<Pace>,
}

impl Turns {
    fn new(gap: Duration, burst: u32) -> Self {
        Self { pace: Mutex::new(Pace::new(gap, burst, Instant::now())) }
    }

    async fn wait(&self) {
        let mut pace = self.pace.lock().await;
        let turn = pace.turn(Instant::now());
        tokio::time::sleep_until(turn).await;
        pace.take(turn);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::fake::Store;
    use crate::objects::Objects;
    use crate::resource::Resource;

    #[tokio::test(start_paused = true)]
    async fn bursts_are_let_through_and_the_rest_is_spread() {
        let gap = Duration::from_millis(100);
        let turns = Turns::new(gap, 3);
        tokio::time::advance(Duration::from_secs(10)).await;
        let now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..6 {
            turns.wait().await;
            waits.push(now.elapsed());
        }
        let ms = Duration::from_millis;
        assert_eq!(waits, [ms(0), ms(0), ms(0), ms(0), ms(100), ms(200)]);
    }

    /// Sends so many requests at once, one a second.
    fn send(store: &Store, count: usize) -> Vec<tokio::task::JoinHandle<Result<Value, crate::Error>>> {
        let objects = Objects::new(throttled(&store.client(), 1.0, 0));
        let one = |number: usize| {
            let objects = objects.clone();
            let note = json!({"metadata": {"name": format!("{number:03}")}});
            tokio::spawn(async move { objects.create::<Value>(Resource::EVENTS, "n", &note).await })
        };
        (0..count).map(one).collect()
    }

    fn sent(store: &Store) -> Vec<String> {
        let done = store.done(&http::Method::POST);
        done.iter().map(|(_, note)| note["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_longer_than_an_answer_is_waited_for_comes_to_its_end_in_order() {
        let (store, began) = (Store::default(), Instant::now());
        for answer in send(&store, 200) {
            answer.await.unwrap().unwrap();
        }
        assert_eq!(began.elapsed(), Duration::from_secs(199));
        let in_order: Vec<String> = (0..200).map(|number| format!("{number:03}")).collect();
        assert_eq!(sent(&store), in_order);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_not_answered_is_given_up_after_its_turn() {
        let (store, began) = (Store::default(), Instant::now());
        store.faults(|_, _| Some(crate::fake::Fault::Silence));
        let all = send(&store, 100);
        let last = all.into_iter().next_back().unwrap().await.unwrap();
        assert!(matches!(last, Err(crate::Error::Unknown(_))), "{last:?}");
        assert_eq!(began.elapsed(), Duration::from_secs(99 + 60));
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_the_line_takes_no_turn() {
        let (store, began) = (Store::default(), Instant::now());
        let mut all = send(&store, 100);
        let last = all.pop().unwrap();
        tokio::time::sleep(Duration::from_millis(1500)).await;
        // The first two are sent by now; the third holds the next turn.
        all.drain(2..).for_each(|waiting| waiting.abort());
        last.await.unwrap().unwrap();
        assert_eq!(began.elapsed(), Duration::from_secs(2));
        assert_eq!(sent(&store), ["000", "001", "099"]);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_kept_from_a_turn_by_one_who_never_comes_back() {
        let turns = Arc::new(Turns::new(Duration::from_secs(1), 0));
        turns.wait().await;
        let first = tokio::time::timeout(Duration::from_millis(10), turns.wait()).await;
        assert!(first.is_err());
        let began = Instant::now();
        turns.wait().await;
        assert_eq!(began.elapsed(), Duration::from_millis(990));
    }
}
