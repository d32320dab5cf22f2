#!/usr/bin/env python3
"""Makes random clusters out of known ones and, given the oracle, has them answered.

    mutate.py --seed 1 --count 3000 --oracle ./oracle > mutated.jsonl

Without --oracle the clusters are written as questions. With it, clusters that could not exist (the API server's validation refuses an
object) and those whose answer is upstream's accident (several askings differ) are dropped, and pods that nothing could help are kept
rare, so that the verdicts stay varied.
"""
import argparse
import json
import random
import subprocess
import sys

from corpus import Corpus
from mutations import GENERAL, graft_neighbours, quiet_nodes
from storage_mutations import STORAGE, graft_storage

# How often each file is the base, and how often a pod that fits nowhere is dropped again.
FOCUS = {
    "all": ({"volumes": 35, "general": 12, "workloads": 28, "scores": 25}, 0.4),
    "volumes": ({"volumes": 60, "general": 0, "workloads": 25, "scores": 15}, 0.5),
    "scores": ({"volumes": 10, "general": 10, "workloads": 10, "scores": 70}, 0.9),
}

# Two allowedTopologies terms that are both empty: the `volumes` file has them although an API server would not.
KNOWN_INVALID = "matchLabelExpressions: Duplicate value"


def mutate(corpus, number, seed, focus):
    """One cluster. Its own generator makes it the same whatever became of those before it."""
    rng = random.Random(f"{seed}/{number}/{focus}")
    base = corpus.base(rng, FOCUS[focus][0])
    cluster = base.copy()
    cluster.id = f"mutated-{seed}-{number}"
    done = []
    if rng.random() < (0.5 if base.source == "general" else 0.15):
        done.append(graft_storage(rng, corpus, cluster))
    if rng.random() < 0.1:
        done.append(graft_neighbours(rng, corpus, cluster))
    if focus == "scores" and rng.random() < 0.7:
        done.append(quiet_nodes(rng, corpus, cluster))
    storage = bool(cluster.of("PersistentVolumeClaim"))
    for _ in range(rng.randint(3, 8)):
        table = STORAGE if storage and rng.random() < (0.85 if base.source == "volumes" else 0.6) else GENERAL
        what = rng.choices([m for m, _ in table], [w for _, w in table])[0]
        said = what(rng, corpus, cluster)
        if said:
            done.append(f"{what.__name__}: {said}")
    if rng.random() < 0.2:
        rng.shuffle(cluster.objects)  # No answer may depend on the order of the objects.
    line = cluster.line()
    line["base"], line["mutations"] = base.id, [d for d in done if d]
    return line


def hopeless(expected):
    """Refused as a whole, or no node left."""
    if any(not p["pod"]["ok"] for p in expected["plugins"].values()):
        return "pod"
    return None if expected.get("scores") or expected.get("scoringFailed") else "nodes"


def answered(oracle, questions, repeat, counts):
    """Has questions answered and keeps those that are fit to compare with."""
    text = "".join(json.dumps(q, separators=(",", ":")) + "\n" for q in questions)
    run = subprocess.run([oracle, "-check", "-repeat", str(repeat)], input=text, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"mutate: the oracle failed: {run.stderr}")
    for answer in run.stdout.splitlines():
        line = json.loads(answer)
        invalid = [i for i in line.pop("invalid", []) if KNOWN_INVALID not in i]
        if invalid:
            counts["invalid"] = counts.get("invalid", 0) + 1
            why = invalid[0].split(": ", 1)[-1].split("[")[0][:60]
            counts["why"][why] = counts["why"].get(why, 0) + 1
        elif line.get("unstable"):
            counts["unstable"] = counts.get("unstable", 0) + 1
        else:
            yield line


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--corpus", default="/tmp", help="the folder of volumes.jsonl, general.jsonl, workloads.jsonl, scores.jsonl")
    options.add_argument("--oracle", help="the oracle's binary")
    options.add_argument("--focus", choices=sorted(FOCUS), default="all")
    options.add_argument("--repeat", type=int, default=25)
    given = options.parse_args()

    corpus = Corpus({s: f"{given.corpus}/{s}.jsonl" for s in FOCUS["all"][0]})
    number = written = 0
    counts = {"why": {}}
    while written < given.count:
        batch = []
        for _ in range(min(500, 2 * (given.count - written)) if given.oracle else given.count):
            batch.append(mutate(corpus, number, given.seed, given.focus))
            number += 1
        for line in answered(given.oracle, batch, given.repeat, counts) if given.oracle else batch:
            if given.oracle:
                lost = hopeless(line["expected"])
                if random.Random(line["id"]).random() < {"pod": 0.6, "nodes": FOCUS[given.focus][1], None: 0}[lost]:
                    counts["hopeless"] = counts.get("hopeless", 0) + 1
                    continue
            if written < given.count:
                sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
                written += 1
    if given.oracle:
        print(f"mutate: {number} made, {written} kept, dropped: {counts}", file=sys.stderr)


if __name__ == "__main__":
    main()
