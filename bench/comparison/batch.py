# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a contender reported about one batch, put together."""


class Failed(Exception):
    """A contender did not do its work; the text says why."""


def figures(records):
    """Of each operation: seconds of the loop and of writing the inputs in it, processor seconds and switches of
    all ranks, and messages if counted.

    Back to back, a stretch is from the first rank that began to the last that ended. With a barrier before
    each, the operation's own time is known, too: the mean of the slowest rank.
    """
    for r in records:
        if "error" in r:
            raise Failed(r["error"])
    k = records[0]["iterations"]

    def stretch(name):
        return max(r[name + "_end"] for r in records) - min(r[name + "_begin"] for r in records)

    def spent(what):
        return max(0, sum(r["loop_" + what] - r["writing_" + what] for r in records)) / k

    result = {
        "loop": stretch("loop") / k * 1e-9,
        "writing": stretch("writing") / k * 1e-9,
        "alone": max(r["alone"] for r in records) / k * 1e-9,
        "iterations": k,
        "processor": spent("processor") * 1e-9,
        "switches": spent("switches"),
    }
    if "messages" in records[0]:
        result["messages"] = sum(r["messages"] for r in records) / k
    return result


def operations(iterations):
    """How many operations a batch performs: one that is checked, an eighth to warm up, and those that are timed."""
    return 1 + iterations // 8 + iterations


def seconds(figure, writing):
    """The time of one operation. Back to back it is the loop's less `writing`: the same work for all contenders, so
    the same is taken off for all, the least that any batch took. The clock knows nothing below a nanosecond."""
    return max(1e-9, figure["alone"] if figure["alone"] > 0 else figure["loop"] - writing)
