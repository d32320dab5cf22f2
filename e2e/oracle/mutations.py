"""Changes to one cluster that concern nodes, pods and what selects them. Each takes (rng, corpus, cluster) and says what it did, or
returns None when it found nothing to change."""
import copy

from corpus import dig, name, put

LABEL_KEYS = ["example.com/rack", "kubernetes.io/hostname", "tier", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
              "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region", "topology.gke.io/zone",
              "topology.ebs.csi.aws.com/zone", "topology.disk.csi.azure.com/zone"]

# Fields that one object can take from another of its kind, with how often each is tried.
TRANSPLANTS = {
    "Node": [(("spec", "taints"), 4), (("spec", "unschedulable"), 1), (("status", "allocatable"), 2), (("status", "images"), 3),
             (("metadata", "labels"), 2)],
    "Pod": [(("spec", "affinity"), 3), (("spec", "affinity", "nodeAffinity"), 3), (("spec", "affinity", "podAffinity"), 3),
            (("spec", "affinity", "podAntiAffinity"), 3), (("spec", "nodeSelector"), 2), (("spec", "tolerations"), 3),
            (("spec", "topologySpreadConstraints"), 4), (("spec", "containers"), 4), (("spec", "initContainers"), 2),
            (("spec", "overhead"), 1), (("spec", "resources"), 1), (("spec", "nodeName"), 1), (("metadata", "labels"), 3),
            (("metadata", "ownerReferences"), 1)],
    "OtherPod": [(("spec", "affinity", "podAntiAffinity"), 3), (("spec", "affinity", "podAffinity"), 2), (("spec", "containers"), 4),
                 (("spec", "initContainers"), 2), (("spec", "overhead"), 1), (("spec", "resources"), 1), (("metadata", "labels"), 3),
                 (("metadata", "deletionTimestamp"), 1), (("status",), 2), (("metadata", "ownerReferences"), 1)],
    "Namespace": [(("metadata", "labels"), 1)],
    "Service": [(("spec", "selector"), 1)],
    "ReplicaSet": [(("spec", "selector"), 1)],
    "StatefulSet": [(("spec", "selector"), 1)],
    "ReplicationController": [(("spec", "selector"), 1)],
}

# What an API server insists on.
REQUIRED = {("PersistentVolume", ("spec", "capacity")), ("PersistentVolume", ("spec", "accessModes")),
            ("PersistentVolumeClaim", ("spec", "resources", "requests")), ("PersistentVolumeClaim", ("spec", "accessModes")),
            ("StorageClass", ("provisioner",)), ("CSINode", ("spec",)), ("CSIDriver", ("spec",)), ("CSIStorageCapacity", ("storageClassName",)),
            ("VolumeAttachment", ("spec", "attacher")), ("VolumeAttachment", ("spec", "nodeName")), ("VolumeAttachment", ("spec", "source")),
            ("ReplicaSet", ("spec", "selector")), ("StatefulSet", ("spec", "selector")), ("ReplicationController", ("spec", "selector"))}


def transplant(rng, corpus, target, kind, table):
    """Copies one field from another object of the kind, or now and then removes it."""
    paths, weights = zip(*table)
    path = rng.choices(paths, weights)[0]
    if dig(target, path) is not None and (kind, path) not in REQUIRED and path[-1] not in ("containers", "status", "phase") and rng.random() < 0.2:
        put(target, path, None)
        return f"{kind} {name(target)}: no {'.'.join(path)}"
    _, donor = corpus.donor(rng, kind, path)
    if donor is None:
        return None
    put(target, path, dig(donor, path))
    if path == ("metadata", "labels") and kind == "Node":
        target["metadata"]["labels"]["kubernetes.io/hostname"] = name(target)
    if path == ("metadata", "deletionTimestamp"):
        target["metadata"].update(deletionGracePeriodSeconds=30, finalizers=["example.com/hold"])
    if path == ("status", "allocatable"):
        target["status"]["capacity"] = copy.deepcopy(target["status"]["allocatable"])
    return f"{kind} {name(target)}: {'.'.join(path)} of {name(donor)}"


def transplant_judged(rng, corpus, cluster):
    return transplant(rng, corpus, cluster.judged(), "Pod", TRANSPLANTS["Pod"])


