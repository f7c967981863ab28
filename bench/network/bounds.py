# SPDX-License-Identifier: Apache-2.0
"""Computes lower bounds for any implementation on a network, from the speed of one raw socket there. An allreduce by
hosts alone carries more bytes than one that a device in the network sums.
"""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Wire:
    """Results of raw sockets."""

    goodput: float  # bytes a second, one way over one link
    trunk: float  # goodput through the trunk; infinite if there is none
    half: float  # seconds: half a ping-pong of 4 B, each end on a core of its own
    processor: float  # seconds of processor time that a message of 4 B takes, of both ends


def bandwidth(op, hosts, size, wire, summed=False):
    """Seconds of the bytes. Allreduce: every host's link carries 2 (n - 1) / n of the vector each way (Patarasuk and
    Yuan, 2009); a trunk carries it once each way, because each side lacks the other's sum. Broadcast: both carry it
    once. If the network sums (summed), links carry an allreduce's vector once each way, so the gain is at most 2 (n -
    1) / n."""
    if hosts < 2:
        return 0.0
    share = 2 * (hosts - 1) / hosts if op == "allreduce" and not summed else 1
    return max(share * size / wire.goodput, size / wire.trunk)


def latency(hosts, cores, wire):
    """Seconds of the messages. After k messages in sequence at most 2^k hosts know of each other. Every host sends at
    least one message, for which there is a number of cores."""
    return math.ceil(math.log2(hosts)) * wire.half + wire.processor * hosts / cores


def bound(op, hosts, cores, size, wire, summed=False):
    """Seconds of an operation, back to back. A broadcast's root may run ahead, so latency does not bound it. Through a
    device every rank is two messages from all others, whatever their number."""
    seconds = bandwidth(op, hosts, size, wire, summed)
    if op != "allreduce":
        return seconds
    return max(seconds, min(2 * wire.half, latency(hosts, cores, wire)) if summed else latency(hosts, cores, wire))
