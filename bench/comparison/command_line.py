# SPDX-License-Identifier: Apache-2.0
"""Words of command lines."""


def size(word):
    """Bytes; K, M and G are powers of 1024."""
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if word.upper().endswith(unit):
            return int(word[:-1]) * factor
    return int(word)


def rate(word):
    """Bits a second; K, M and G are powers of 1000, as everybody counts them."""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if word.upper().endswith(unit):
            return int(float(word[:-1]) * factor)
    return int(word)


def listed(kind):
    return lambda words: [kind(w) for w in words.split(",") if w]
