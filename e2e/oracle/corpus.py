"""The corpus of known clusters, and a cluster that can be taken apart and put together."""
import copy
import json
import re

STORAGE_KINDS = ("StorageClass", "CSIDriver", "CSINode", "CSIStorageCapacity", "PersistentVolume", "PersistentVolumeClaim", "VolumeAttachment")

# The `volumes` and `general` files call their zones a, b, c, d, the others us-east1-a and so on. One name for all lets parts of
# one cluster mean something in another.
_SHORT_ZONE = re.compile(r"^[abcd](__[abcd])*$")


def _long_zones(value):
    if isinstance(value, dict):
        return {k: _long_zones(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_long_zones(v) for v in value]
    if isinstance(value, str) and _SHORT_ZONE.match(value):
        return "__".join("us-east1-" + z for z in value.split("__"))
    return value


def dig(value, path):
    """The subtree at a path of dict keys, or None."""
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value


def put(value, path, new):
    """Sets the subtree at a path of dict keys; None removes it."""
    for key in path[:-1]:
        if not isinstance(value.get(key), dict):
            if new is None:
                return
            value[key] = {}
        value = value[key]
    if new is None:
        value.pop(path[-1], None)
    else:
        value[path[-1]] = copy.deepcopy(new)


def name(obj):
    return obj["metadata"]["name"]


def namespace(obj):
    return obj["metadata"].get("namespace", "")


class Cluster:
    """One line of a file: objects, and the pod that is judged."""

    def __init__(self, line, source):
        self.id, self.pod_key, self.source = line["id"], line["pod"], source
        self.objects = line["objects"]

    def copy(self):
        return copy.deepcopy(self)

    def of(self, *kinds):
        return [o for o in self.objects if o["kind"] in kinds]

    def get(self, kind, ns, wanted):
        for o in self.objects:
            if o["kind"] == kind and name(o) == wanted and namespace(o) == ns:
                return o
        return None

    def judged(self):
        ns, wanted = self.pod_key.split("/")
        return self.get("Pod", ns, wanted)

    def others(self):
        judged = self.judged()
        return [p for p in self.of("Pod") if p is not judged]

    def add(self, obj, replace=True):
        """Adds a copy; an object of the same name goes, or stays when `replace` is false."""
        old = self.get(obj["kind"], namespace(obj), name(obj))
        if old is not None:
            if not replace:
                return old
            self.objects.remove(old)
        new = copy.deepcopy(obj)
        self.objects.append(new)
        return new

    def remove(self, obj):
        self.objects[:] = [o for o in self.objects if o is not obj]

    def node_names(self):
        return [name(n) for n in self.of("Node")]

    def fresh(self, kind, prefix):
        """A name that no object of the kind has, in any namespace."""
        taken = {name(o) for o in self.of(kind)}
        return next(f"{prefix}{i}" for i in range(1000) if f"{prefix}{i}" not in taken)

    def line(self):
        return {"id": self.id, "pod": self.pod_key, "objects": self.objects}


class Corpus:
    """All known clusters, and by kind all objects in them with the cluster that holds each."""

    def __init__(self, files):
        self.clusters = {}
        self.by_kind = {}
        for source, path in files.items():
            self.clusters[source] = []
            with open(path) as lines:
                for text in lines:
                    line = json.loads(text)
                    if source in ("volumes", "general"):
                        line["objects"] = _long_zones(line["objects"])
                    cluster = Cluster(line, source)
                    self.clusters[source].append(cluster)
                    for o in cluster.objects:
                        self.by_kind.setdefault(o["kind"], []).append((cluster, o))

    def base(self, rng, weights):
        source = rng.choices(list(weights), list(weights.values()))[0]
        return rng.choice(self.clusters[source])

    def donor(self, rng, kind, path=()):
        """A random (cluster, object) of a kind that has the path, tried a few times."""
        for _ in range(60):
            cluster, obj = rng.choice(self.by_kind[kind])
            if not path or dig(obj, path) is not None:
                return cluster, obj
        return None, None
