#!/usr/bin/env python3
"""Compares two answered files line by line, as the conformance README says they are to be compared."""
import json
import sys


def canonical(expected, with_scores):
    """What must be equal: reasons in any order, plan entries as they are, scores only where both sides have them."""
    plugins = {}
    for name, plugin in expected["plugins"].items():
        def verdict(v):
            return (v["ok"], v.get("code"), tuple(sorted(v.get("reasons") or [])))
        plugins[name] = (verdict(plugin["pod"]), plugin.get("only"), {n: verdict(v) for n, v in (plugin.get("nodes") or {}).items()})
    out = {"plugins": plugins, "plans": expected.get("plans") or {}}
    if with_scores:
        out["scores"], out["totals"] = expected.get("scores"), expected.get("totals")
    return out


def main():
    ours, theirs = sys.argv[1:3]
    compared = different = unstable = 0
    with open(ours) as a, open(theirs) as b:
        for x, y in zip(a, b, strict=True):
            x, y = json.loads(x), json.loads(y)
            assert x["id"] == y["id"] and x["objects"] == y["objects"], x["id"]
            scores = "scores" in x["expected"] and "scores" in y["expected"]
            compared += 1
            unstable += bool(x.get("unstable") or y.get("unstable"))
            p, q = canonical(x["expected"], scores), canonical(y["expected"], scores)
            if p != q:
                different += 1
                print("DIFFERENT", x["id"], "(unstable)" if x.get("unstable") else "")
                for key in p:
                    if p[key] != q[key]:
                        inner = [k for k in set(p[key]) | set(q[key]) if p[key].get(k) != q[key].get(k)]
                        for k in inner[:2]:
                            print("  ", key, k, "\n     ", p[key].get(k), "\n     ", q[key].get(k))
    print(f"{compared} compared, {different} different, {unstable} unstable")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
