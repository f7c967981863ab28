# SPDX-License-Identifier: Apache-2.0
"""Measures the time until a training reaches an accuracy, on four nodes with links of 400 Mbit/s, which are network
namespaces. Needs root.

Example: bench/in_network/run time
"""
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

from comparison import plot
from comparison.batch import Failed
from network.hosts import NAME, Hosts, congestion_control, missing
from network.plan import Network

NODES, RATE, ROUNDS, ACCURACY = 4, 400e6, 3, 0.85
TRAINING = ("--data", "builtin", "--samples", "4096", "--hidden", "1024", "--epochs", "5")
WAYS = {
    "in the network": ("--transport", "fpga_nic", "--topology", "in_network"),
    "ring": ("--transport", "tcp", "--topology", "ring"),
    "one server, three workers": ("--transport", "tcp", "--strategy", "parameter_server"),
}


def expect_nodes():
    why = missing()
    if why:
        raise Failed(f"no nodes can be made: {why}")


def measure(o, progress):
    expect_nodes()
    found = {}
    network = Network(f"{NAME}{os.getpid()}", NODES, RATE)
    with Hosts(network, congestion_control()) as hosts:
        for turn in range(ROUNDS):
            for way, words in WAYS.items():
                progress(f"time: {way}, round {turn + 1} of {ROUNDS}")
                before, _ = hosts.counters()
                epochs = train(o, network, words)
                after, _ = hosts.counters()
                found.setdefault(way, []).append({
                    "epochs": [(e["seconds"], e["test_accuracy"]) for e in epochs],
                    "bytes": (after - before) / NODES})
    return found


def train(o, network, words, sample=lambda processes: None, training=TRAINING):
    """The epochs of a training with a process on each node, and a soft switch in the network. Calls sample again and
    again with the processes, the switch's first."""
    def on(space, *command):
        return ["ip", "netns", "exec", space, *command]

    device = f"{network.DEVICE}:{random.randrange(12000, 29000)}"
    meet = {"TUTTI_JOB": "bench", "TUTTI_MASTER_ADDR": network.address(0), "TUTTI_INTERFACE": "eth0",
            "TUTTI_SIZE": str(network.hosts), "TUTTI_MASTER_PORT": str(random.randrange(12000, 29000)),
            "OPENBLAS_NUM_THREADS": "1"}
    if "fpga_nic" in words:
        meet["TUTTI_FPGA_NIC"] = device
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as place:
        report = os.path.join(place, "report.json")
        started = [subprocess.Popen(on(network.switch, o.switch, "--listen", device), stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)]
        try:
            for rank in range(network.hosts):
                started.append(subprocess.Popen(
                    on(network.space(rank), o.train, "run", *words, *training,
                       *(["--report", report] if rank == 0 else [])),
                    env={**os.environ, **meet, "TUTTI_RANK": str(rank)}, stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            until_then = time.monotonic() + o.patience
            while any(rank.poll() is None for rank in started[1:]):
                if time.monotonic() > until_then:
                    raise Failed(f"a training takes more than {o.patience:.0f} s")
                sample(started)
                time.sleep(0.05)
            for rank in started[1:]:
                _, said = rank.communicate()
                if rank.returncode != 0:
                    raise Failed(" ".join(said.split()[-40:]))
        finally:
            for one in started:
                one.kill()
                one.wait()
        with open(report, encoding="utf-8") as f:
            return json.load(f)["epochs"]


def until(epochs):
    """Seconds until the end of the first epoch that has the accuracy, or None."""
    return next((seconds for seconds, accuracy in epochs if accuracy >= ACCURACY), None)


def text(found):
    out = (f"Four nodes at {RATE / 1e6:.0f} Mbit/s each way, an MLP of 814,090 parameters ({' '.join(TRAINING)}): seconds "
           f"until the test accuracy was {100 * ACCURACY:.0f} %, at the end of an epoch, tests included; medians of {ROUNDS} "
           "rounds, in turns. Bytes are the mean of all nodes, in all epochs, with headers.\n\n"
           "| gradients summed | seconds | range | accuracy at the end | a node sends |\n"
           "| --- | --- | --- | --- | --- |\n")
    for way, rounds in found.items():
        times = [until(r["epochs"]) for r in rounds]
        took = "never" if None in times else f"{statistics.median(times):.1f}"
        span = "" if None in times else f"{min(times):.1f} - {max(times):.1f}"
        out += (f"| {way} | {took} | {span} | {100 * rounds[0]['epochs'][-1][1]:.2f} % | "
                f"{statistics.median(r['bytes'] for r in rounds) / 1e6:.0f} MB |\n")
    return out


def pictures(found):
    curves = []
    for way, rounds in found.items():
        points = []
        for epoch, (_, accuracy) in enumerate(rounds[0]["epochs"]):
            at = statistics.median(r["epochs"][epoch][0] for r in rounds)
            error = 100 * (1 - accuracy)
            points.append((at, error, error, error))
        curves.append((way, False, points))
    words = plot.Words("seconds of training, 4 nodes at 400 Mbit/s", "test error, %", lambda v: f"{v:g}",
                       lambda v: f"{v:g}", x_base=2)
    return {"error": plot.chart("MLP of 814,090 parameters, built-in digits", curves, words)}
