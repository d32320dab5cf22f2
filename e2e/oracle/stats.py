#!/usr/bin/env python3
"""Counts in how many clusters of answered files each reason, plan and score occurs."""
import collections
import json
import re
import sys


def shape(reason):
    """A reason without the names in it."""
    reason = re.sub(r'"[^"]*"', '"…"', reason)
    reason = re.sub(r"PVC \S+/\S+", "PVC …", reason)
    return re.sub(r"pod \S+/\S+ \(", "pod … (", reason)


def main():
    clusters, nodes, plans, scores = (collections.Counter() for _ in range(4))
    values = collections.defaultdict(set)
    total = 0
    for path in sys.argv[1:]:
        with open(path) as lines:
            for text in lines:
                line = json.loads(text)
                expected, seen, total = line["expected"], set(), total + 1
                for plugin, said in expected["plugins"].items():
                    for level, verdicts in (("pod", [said["pod"]]), ("node", (said.get("nodes") or {}).values())):
                        for v in verdicts:
                            for reason in v.get("reasons") or []:
                                key = (plugin, level, v["code"], shape(reason))
                                seen.add(key)
                                nodes[key] += 1
                    if said.get("only"):
                        seen.add((plugin, "only", "", ""))
                clusters.update(seen)
                for entries in (expected.get("plans") or {}).values():
                    kinds = collections.Counter(e["outcome"] for e in entries or [])
                    plans["+".join(f"{n} {k}" for k, n in sorted(kinds.items())) or "nothing to bind"] += 1
                feasible = len(expected.get("scores") or {})
                scores["scoring failed" if "scoringFailed" in expected else f"{min(feasible, 4)}{'+' if feasible > 3 else ''} feasible"] += 1
                for of_node in (expected.get("scores") or {}).values():
                    for plugin, value in of_node.items():
                        values[plugin].add(value)
    print(f"{total} clusters")
    for key in sorted(clusters):
        print(f"{clusters[key]:6} clusters {nodes[key]:7} nodes  {' | '.join(k for k in key if k)}")
    print("plans (nodes):", dict(plans.most_common()))
    print("clusters by feasible nodes:", dict(sorted(scores.items())))
    print("distinct scores:", {k: len(v) for k, v in sorted(values.items())})


if __name__ == "__main__":
    main()
