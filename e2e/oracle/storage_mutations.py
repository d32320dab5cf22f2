"""Changes to one cluster that concern claims, volumes, classes, pools and attachments. Same shape as those in mutations.py."""
import copy

from corpus import STORAGE_KINDS, dig, name, namespace, put
from mutations import transplant

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
ZONES = ["us-east1-a", "us-east1-b", "us-east1-c"]

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


# --- claims of the judged pod -----------------------------------------------------------------------------------------------------

def claims_of(cluster, pod):
    """The claims that exist among those a pod uses."""
    found = []
    for volume in pod["spec"].get("volumes") or []:
        wanted = dig(volume, ("persistentVolumeClaim", "claimName")) or ("ephemeral" in volume and f"{name(pod)}-{volume['name']}")
        claim = wanted and cluster.get("PersistentVolumeClaim", namespace(pod), wanted)
        if claim:
            found.append(claim)
    return found


def _a_claim(rng, cluster, unbound=False):
    claims = claims_of(cluster, cluster.judged())
    if not claims or rng.random() < 0.15:
        claims = cluster.of("PersistentVolumeClaim")
    if unbound:
        claims = [c for c in claims if not c["spec"].get("volumeName")] or claims
    return rng.choice(claims) if claims else None


def _class_of(claim):
    return claim["spec"].get("storageClassName", "")


def _request(claim):
    return dig(claim, ("spec", "resources", "requests", "storage")) or "1Gi"


def _volume_name(cluster, pod):
    taken = {v["name"] for v in pod["spec"].get("volumes") or []}
    return next(f"v{i}" for i in range(100) if f"v{i}" not in taken)


def _import_claim(rng, cluster, source, claim, everything=0.6):
    """Brings a claim with what it needs: its volume, its class, and often the free volumes and pools of that class."""
    new = cluster.add(claim, replace=False)
    volume = claim["spec"].get("volumeName") and source.get("PersistentVolume", "", claim["spec"]["volumeName"])
    if volume and rng.random() < 0.95:
        cluster.add(volume)
    wanted = source.get("StorageClass", "", _class_of(claim))
    if wanted and rng.random() < 0.95:
        wanted = cluster.add(wanted, replace=False)
        if rng.random() < everything:
            for o in source.of("PersistentVolume", "CSIStorageCapacity"):
                its = o["spec"]["storageClassName"] if o["kind"] == "PersistentVolume" else o["storageClassName"]
                if its == name(wanted) and not dig(o, ("spec", "claimRef")):
                    cluster.add(o, replace=False)
            driver = source.get("CSIDriver", "", wanted["provisioner"])
            if driver:
                cluster.add(driver, replace=False)
    return new


def add_claim(rng, corpus, cluster):
    """One more claim for the judged pod, from another cluster."""
    pod = cluster.judged()
    if len(pod["spec"].get("volumes") or []) > 4:
        return None
    source, claim = corpus.donor(rng, "PersistentVolumeClaim")
    if namespace(claim) != namespace(pod) or dig(claim, ("metadata", "ownerReferences")):
        return None
    new = _import_claim(rng, cluster, source, claim)
    volume = {"name": _volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(new)}}
    pod["spec"].setdefault("volumes", []).append(volume)
    return f"claim {name(new)} of {source.id}"


