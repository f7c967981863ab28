# SPDX-License-Identifier: Apache-2.0
"""Makes a rank, a server or the switch late, and finds it by the vector clocks of the ranks' traces.

Example: bench/in_network/run straggler
"""
import random
import subprocess

from comparison.batch import Failed
from in_network import trial

RANKS, BYTES, SUMS, RUNS, LATE_MS = 4, 64 << 10, 20, 10, 20


def named(o, device, late):
    """The member that the traces name."""
    done = subprocess.run([o.sums, "late", device, str(RANKS), str(BYTES), str(SUMS), late], capture_output=True,
                          text=True, timeout=o.patience, check=False)
    if done.returncode != 0:
        raise Failed(" ".join(done.stderr.split()))
    return next(l.split(" held up")[0] for l in done.stdout.splitlines() if " held up the others most" in l)


def measure(o, progress):
    chosen = random.Random(1)
    found = {"a rank": [], "a server": [], "the switch": []}
    for run in range(RUNS):
        progress(f"straggler: run {run + 1} of {RUNS}")
        rank = chosen.randrange(RANKS)
        with trial.Switch(o.switch) as switch:
            found["a rank"].append((f"rank {rank}", named(o, switch.address, f"{rank}:{LATE_MS}")))
        found["a server"].append(("rank 0", named(o, "star", f"0:{LATE_MS}")))
        with trial.Switch(o.switch, "--delay", str(LATE_MS * 1000)) as switch:
            found["the switch"].append(("the device", named(o, switch.address, "0:0")))
    return found


def text(found):
    out = (f"The straggler, as the traces name it: {RANKS} ranks, {SUMS} sums of {BYTES >> 10} KiB, each after 1 ms of "
           f"computing. One member is {LATE_MS} ms late each time. The rank is drawn; the server is rank 0 of a star; "
           "the switch has --delay.\n\n| late | named correctly | other names |\n| --- | --- | --- |\n")
    for late, runs in found.items():
        others = sorted({f"{name} for {true}" for true, name in runs if name != true})
        out += f"| {late} | {sum(true == name for true, name in runs)} of {len(runs)} | {', '.join(others)} |\n"
    return out


def pictures(_):
    return {}
