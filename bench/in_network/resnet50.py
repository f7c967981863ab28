# SPDX-License-Identifier: Apache-2.0
"""Simulates sums of the gradients of ResNet-50 in virtual time: hosts on one switch, with links of 10 Gbit/s.

Example: bench/in_network/run resnet50
"""
import subprocess

from comparison import plot
from comparison.batch import Failed

PARAMETERS = 25_557_032  # He and others, "Deep residual learning for image recognition", 2016, for 1,000 classes
RANKS = (2, 4, 8, 16, 32)
SHOWN = ("in_network", "ring", "butterfly", "star")


def measure(o, progress):
    progress("resnet50: in virtual time")
    done = subprocess.run([o.simulate, "network=flat", "rate=10G", f"ranks={','.join(map(str, RANKS))}",
                           f"bytes={4 * PARAMETERS}"], capture_output=True, text=True, timeout=o.patience, check=False)
    if done.returncode != 0:
        raise Failed(" ".join(done.stderr.split()))
    return parsed(done.stdout)


def parsed(said):
    """The table of bench/simulate as {topology: {ranks: milliseconds}}"""
    found = {}
    for line in said.splitlines()[1:]:
        words = line.split()
        if words[0] in SHOWN and words[3] != "left":
            found.setdefault(words[0], {})[words[1]] = float(words[3]) / 1000
    return found


def text(found):
    least = 4 * PARAMETERS * 8 / 10e9 * 1e3
    out = (f"{4 * PARAMETERS / 1e6:.1f} MB, the gradients of ResNet-50, summed by hosts on one switch with links of 10 "
           f"Gbit/s each way: milliseconds of virtual time (bench/simulate). S / B is {least:.1f} ms. *star* is one "
           "server that is also a worker.\n\n"
           f"| topology | {' | '.join(f'{n} hosts' for n in RANKS)} |\n| --- |{' --- |' * len(RANKS)}\n")
    for topology in SHOWN:
        times = found.get(topology, {})
        out += f"| {topology} | {' | '.join(f'{times[str(n)]:.1f}' if str(n) in times else '' for n in RANKS)} |\n"
    return out


def pictures(found):
    curves = [(t, False, [(int(n), ms, ms, ms) for n, ms in found[t].items()]) for t in SHOWN if t in found]
    words = plot.Words("hosts, with links of 10 Gbit/s", "time of one sum, ms (virtual)", lambda v: f"{v:.0f}",
                       lambda v: f"{v:g}")
    return {"time": plot.chart("A sum of ResNet-50's 102 MB of gradients", curves, words)}