def transplant_other(rng, corpus, cluster):
    """The same for anything that is not storage and not the judged pod."""
    kinds = [k for k in ("Node", "Node", "Pod", "Pod", "Namespace", "Service", "ReplicaSet", "StatefulSet", "ReplicationController")
             if cluster.of(k) and (k != "Pod" or cluster.others())]
    kind = rng.choice(kinds)
    target = rng.choice(cluster.others() if kind == "Pod" else cluster.of(kind))
    return transplant(rng, corpus, target, kind, TRANSPLANTS["OtherPod" if kind == "Pod" else kind])


def node_label(rng, corpus, cluster):
    node = rng.choice(cluster.of("Node"))
    labels = node["metadata"].setdefault("labels", {})
    key = rng.choice(LABEL_KEYS)
    if key in labels and rng.random() < 0.35:
        del labels[key]
        return f"Node {name(node)}: no label {key}"
    values = {"example.com/rack": ["r1", "r2", "r3", ""], "kubernetes.io/hostname": cluster.node_names(),
              "tier": ["1", "2", "3", "4", "5", "007", "abc", "", "3.5", "9223372036854775808"]}
    default = ["us-east1"] if key.endswith("region") else ["us-east1-a", "us-east1-b", "us-east1-c", "us-east1-d", ""]
    labels[key] = rng.choice(values.get(key, default))
    return f"Node {name(node)}: {key}={labels[key]}"


def node_resource(rng, corpus, cluster):
    """One resource of a node, or one more or less of it than somebody asks for."""
    node = rng.choice(cluster.of("Node"))
    allocatable = node["status"].setdefault("allocatable", {})
    key = rng.choice(["cpu", "memory", "pods", "ephemeral-storage", "example.com/gpu", "example.com/fpga", "hugepages-2Mi"])
    if rng.random() < 0.15 and key in allocatable:
        del allocatable[key]
        return f"Node {name(node)}: no {key}"
    choices = {"cpu": ["500m", "1", "2", "3920m", "7910m", "16", "1.5"], "memory": ["512Mi", "1Gi", "2Gi", "8Gi", "1e9", "31623576Ki", "64Gi"],
               "pods": ["0", "1", "2", "3", "4", "110"], "ephemeral-storage": ["500Mi", "2Gi", "3Gi", "30Gi"], "example.com/gpu": ["0", "1", "2", "4"],
               "example.com/fpga": ["0", "1", "2"], "hugepages-2Mi": ["0", "64Mi", "128Mi", "1Gi"]}
    allocatable[key] = rng.choice(choices[key])
    put(node, ("status", "capacity", key), allocatable[key])
    return f"Node {name(node)}: {key}={allocatable[key]}"


def taint(rng, corpus, cluster):
    node = rng.choice(cluster.of("Node"))
    new = {"key": rng.choice(["gpu", "dedicated", "spot", "soft0", "soft1", "node.kubernetes.io/unschedulable"]),
           "effect": rng.choice(["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"])}
    if rng.random() < 0.7:
        new["value"] = rng.choice(["x", "y", ""])
    old = [t for t in node.setdefault("spec", {}).get("taints") or [] if (t["key"], t["effect"]) != (new["key"], new["effect"])]
    node["spec"]["taints"] = old + [new]
    return f"Node {name(node)}: taint {new}"


def toleration(rng, corpus, cluster):
    new = {"operator": rng.choice(["Exists", "Equal", "Equal"])}
    if new["operator"] == "Equal" or rng.random() < 0.9:
        new["key"] = rng.choice(["gpu", "dedicated", "spot", "soft0", "soft1", "node.kubernetes.io/unschedulable"])
    if new["operator"] == "Equal":
        new["value"] = rng.choice(["x", "y", ""])
    if rng.random() < 0.7:
        new["effect"] = rng.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    cluster.judged()["spec"].setdefault("tolerations", []).append(new)
    return f"toleration {new}"


def move_pod(rng, corpus, cluster):
    pods = cluster.others()
    if not pods:
        return None
    pod = rng.choice(pods)
    pod["spec"]["nodeName"] = rng.choice(cluster.node_names())
    return f"Pod {name(pod)}: on {pod['spec']['nodeName']}"


