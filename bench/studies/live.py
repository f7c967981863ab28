# SPDX-License-Identifier: Apache-2.0
"""Trainings on hosts that are network namespaces with links of a given rate."""
import contextlib
import os

from network.hosts import NAME, Hosts, congestion_control
from training.strategy import trial


@contextlib.contextmanager
def nodes(train, servers, workers, rate, server_rate=None, patience=120):
    """Hosts for so many servers and workers, a rank on each, while this context lasts: a function from the trainer's words
    to its report. Rates are in bits a second of a link, each way."""
    network, placement = trial.plan(f"{NAME}{os.getpid()}", servers, workers, 1, rate, server_rate)
    with Hosts(network, congestion_control()):
        yield lambda *words: trial.run(train, network, placement, [str(w) for w in words], patience)
