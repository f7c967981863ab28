# SPDX-License-Identifier: Apache-2.0
"""Writes results as data and as a table.

Example: size_text(4096) is "4 KiB", and time_text(0.0025) is "2.5 ms".
"""
from comparison.batch import seconds
from comparison.estimates import median, median_interval, paired_ratio, spread


def summary(cell, entries, tried):
    """One cell as a dictionary that JSON can hold."""
    contenders = []
    writing = min((r["writing"] for e in entries for r in e.rounds if r and r["writing"] is not None), default=0.0)
    for e in entries:
        done = [r for r in e.rounds if r]
        one = {
            "name": e.program.name,
            "implementation": e.program.implementation,
            "role": e.program.role,
            "way": e.choice(),
            "iterations": e.iterations,
            "seconds": [r and seconds(r, writing) for r in e.rounds],
        }
        if e.error:
            one["error"] = e.error
        if tried.get(e.program.name):
            one["tried"] = tried[e.program.name]  # seconds with writing, the median of the trials
        if done:
            times = [seconds(r, writing) for r in done]
            one["median"] = median(times)
            one["least"] = min(times)
            one["interval"] = median_interval(times)
            one["half"] = spread(times)
            for what in ("processor", "switches"):
                if all(what in r for r in done):
                    one[what] = median([r[what] for r in done])
            for what in BYTES:
                if all(what in r for r in done):
                    one[what] = median([r[what] for r in done])
            if all("wire" in r for r in done):
                one["wire"] = {k: median([r["wire"][k] for r in done]) for k in done[0]["wire"]}
            one.update(e.counts)
        contenders.append(one)
    result = {k: getattr(cell, k) for k in ("field", "op", "ranks", "size", "inputs", "pace")}
    result["writing"] = writing
    result["contenders"] = contenders
    result["ratios"] = ratios(contenders)
    return result


# Figures of a network with counters, besides those of a batch.
BYTES = ("bytes between hosts", "bytes through the trunk")


def best(contenders, role):
    """The fastest contender in a role, judged by the rounds; None if there is none."""
    measured = [c for c in contenders if c["role"] == role and "median" in c]
    return min(measured, key=lambda c: c["median"]) if measured else None


def ratios(contenders):
    """Ratios of each contender of ours to the best peer, to the limit and to its earlier commit: of times of the same
    rounds, so below 1 is faster."""
    rows = []
    for ours in (c for c in contenders if c["role"] == "ours" and "median" in c):
        row = {"name": ours["name"]}
        before = [c for c in contenders if c["name"] == f"before:{ours['name']}"]
        for role, among in (("peer", contenders), ("limit", contenders), ("before", before)):
            other = best(among, role)
            if other:
                row[role] = {"name": other["name"], "of_least": ours["least"] / other["least"],
                             **(paired_ratio(ours["seconds"], other["seconds"]) or {})}
        rows.append(row)
    return rows


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def time_text(seconds):
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio_text(ratio):
    if not ratio or "median" not in ratio:
        return "-"
    return f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}]; {ratio['of_least']:.2f}"


KINDS = {
    ("rewritten", "back_to_back"): "inputs rewritten, back to back",
    ("rewritten", "barrier"): "inputs rewritten, each after a barrier",
    ("constant", "back_to_back"): "out of place, constant inputs, back to back",
    ("constant", "barrier"): "out of place, constant inputs, each after a barrier",
}


def group_key(cell):
    return cell["field"], cell["op"], cell["inputs"], cell["pace"]


def groups(cells):
    found = {}
    for c in cells:
        found.setdefault(group_key(c), []).append(c)
    return found


def table(run):
    """All cells in Markdown."""
    lines = ["# tutti and its peers", "", machine_text(run), ""]
    for (field, op, inputs, pace), cells in groups(run["cells"]).items():
        lines += [f"## {op} by {field}: {KINDS[inputs, pace]}", ""]
        names = []
        for cell in cells:
            names += [c["name"] for c in cell["contenders"] if c["name"] not in names]
        ours = [n for n in names if n.startswith("tutti")]
        head = ["ranks", "bytes", *names]
        for n in ours:
            head += [f"{n} / best peer", "best peer", f"{n} / limit"] + [f"{n} / before"] * ("before:" + n in names)
        lines += ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        for cell in sorted(cells, key=lambda c: (c["ranks"], c["size"])):
            lines.append("| " + " | ".join(row(cell, names, ours)) + " |")
        lines += ["", *costs(cells)] if pace == "back_to_back" else [""]
    errors = sorted({f"- {c['name']}, {cell['op']}, {cell['ranks']} ranks, {size_text(cell['size'])}: {c['error']}"
                     for cell in run["cells"] for c in cell["contenders"] if "error" in c})
    return "\n".join(lines + (["## Failures", "", *errors, ""] if errors else []))


def costs(cells):
    """The cost of one operation for all ranks together. With a barrier, it would include the harness' own barrier."""
    known = [w for w in BYTES if any(w in c for cell in cells for c in cell["contenders"])]
    head = ["ranks", "bytes", "contender", "processor time", "context switches", "system calls", "messages", *known]
    lines = ["Costs of one operation, all ranks together:", "", f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for cell in sorted(cells, key=lambda c: (c["ranks"], c["size"])):
        for c in cell["contenders"]:
            if "processor" in c:
                counts = [f"{c[k]:.3g}" if c.get(k) is not None else "-"
                          for k in ("switches", "system_calls", "messages", *known)]
                lines.append(f"| {cell['ranks']} | {size_text(cell['size'])} | {c['name']} {c['way']} | "
                             f"{time_text(c['processor'])} | {' | '.join(counts)} |")
    return [*lines, ""]


def row(cell, names, ours):
    by_name = {c["name"]: c for c in cell["contenders"]}
    cells = [str(cell["ranks"]), size_text(cell["size"])]
    for n in names:
        c = by_name.get(n, {})
        way = f" {c['way']}" if c.get("way") else ""
        cells.append(time_text(c["median"]) + way if "median" in c else "failed" if "error" in c else "-")
    by_ours = {r["name"]: r for r in cell["ratios"]}
    for n in ours:
        r = by_ours.get(n, {})
        cells += [ratio_text(r.get("peer")), r["peer"]["name"] if "peer" in r else "-", ratio_text(r.get("limit"))]
        cells += [ratio_text(r.get("before"))] * ("before:" + n in names)
    return cells


def machine_text(run):
    m = run["machine"]
    settings = "; ".join(f"{name}: {text}" for name, text in run["settings"].items())
    return (f"{m['processor']}, {m['cores']} cores, Linux {m['kernel']}, load {m['load_before']:.1f} before and "
            f"{m['load_after']:.1f} after. {run['launches']} launches, {run['rounds']} rounds in each, batches of "
            f"{run['batch_seconds'] * 1e3:.0f} ms.\n\n"
            "Times are medians. Ratios are of times of the same round, with the 95 % interval of their median: below 1, tutti "
            "is faster. The number behind a semicolon is the ratio of the least times, which other load disturbs least.\n\n"
            f"Settings: {settings}.")
