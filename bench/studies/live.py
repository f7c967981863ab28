# SPDX-License-Identifier: Apache-2.0
"""Runs trainings and sums on hosts that are network namespaces with links of a given rate."""
import contextlib
import os
import types

from in_network.resnet50_live import sums
from network.hosts import NAME, Hosts, congestion_control
from network.plan import Network
from training.strategy import trial


def step_seconds(report):
    """The fastest of a training's steps but the first, in which ranks begin. Other load only makes steps slower."""
    at = report["steps"]["seconds"]
    return min(b - a for a, b in zip(at, at[1:]))


@contextlib.contextmanager
def nodes(train, servers, workers, rate, server_rate=None, patience=120):
    """Hosts for these servers and workers, a rank on each, while this context lasts: a function from the trainer's
    words to its report. Rates are in bits a second of a link, each way."""
    network, placement = trial.plan(f"{NAME}{os.getpid()}", servers, workers, 1, rate, server_rate)
    with Hosts(network, congestion_control()):
        yield lambda *words: trial.run(train, network, placement, [str(w) for w in words], patience)


@contextlib.contextmanager
def links(program, switch, hosts, rate, trunk=None, patience=60):
    """Hosts, a rank on each, while this context lasts; with a trunk, half of them behind each of two bridges: a
    function from topology, bytes and count to the milliseconds of sums."""
    network = Network(f"{NAME}{os.getpid()}", hosts, rate, *((2, trunk) if trunk else ()))
    programs = types.SimpleNamespace(sums=program, switch=switch, patience=patience)
    with Hosts(network, congestion_control()):
        yield lambda topology, size, count: sums(programs, network, topology, size, count)
