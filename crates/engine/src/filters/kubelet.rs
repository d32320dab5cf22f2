//! What a node asks again of a pod that was given to it, whoever gave it: the filters that a kubelet repeats.

use crate::filters::{RequiredNodes, tolerated};
use crate::model::{HostPort, Node, Pod, TaintEffect};
use crate::nodes::UsedPorts;

/// Whether the node has the labels that the pod's selector and required affinity ask for.
pub fn has_wanted_labels(node: &Node, pod: &Pod) -> bool {
    RequiredNodes::of(pod).include(node)
}

/// Whether a taint of the node drives the pod away. Taints that only keep pods from being placed here are no business of a
/// kubelet.
pub fn drives_away(node: &Node, pod: &Pod) -> bool {
    node.taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute && !tolerated(&pod.tolerations, taint))
}

/// Whether a port that the pod wants of its node is among those that others have.
pub fn port_is_taken(pod: &Pod, by_others: &[HostPort]) -> bool {
    let used = UsedPorts::of(by_others);
    pod.host_ports.iter().any(|port| used.conflicts(port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::{Labels, Name};
    use crate::model::{Taint, Toleration};

    fn node() -> Node {
        let taint = |key: &str, effect| Taint { key: Name::from(key), value: Name::from(""), effect };
        Node {
            labels: Labels::from_iter([(Name::from("zone"), Name::from("a"))]),
            taints: vec![taint("new", TaintEffect::NoSchedule), taint("broken", TaintEffect::NoExecute)],
            ..Node::default()
        }
    }

    #[test]
    fn only_taints_that_end_pods_drive_away() {
        let mut pod = Pod::named("n", "p");
        assert!(drives_away(&node(), &pod));
        pod.tolerations = vec![Toleration {
            key: Name::from("broken"),
            operator: Name::from("Exists"),
            value: Name::from(""),
            effect: None,
        }];
        assert!(!drives_away(&node(), &pod));
    }

    #[test]
    fn labels_and_ports_are_asked_for() {
        let mut pod = Pod::named("n", "p");
        assert!(has_wanted_labels(&node(), &pod));
        pod.node_selector = Labels::from_iter([(Name::from("zone"), Name::from("b"))]);
        assert!(!has_wanted_labels(&node(), &pod));
        let port = HostPort { ip: Name::from(""), protocol: Name::from("TCP"), port: 80 };
        pod.host_ports = vec![port.clone()];
        assert!(!port_is_taken(&pod, &[]));
        assert!(port_is_taken(&pod, &[port]));
    }
}