def pod_phase(rng, corpus, cluster):
    pods = cluster.others()
    if not pods:
        return None
    pod = rng.choice(pods)
    pod["status"]["phase"] = rng.choice(["Running", "Pending", "Succeeded", "Failed"])
    if rng.random() < 0.2:
        pod["spec"].pop("nodeName", None)
    return f"Pod {name(pod)}: {pod['status']['phase']} on {pod['spec'].get('nodeName')}"


def add_pod(rng, corpus, cluster):
    """A pod of another cluster, without its volumes, on a node of this one."""
    _, donor = corpus.donor(rng, "Pod", ("spec", "nodeName"))
    pod = copy.deepcopy(donor)
    pod["metadata"]["name"] = cluster.fresh("Pod", "extra")
    pod["metadata"]["uid"] = "u-" + pod["metadata"]["name"]
    pod["spec"].pop("volumes", None)
    pod["spec"]["nodeName"] = rng.choice(cluster.node_names())
    cluster.add(pod)
    return f"Pod {name(pod)}: like {name(donor)}"


def duplicate_pod(rng, corpus, cluster):
    pods = cluster.others()
    if not pods:
        return None
    original = rng.choice(pods)
    pod = copy.deepcopy(original)
    pod["metadata"]["name"] = cluster.fresh("Pod", "twin")
    pod["metadata"]["uid"] = "u-" + pod["metadata"]["name"]
    if any("ephemeral" in v for v in pod["spec"].get("volumes") or []) and rng.random() < 0.7:
        pod["spec"]["volumes"] = [v for v in pod["spec"]["volumes"] if "ephemeral" not in v]
    pod["spec"]["nodeName"] = rng.choice(cluster.node_names())
    cluster.add(pod)
    return f"Pod {name(pod)}: twin of {name(original)}"


def twin_of_judged(rng, corpus, cluster):
    """A running copy of the judged pod: same labels, ports, disks and claims."""
    pod = copy.deepcopy(cluster.judged())
    pod["metadata"]["name"] = cluster.fresh("Pod", "twin")
    pod["metadata"]["uid"] = "u-" + pod["metadata"]["name"]
    if rng.random() < 0.5:
        pod["spec"].pop("affinity", None)
    pod["spec"]["volumes"] = [v for v in pod["spec"].get("volumes") or [] if "ephemeral" not in v]
    pod["spec"]["nodeName"] = rng.choice(cluster.node_names())
    pod["status"] = {"phase": "Running"}
    cluster.add(pod)
    return f"Pod {name(pod)}: twin of the judged one on {pod['spec']['nodeName']}"


def delete_object(rng, corpus, cluster):
    judged = cluster.judged()
    rare = ("Namespace", "StorageClass", "PersistentVolumeClaim")
    candidates = [o for o in cluster.objects if o is not judged and (o["kind"] not in rare or rng.random() < 0.25)]
    candidates = [o for o in candidates if o["kind"] != "Node" or len(cluster.of("Node")) > 2]
    if not candidates:
        return None
    gone = rng.choice(candidates)
    cluster.remove(gone)
    return f"no {gone['kind']} {name(gone)}"


def duplicate_node(rng, corpus, cluster):
    """One node more, with its CSINode, so that everything that names the old one does not name the new one."""
    if len(cluster.of("Node")) > 8:
        return None
    original = rng.choice(cluster.of("Node"))
    node = copy.deepcopy(original)
    node["metadata"]["name"] = cluster.fresh("Node", "n")
    if "uid" in node["metadata"]:
        node["metadata"]["uid"] = "u--" + name(node)
    if "kubernetes.io/hostname" in node["metadata"].get("labels", {}):
        node["metadata"]["labels"]["kubernetes.io/hostname"] = name(node)
    csinode = cluster.get("CSINode", "", name(original))
    cluster.add(node)
    if csinode:
        twin = copy.deepcopy(csinode)
        twin["metadata"]["name"] = name(node)
        cluster.add(twin)
    return f"Node {name(node)}: like {name(original)}"


def _expressions(obj):
    """Every list of selector requirements inside an object."""
    if isinstance(obj, dict):
        for key, value in obj.items():
            if key in ("matchExpressions",) and value:
                yield value
            yield from _expressions(value)
    elif isinstance(obj, list):
        for value in obj:
            yield from _expressions(value)


