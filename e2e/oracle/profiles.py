"""Known clusters judged by other profiles than the default one: for each argument of a plugin, clusters where it makes a difference.

    python3 profiles.py --oracle ./oracle --per 40 --seed 1 | gzip -9n > ../../conformance/profiles.jsonl.gz

A line is one of a conformance file (or a change of it) with a "profile", and is kept only where the answer differs from the default
profile's. Clusters depend only on --seed and --per.
"""
import argparse
import copy
import gzip
import json
import pathlib
import random
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "conformance"
EXTRA = {"ephemeral-storage": ("20Gi", ["1Gi", "3Gi", "7Gi"]), "example.com/gpu": ("8", ["1", "2", "3"]),
         "other.example/fpga": ("4", ["1", "2"]), "hugepages-2Mi": ("1Gi", ["100Mi", "256Mi"])}
WEIGHTED = ["TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity", "VolumeBinding",
            "NodeResourcesBalancedAllocation", "ImageLocality"]
FILTERS = ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions",
           "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity"]


def key(obj):
    return obj["metadata"].get("namespace", "") + "/" + obj["metadata"]["name"]


def pod_of(line):
    return next(o for o in line["objects"] if o["kind"] == "Pod" and key(o) == line["pod"])


def nodes_of(line):
    return [o for o in line["objects"] if o["kind"] == "Node"]


def with_extras(line, rng):
    """Nodes have, and pods ask for, more than cpu and memory."""
    for node in nodes_of(line):
        allocatable = node.setdefault("status", {}).setdefault("allocatable", {})
        for name, (amount, _) in EXTRA.items():
            if rng.random() < 0.8:
                allocatable[name] = amount
    for pod in (o for o in line["objects"] if o["kind"] == "Pod"):
        judged = key(pod) == line["pod"]
        for container in pod["spec"].get("containers", []):
            for name, (_, amounts) in EXTRA.items():
                if rng.random() < (0.5 if judged else 0.25):
                    requests = container.setdefault("resources", {}).setdefault("requests", {})
                    requests[name] = rng.choice(amounts)


def resources(rng, weighted):
    names = rng.sample(["cpu", "memory"] + list(EXTRA), rng.randint(1, 5))
    return [{"name": n, "weight": rng.choice([1, 1, 2, 3, 5, 10, 100]) if weighted else 1} for n in names]


def shape(rng):
    points = sorted(rng.sample(range(0, 101), rng.randint(1, 4)))
    return [{"utilization": u, "score": rng.randint(0, 10)} for u in points]


def args(plugin, fields):
    given = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": plugin + "Args", **fields}
    return {"pluginConfig": [{"name": plugin, "args": given}]}


def strategy(kind):
    def make(line, rng):
        with_extras(line, rng)
        chosen = {"type": kind, "resources": resources(rng, True)}
        if kind == "RequestedToCapacityRatio":
            chosen["requestedToCapacityRatio"] = {"shape": shape(rng)}
        return args("NodeResourcesFit", {"scoringStrategy": chosen})
    return make


def ignored(line, rng):
    with_extras(line, rng)
    for node in nodes_of(line):
        for name in ("example.com/gpu", "other.example/fpga"):
            if rng.random() < 0.5:
                node["status"]["allocatable"].pop(name, None)
    names = rng.sample(["example.com/gpu", "other.example/fpga", "unknown.example/x"], rng.randint(0, 2))
    groups = rng.sample(["example.com", "other.example", "example"], rng.randint(0, 2))
    return args("NodeResourcesFit", {"ignoredResources": names, "ignoredResourceGroups": groups})


def balanced(line, rng):
    with_extras(line, rng)
    return args("NodeResourcesBalancedAllocation", {"resources": resources(rng, False)})


def term(line, rng):
    labels = [(k, v) for n in nodes_of(line) for k, v in n["metadata"].get("labels", {}).items()]
    if not labels or rng.random() < 0.15:
        names = [n["metadata"]["name"] for n in nodes_of(line)]
        return {"matchFields": [{"key": "metadata.name", "operator": rng.choice(["In", "NotIn"]), "values": [rng.choice(names)]}]}
    k, v = rng.choice(labels)
    operator = rng.choice(["In", "In", "NotIn", "Exists", "DoesNotExist"])
    values = {"In": [v], "NotIn": [v]}.get(operator)
    return {"matchExpressions": [{"key": k, "operator": operator, **({"values": values} if values else {})}]}


def added(line, rng):
    affinity = {}
    if rng.random() < 0.6:
        terms = [term(line, rng) for _ in range(rng.randint(1, 2))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.6 or not affinity:
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.randint(1, 100), "preference": term(line, rng)} for _ in range(rng.randint(1, 3))]
    return args("NodeAffinity", {"addedAffinity": affinity})


