# SPDX-License-Identifier: Apache-2.0
"""What a parameter server's node sends and receives, and its processor time, over the number of workers; weights go to
each worker by unicast. Needs root."""
import os

from comparison import plot
from network.hosts import Hosts, NAME, congestion_control, port_traffic
from network.plan import Network
from in_network.roles import taken
from in_network.time_to_accuracy import RATE, expect_nodes, train

WORKERS = (2, 4, 8, 16)
STEPS = 8
TRAINING = ("--data", "builtin", "--samples", str(128 * STEPS), "--hidden", "1024", "--epochs", "1", "--batch", "128")


def measure(o, progress):
    expect_nodes()
    found = {}
    for workers in WORKERS:
        progress(f"distribution: {workers} workers")
        network = Network(f"{NAME}{os.getpid()}", workers + 1, RATE)
        with Hosts(network, congestion_control()):
            processor = [0.0]

            def sample(processes):
                if processes[1].poll() is None:
                    processor[0] = max(processor[0], taken(processes[1].pid)[0])

            sent, received = port_traffic(network)[0]
            epochs = train(o, network, ("--transport", "tcp", "--strategy", "parameter_server"), sample, TRAINING)
            sent_now, received_now = port_traffic(network)[0]
            found[str(workers)] = {"sent": (sent_now - sent) / STEPS, "received": (received_now - received) / STEPS,
                                   "seconds": epochs[0]["training_s"] / STEPS, "processor": processor[0] / STEPS}
    return found


def text(found):
    out = (f"One parameter server at {RATE / 1e6:.0f} Mbit/s, as its workers, an MLP of 814,090 parameters (3.26 MB); each "
           f"of {STEPS} steps, headers included, and of bytes and processor time what joining, the first weights and the "
           "test take, too.\n\n"
           "| workers | server sends | a worker | server receives | a worker | seconds | server's processor time |\n"
           "| --- | --- | --- | --- | --- | --- | --- |\n")
    for workers, one in found.items():
        out += (f"| {workers} | {one['sent'] / 1e6:.1f} MB | {one['sent'] / 1e6 / int(workers):.2f} MB | "
                f"{one['received'] / 1e6:.1f} MB | {one['received'] / 1e6 / int(workers):.2f} MB | {one['seconds']:.2f} | "
                f"{one['processor']:.2f} s |\n")
    return out


def pictures(found):
    curves = [(name, False, [(int(w), one[key] / 1e6, one[key] / 1e6, one[key] / 1e6) for w, one in found.items()])
              for name, key in (("sent, to each", "sent"), ("received", "received"))]
    words = plot.Words(f"workers, MLP of 814,090 parameters, links of {RATE / 1e6:.0f} Mbit/s", "MB in a step, of the server",
                       str, lambda v: f"{v:g}")
    return {"bytes": plot.chart("A parameter server's bytes", curves, words)}