def selector_requirement(rng, corpus, cluster):
    """Another operator or other values in some selector, anywhere in the cluster; most often in the judged pod."""
    where = [cluster.judged()] if rng.random() < 0.5 else cluster.objects
    found = [(o, e) for o in where for e in _expressions(o)]
    if not found:
        return None
    obj, expressions = rng.choice(found)
    one = rng.choice(expressions)
    label_selector = obj["kind"] in ("CSIStorageCapacity", "PersistentVolumeClaim") or one["key"] in ("app", "grade", "track", "tag", "pod-template-hash", "team")
    operators = ["In", "NotIn", "Exists", "DoesNotExist"] + ([] if label_selector else ["Gt", "Lt"])
    pools = {"tier": ["1", "2", "3", "4", "5", "007"], "example.com/rack": ["r1", "r2", "r3"], "kubernetes.io/hostname": cluster.node_names(),
             "app": ["web", "db", "cache"], "grade": ["gold", "silver"], "track": ["canary", "stable"], "tag": ["gold", "silver"],
             "pod-template-hash": ["h1", "h2"], "team": ["a", "b"]}
    pool = pools.get(one["key"], ["us-east1-a", "us-east1-b", "us-east1-c", "us-east1-d"])
    if rng.random() < 0.6 or not one.get("values"):
        one["operator"] = rng.choice(operators)
    if one["operator"] in ("Exists", "DoesNotExist"):
        one.pop("values", None)
    elif one["operator"] in ("Gt", "Lt"):
        one["values"] = [rng.choice(["0", "1", "2", "3", "4", "007", "-1", "+2", "9223372036854775807"])]
    else:
        one["values"] = sorted({rng.choice(pool) for _ in range(rng.randint(1, 3))})
    if rng.random() < 0.15 and len(expressions) < 3:
        expressions.append({"key": rng.choice(["tier", "example.com/rack"]), "operator": rng.choice(["Exists", "DoesNotExist"])} if not label_selector
                           else {"key": one["key"], "operator": "Exists"})
    return f"{obj['kind']} {name(obj)}: {one}"


def node_affinity_term(rng, corpus, cluster):
    """A required term on node names or labels, among those that are there."""
    names = cluster.node_names()
    fields = {"key": "metadata.name", "operator": rng.choice(["In", "In", "NotIn"]), "values": [rng.choice(names)]}
    labels = {"key": rng.choice(["topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"]),
              "operator": rng.choice(["Exists", "DoesNotExist"])}
    other = dict(fields, values=[rng.choice(names)])
    term = rng.choice([{"matchFields": [fields]}, {"matchFields": [fields, other]}, {"matchFields": [fields], "matchExpressions": [labels]}, {"matchExpressions": [labels]}, {}])
    path = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    pod = cluster.judged()
    put(pod, path, ((dig(pod, path) or []) if rng.random() < 0.6 else []) + [term])
    return f"node affinity term {term}"


