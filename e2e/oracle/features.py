"""Known clusters whose nodes declare features and whose pod needs some: what NodeDeclaredFeatures says of them.

    python3 features.py --oracle ./oracle --count 120 --seed 1 | gzip -9n > ../../conformance/features.jsonl.gz

A line is one of a conformance file with nodes that declare features and a pod whose spec needs some, or seems to. Clusters depend only on
--seed and --count.
"""
import argparse
import copy
import gzip
import json
import random

from profiles import FOLDER, ask, nodes_of, pod_of

# Every feature of 1.37.1 that pods can need, some that they cannot, and one that is not known.
DECLARED = ["DRAOptionalNodeOperations", "ExtendWebSocketsToKubelet", "FromTheFuture", "InPlacePodVerticalScalingInitContainers",
            "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"]


def containers(pod, rng):
    """The containers of one of the lists, which is made where the pod has none."""
    field = rng.choice(["containers", "containers", "initContainers", "ephemeralContainers"])
    if not pod["spec"].get(field):
        pod["spec"][field] = [{"name": "further", "image": "further"}]
    return rng.choice(pod["spec"][field])


def users(pod, rng):
    if rng.random() < 0.8:
        pod["spec"]["hostNetwork"] = True
    pod["spec"]["hostUsers"] = rng.random() < 0.2


def restart(pod, rng):
    container = containers(pod, rng)
    container["restartPolicy"] = "Never"
    container["restartPolicyRules"] = [{"action": rng.choice(["Restart", "RestartAllContainers", "RestartAllContainers"]),
                                        "exitCodes": {"operator": "In", "values": [42]}}]


def mount(pod, rng):
    container = containers(pod, rng)
    options = rng.choice([["noexec"], ["noexec", "nosuid"], ["nodev"], []])
    container.setdefault("volumeMounts", []).append({"name": "v", "mountPath": "/v", "bindMountOptions": options})


def resize(pod, rng):
    """What only an update needs a feature for."""
    pod["spec"]["resources"] = {"requests": {"cpu": "100m"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known = []
    for name in ("scores", "workloads"):
        with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt") as file:
            known += [json.loads(line) for line in file]
    rng = random.Random(f"features/{options.seed}")
    lines = []
    while len(lines) < options.count * 3:
        line = copy.deepcopy(rng.choice(known))
        line["base"], line["id"] = line["id"], f"features-{len(lines)}"
        line.pop("expected")
        for node in nodes_of(line):
            share = rng.choice([0, 0.5, 0.5, 0.8, 1])
            declared = [name for name in DECLARED if rng.random() < share]
            if declared or rng.random() < 0.5:
                node.setdefault("status", {})["declaredFeatures"] = declared
        for change in rng.sample([users, restart, mount, resize], rng.choice([1, 1, 2, 3])):
            change(pod_of(line), rng)
        lines.append(line)
    kept = 0
    for line in ask(options.oracle, "", lines):
        settled = not line.get("unstable") and "scoringFailed" not in line["expected"]
        # Where one plugin refuses the pod as a whole, the others are not heard.
        heard = all(plugin["pod"]["ok"] for plugin in line["expected"]["plugins"].values())
        if settled and heard and kept < options.count:
            kept += 1
            print(json.dumps(line, separators=(",", ":"), sort_keys=True))


if __name__ == "__main__":
    main()
