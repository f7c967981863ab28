# SPDX-License-Identifier: Apache-2.0
"""Reads values of command lines: lists, sizes, rates and numbers.

Example: size("4K") is 4096, and listed(int)("1,2") is [1, 2].
"""
import argparse
import math
import re


def size(word):
    """Bytes; K, M and G are powers of 1024."""
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if word.upper().endswith(unit):
            return int(word[:-1]) * factor
    return int(word)


def real(low, high=1e9):
    """A number from low to high, so neither NaN nor infinite."""
    def read(word):
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{word}: a number from {low:g} to {high:g} is expected")
        return number
    return read


def rate(word):
    """Bits a second: a number above 0 and its unit, k, M or G of 1000. bench/common/numbers.hpp reads rates alike."""
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([kMG])", word, re.ASCII)
    if not found or not float(found[1]) > 0:
        raise argparse.ArgumentTypeError(
            f"{word}: a rate in bits a second above 0 with its unit, such as 2.5G, 200M or 400k, is expected")
    return float(found[1]) * 1000.0 ** ("kMG".index(found[2]) + 1)


def rates(words):
    """Rates of the links of hosts 0, 1, ..., separated by /. The last one holds for all further hosts: 10G/3.5G."""
    return tuple(rate(w) for w in words.split("/"))


def listed(kind):
    return lambda words: [kind(w) for w in words.split(",") if w]
