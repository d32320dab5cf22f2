//! What only a kubelet can answer: logs, and connections into a container. Nodes here have no processes, and a sentence is better
//! than a hang. What the API server says before it asks a kubelet is upstream's.

use serde_json::Value;

use crate::admission::Cluster as _;
use crate::field::go_quoted;
use crate::health;
use crate::reply::Reply;
use crate::status::Status;
use crate::verbs::Call;

impl Call {
    /// Answers a request that upstream hands on to a node.
    pub(super) fn needs_a_node(&self, what: &str) -> Result<Reply, Status> {
        let id = self.path.name.as_str();
        let (name, port) = if what == "proxy" {
            let invalid = || format!("invalid {} request {}", self.served.kind.to_lowercase(), go_quoted(id));
            name_and_port(id).ok_or_else(|| Status::bad_request(invalid()))?
        } else {
            (id, "")
        };
        let stored = self.core.store.get(&self.served.key, self.scope(), name);
        if self.served.resource.resource == "services" {
            if let Ok(port) = port.parse::<i64>() {
                let service = stored.as_ref().ok_or_else(|| Status::not_found(self.served.name(), name))?;
                let service = self.core.value(&self.served, service)?;
                let ports = service["spec"]["ports"].as_array().into_iter().flatten();
                if !ports.into_iter().any(|known| known["port"] == port) {
                    return Err(out_of_service(format!("no service port {port} found for service \"{name}\"")));
                }
            }
            if !self.has_endpoints(name) {
                return Err(out_of_service(format!("no endpoints available for service \"{name}\"")));
            }
        }
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

/// What a proxy is asked for: `name`, `name:port` or `scheme:name:port`.
fn name_and_port(id: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (name, port) = match parts.as_slice() {
        [name] => (*name, ""),
        [name, port] | ["" | "http" | "https", name, port] => (*name, *port),
        _ => return None,
    };
    (!name.is_empty()).then_some((name, port))
}

fn out_of_service(sentence: String) -> Status {
    Status::new(503, "ServiceUnavailable", sentence)
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
    fn a_proxy_is_asked_for_by_name_and_port() {
        for (id, of) in [
            ("s", Some(("s", ""))),
            ("s:web", Some(("s", "web"))),
            ("https:s:443", Some(("s", "443"))),
            (":s:", Some(("s", ""))),
            ("ftp:s:21", None),
            (":80", None),
            ("a:b:c:d", None),
        ] {
            assert_eq!(name_and_port(id), of, "{id}");
        }
    }

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
