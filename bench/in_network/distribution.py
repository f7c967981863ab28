# SPDX-License-Identifier: Apache-2.0
"""Measures traffic and processor time of a node that distributes weights, over the number of workers: a parameter
server that sends to each, rank 0 that sends sums to a group, and a switch that holds the weights. Needs root.

Example: bench/in_network/run distribution
"""
import os

from comparison import plot
from network.hosts import Hosts, NAME, congestion_control, port_traffic
from network.plan import Network
from in_network.roles import taken
from in_network.time_to_accuracy import RATE, expect_nodes, train

WORKERS = (2, 4, 8, 16)
STEPS = 8
TRAINING = ("--data", "builtin", "--samples", str(128 * STEPS), "--hidden", "1024", "--epochs", "1", "--batch", "128")
SERVER, GROUP, SWITCH = "a server, to each", "rank 0, to a group", "a switch, to each"
WAYS = {
    SERVER: ("--transport", "tcp", "--strategy", "parameter_server"),
    GROUP: ("--transport", "udp_multicast"),
    SWITCH: ("--transport", "fpga_nic", "--strategy", "network_server", "--momentum", "0"),
}


def measure(o, progress):
    expect_nodes()
    found = {}
    for workers in WORKERS:
        network = Network(f"{NAME}{os.getpid()}", workers + 1, RATE)
        with Hosts(network, congestion_control()):
            for way, words in WAYS.items():
                progress(f"distribution: {way}, {workers} workers")
                found.setdefault(way, {})[str(workers)] = one_training(o, network, way, words)
    return found


def one_training(o, network, way, words):
    """Figures of the node that distributes, in a step; of the switch, the traffic of all workers."""
    nodes = 0 if way == SWITCH else 1
    processor = [0.0]

    def sample(processes):
        distributes = processes[nodes]
        if distributes.poll() is None:
            processor[0] = max(processor[0], taken(distributes.pid)[0])

    def traffic():
        ports = port_traffic(network)
        return ports[0] if nodes else tuple(sum(port[k] for port in ports) for k in (1, 0))

    sent, received = traffic()
    epochs = train(o, network, words, sample, TRAINING)
    sent_now, received_now = traffic()
    return {"sent": (sent_now - sent) / STEPS, "received": (received_now - received) / STEPS,
            "seconds": epochs[0]["training_s"] / STEPS, "processor": processor[0] / STEPS}


def text(found):
    out = (f"Links of {RATE / 1e6:.0f} Mbit/s, an MLP of 814,090 parameters (3.26 MB): means of {STEPS} steps. "
           "Bytes include headers; bytes and processor time include joining, the first weights and the test. A further node "
           "distributes the weights; with a switch that node is one more worker.\n\n"
           "| weights come from | workers | the node sends | it receives | seconds | its processor time |\n"
           "| --- | --- | --- | --- | --- | --- |\n")
    for way, of in found.items():
        for workers, one in of.items():
            out += (f"| {way} | {workers} | {one['sent'] / 1e6:.1f} MB | {one['received'] / 1e6:.1f} MB | "
                    f"{one['seconds']:.2f} | {one['processor']:.2f} s |\n")
    return out


def pictures(found):
    curves = [(way, False, [(int(w), one["sent"] / 1e6, one["sent"] / 1e6, one["sent"] / 1e6) for w, one in of.items()])
              for way, of in found.items()]
    words = plot.Words(f"workers, MLP of 814,090 parameters, links of {RATE / 1e6:.0f} Mbit/s",
                       "MB that it sends in a step", str, lambda v: f"{v:g}")
    return {"bytes": plot.chart("Bytes of the node that hands out weights", curves, words)}
