//! Counts the requests of a client, under the name that dashboards for Kubernetes know.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{BoxError, Service, service_fn};

use crate::metrics::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    code: String,
    method: String,
}

/// A service whose requests are counted by method and by the code of the answer (`<error>` where none came).
#[derive(Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    requests: Family<Outcome, Counter>,
}

impl<S> Counted<S> {
    pub(crate) fn new(inner: S, metrics: &Metrics) -> Self {
        let help = "Number of HTTP requests, partitioned by status code and method";
        Self { inner, requests: metrics.register("rest_client_requests", help, Family::default()) }
    }
}

impl<S, B, A> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (method, requests) = (request.method().to_string(), self.requests.clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = match &answer {
                Ok(answer) => answer.status().as_str().to_owned(),
                Err(_) => "<error>".to_owned(),
            };
            requests.get_or_create(&Outcome { code, method }).inc();
            answer
        })
    }
}

/// The same client, whose requests are counted. Must be called inside a runtime.
pub fn counted(client: &Client, metrics: &Metrics) -> Client {
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let send = service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move { client.send(request).await.map_err(BoxError::from) }
    });
    Client::new(Counted::new(send, metrics), namespace)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::error::Error;
    use crate::fake::{Fault, Store, context};
    use crate::resource::Resource;

    #[tokio::test(start_paused = true)]
    async fn answers_are_counted_and_passed_on_as_they_are() {
        let store = Store::default();
        let context = context(store.client());
        let objects = crate::objects::Objects::new(counted(&context.client, &context.metrics));
        let note = json!({"metadata": {"name": "a"}});
        objects.create::<Value>(Resource::EVENTS, "n", &note).await.unwrap();
        let again = objects.create::<Value>(Resource::EVENTS, "n", &note).await;
        assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
        store.faults(|_, _| Some(Fault::LoseAnswer));
        let lost = objects.get::<Value>(Resource::EVENTS, "n", "a").await;
        assert!(matches!(&lost, Err(Error::Unknown(message)) if message.contains("the answer is lost")), "{lost:?}");
        let text = context.metrics.text();
        for line in [
            "rest_client_requests_total{code=\"200\",method=\"POST\"} 1",
            "rest_client_requests_total{code=\"409\",method=\"POST\"} 1",
            "rest_client_requests_total{code=\"<error>\",method=\"GET\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
    }
}