def spread_detail(rng, corpus, cluster):
    constraints = cluster.judged()["spec"].get("topologySpreadConstraints")
    if not constraints:
        return None
    one = rng.choice(constraints)
    key, values = rng.choice([("maxSkew", [1, 2, 3]), ("topologyKey", ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack", "tier"]),
                              ("whenUnsatisfiable", ["DoNotSchedule", "ScheduleAnyway"]), ("minDomains", [1, 2, 3, 4, None]),
                              ("nodeAffinityPolicy", ["Honor", "Ignore", None]), ("nodeTaintsPolicy", ["Honor", "Ignore", None]),
                              ("matchLabelKeys", [["track"], ["pod-template-hash"], ["absent"], None]),
                              ("labelSelector", [{}, None, {"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}}])])
    put(one, (key,), rng.choice(values))
    if one.get("whenUnsatisfiable") != "DoNotSchedule":
        one.pop("minDomains", None)
    if "labelSelector" not in one:
        one.pop("matchLabelKeys", None)
    return f"spread {key}={one.get(key)}"


def _pod_terms(pod):
    for side in ("podAffinity", "podAntiAffinity"):
        affinity = dig(pod, ("spec", "affinity", side)) or {}
        yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []:
            yield weighted["podAffinityTerm"]


def pod_affinity_detail(rng, corpus, cluster):
    found = [(p, t) for p in cluster.of("Pod") for t in _pod_terms(p)]
    if not found:
        return None
    pod, term = rng.choice(found)
    key, values = rng.choice([("topologyKey", ["topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack", "absent.example.com/key"]),
                              ("namespaces", [["default"], ["other"], ["team", "default"], None]),
                              ("namespaceSelector", [{}, {"matchLabels": {"team": "a"}}, {"matchExpressions": [{"key": "team", "operator": "Exists"}]}, None]),
                              ("labelSelector", [{}, None, {"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}},
                                                 {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["cache"]}]}])])
    put(term, (key,), rng.choice(values))
    if "labelSelector" not in term:
        term.pop("matchLabelKeys", None)
        term.pop("mismatchLabelKeys", None)
    return f"Pod {name(pod)}: affinity {key}={term.get(key)}"


def pod_label(rng, corpus, cluster):
    pod = cluster.judged() if rng.random() < 0.5 else rng.choice(cluster.of("Pod"))
    labels = pod["metadata"].setdefault("labels", {})
    key, values = rng.choice([("app", ["web", "db", "cache"]), ("grade", ["gold", "silver"]), ("track", ["canary", "stable"]), ("pod-template-hash", ["h1", "h2"])])
    put(labels, (key,), rng.choice(values + [None]))
    return f"Pod {name(pod)}: {key}={labels.get(key)}"


def host_port(rng, corpus, cluster):
    pod = cluster.judged() if rng.random() < 0.5 else rng.choice(cluster.of("Pod"))
    number = rng.choice([80, 81, 443, 8080])
    port = {"containerPort": number, "hostPort": number, "protocol": rng.choice(["TCP", "TCP", "UDP", "SCTP"])}
    address = rng.choice([None, None, "0.0.0.0", "::", "127.0.0.1", "10.0.0.1"])
    if address:
        port["hostIP"] = address
    containers = pod["spec"]["containers"] + (pod["spec"].get("initContainers") or [] if rng.random() < 0.3 else [])
    rng.choice(containers)["ports"] = [port]
    return f"Pod {name(pod)}: port {port}"


def crowd(rng, corpus, cluster):
    """A resource of a node that a neighbour holds and the judged pod wants: removing the neighbour would help."""
    pods = [p for p in cluster.others() if p["spec"].get("nodeName") and p["status"].get("phase") in ("Running", "Pending")]
    if not pods:
        return None
    pod = rng.choice(pods)
    node = cluster.get("Node", "", pod["spec"]["nodeName"])
    if node is None:
        return None
    key, one, two = rng.choice([("example.com/gpu", "1", "2"), ("example.com/fpga", "1", "2"), ("ephemeral-storage", "2Gi", "3Gi"),
                                ("hugepages-2Mi", "64Mi", "128Mi"), ("cpu", "1", "2"), ("memory", "1Gi", "2Gi")])
    for n in cluster.of("Node"):
        if n is node or rng.random() < 0.7:
            amount = rng.choice([one, two, two])
            put(n, ("status", "allocatable", key), amount)
            put(n, ("status", "capacity", key), amount)
    for p in (pod, cluster.judged()):
        resources = p["spec"]["containers"][0].setdefault("resources", {})
        put(resources, ("requests", key), one)
        if key not in ("cpu", "memory") or dig(resources, ("limits", key)):
            put(resources, ("limits", key), one)
        if key == "hugepages-2Mi":
            put(resources, ("requests", "memory"), "64Mi")
    return f"{key} of {name(node)}"


def quiet_nodes(rng, corpus, cluster):
    """Takes away what keeps the judged pod from most nodes, so that there is something to score."""
    for node in cluster.of("Node"):
        if rng.random() < 0.8:
            node.setdefault("spec", {}).pop("unschedulable", None)
            node["spec"]["taints"] = [t for t in node["spec"].get("taints") or [] if t["effect"] == "PreferNoSchedule"]
    pod = cluster.judged()
    if rng.random() < 0.6:
        pod["spec"].pop("nodeSelector", None)
        pod["spec"].pop("nodeName", None)
        put(pod, ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"), None)
    return "fewer taints and selectors"


def soften(rng, corpus, cluster):
    """Turns required pod affinity and spreading into preferences."""
    pod, done = cluster.judged(), 0
    for side in ("podAffinity", "podAntiAffinity"):
        affinity = dig(pod, ("spec", "affinity", side)) or {}
        terms = affinity.pop("requiredDuringSchedulingIgnoredDuringExecution", None) or []
        done += len(terms)
        if terms:
            affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).extend(
                {"weight": rng.choice([1, 10, 50, 100]), "podAffinityTerm": t} for t in terms)
    for one in pod["spec"].get("topologySpreadConstraints") or []:
        if one["whenUnsatisfiable"] == "DoNotSchedule":
            one["whenUnsatisfiable"] = "ScheduleAnyway"
            one.pop("minDomains", None)
            done += 1
    return f"{done} softened" if done else None


def prefer(rng, corpus, cluster):
    """A preference of the judged pod, or one that a neighbour has for pods like it."""
    pod = cluster.judged() if rng.random() < 0.5 or not cluster.others() else rng.choice(cluster.others())
    weight = rng.choice([1, 5, 30, 100])
    if pod is cluster.judged() and rng.random() < 0.4:
        new = {"weight": weight, "preference": {"matchExpressions": [{"key": rng.choice(["topology.kubernetes.io/zone", "example.com/rack", "tier"]),
                                                                      "operator": rng.choice(["Exists", "DoesNotExist"])}]}}
        path = ("spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    else:
        labels = cluster.judged()["metadata"].get("labels") or {}
        if labels.get("app") is None:
            return None
        term = {"topologyKey": rng.choice(["topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"]),
                "labelSelector": {"matchLabels": {"app": labels["app"]}}}
        if rng.random() < 0.4:
            term["namespaceSelector"] = rng.choice([{}, {"matchLabels": {"team": "a"}}])
        new = {"weight": weight, "podAffinityTerm": term}
        path = ("spec", "affinity", rng.choice(["podAffinity", "podAntiAffinity"]), "preferredDuringSchedulingIgnoredDuringExecution")
    put(pod, path, (dig(pod, path) or []) + [new])
    return f"Pod {name(pod)}: {path[2]} {weight}"


def graft_neighbours(rng, corpus, cluster):
    """The pods of another cluster, without their volumes, and what selects them."""
    source = corpus.base(rng, {"general": 1, "workloads": 2, "scores": 3})
    nodes = cluster.node_names()
    for o in source.of("Namespace", "Service", "ReplicaSet", "StatefulSet", "ReplicationController"):
        cluster.add(o)
    for other in source.others():
        new = copy.deepcopy(other)
        new["metadata"].update(name=cluster.fresh("Pod", "guest"))
        new["metadata"]["uid"] = "u-" + name(new)
        new["spec"].pop("volumes", None)
        if new["spec"].get("nodeName") not in nodes:
            new["spec"]["nodeName"] = rng.choice(nodes)
        cluster.add(new)
    theirs = source.judged()["metadata"]
    for key in ("labels", "ownerReferences"):
        put(cluster.judged()["metadata"], (key,), theirs.get(key))
    return f"neighbours of {source.id}"


def request(rng, corpus, cluster):
    pod = cluster.judged() if rng.random() < 0.6 else rng.choice(cluster.of("Pod"))
    containers = pod["spec"]["containers"] + (pod["spec"].get("initContainers") or [])
    container = rng.choice(containers)
    key, values = rng.choice([("cpu", ["0", "50m", "1", "1500m", "2", "3", "0.25", None]), ("memory", ["0", "64Mi", "1Gi", "1e9", "4Gi", "1.5Gi", "0.1Gi", "1073741824000m", None]),
                              ("ephemeral-storage", ["500Mi", "2Gi", "20Gi", None]), ("example.com/gpu", ["0", "1", "2", None])])
    value = rng.choice(values)
    put(container, ("resources", "requests", key), value)
    if dig(container, ("resources", "limits", key)) is not None or key.startswith("example.com"):
        put(container, ("resources", "limits", key), value)
    return f"Pod {name(pod)}: {key}={value}"


GENERAL = [(transplant_judged, 6), (transplant_other, 4), (node_label, 5), (node_resource, 2), (taint, 3), (toleration, 2), (move_pod, 2),
           (pod_phase, 1), (add_pod, 3), (duplicate_pod, 2), (twin_of_judged, 2), (delete_object, 3), (duplicate_node, 1),
           (selector_requirement, 4), (node_affinity_term, 1), (spread_detail, 3), (pod_affinity_detail, 4), (pod_label, 3),
           (host_port, 2), (request, 3), (crowd, 2), (quiet_nodes, 2), (soften, 2), (prefer, 3)]
