"""Changes to classes, pools and drivers, grafts of a whole cluster's storage, and the table of all changes that concern storage."""
import copy

from claim_mutations import (
    a_claim, add_claim, add_ephemeral, binding, claims_of, class_of, drop_volume, exact_size, free_volume, prebind, request_of,
    reuse_claim, selected_node,
)
from corpus import STORAGE_KINDS, name, namespace, put
from mutations import transplant
from volume_mutations import (
    ZONES, attachment, csi_node, drivers_of, inline_disk, lifecycle, migrated, once_pod, volume_affinity, volume_source,
    zone_labels,
)

TRANSPLANTS = {
    "PersistentVolume": [(("spec", "capacity"), 4), (("spec", "accessModes"), 2), (("spec", "volumeMode"), 2), (("spec", "nodeAffinity"), 5),
                         (("spec", "claimRef"), 2), (("spec", "storageClassName"), 2), (("status", "phase"), 2), (("metadata", "labels"), 3),
                         (("spec", "volumeAttributesClassName"), 1)],
    "PersistentVolumeClaim": [(("spec", "resources", "requests"), 3), (("spec", "accessModes"), 2), (("spec", "volumeMode"), 1),
                              (("spec", "selector"), 2), (("spec", "storageClassName"), 2), (("spec", "volumeAttributesClassName"), 1)],
    "StorageClass": [(("allowedTopologies",), 4), (("provisioner",), 1), (("volumeBindingMode",), 1)],
    "CSINode": [(("metadata", "annotations"), 2), (("spec",), 3)],
    "CSIDriver": [(("spec",), 1)],
    "CSIStorageCapacity": [(("capacity",), 2), (("maximumVolumeSize",), 1), (("nodeTopology",), 3), (("storageClassName",), 1)],
    "VolumeAttachment": [(("spec", "attacher"), 1), (("spec", "nodeName"), 2), (("spec", "source"), 1)],
}
KIND_WEIGHTS = {"PersistentVolume": 6, "PersistentVolumeClaim": 3, "StorageClass": 2, "CSINode": 2, "CSIDriver": 1, "CSIStorageCapacity": 3, "VolumeAttachment": 1}


def transplant_storage(rng, corpus, cluster):
    kinds = [k for k in STORAGE_KINDS if cluster.of(k)]
    if not kinds:
        return None
    kind = rng.choices(kinds, [KIND_WEIGHTS[k] for k in kinds])[0]
    return transplant(rng, corpus, rng.choice(cluster.of(kind)), kind, TRANSPLANTS[kind])


def topologies(rng, corpus, cluster):
    """allowedTopologies out of the labels that the nodes have."""
    claim = a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", class_of(claim))
    if not one:
        return None
    terms = []
    for _ in range(rng.randint(1, 2)):
        expressions = [{"key": key, "values": sorted({rng.choice(values) for _ in range(2)})}
                       for key, values in (("topology.kubernetes.io/zone", ZONES), ("example.com/rack", ["r1", "r2", "not valid!"]),
                                           ("kubernetes.io/hostname", cluster.node_names())) if rng.random() < 0.5]
        if expressions:
            terms.append({"matchLabelExpressions": expressions})
    put(one, ("allowedTopologies",), terms or None)
    return f"StorageClass {name(one)}: {len(terms)} terms"


def class_detail(rng, corpus, cluster):
    claim = a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", class_of(claim))
    if not one:
        return None
    if rng.random() < 0.25:
        one["volumeBindingMode"] = rng.choice(["WaitForFirstConsumer", "WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"])
    else:
        one["volumeBindingMode"] = "WaitForFirstConsumer"
        one["provisioner"] = rng.choice(["x.example.com", "cap.example.com", "cap.example.com", "kubernetes.io/no-provisioner", "kubernetes.io/gce-pd",
                                         "kubernetes.io/aws-ebs", "ebs.csi.aws.com"])
    return f"StorageClass {name(one)}: {one['provisioner']} {one['volumeBindingMode']}"


