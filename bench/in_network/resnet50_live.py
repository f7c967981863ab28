# SPDX-License-Identifier: Apache-2.0
"""Measures sums of the gradients of ResNet-50, scaled: hosts are network namespaces with links of 200 Mbit/s instead
of 10 Gbit/s, and vectors are shorter by the same factor, so that S / B is the same. Needs root.

Example: bench/in_network/run resnet50_live
"""
import os
import random
import statistics
import subprocess

from comparison.batch import Failed
from in_network.resnet50 import PARAMETERS
from in_network.time_to_accuracy import expect_nodes
from network.hosts import NAME, Hosts, congestion_control
from network.plan import Network
from network.programs import on

NODES, FULL, RATE, SUMS, ROUNDS = 4, 10e9, 200e6, 10, 5
BYTES = int(PARAMETERS * RATE / FULL) * 4
SHOWN = ("in_network", "ring", "star")


def measure(o, progress):
    expect_nodes()
    found = {}
    network = Network(f"{NAME}{os.getpid()}", NODES, RATE)
    with Hosts(network, congestion_control()):
        for turn in range(ROUNDS):
            for topology in SHOWN:
                progress(f"resnet50_live: {topology}, round {turn + 1} of {ROUNDS}")
                found.setdefault(topology, []).append(sums(o, network, topology))
    return found


def sums(o, network, topology, size=BYTES, count=SUMS):
    """Milliseconds of each sum, with a rank on each host and a soft switch in the network."""
    device = f"{network.DEVICE}:{random.randrange(12000, 29000)}"
    meet = {**os.environ, "TUTTI_JOB": "bench", "TUTTI_MASTER_ADDR": network.address(0), "TUTTI_INTERFACE": "eth0",
            "TUTTI_MASTER_PORT": str(random.randrange(12000, 29000)), "TUTTI_SIZE": str(network.hosts),
            "TUTTI_FPGA_NIC": device}
    command = [o.sums, "live", topology, str(size), str(count)]
    started = [subprocess.Popen(["ip", "netns", "exec", network.switch, o.switch, "--listen", device],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)]
    try:
        started += [subprocess.Popen(on(network, rank, *command), env={**meet, "TUTTI_RANK": str(rank)},
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                    for rank in range(network.hosts)]
        said = [rank.communicate(timeout=o.patience) for rank in started[1:]]
        for rank, (_, why) in zip(started[1:], said):
            if rank.returncode != 0:
                raise Failed(" ".join(why.split()[-40:]))
        return [1000 * float(line) for line in said[0][0].split()]
    except subprocess.TimeoutExpired:
        raise Failed(f"{count} sums take more than {o.patience:.0f} s") from None
    finally:
        for one in started:
            one.kill()
            one.wait()


def text(found):
    bound = BYTES * 8 / RATE * 1e3
    out = (f"{BYTES / 1e6:.2f} MB summed by {NODES} hosts, which are network namespaces, with links of {RATE / 1e6:.0f} "
           f"Mbit/s each way: ResNet-50's gradients and links of {FULL / 1e9:.0f} Gbit/s, scaled by the same factor. S / B "
           f"is {bound:.1f} ms. Medians of {ROUNDS} rounds, in turns; a round is the median of {SUMS} sums.\n\n"
           "| topology | a sum, ms | range | over S / B |\n| --- | --- | --- | --- |\n")
    for topology, rounds in found.items():
        times = [statistics.median(r) for r in rounds]
        middle = statistics.median(times)
        out += f"| {topology} | {middle:.1f} | {min(times):.1f} - {max(times):.1f} | {middle / bound:.2f} |\n"
    return out


def pictures(_):
    return {}
