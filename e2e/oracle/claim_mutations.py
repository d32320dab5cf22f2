"""Changes to the claims of the judged pod and to what they could be bound to. Same shape as those in mutations.py."""
import copy

from corpus import dig, name, namespace, put

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


def claims_of(cluster, pod):
    """The claims that exist among those a pod uses."""
    found = []
    for volume in pod["spec"].get("volumes") or []:
        wanted = dig(volume, ("persistentVolumeClaim", "claimName")) or ("ephemeral" in volume and f"{name(pod)}-{volume['name']}")
        claim = wanted and cluster.get("PersistentVolumeClaim", namespace(pod), wanted)
        if claim:
            found.append(claim)
    return found


def a_claim(rng, cluster, unbound=False):
    claims = claims_of(cluster, cluster.judged())
    if not claims or rng.random() < 0.15:
        claims = cluster.of("PersistentVolumeClaim")
    if unbound:
        claims = [c for c in claims if not c["spec"].get("volumeName")] or claims
    return rng.choice(claims) if claims else None


def class_of(claim):
    return claim["spec"].get("storageClassName", "")


def request_of(claim):
    return dig(claim, ("spec", "resources", "requests", "storage")) or "1Gi"


def volume_name(cluster, pod):
    taken = {v["name"] for v in pod["spec"].get("volumes") or []}
    return next(f"v{i}" for i in range(100) if f"v{i}" not in taken)


def import_claim(rng, cluster, source, claim, everything=0.6):
    """Brings a claim with what it needs: its volume, its class, and often the free volumes and pools of that class."""
    new = cluster.add(claim, replace=False)
    volume = claim["spec"].get("volumeName") and source.get("PersistentVolume", "", claim["spec"]["volumeName"])
    if volume and rng.random() < 0.95:
        cluster.add(volume)
    wanted = source.get("StorageClass", "", class_of(claim))
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
    new = import_claim(rng, cluster, source, claim)
    volume = {"name": volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(new)}}
    pod["spec"].setdefault("volumes", []).append(volume)
    return f"claim {name(new)} of {source.id}"


def add_ephemeral(rng, corpus, cluster):
    """A generic ephemeral volume; its claim is there and owned, there and not owned, or not there."""
    pod = cluster.judged() if rng.random() < 0.8 or not cluster.others() else rng.choice(cluster.others())
    source, claim = corpus.donor(rng, "PersistentVolumeClaim")
    if claim is None or len(pod["spec"].get("volumes") or []) > 4:
        return None
    volume = {"name": volume_name(cluster, pod), "ephemeral": {"volumeClaimTemplate": {"metadata": {}, "spec": {
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
    import_claim(rng, cluster, source, claim)
    return f"ephemeral volume {volume['name']} of {name(pod)}"


def reuse_claim(rng, corpus, cluster):
    """The judged pod uses a claim that is there already, perhaps another pod's, perhaps its own a second time."""
    pod = cluster.judged()
    claims = [c for c in cluster.of("PersistentVolumeClaim") if namespace(c) == namespace(pod)]
    if not claims or len(pod["spec"].get("volumes") or []) > 4:
        return None
    claim = rng.choice(claims)
    pod["spec"].setdefault("volumes", []).append({"name": volume_name(cluster, pod), "persistentVolumeClaim": {"claimName": name(claim)}})
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
    claim = a_claim(rng, cluster, unbound=True)
    if claim is None:
        return None
    annotations = claim["metadata"].setdefault("annotations", {})
    annotations[SELECTED_NODE] = rng.choice(cluster.node_names() * 4 + ["n99", ""])
    return f"{name(claim)}: selected {annotations[SELECTED_NODE]!r}"


def binding(rng, corpus, cluster):
    """Binds, half binds or unbinds a claim."""
    claim = a_claim(rng, cluster)
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
    claim, volumes = a_claim(rng, cluster, unbound=True), cluster.of("PersistentVolume")
    if claim is None or not volumes:
        return None
    same = [v for v in volumes if v["spec"].get("storageClassName", "") == class_of(claim)]
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
    claim = a_claim(rng, cluster, unbound=True)
    source, donor = corpus.donor(rng, "PersistentVolume")
    if claim is None:
        return None
    volume = copy.deepcopy(donor)
    volume["metadata"]["name"] = cluster.fresh("PersistentVolume", "new")
    if "csi" in volume["spec"]:
        volume["spec"]["csi"]["volumeHandle"] = name(volume)
    spec = volume["spec"]
    spec.update(storageClassName=class_of(claim), accessModes=list(claim["spec"]["accessModes"]))
    put(spec, ("volumeMode",), claim["spec"].get("volumeMode"))
    put(spec, ("volumeAttributesClassName",), claim["spec"].get("volumeAttributesClassName") or None)
    spec.pop("claimRef", None)
    spec["capacity"] = {"storage": rng.choice([request_of(claim), near(rng, request_of(claim)), "50Gi", "21Gi", "6Gi"])}
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
    claim = a_claim(rng, cluster, unbound=True)
    if claim is None:
        return None
    fits = [o for o in cluster.of("PersistentVolume", "CSIStorageCapacity")
            if (o["spec"].get("storageClassName") if o["kind"] == "PersistentVolume" else o["storageClassName"]) == class_of(claim)]
    if not fits or rng.random() < 0.15:
        claim["spec"]["resources"]["requests"]["storage"] = near(rng, request_of(claim))
        return f"{name(claim)}: asks {request_of(claim)}"
    one, size = rng.choice(fits), near(rng, request_of(claim))
    if one["kind"] == "PersistentVolume":
        one["spec"]["capacity"]["storage"] = size
    else:
        one[rng.choice(["capacity", "capacity", "maximumVolumeSize"])] = size
        one.setdefault("capacity", "20Gi")  # A pool with only a maximum kills upstream's scorer (UP-2).
    return f"{one['kind']} {name(one)}: {size}"
