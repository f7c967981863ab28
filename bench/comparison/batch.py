# SPDX-License-Identifier: Apache-2.0
"""Computes the time and resources of one batch from the reports of a contender's ranks."""


class Failed(Exception):
    """A contender did not do its work; the text gives the reason."""


def figures(records):
    """Figures of one operation: seconds of the loop and of writing the inputs in it, processor seconds and context
    switches of all ranks, and messages if counted.

    Back to back, an interval begins with the first rank and ends with the last. With a barrier before each operation,
    its own time is known, too: the mean of the slowest rank.
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
    """The number of operations in a batch: one checked, an eighth to warm up, and the timed ones."""
    return 1 + iterations // 8 + iterations


def seconds(figure, writing):
    """The time of one operation. Back to back, `writing` is subtracted from the loop's time: the least of any batch,
    since that work is the same for all contenders. The clock does not resolve less than a nanosecond."""
    return max(1e-9, figure["alone"] if figure["alone"] > 0 else figure["loop"] - writing)
