"""Changes to volumes, to where they are and to how they are attached. Same shape as those in mutations.py."""
import copy

from claim_mutations import a_claim, claims_of, class_of, volume_name
from corpus import dig, name, namespace, put

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
ZONES = ["us-east1-a", "us-east1-b", "us-east1-c"]

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
    claim, volumes = a_claim(rng, cluster), cluster.of("PersistentVolume")
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

def drivers_of(cluster, claim):
    """The CSI drivers that a claim may end up with, migrated ones included."""
    csi = {"kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/aws-ebs": "ebs.csi.aws.com", "gcePersistentDisk": "pd.csi.storage.gke.io",
           "awsElasticBlockStore": "ebs.csi.aws.com", "azureDisk": "disk.csi.azure.com", "cinder": "cinder.csi.openstack.org"}
    volume = cluster.get("PersistentVolume", "", claim["spec"].get("volumeName", ""))
    if volume:
        return [csi[k] for k in volume["spec"] if k in csi] + ([volume["spec"]["csi"]["driver"]] if "csi" in volume["spec"] else [])
    one = cluster.get("StorageClass", "", class_of(claim))
    return [csi.get(one["provisioner"], one["provisioner"])] if one and one["provisioner"] != "kubernetes.io/no-provisioner" else []


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
    used = [d for c in claims_of(cluster, cluster.judged()) for d in drivers_of(cluster, c)]
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
        one["name"] = volume_name(cluster, pod)
        body = next(v for k, v in one.items() if k != "name")
        if "csi" not in one and rng.random() < 0.3:
            body["readOnly"] = True
        pod["spec"].setdefault("volumes", []).append(one)
    return f"{[k for k in disk if k != 'name'][0]} in {len(pods)} pods"


def once_pod(rng, corpus, cluster):
    """ReadWriteOncePod on a claim of the judged pod, sometimes with another user."""
    claim = a_claim(rng, cluster)
    if claim is None:
        return None
    claim["spec"]["accessModes"] = ["ReadWriteOncePod"]
    volume = cluster.get("PersistentVolume", "", claim["spec"].get("volumeName", ""))
    if volume:
        volume["spec"]["accessModes"] = ["ReadWriteOncePod"]
    users = [p for p in cluster.others() if namespace(p) == namespace(claim)]
    if users and rng.random() < 0.5:
        pod = rng.choice(users)
        pod["spec"].setdefault("volumes", []).append({"name": volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(claim)}})
    return f"{name(claim)}: ReadWriteOncePod"
