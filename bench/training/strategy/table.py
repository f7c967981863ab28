# SPDX-License-Identifier: Apache-2.0
"""Writes results of the trainings as a table."""
from comparison.estimates import median


def figures(report, way):
    """Figures of one training, from train's report: MiB per step of the global batch, shares of the time."""
    ranks = report["traffic"]
    roles = {"server": ranks[:way.servers], "worker": ranks[way.servers:]}
    steps = max(1, sum(e["images"] for e in report["epochs"]) / report["settings"]["batch"])

    def mean(role, what):
        some = roles[role]
        return sum(r[what] for r in some) / len(some) if some else None

    result = {"images_per_s": report["images_per_s"], "accuracy": report["test_accuracy"]}
    for role in roles:
        for what in ("sent", "received"):
            total = mean(role, f"{what}_bytes")
            result[f"{role}_{what}"] = None if total is None else total / steps / (1 << 20)
    spent = mean("worker", "busy_s") + mean("worker", "waiting_s")
    result["waiting"] = mean("worker", "waiting_s") / spent if spent > 0 else 0.0
    return result


def middle(many):
    """The medians of several trainings' figures."""
    return {k: None if many[0][k] is None else median([m[k] for m in many]) for k in many[0]}


HEAD = ("| strategy | workers | images/s | a worker sends, receives | a server sends, receives | workers wait | accuracy |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n")


def rows(results):
    """results: [(way, workers, figures or words why there are none)]."""
    text = HEAD
    for way, workers, one in results:
        if isinstance(one, str):
            text += f"| {way.name} | {workers} | {one} | | | | |\n"
            continue
        text += (f"| {way.name} | {workers} | {one['images_per_s']:,.0f} | {pair(one, 'worker')} | {pair(one, 'server')} | "
                 f"{100 * one['waiting']:.0f} % | {100 * one['accuracy']:.2f} % |\n")
    return text


def pair(one, role):
    if one[f"{role}_sent"] is None:
        return ""
    return f"{one[f'{role}_sent']:.2f}, {one[f'{role}_received']:.2f}"


def curves(results, what):
    """Curves for plots: [(name, dashed, [(workers, value, value, value)])], of ways that have a figure."""
    found = {}
    for way, workers, one in results:
        if not isinstance(one, str) and one[what] is not None:
            found.setdefault(way.name, []).append((workers, one[what], one[what], one[what]))
    return [(name, False, points) for name, points in found.items()]