def add_ephemeral(rng, corpus, cluster):
    """A generic ephemeral volume; its claim is there and owned, there and not owned, or not there."""
    pod = cluster.judged() if rng.random() < 0.8 or not cluster.others() else rng.choice(cluster.others())
    source, claim = corpus.donor(rng, "PersistentVolumeClaim")
    if claim is None or len(pod["spec"].get("volumes") or []) > 4:
        return None
    volume = {"name": _volume_name(cluster, pod), "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}, "storageClassName": "fast", "volumeMode": "Filesystem"}}}}
    pod["spec"].setdefault("volumes", []).append(volume)
    if rng.random() < 0.06:
        return "ephemeral volume without claim"
    claim = copy.deepcopy(claim)
    claim["metadata"].update(name=f"{name(pod)}-{volume['name']}", namespace=namespace(pod))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name(pod), "uid": pod["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}
    what = rng.random()
    if what < 0.05:
        owner["uid"] = "u-someone-else"
    elif what < 0.08:
        del owner["controller"]
    claim["metadata"]["ownerReferences"] = [owner]
    if what > 0.97:
        del claim["metadata"]["ownerReferences"]
    _import_claim(rng, cluster, source, claim)
    return f"ephemeral volume {volume['name']} of {name(pod)}"


def reuse_claim(rng, corpus, cluster):
    """The judged pod uses a claim that is there already, perhaps another pod's, perhaps its own a second time."""
    pod = cluster.judged()
    claims = [c for c in cluster.of("PersistentVolumeClaim") if namespace(c) == namespace(pod)]
    if not claims or len(pod["spec"].get("volumes") or []) > 4:
        return None
    claim = rng.choice(claims)
    pod["spec"].setdefault("volumes", []).append({"name": _volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(claim)}})
    return f"also uses {name(claim)}"


def drop_volume(rng, corpus, cluster):
    pod = cluster.judged()
    volumes = pod["spec"].get("volumes") or []
    if len(volumes) < 2:
        return None
    gone = rng.choice(volumes)
    volumes.remove(gone)
    return f"no volume {gone['name']}"


def selected_node(rng, corpus, cluster):
    claim = _a_claim(rng, cluster, unbound=True)
    if claim is None:
        return None
    annotations = claim["metadata"].setdefault("annotations", {})
    annotations[SELECTED_NODE] = rng.choice(cluster.node_names() * 4 + ["n99", ""])
    return f"{name(claim)}: selected {annotations[SELECTED_NODE]!r}"


def binding(rng, corpus, cluster):
    """Binds, half binds or unbinds a claim."""
    claim = _a_claim(rng, cluster)
    if claim is None:
        return None
    volumes = cluster.of("PersistentVolume")
    annotations = claim["metadata"].setdefault("annotations", {})
    what = rng.random()
    if what < 0.35 or not volumes:
        claim["spec"].pop("volumeName", None)
        annotations.pop(BIND_COMPLETED, None)
        claim["status"] = {"phase": "Pending"}
        return f"{name(claim)}: unbound"
    if what < 0.43:
        annotations.pop(BIND_COMPLETED, None)
        claim["spec"]["volumeName"] = name(rng.choice(volumes))
        return f"{name(claim)}: half bound to {claim['spec']['volumeName']}"
    if what < 0.48:
        claim["spec"]["volumeName"] = "pv-gone"
        annotations[BIND_COMPLETED] = "yes"
        claim["status"] = {"phase": rng.choice(["Bound", "Bound", "Lost"])}
        return f"{name(claim)}: bound to nothing, {claim['status']['phase']}"
    volume = rng.choice(volumes)
    claim["spec"]["volumeName"] = name(volume)
    annotations[BIND_COMPLETED] = "yes"
    claim["status"] = {"phase": "Bound"}
    volume["spec"]["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": namespace(claim), "name": name(claim), "uid": claim["metadata"]["uid"]}
    volume["status"] = {"phase": "Bound"}
    return f"{name(claim)}: bound to {name(volume)}"


def prebind(rng, corpus, cluster):
    """A volume that names an unbound claim: by name alone, with its UID, or with another's."""
    claim, volumes = _a_claim(rng, cluster, unbound=True), cluster.of("PersistentVolume")
    if claim is None or not volumes:
        return None
    same = [v for v in volumes if v["spec"].get("storageClassName", "") == _class_of(claim)]
    volume = rng.choice(same if same and rng.random() < 0.85 else volumes)
    reference = {"kind": "PersistentVolumeClaim", "namespace": namespace(claim), "name": name(claim)}
    uid = rng.choice([None, claim["metadata"].get("uid"), claim["metadata"].get("uid"), "u-somebody"])
    if uid:
        reference["uid"] = uid
    if rng.random() < 0.1:
        reference["namespace"] = "other"
    volume["spec"]["claimRef"] = reference
    volume["status"] = {"phase": rng.choice(["Available", "Available", "Pending", "Bound", "Released"])}
    return f"{name(volume)}: prebound to {name(claim)} uid {uid}"


def free_volume(rng, corpus, cluster):
    """Another volume for an unbound claim: of its class, near its size, on some of the nodes."""
    claim = _a_claim(rng, cluster, unbound=True)
    source, donor = corpus.donor(rng, "PersistentVolume")
    if claim is None:
        return None
    volume = copy.deepcopy(donor)
    volume["metadata"]["name"] = cluster.fresh("PersistentVolume", "new")
    if "csi" in volume["spec"]:
        volume["spec"]["csi"]["volumeHandle"] = name(volume)
    spec = volume["spec"]
    spec.update(storageClassName=_class_of(claim), accessModes=list(claim["spec"]["accessModes"]))
    put(spec, ("volumeMode",), claim["spec"].get("volumeMode"))
    put(spec, ("volumeAttributesClassName",), claim["spec"].get("volumeAttributesClassName") or None)
    spec.pop("claimRef", None)
    spec["capacity"] = {"storage": rng.choice([_request(claim), near(rng, _request(claim)), "50Gi", "21Gi", "6Gi"])}
    volume["status"] = {"phase": "Available"}
    if rng.random() < 0.5:
        some = sorted({rng.choice(cluster.node_names()) for _ in range(3)})
        put(spec, ("nodeAffinity", "required", "nodeSelectorTerms"), [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": some}]}])
    if rng.random() < 0.6 and dig(claim, ("spec", "selector")):
        volume["metadata"]["labels"] = {"tag": rng.choice(["gold", "silver"])}
    cluster.add(volume)
    return f"{name(volume)}: for {name(claim)}, {spec['capacity']['storage']}"


# --- sizes ------------------------------------------------------------------------------------------------------------------------

UNITS = {"Gi": 1 << 30, "Mi": 1 << 20, "Ki": 1 << 10, "G": 10**9, "M": 10**6, "k": 10**3, "": 1}


def near(rng, text):
    """The same size, one byte more or less, or the same written otherwise."""
    unit = text.lstrip("0123456789.")
    digits = text[:len(text) - len(unit)]
    if unit not in UNITS or not digits.isdigit():
        return text
    size = int(digits) * UNITS[unit]
    return rng.choice([str(size), str(size + 1), str(max(size - 1, 1)), f"{size * 1000}m", f"{size / (1 << 30):.3f}Gi" if size > 1 << 30 else text, f"{size}e0"])


def exact_size(rng, corpus, cluster):
    """Makes a volume or a pool just large enough, or just not, for an unbound claim of its class."""
    claim = _a_claim(rng, cluster, unbound=True)
    if claim is None:
        return None
    fits = [o for o in cluster.of("PersistentVolume", "CSIStorageCapacity")
            if (o["spec"].get("storageClassName") if o["kind"] == "PersistentVolume" else o["storageClassName"]) == _class_of(claim)]
    if not fits or rng.random() < 0.15:
        claim["spec"]["resources"]["requests"]["storage"] = near(rng, _request(claim))
        return f"{name(claim)}: asks {_request(claim)}"
    one, size = rng.choice(fits), near(rng, _request(claim))
    if one["kind"] == "PersistentVolume":
        one["spec"]["capacity"]["storage"] = size
    else:
        one[rng.choice(["capacity", "capacity", "maximumVolumeSize"])] = size
        one.setdefault("capacity", "20Gi")  # A pool with only a maximum kills upstream's scorer (UP-2).
    return f"{one['kind']} {name(one)}: {size}"


# --- classes, pools, drivers ------------------------------------------------------------------------------------------------------

def topologies(rng, corpus, cluster):
    """allowedTopologies out of the labels that the nodes have."""
    claim = _a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", _class_of(claim))
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
    claim = _a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", _class_of(claim))
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
    claim = _a_claim(rng, cluster, unbound=True)
    one = claim and cluster.get("StorageClass", "", _class_of(claim))
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
        capacity["capacity"] = rng.choice(["5Gi", "10Gi", "20Gi", "50Gi", "100Gi", _request(claim)])
        if rng.random() < 0.6:
            capacity["nodeTopology"] = {"matchLabels": {"kubernetes.io/hostname": rng.choice(cluster.node_names())}}
        cluster.add(capacity)
    return f"pools for {name(one)}"


def _drivers(cluster, claim):
    """The CSI drivers that a claim may end up with, migrated ones included."""
    csi = {"kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/aws-ebs": "ebs.csi.aws.com", "gcePersistentDisk": "pd.csi.storage.gke.io",
           "awsElasticBlockStore": "ebs.csi.aws.com", "azureDisk": "disk.csi.azure.com", "cinder": "cinder.csi.openstack.org"}
    volume = cluster.get("PersistentVolume", "", claim["spec"].get("volumeName", ""))
    if volume:
        return [csi[k] for k in volume["spec"] if k in csi] + ([volume["spec"]["csi"]["driver"]] if "csi" in volume["spec"] else [])
    one = cluster.get("StorageClass", "", _class_of(claim))
    return [csi.get(one["provisioner"], one["provisioner"])] if one and one["provisioner"] != "kubernetes.io/no-provisioner" else []


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
        used = [d for c in claims_of(cluster, cluster.judged()) for d in _drivers(cluster, c)]
        if used:
            driver = copy.deepcopy(driver)
            driver["metadata"]["name"] = rng.choice(used)
            driver = cluster.add(driver)
    key = rng.choice(["storageCapacity", "preventPodSchedulingIfMissing", "preventPodSchedulingIfMissing"])
    driver["spec"][key] = rng.random() < 0.7
    return f"CSIDriver {name(driver)}: {key}={driver['spec'][key]}"


# --- volumes: where they are and what they are ------------------------------------------------------------------------------------

IN_TREE = [
    {"awsElasticBlockStore": {"volumeID": "vol-1"}}, {"awsElasticBlockStore": {"volumeID": "aws://us-east1-a/vol-2"}},
    {"gcePersistentDisk": {"pdName": "pd-1"}}, {"gcePersistentDisk": {"pdName": "pd-2"}},
    {"azureDisk": {"diskName": "d1", "diskURI": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/disks/d1", "cachingMode": "ReadWrite",
                   "fsType": "ext4", "readOnly": False, "kind": "Managed"}},
    {"cinder": {"volumeID": "cinder-1"}}, {"portworxVolume": {"volumeID": "px-1"}}, {"nfs": {"server": "nfs.example.com", "path": "/"}},
    {"azureFile": {"secretName": "s", "shareName": "share", "readOnly": False, "secretNamespace": "default"}},
    {"vsphereVolume": {"volumePath": "[ds] v.vmdk"}}, {"hostPath": {"path": "/data", "type": ""}},
]
SOURCES = ("csi",) + tuple(next(iter(s)) for s in IN_TREE)


def volume_source(rng, corpus, cluster):
    """A volume of an in-tree plugin, on nodes that have it migrated or not."""
    bound = [cluster.get("PersistentVolume", "", c["spec"].get("volumeName", "")) for p in cluster.of("Pod") for c in claims_of(cluster, p)]
    volumes = [v for v in bound if v] if rng.random() < 0.8 else cluster.of("PersistentVolume")
    if not volumes:
        return None
    volume = rng.choice(volumes)
    for key in SOURCES:
        volume["spec"].pop(key, None)
    source = copy.deepcopy(rng.choice(IN_TREE))
    volume["spec"].update(source)
    if rng.random() < 0.5:
        key = rng.choice(["topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"])
        value = rng.choice(ZONES)
        if rng.random() < 0.5:
            put(volume, ("spec", "nodeAffinity", "required", "nodeSelectorTerms"), [{"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}])
        else:
            volume["metadata"].setdefault("labels", {})[key] = value
    return f"{name(volume)}: {next(iter(source))}"


MIGRATIONS = {"awsElasticBlockStore": ("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
              "gcePersistentDisk": ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
              "azureDisk": ("kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"),
              "cinder": ("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
              "portworxVolume": ("kubernetes.io/portworx-volume", "pxd.portworx.com", "example.com/rack")}


def migrated(rng, corpus, cluster):
    """An in-tree volume of the judged pod with a zone, on nodes of which some have its plugin migrated, some the driver, some a limit."""
    said = volume_source(rng, corpus, cluster)
    claims = [c for c in claims_of(cluster, cluster.judged()) if c["spec"].get("volumeName")]
    volumes = [v for v in (cluster.get("PersistentVolume", "", c["spec"]["volumeName"]) for c in claims) if v]
    volumes = [v for v in volumes if set(v["spec"]) & set(MIGRATIONS)]
    if not volumes:
        return said
    volume = rng.choice(volumes)
    plugin, driver, topology = MIGRATIONS[next(k for k in volume["spec"] if k in MIGRATIONS)]
    for node in cluster.of("Node"):
        if rng.random() < 0.7:
            node["metadata"].setdefault("labels", {})[topology] = rng.choice(ZONES)
        one = cluster.get("CSINode", "", name(node))
        if one is None and rng.random() < 0.8:
            one = cluster.add({"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name(node)}, "spec": {"drivers": []}})
        if one is None:
            continue
        plugins = set(filter(None, (dig(one, ("metadata", "annotations", MIGRATED)) or "").split(",")))
        plugins = plugins | {plugin} if rng.random() < 0.7 else plugins - {plugin}
        put(one, ("metadata", "annotations", MIGRATED), ",".join(sorted(plugins)) or None)
        drivers = [d for d in one["spec"].get("drivers") or [] if d["name"] != driver]
        if rng.random() < 0.7:
            drivers.append({"name": driver, "nodeID": name(node), "topologyKeys": [topology]})
            if rng.random() < 0.6:
                drivers[-1]["allocatable"] = {"count": rng.choice([0, 1, 1, 2])}
        one["spec"]["drivers"] = drivers
    if rng.random() < 0.35:
        cluster.add({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver},
                     "spec": {"attachRequired": True, "podInfoOnMount": False, "volumeLifecycleModes": ["Persistent"], "storageCapacity": False,
                              "fsGroupPolicy": "ReadWriteOnceWithFSType", "preventPodSchedulingIfMissing": True}})
    return f"{name(volume)}: {plugin} migrated here and there"


def zone_labels(rng, corpus, cluster):
    claims = [c for c in claims_of(cluster, cluster.judged()) if c["spec"].get("volumeName")]
    volume = claims and cluster.get("PersistentVolume", "", rng.choice(claims)["spec"]["volumeName"])
    if not volume:
        return None
    key = rng.choice(["topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone",
                      "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"])
    values = ["us-east1", "us-east1__us-west1", "us-west1"] if key.endswith("region") else ZONES + ["us-east1-a__us-east1-b", "us-east1-c__us-east1-a", "us-east1-a____us-east1-b"]
    volume["metadata"].setdefault("labels", {})[key] = rng.choice(values)
    return f"{name(volume)}: {key}={volume['metadata']['labels'][key]}"


def volume_affinity(rng, corpus, cluster):
    """Affinity out of the labels that the nodes have, for a volume that matters."""
    volumes = cluster.of("PersistentVolume")
    if not volumes:
        return None
    claims = [c for c in claims_of(cluster, cluster.judged()) if c["spec"].get("volumeName")]
    volume = claims and cluster.get("PersistentVolume", "", rng.choice(claims)["spec"]["volumeName"]) or rng.choice(volumes)
    node = rng.choice(cluster.of("Node"))
    labels = sorted((node["metadata"].get("labels") or {}).items())
    expressions = [{"key": k, "operator": "In", "values": [v]} for k, v in rng.sample(labels, min(len(labels), rng.randint(1, 2)))]
    for e in expressions:
        if rng.random() < 0.3:
            e["operator"] = "NotIn"
        elif e["key"] == "tier" and rng.random() < 0.7:
            e.update(operator=rng.choice(["Gt", "Lt"]), values=[rng.choice(["1", "2", "3", "007", "-1", "abc"])])
    term = {"matchExpressions": expressions} if expressions else {}
    if rng.random() < 0.15:
        term["matchFields"] = [{"key": "metadata.name", "operator": rng.choice(["In", "NotIn"]), "values": [name(node)]}]
    path = ("spec", "nodeAffinity", "required", "nodeSelectorTerms")
    put(volume, path, ((dig(volume, path) or []) if rng.random() < 0.4 else []) + [term])
    return f"{name(volume)}: affinity {term}"


def lifecycle(rng, corpus, cluster):
    """Deleted but held by a finalizer, lost, released, or with its class named by the old annotation."""
    claim, volumes = _a_claim(rng, cluster), cluster.of("PersistentVolume")
    what = rng.random()
    if what < 0.35 and volumes:
        volume = rng.choice(volumes)
        volume["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0, finalizers=["kubernetes.io/pv-protection"])
        return f"{name(volume)}: being deleted"
    if what < 0.5 and volumes:
        volume = rng.choice(volumes)
        volume["status"] = {"phase": rng.choice(["Available", "Released", "Failed", "Pending", "Bound"])}
        return f"{name(volume)}: {volume['status']['phase']}"
    if claim is None:
        return None
    classes = [name(c) for c in cluster.of("StorageClass")]
    if what < 0.75 and classes:
        target = claim if rng.random() < 0.6 or not volumes else rng.choice(volumes)
        target["metadata"].setdefault("annotations", {})[BETA_CLASS] = rng.choice(classes * 4 + [""])
        return f"{name(target)}: old class annotation {target['metadata']['annotations'][BETA_CLASS]!r}"
    if what < 0.8:
        claim["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=0, finalizers=["kubernetes.io/pvc-protection"])
        return f"{name(claim)}: being deleted"
    if what < 0.83:
        put(claim, ("spec", "storageClassName"), rng.choice(["", "absent", None]))
        return f"{name(claim)}: class {claim['spec'].get('storageClassName')!r}"
    put(claim, ("spec", "volumeAttributesClassName"), rng.choice(["gold", "silver", None]))
    if volumes:
        put(rng.choice(volumes), ("spec", "volumeAttributesClassName"), rng.choice(["gold", "silver", None]))
    return f"{name(claim)}: attributes class"


# --- attaching --------------------------------------------------------------------------------------------------------------------

def csi_node(rng, corpus, cluster):
    """Limits and migrated plugins of a node, with room for about what is there."""
    node = rng.choice(cluster.node_names())
    one = cluster.get("CSINode", "", node)
    if one is None:
        _, donor = corpus.donor(rng, "CSINode", ("spec",))
        one = copy.deepcopy(donor)
        one["metadata"]["name"] = node
        one = cluster.add(one)
    drivers = {d["name"]: d for d in one["spec"].get("drivers") or []}
    used = [d for c in claims_of(cluster, cluster.judged()) for d in _drivers(cluster, c)]
    wanted = rng.choice(used) if used and rng.random() < 0.6 else rng.choice(["x.example.com", "x.example.com", "cap.example.com", "pd.csi.storage.gke.io", "ebs.csi.aws.com", "disk.csi.azure.com"])
    if rng.random() < 0.15:
        drivers.pop(wanted, None)
    else:
        drivers[wanted] = {"name": wanted, "nodeID": node, "topologyKeys": ["topology.kubernetes.io/zone"]}
        count = rng.choice([0, 1, 1, 2, 2, 3, 4, None])
        if count is not None:
            drivers[wanted]["allocatable"] = {"count": count}
    one["spec"]["drivers"] = list(drivers.values())
    if rng.random() < 0.4:
        plugins = [p for p in ("kubernetes.io/gce-pd", "kubernetes.io/aws-ebs", "kubernetes.io/azure-disk", "kubernetes.io/cinder",
                               "kubernetes.io/portworx-volume", "kubernetes.io/azure-file", "kubernetes.io/vsphere-volume") if rng.random() < 0.6]
        put(one, ("metadata", "annotations", MIGRATED), ",".join(plugins) or None)
    return f"CSINode {node}: {wanted} {dig(drivers, (wanted, 'allocatable'))}"


def attachment(rng, corpus, cluster):
    """A volume still attached to a node: one of the judged pod's, of another pod's, of nobody, or gone."""
    volumes = [name(v) for v in cluster.of("PersistentVolume")] + ["pv-gone"]
    mine = [c["spec"]["volumeName"] for c in claims_of(cluster, cluster.judged()) if c["spec"].get("volumeName")]
    one = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": cluster.fresh("VolumeAttachment", "more-")},
           "spec": {"attacher": rng.choice(["x.example.com"] * 4 + ["ebs.csi.aws.com", "pd.csi.storage.gke.io"]), "nodeName": rng.choice(cluster.node_names()),
                    "source": {"persistentVolumeName": rng.choice(mine if mine and rng.random() < 0.4 else volumes)}},
           "status": {"attached": rng.random() < 0.8}}
    cluster.add(one)
    return f"VolumeAttachment of {one['spec']['source']['persistentVolumeName']} to {one['spec']['nodeName']}"


def inline_disk(rng, corpus, cluster):
    """A disk named in a pod itself, often the same one in two pods."""
    for _ in range(40):
        _, donor = corpus.donor(rng, "Pod", ("spec", "volumes"))
        disks = [v for v in donor["spec"]["volumes"] if not {"persistentVolumeClaim", "ephemeral", "configMap", "emptyDir", "image"} & set(v)]
        if disks:
            break
    else:
        return None
    disk = copy.deepcopy(rng.choice(disks))
    pods = [cluster.judged()] + (rng.sample(cluster.others(), 1) if cluster.others() and rng.random() < 0.7 else [])
    for pod in pods:
        one = copy.deepcopy(disk)
        one["name"] = _volume_name(cluster, pod)
        body = next(v for k, v in one.items() if k != "name")
        if "csi" not in one and rng.random() < 0.3:
            body["readOnly"] = True
        pod["spec"].setdefault("volumes", []).append(one)
    return f"{[k for k in disk if k != 'name'][0]} in {len(pods)} pods"


def once_pod(rng, corpus, cluster):
    """ReadWriteOncePod on a claim of the judged pod, sometimes with another user."""
    claim = _a_claim(rng, cluster)
    if claim is None:
        return None
    claim["spec"]["accessModes"] = ["ReadWriteOncePod"]
    volume = cluster.get("PersistentVolume", "", claim["spec"].get("volumeName", ""))
    if volume:
        volume["spec"]["accessModes"] = ["ReadWriteOncePod"]
    users = [p for p in cluster.others() if namespace(p) == namespace(claim)]
    if users and rng.random() < 0.5:
        pod = rng.choice(users)
        pod["spec"].setdefault("volumes", []).append({"name": _volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(claim)}})
    return f"{name(claim)}: ReadWriteOncePod"


# --- two clusters into one --------------------------------------------------------------------------------------------------------

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