def pool(rng, corpus, cluster):
    """A pool for the class of a claim, with the driver that makes it count."""
    claim = a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", class_of(claim))
    if not one or one["provisioner"] == "kubernetes.io/no-provisioner":
        return None
    _, driver = corpus.donor(rng, "CSIDriver")
    driver = copy.deepcopy(driver)
    driver["metadata"]["name"] = one["provisioner"].replace("kubernetes.io/", "")
    driver["spec"]["storageCapacity"] = rng.random() < 0.9
    cluster.add(driver, replace=rng.random() < 0.5)
    for _ in range(rng.randint(1, 3)):
        _, capacity = corpus.donor(rng, "CSIStorageCapacity")
        capacity = copy.deepcopy(capacity)
        capacity["metadata"]["name"] = cluster.fresh("CSIStorageCapacity", "more-")
        capacity["storageClassName"] = name(one)
        capacity["capacity"] = rng.choice(["5Gi", "10Gi", "20Gi", "50Gi", "100Gi", request_of(claim)])
        if rng.random() < 0.6:
            capacity["nodeTopology"] = {"matchLabels": {"kubernetes.io/hostname": rng.choice(cluster.node_names())}}
        cluster.add(capacity)
    return f"pools for {name(one)}"


def driver_flags(rng, corpus, cluster):
    drivers = cluster.of("CSIDriver")
    if not drivers or rng.random() < 0.3:
        _, driver = corpus.donor(rng, "CSIDriver")
        driver = copy.deepcopy(driver)
        driver["metadata"]["name"] = rng.choice(["x.example.com", "cap.example.com", "pd.csi.storage.gke.io", "ebs.csi.aws.com", "disk.csi.azure.com"])
        driver = cluster.add(driver)
    else:
        driver = rng.choice(drivers)
    if rng.random() < 0.3:
        used = [d for c in claims_of(cluster, cluster.judged()) for d in drivers_of(cluster, c)]
        if used:
            driver = copy.deepcopy(driver)
            driver["metadata"]["name"] = rng.choice(used)
            driver = cluster.add(driver)
    key = rng.choice(["storageCapacity", "preventPodSchedulingIfMissing", "preventPodSchedulingIfMissing"])
    driver["spec"][key] = rng.random() < 0.7
    return f"CSIDriver {name(driver)}: {key}={driver['spec'][key]}"


def _own(cluster, pod, uid):
    """Gives a pod another UID, with the claims that it owns."""
    for claim in cluster.of("PersistentVolumeClaim"):
        for owner in claim["metadata"].get("ownerReferences") or []:
            if owner["uid"] == pod["metadata"]["uid"]:
                owner["uid"] = uid
    pod["metadata"]["uid"] = uid


def graft_storage(rng, corpus, cluster):
    """All storage of another cluster in place of this one's, its volumes for the judged pod, its labels on some of the nodes."""
    source = corpus.base(rng, {"volumes": 3, "workloads": 2, "scores": 2})
    theirs = source.judged()
    if not theirs["spec"].get("volumes"):
        return None
    for pod in cluster.others():
        pod["spec"].pop("volumes", None)
    cluster.objects[:] = [o for o in cluster.objects if o["kind"] not in STORAGE_KINDS]
    nodes = cluster.node_names()
    for o in source.of(*STORAGE_KINDS):
        if o["kind"] != "CSINode" or name(o) in nodes:
            cluster.add(o)
    pod = cluster.judged()
    pod["spec"]["volumes"] = copy.deepcopy(theirs["spec"]["volumes"])
    _own(cluster, copy.deepcopy(theirs), pod["metadata"]["uid"])
    for other in source.others():
        if other["spec"].get("volumes"):
            new = copy.deepcopy(other)
            new["metadata"]["name"] = name(other) if any("ephemeral" in v for v in other["spec"]["volumes"]) else cluster.fresh("Pod", "user")
            if new["spec"].get("nodeName") not in nodes:
                new["spec"]["nodeName"] = rng.choice(nodes)
            if cluster.get("Pod", namespace(new), name(new)) is None:
                _own(cluster, new, f"u-{namespace(new)}-{name(new)}-grafted")
                cluster.add(new)
    for node in cluster.of("Node"):
        their_node = source.get("Node", "", name(node))
        if their_node and rng.random() < 0.7:
            node["metadata"].setdefault("labels", {}).update(their_node["metadata"].get("labels") or {})
    return f"storage of {source.id}"


STORAGE = [(transplant_storage, 7), (add_claim, 3), (add_ephemeral, 2), (reuse_claim, 2), (drop_volume, 1), (selected_node, 2), (binding, 3),
           (prebind, 4), (free_volume, 5), (exact_size, 5), (topologies, 3), (class_detail, 2), (pool, 4), (driver_flags, 2),
           (volume_source, 2), (migrated, 3), (zone_labels, 3), (volume_affinity, 4), (lifecycle, 3), (csi_node, 4), (attachment, 3), (inline_disk, 2),
           (once_pod, 2)]
