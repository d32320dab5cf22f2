//! Counts the requests of a client, under the name that dashboards for Kubernetes know.

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tower::{BoxError, service_fn};

use crate::metrics::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    code: String,
    method: String,
}

/// The same client, whose requests are counted by method and by the code of the answer (`<error>` where none came). Must be
/// called inside a runtime.
pub fn counted(client: &Client, metrics: &Metrics) -> Client {
    let help = "Number of HTTP requests, partitioned by status code and method";
    let requests: Family<Outcome, Counter> = metrics.register("rest_client_requests", help, Family::default());
    let namespace = client.default_namespace().to_owned();
    let client = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let (client, requests) = (client.clone(), requests.clone());
        let method = request.method().to_string();
        async move {
            let answer: Result<Response<Body>, kube::Error> = client.send(request).await;
            let code = match &answer {
                Ok(answer) => answer.status().as_u16().to_string(),
                Err(_) => "<error>".to_owned(),
            };
            requests.get_or_create(&Outcome { code, method }).inc();
            answer.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
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
