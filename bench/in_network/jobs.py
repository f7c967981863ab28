# SPDX-License-Identifier: Apache-2.0
"""Runs two jobs on one soft switch, and compares their service when one has more packets under way.

Example: bench/in_network/run jobs
"""
import statistics
import subprocess

from comparison.batch import Failed
from in_network import trial

WINDOWS = ((256, 256), (256, 64), (256, 16))
RANKS, BYTES, SECONDS, ROUNDS = 2, 1 << 20, 4, 5
RATE = 30_000  # packets a second of the switch, far fewer than hosts or links carry: the switch limits


def start(o, switch, slots):
    return subprocess.Popen([o.sums, "sums", switch.address, str(RANKS), str(slots), str(BYTES), str(SECONDS)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rates(processes, patience):
    """Sums a second of jobs that run at the same time."""
    for p in processes:
        if p.stdout.readline().strip() != "ready":
            raise Failed("a job does not start")
    for p in processes:
        p.stdin.write("\n")
        p.stdin.flush()
    found = []
    for p in processes:
        said, _ = p.communicate(timeout=patience)
        if p.returncode != 0:
            raise Failed("a job has failed")
        sums, seconds, results, by_rank_0 = said.split()
        found.append({"rate": int(sums) / float(seconds), "by_rank_0": int(by_rank_0) / max(1, int(results))})
    return found


def one(o, windows):
    with trial.Switch(o.switch, "--rate", str(RATE)) as switch:
        jobs = [start(o, switch, w) for w in windows]
        try:
            return rates(jobs, o.patience)
        finally:
            for p in jobs:
                p.kill()
                p.wait()


def measure(o, progress):
    found = {}
    for turn in range(ROUNDS):
        for windows in WINDOWS:
            progress(f"jobs: windows {windows[0]} and {windows[1]}, round {turn + 1} of {ROUNDS}")
            found.setdefault(f"{windows[0]} {windows[1]}", []).append(one(o, windows))
    return found


def text(found):
    out = (f"Two jobs at once on one soft switch that serves {RATE} packets a second: {RANKS} ranks each, sums of "
           f"{BYTES >> 20} MiB; medians of {ROUNDS} rounds of {SECONDS} s, over the loopback interface.\n\n"
           "| windows, packets a lane | sums a second, first | second | second over first | range | sums by rank 0, at most |\n"
           "| --- | --- | --- | --- | --- | --- |\n")
    for windows, rounds in found.items():
        first, second = ([r[i]["rate"] for r in rounds] for i in range(2))
        ratios = [b / a for a, b in zip(first, second)]
        by_rank_0 = max(j["by_rank_0"] for r in rounds for j in r)
        out += (f"| {windows.replace(' ', ' and ')} | {statistics.median(first):.1f} | {statistics.median(second):.1f} | "
                f"{statistics.median(ratios):.2f} | {min(ratios):.2f} - {max(ratios):.2f} | {100 * by_rank_0:.2g} % |\n")
    return out


def pictures(_):
    return {}
