//! What only a kubelet can answer: logs, and connections into a container. Nodes here have no processes, and a sentence is better
//! than a hang. What the API server says before it asks a kubelet is upstream's.

use serde_json::Value;

use crate::admission::Cluster as _;
use crate::health;
use crate::reply::Reply;
use crate::status::Status;
use crate::verbs::Call;

impl Call {
    /// Answers a request that upstream hands on to a node.
    pub(super) fn needs_a_node(&self, what: &str) -> Result<Reply, Status> {
        let name = &self.path.name;
        if self.served.resource.resource == "services" && !self.has_endpoints(name) {
            let why = format!("no endpoints available for service \"{name}\"");
            return Err(Status::new(503, "ServiceUnavailable", why));
        }
        let stored = self.core.store.get(&self.served.key, self.scope(), name);
        let object = stored.ok_or_else(|| Status::not_found(self.served.name(), name))?;
        if self.served.resource.resource != "pods" {
            let resource = &self.served.resource.resource;
            return Err(unavailable(format!("{what} of {resource} {name}: there is nothing behind it to connect to")));
        }
        let pod = self.core.value(&self.served, &object)?;
        if what != "portforward" && what != "proxy" {
            container(&pod, name, self.query.get("container").unwrap_or_default())?;
        }
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        if node.is_empty() {
            // A pod that is nowhere has said nothing yet.
            return match what {
                "log" => Ok(Reply::Whole(health::text(200, ""))),
                _ => Err(Status::bad_request(format!("pod {name} does not have a host assigned"))),
            };
        }
        let lacks = match what {
            "log" => "there is no process and no log",
            "exec" => "there is no process, and nothing to run a command in",
            "attach" => "there is no process to attach to",
            _ => "there is no process and no port",
        };
        let sentence = format!("pod {name} runs on the simulated node {node}: {lacks}");
        // Whoever follows a log asks again for twenty seconds when refused, so the sentence comes as the log, which then ends.
        if what == "log" && self.query.get("follow").is_some_and(|value| value == "true") {
            return Ok(Reply::Whole(health::text(200, format!("{sentence}\n"))));
        }
        Err(unavailable(sentence))
    }
}

impl Call {
    /// Whether anything stands behind a service, be it there or not.
    fn has_endpoints(&self, service: &str) -> bool {
        let slices = self.core.list("discovery.k8s.io", "endpointslices", Some(self.scope()));
        slices.iter().any(|slice| slice["metadata"]["labels"]["kubernetes.io/service-name"] == service)
    }
}

fn unavailable(sentence: String) -> Status {
    Status::new(501, "NotImplemented", sentence)
}

/// Refuses a container that the pod does not have, or no container where there are several.
fn container(pod: &Value, name: &str, asked: &str) -> Result<(), Status> {
    let of = |field: &str| pod["spec"][field].as_array().cloned().unwrap_or_default();
    let all = ["initContainers", "containers", "ephemeralContainers"].map(of).concat();
    let names: Vec<&str> = all.iter().filter_map(|c| c["name"].as_str()).collect();
    if asked.is_empty() {
        return match of("containers").len() {
            1 => Ok(()),
            0 => Err(Status::bad_request(format!("a container name must be specified for pod {name}"))),
            _ => Err(Status::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                names.join(" ")
            ))),
        };
    }
    if names.contains(&asked) {
        return Ok(());
    }
    Err(Status::bad_request(format!("container {asked} is not valid for pod {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_container_must_be_the_pods() {
        let pod = json!({"spec": {"initContainers": [{"name": "i"}], "containers": [{"name": "a"}, {"name": "b"}]}});
        let said = |asked| container(&pod, "p", asked).err().map(|status| status.message);
        assert_eq!(said("a"), None);
        assert_eq!(said("i"), None);
        assert_eq!(said("x").as_deref(), Some("container x is not valid for pod p"));
        let several = "a container name must be specified for pod p, choose one of: [i a b]";
        assert_eq!(said("").as_deref(), Some(several));
        assert!(container(&json!({"spec": {"containers": [{"name": "a"}]}}), "p", "").is_ok());
    }
}