def spread(line, rng):
    judged = pod_of(line)
    judged["spec"].pop("topologySpreadConstraints", None)
    keys = sorted({k for n in nodes_of(line) for k in n["metadata"].get("labels", {})} | {"kubernetes.io/hostname"})
    constraints = []
    for k in rng.sample(keys, min(len(keys), rng.randint(1, 3))):
        constraint = {"maxSkew": rng.randint(1, 4), "topologyKey": k, "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"])}
        if rng.random() < 0.3:
            constraint["nodeTaintsPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.3:
            constraint["nodeAffinityPolicy"] = rng.choice(["Honor", "Ignore"])
        if rng.random() < 0.3 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
            constraint["minDomains"] = rng.randint(1, 4)
        constraints.append(constraint)
    return args("PodTopologySpread", {"defaultConstraints": constraints, "defaultingType": "List"})


def pod_affinity(line, rng):
    fields = {"hardPodAffinityWeight": rng.choice([0, 0, 2, 10, 50, 100])}
    if rng.random() < 0.4:
        fields["ignorePreferredTermsOfExistingPods"] = True
    return args("InterPodAffinity", fields)


def volume_shape(line, rng):
    return args("VolumeBinding", {"shape": shape(rng)})


def weights(line, rng):
    chosen = rng.sample(WEIGHTED, rng.randint(1, 4))
    return {"plugins": {"multiPoint": {"enabled": [{"name": n, "weight": rng.choice([1, 2, 5, 10, 100])} for n in chosen]}}}


def disabled(line, rng):
    chosen = rng.sample(sorted(set(FILTERS + WEIGHTED)), rng.randint(1, 4))
    return {"plugins": {"multiPoint": {"disabled": [{"name": n} for n in chosen]}}}


# What is tried: its name, the files it is tried on, how a profile is made, upstream's gates.
KINDS = [
    ("least", ["scores"], strategy("LeastAllocated"), ""),
    ("most", ["scores"], strategy("MostAllocated"), ""),
    ("ratio", ["scores"], strategy("RequestedToCapacityRatio"), ""),
    ("ignored", ["workloads", "scores"], ignored, ""),
    ("balanced", ["scores"], balanced, ""),
    ("added", ["scores", "workloads"], added, ""),
    ("spread", ["scores"], spread, ""),
    ("pod-affinity", ["scores"], pod_affinity, ""),
    ("volume-shape", ["scores"], volume_shape, ""),
    ("weights", ["scores"], weights, ""),
    ("disabled", ["scores", "workloads", "volumes"], disabled, ""),
    ("gates", ["scores", "workloads"], lambda line, rng: None, "StorageCapacityScoring=false,VolumeLimitScaling=false"),
]


def ask(oracle, gates, lines):
    command = [oracle, "-repeat", "8"] + (["-feature-gates", gates] if gates else [])
    text = "".join(json.dumps(line) + "\n" for line in lines)
    answered = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in answered.decode().splitlines()]


def essence(line):
    """What an answer says, without the order of reasons."""
    def sort(value):
        if isinstance(value, dict):
            return {k: sorted(v) if k == "reasons" else sort(v) for k, v in value.items()}
        return value
    return sort(line["expected"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--per", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known = {}
    for name in ("scores", "workloads", "volumes"):
        with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt") as file:
            known[name] = [json.loads(line) for line in file]
    for kind, files, make, gates in KINDS:
        rng = random.Random(f"{options.seed}/{kind}")
        plain, changed = [], []
        for _ in range(options.per * 4):
            line = copy.deepcopy(rng.choice(known[rng.choice(files)]))
            base = line["id"]
            line["base"] = base
            line.pop("expected")
            profile = make(line, rng)
            line["id"] = f"profile-{kind}-{len(plain)}"
            plain.append(copy.deepcopy(line))
            if profile is not None:
                line["profile"] = profile
            changed.append(line)
        asked, others = ask(options.oracle, gates, changed), ask(options.oracle, "", plain)
        kept = 0
        for line, other in zip(asked, others):
            settled = not line.get("unstable") and "scoringFailed" not in line["expected"]
            # Where one plugin refuses the pod as a whole, the others are not heard.
            heard = all(plugin["pod"]["ok"] for plugin in line["expected"]["plugins"].values())
            if kept < options.per and settled and heard and essence(line) != essence(other):
                kept += 1
                print(json.dumps(line, separators=(",", ":"), sort_keys=True))
        print(f"{kind}: {kept} kept", file=sys.stderr)


if __name__ == "__main__":
    main()
