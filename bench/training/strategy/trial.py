# SPDX-License-Identifier: Apache-2.0
"""Runs one training on hosts that are network namespaces, a rank on each."""
import json
import os
import random
import subprocess
import tempfile
import time

from comparison.batch import Failed
from comparison.world import hand_on_priority
from network.plan import Network, Placement


def plan(name, servers, workers, each, rate, server_rate=None):
    """The hosts, servers first, and the host of each rank; `each` workers share a host."""
    hosts = servers + -(-workers // each)
    placement = Placement((*range(servers), *(servers + w // each for w in range(workers))))
    return Network(name, hosts, rate, first=(server_rate or rate,) * servers), placement


def commands(train, network, placement, words, report):
    """The command on the host of each rank, with its environment."""
    meet = {"TUTTI_JOB": "bench", "TUTTI_MASTER_ADDR": network.address(0), "TUTTI_INTERFACE": "eth0",
            "OPENBLAS_NUM_THREADS": "1", "TUTTI_MASTER_PORT": str(random.randrange(12000, 29000)),
            "TUTTI_SIZE": str(placement.ranks)}
    return [(["ip", "netns", "exec", network.space(h), train, "run", "--transport", "tcp", *words]
             + (["--report", report] if r == 0 else []), {**meet, "TUTTI_RANK": str(r)})
            for r, h in enumerate(placement.hosts)]


def run(train, network, placement, words, patience):
    """Runs a training and returns rank 0's report. @raises Failed with the output of the first rank that failed"""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as place:
        report = os.path.join(place, "report.json")
        ranks = []
        try:
            for number, (command, environment) in enumerate(commands(train, network, placement, words, report)):
                log = open(os.path.join(place, f"log{number}"), "w+", encoding="utf-8")
                ranks.append((subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                               stdout=log, stderr=log), log))
            hand_on_priority({p.pid for p, _ in ranks})
            wait([p for p, _ in ranks], patience)
            for process, log in ranks:
                if process.returncode != 0:
                    log.seek(0)
                    raise Failed(" ".join(log.read().split()[-60:]) or f"ended with {process.returncode}")
        finally:
            for process, log in ranks:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                log.close()
        with open(report, encoding="utf-8") as f:
            return json.load(f)


def wait(processes, patience):
    """@raises Failed if they take longer; after a failure only as long as the others need to notice"""
    until = time.monotonic() + patience
    while any(p.poll() is None for p in processes):
        if time.monotonic() > until:
            raise Failed(f"takes more than {patience:.0f} s")
        time.sleep(0.02)
