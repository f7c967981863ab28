# SPDX-License-Identifier: Apache-2.0
"""What no implementation can beat on a network, from what one raw socket reaches there. Where hosts do all the work an
allreduce carries more than where a device in the network sums."""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Wire:
    """What raw sockets measured."""

    goodput: float  # bytes a second, one way over one link
    trunk: float  # the same through the trunk; infinite if there is none
    half: float  # seconds: half a ping-pong of 4 B, each end on a core of its own
    processor: float  # seconds of processor time that a message of 4 B takes, of both ends


def bandwidth(op, hosts, size, wire, summed=False):
    """Seconds. Allreduce: every host's link carries 2 (n - 1) / n of the vector each way (Patarasuk and Yuan, 2009);
    a trunk carries it once each way, because each side lacks the other's sum. Broadcast: both carry it once. Where the
    network sums (summed), links carry an allreduce's vector once each way, too: 2 (n - 1) / n is the most that gains."""
    if hosts < 2:
        return 0.0
    share = 2 * (hosts - 1) / hosts if op == "allreduce" and not summed else 1
    return max(share * size / wire.goodput, size / wire.trunk)


def latency(hosts, cores, wire):
    """Seconds: after k messages one after the other no more than 2^k hosts know of each other; and every host sends
    a message at least, for which there are a number of cores."""
    return math.ceil(math.log2(hosts)) * wire.half + wire.processor * hosts / cores


def bound(op, hosts, cores, size, wire, summed=False):
    """Back to back: a broadcast's root may run ahead, and then latency does not bound it. Through a device every rank
    is two messages from all others, however many there are."""
    seconds = bandwidth(op, hosts, size, wire, summed)
    if op != "allreduce":
        return seconds
    return max(seconds, min(2 * wire.half, latency(hosts, cores, wire)) if summed else latency(hosts, cores, wire))
