# SPDX-License-Identifier: Apache-2.0
"""Keeps contenders running on the hosts, and counts their traffic. The bound takes turns like a contender."""
import math

from comparison.batch import operations
from comparison.programs import Way
from comparison.report import BYTES
from comparison.world import World
from network.bounds import Wire, bound
from network.programs import FIELD, Networked

STREAM = 0.2  # seconds for which one raw socket sends
PING_PONGS = 400

BOUND = Networked("bound", "limit", "limit", FIELD, "bench_limit", "nothing but tutti",
                  "2 (n - 1) / n S / B, or log2 n messages, by raw sockets on the same links in the same round; S / B where "
                  "a contender sums in the network",
                  offers=lambda *_: [Way()])


class Counted(World):
    """Reads the counters of the network around each batch."""

    def __init__(self, program, commands, ranks, hosts):
        super().__init__(program, commands, ranks)
        self._hosts = hosts

    def measure(self, words, patience):
        sent, trunk = self._hosts.counters()
        figure = super().measure(words, patience)
        sent_now, trunk_now = self._hosts.counters()
        share = 1 / operations(figure["iterations"])
        figure[BYTES[0]] = (sent_now - sent) * share
        if trunk:
            figure[BYTES[1]] = max(b - a for a, b in zip(trunk, trunk_now)) * share
        return figure


class Bound:
    """Measures the links again whenever it is its turn."""

    program = BOUND

    def __init__(self, network, cores, link, trunk, summed=False):
        """link, trunk: worlds of two raw sockets, on one bridge and across the trunk; trunk may be None. summed: true
        if a contender sums in the network."""
        self._network, self._cores, self._link, self._trunk, self._summed = network, cores, link, trunk, summed

    @property
    def ended(self):
        return self._link.ended or (self._trunk is not None and self._trunk.ended)

    def measure(self, words, patience):
        told = dict(w.split("=", 1) for w in words.split())
        size = int(told["bytes"])
        asleep = self.ping_pong("ping_pong_asleep", patience)
        wire = Wire(goodput=self.goodput(self._link, self._network.rate_of(self._network.slowest), size, patience),
                    trunk=self.goodput(self._trunk, self._network.trunk, size, patience) if self._trunk else math.inf,
                    half=self.ping_pong("ping_pong", patience)["loop"] / 2, processor=asleep["processor"] / 2)
        seconds = bound(told["op"], self._network.hosts, self._cores, size, wire, self._summed)
        return {"loop": seconds, "alone": seconds, "writing": None, "iterations": 1, "wire": {k: v for k, v in vars(wire).items() if v < math.inf}}

    def goodput(self, world, rate, size, patience):
        """Bytes a second. The rate of the network is trusted if a vector is too short to show a difference."""
        if size * 8 / rate < 1e-5:
            return rate / 8
        bytes_sent = max(1 << 18, int(rate / 8 * STREAM) // 4 * 4)
        took = world.measure(f"op=broadcast bytes={bytes_sent} inputs=constant pace=back_to_back iterations=1 "
                             "algorithm=direct", patience)
        return bytes_sent / took["loop"]

    def ping_pong(self, how, patience):
        return self._link.measure(f"op=allreduce bytes=4 inputs=constant pace=back_to_back iterations={PING_PONGS} "
                                  f"algorithm={how}", patience)

    def end(self):
        for world in (self._link, self._trunk):
            if world:
                world.end()
