# SPDX-License-Identifier: Apache-2.0
"""Computes medians, and intervals that assume nothing about the distribution of times.

Example: median([1, 2, 9]) is 2.
"""
import math


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_interval(values, confidence=0.95):
    """An interval that holds the true median with at least this probability, from order statistics.

    The k-th smallest of n values is above the median with probability P(Binomial(n, 1/2) < k). Returns
    (low, high, probability); the probability is less than asked for if there are too few values.
    """
    ordered = sorted(values)
    n = len(ordered)
    outside = 0.0  # probability that the median is not within the k-th smallest and the k-th largest
    k = 0
    while k < n - 1 - k:
        more = outside + 2 * math.comb(n, k) / 2**n
        if k > 0 and more > 1 - confidence:
            break
        outside = more
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k], max(0.0, 1 - outside)


def spread(values):
    """An interval that holds half of the values."""
    ordered = sorted(values)
    n = len(ordered)
    return ordered[(n - 1) // 4], ordered[n - 1 - (n - 1) // 4]


def paired_ratio(ours, theirs):
    """The ratio of times taken in the same rounds: its median and the interval of that.

    A round that failed is None in either list. Returns None if no round is left.
    """
    ratios = [a / b for a, b in zip(ours, theirs) if a is not None and b is not None]
    if not ratios:
        return None
    low, high, probability = median_interval(ratios)
    return {"median": median(ratios), "low": low, "high": high, "probability": probability, "rounds": len(ratios)}
