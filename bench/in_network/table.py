# SPDX-License-Identifier: Apache-2.0
"""Writes results of the trainings as a table."""


def mean(values):
    return sum(values) / len(values)


def summary(tries):
    """The summary of one way over its seeds: [figures of trial.py] -> figures."""
    compared = [t["deviation"] for t in tries if t["deviation"] is not None]
    overflows = [t["overflows"] for t in tries if t["overflows"] is not None]
    return {"accuracy": mean([t["accuracy"] for t in tries]), "seeds": len(tries),
            "worst": min(t["accuracy"] for t in tries), "best": max(t["accuracy"] for t in tries),
            "loss": mean([t["loss"] for t in tries]), "deviation": max(compared) if compared else None,
            "overflows": sum(overflows) if overflows else None,
            "share": sum(overflows) / sum(t["sums"] for t in tries) if overflows else None}


HEAD = ("| {model}, {workers} workers | seeds | accuracy | range | over the ring, points | test loss | a weight's largest "
        "error in a step | overflows |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")


def rows(model, workers, results, reference):
    """Rows of the table. results: [(way, figures, or words why there are none)]; reference: the figures of the ring,
    or None."""
    text = HEAD.format(model=model, workers=workers)
    for way, one in results:
        if isinstance(one, str):
            text += f"| {way.name} | | {one} | | | | | |\n"
            continue
        far = f"{100 * (one['accuracy'] - reference['accuracy']):+.2f}" if reference else ""
        deviation = "" if one["deviation"] is None else f"{one['deviation']:.1e}"
        overflows = "" if one["overflows"] is None else f"{one['overflows']} ({100 * one['share']:.2g} %)"
        text += (f"| {way.name} | {one['seeds']} | {100 * one['accuracy']:.2f} % | {100 * one['worst']:.2f} - "
                 f"{100 * one['best']:.2f} | {far} | {one['loss']:.4f} | {deviation} | {overflows} |\n")
    return text


def curves(results, value, low=None, high=None):
    """For plots, over the factor: [(name, dashed, [(factor, value, low, high)])]. Ways without a factor are level."""
    low, high = low or value, high or value
    factors = sorted(w.factor for w, one in results if w.factor and not isinstance(one, str))
    if not factors:
        return []

    def point(x, one):
        return (x, value(one), low(one), high(one))

    good = [(w, one) for w, one in results if not isinstance(one, str) and value(one) is not None and value(one) > 0]
    constant = [point(w.factor, one) for w, one in sorted(good, key=lambda g: g[0].factor) if w.factor]
    level = [(w.name, False, [point(x, one) for x in (factors[0], factors[-1])]) for w, one in good if not w.factor]
    return ([("constant factor", False, constant)] if constant else []) + level
