# SPDX-License-Identifier: Apache-2.0
"""Measures every process of a training over time, on four nodes at 400 Mbit/s: memory, the share of a core, and the
bytes that its node sends. Needs root.

Example: bench/in_network/run roles
"""
import os
import time

from comparison import plot
from network.hosts import Hosts, NAME, congestion_control, port_bytes
from network.plan import Network
from in_network.time_to_accuracy import NODES, RATE, TRAINING, WAYS, expect_nodes, train

SHOWN = ("in the network", "one server, three workers")
EVERY = 0.5  # seconds
TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def role(way, number):
    """The role of process `number`, in the order of starting: the soft switch, then the ranks, servers first."""
    if number == 0:
        return "switch"
    return "server" if number == 1 and "server" in way else f"worker {number - 1 - ('server' in way)}"


def taken(pid):
    """Seconds of processor time, and bytes of memory, of a process."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS, int(words[21]) * PAGE


def measure(o, progress):
    expect_nodes()
    found = {}
    network = Network(f"{NAME}{os.getpid()}", NODES, RATE)
    with Hosts(network, congestion_control()):
        for way in SHOWN:
            progress(f"roles: {way}")
            samples = []

            def sample(processes):
                if samples and time.monotonic() - samples[-1]["at"] < EVERY:
                    return
                sent = port_bytes(network)
                samples.append({"at": time.monotonic(), "by": {
                    role(way, i): (*taken(p.pid), sent[i - 1] if i else 0) for i, p in enumerate(processes)
                    if p.poll() is None}})

            train(o, network, WAYS[way], sample)
            found[way] = shares(samples)
    return found


def shares(samples):
    """[{"at", "by": {role: (processor, memory, bytes sent)}}] -> {role: [(second, busy share, memory, bytes a second)]}"""
    found = {}
    for one, two in zip(samples, samples[1:]):
        took = two["at"] - one["at"]
        for name in one["by"].keys() & two["by"].keys():
            (busy, _, sent), (busy_now, memory, sent_now) = one["by"][name], two["by"][name]
            found.setdefault(name, []).append((two["at"] - samples[0]["at"], (busy_now - busy) / took, memory,
                                               (sent_now - sent) / took))
    return {name: found[name] for name in sorted(found)}


def text(found):
    out = (f"Four nodes at {RATE / 1e6:.0f} Mbit/s ({' '.join(TRAINING)}), a sample every {EVERY} s: means over the training, and the "
           "largest memory. Bytes of the switch are not counted, as it is in the network.\n\n"
           "| training | role | share of a core | largest memory | sends, Mbit/s |\n| --- | --- | --- | --- | --- |\n")
    for way, roles in found.items():
        for name, points in roles.items():
            if name == "switch" and "server" in way:
                continue
            busy = sum(p[1] for p in points) / len(points)
            sent = 8e-6 * sum(p[3] for p in points) / len(points)
            out += (f"| {way} | {name} | {100 * busy:.0f} % | {max(p[2] for p in points) >> 20} MiB | "
                    f"{f'{sent:.0f}' if name != 'switch' else ''} |\n")
    return out


def pictures(found):
    """A picture for each training: memory, busy share and bytes, one below the other."""
    out = {}
    for number, (way, roles) in enumerate(found.items()):
        panels = []
        for title, unit, of in (("busy", "share of a core, %", lambda p: 100 * p[1]),
                                ("memory", "MiB", lambda p: p[2] / (1 << 20)),
                                ("sent", "Mbit/s", lambda p: 8e-6 * p[3])):
            curves = [(name, False, [(p[0], v, v, v) for p in points if (v := of(p)) > 0]) for name, points in roles.items()
                      if not (name == "switch" and (title == "sent" or "server" in way))]
            words = plot.Words(f"seconds of training, MLP of 814,090 parameters, 4 nodes at {RATE / 1e6:.0f} Mbit/s", unit,
                               lambda v: f"{v:g}", lambda v: f"{v:g}")
            panels.append(plot.chart(f"{way}: {title}", [c for c in curves if c[2]], words))
        out["server" if number else "network"] = stacked(panels)
    return out


def stacked(panels):
    inner = "".join(p.replace("<svg ", f'<svg y="{i * plot.HEIGHT}" width="{plot.WIDTH}" height="{plot.HEIGHT}" ', 1)
                    for i, p in enumerate(panels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.WIDTH} {plot.HEIGHT * len(panels)}">'
            f"{inner}</svg>\n")
