# SPDX-License-Identifier: Apache-2.0
"""The logic of bench/netns, with no network: python3 test/bench/network.py"""
import argparse
import dataclasses
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from comparison.batch import figures  # noqa: E402
from comparison.command_line import listed, rate, rates, real, size  # noqa: E402
from comparison.rounds import Cell, Entry, alternate  # noqa: E402
from comparison.report import summary, table  # noqa: E402
from network import bounds, hosts, programs  # noqa: E402
from network.plan import Network, Placement, place, useful  # noqa: E402
from network.worlds import BOUND, Bound  # noqa: E402

ONE = Network("tutti-bench-1", 4, 400 * 10**6)
TWO = Network("tutti-bench-1", 8, 10**9, bridges=2, trunk=10**8)


class CommandLine(unittest.TestCase):
    def test_bytes_are_counted_by_1024_and_bits_a_second_by_1000(self):
        self.assertEqual(listed(size)("4,64K,16M,1G"), [4, 1 << 16, 1 << 24, 1 << 30])

    def test_a_rate_is_a_number_with_its_unit_and_nothing_else(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rates.txt"), encoding="utf-8") as f:
            cases = [line.rstrip("\n").split(" ") for line in f]
        self.assertGreater(len(cases), 20)
        for word, meant in cases:
            if meant == "refused":
                with self.assertRaisesRegex(argparse.ArgumentTypeError, "2.5G, 200M or 400k", msg=word):
                    rate(word)
            else:
                self.assertEqual(rate(word), float(meant), word)

    def test_a_real_number_is_finite_and_within_its_bounds(self):
        self.assertEqual([real(0)("2.5"), real(0, 1)("1"), real(0, 1)("0")], [2.5, 1, 0])
        for word in ("nan", "inf", "-inf", "-1", "1.1", "1e999", "1x", ""):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, "a number from 0 to 1 is expected", msg=word):
                real(0, 1)(word)

    def test_rates_of_several_hosts_have_slashes_between_them(self):
        self.assertEqual(listed(rates)("10G/3.5G,200M"), [(10e9, 3.5e9), (200e6,)])
        for word in ("10G/", "/10G", "10G//1G", "10G/3.5"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=word):
                rates(word)


class Plan(unittest.TestCase):
    def test_the_first_hosts_may_have_other_links(self):
        network = dataclasses.replace(ONE, first=(10**9, 2 * 10**9))
        made = {c[2]: c[c.index("rate") + 1] for c in network.commands("reno") if c[0] == "tc" and c[6] == "eth0"}
        self.assertEqual([made[network.space(h)] for h in range(4)],
                         ["1000000000bit", "2000000000bit", "400000000bit", "400000000bit"])
        self.assertEqual((network.slowest, ONE.slowest), (2, 0))

    def test_a_fraction_of_a_bit_reaches_the_links(self):
        network = dataclasses.replace(ONE, rate=rate("1.2345678M"))
        self.assertEqual({c[c.index("rate") + 1] for c in network.commands("reno") if c[0] == "tc"}, {"1234567.8bit"})

    def test_what_it_makes_is_in_namespaces_of_its_own(self):
        for network in (ONE, TWO):
            made = [c[3] for c in network.commands("reno") if c[:3] == ["ip", "netns", "add"]]
            self.assertEqual(made, network.spaces)
            self.assertEqual(len(set(made)), network.hosts + 1)
            self.assertTrue(all(m.startswith(network.prefix) for m in made))
            for command in network.commands("reno"):
                where = command[2] if command[1] == "-n" else command[3]  # ip -n X; ip netns add X; ip netns exec X
                self.assertIn(where, made)

    def test_every_link_is_shaped_at_both_ends(self):
        for network in (ONE, TWO):
            shaped = [(c[2], c[6], c[c.index("rate") + 1]) for c in network.commands("reno") if c[0] == "tc"]
            ends = [(network.space(h), "eth0", f"{network.rate}bit") for h in range(network.hosts)]
            ends += [(network.switch, f"port{h}", f"{network.rate}bit") for h in range(network.hosts)]
            if network.bridges == 2:
                ends += [(network.switch, f"trunk{b}", f"{network.trunk}bit") for b in range(2)]
            self.assertEqual(sorted(shaped), sorted(ends))

    def test_interfaces_are_made_before_they_are_used(self):
        for network in (ONE, TWO):
            known = {(s, "lo") for s in network.spaces}
            for c in network.commands("reno"):
                if "add" in c and "link" in c:
                    known.add((c[2], c[5]))
                    if "peer" in c:
                        peer = c[c.index("name") + 1]
                        known.add((c[c.index("netns") + 1] if "netns" in c else c[2], peer))
                for word in ("dev", "set", "master"):
                    if word in c:
                        self.assertIn((c[2], c[c.index(word) + 1]), known)

    def test_half_of_the_hosts_are_on_each_bridge(self):
        self.assertEqual([TWO.bridge(h) for h in range(8)], [0, 0, 0, 0, 1, 1, 1, 1])
        self.assertEqual({ONE.bridge(h) for h in range(4)}, {0})


class Placements(unittest.TestCase):
    def test_every_host_has_as_many_ranks(self):
        for network in (ONE, TWO):
            for each in (1, 2, 4):
                for how in ("packed", "dealt"):
                    p = place(network, each, how)
                    self.assertEqual([p.hosts.count(h) for h in range(network.hosts)], [each] * network.hosts)
                    self.assertEqual((p.ranks, p.each), (network.hosts * each, each))
                    self.assertEqual(p.order[0], 0)  # the host of mpirun

    def test_packed_crosses_as_little_as_a_ring_can_and_dealt_as_much(self):
        def crossings(p, place_of):
            return sum(place_of(p.hosts[i]) != place_of(p.hosts[i - 1]) for i in range(p.ranks))

        self.assertEqual(crossings(place(TWO, 2, "packed"), TWO.bridge), 2)
        self.assertEqual(crossings(place(TWO, 2, "dealt"), TWO.bridge), 16)
        self.assertEqual(crossings(place(ONE, 2, "packed"), lambda h: h), 4)
        self.assertEqual(crossings(place(ONE, 2, "dealt"), lambda h: h), 8)

    def test_only_placements_that_differ_are_measured(self):
        for network in (ONE, TWO):
            for each in (1, 2):
                differ = place(network, each, "packed") != place(network, each, "dealt")
                self.assertEqual(useful(network, each, "dealt"), differ)

    def test_packed_is_known_from_the_hosts(self):
        self.assertTrue(Placement((0, 0, 1, 1)).packed)
        self.assertFalse(Placement((0, 1, 0, 1)).packed)


WIRE = bounds.Wire(goodput=1e6, trunk=math.inf, half=1e-4, processor=2e-5)


class Bounds(unittest.TestCase):
    def test_allreduce_of_two_moves_the_vector_once_and_of_many_twice(self):
        self.assertEqual(bounds.bandwidth("allreduce", 2, 10**6, WIRE), 1)
        self.assertEqual(bounds.bandwidth("allreduce", 4, 10**6, WIRE), 1.5)
        self.assertAlmostEqual(bounds.bandwidth("allreduce", 10**6, 10**6, WIRE), 2, 5)
        self.assertEqual(bounds.bandwidth("broadcast", 4, 10**6, WIRE), 1)
        self.assertEqual(bounds.bandwidth("allreduce", 1, 10**6, WIRE), 0)

    def test_a_network_that_sums_moves_the_vector_once(self):
        for n in (2, 4, 100):
            self.assertEqual(bounds.bandwidth("allreduce", n, 10**6, WIRE, summed=True), 1)
            self.assertEqual(bounds.bandwidth("broadcast", n, 10**6, WIRE, summed=True), 1)
        self.assertAlmostEqual(bounds.bound("allreduce", 64, 2, 4, WIRE, summed=True), 2e-4)

    def test_a_narrow_trunk_bounds_and_a_wide_one_does_not(self):
        for trunk, seconds in ((1e5, 10), (1e6, 1.5), (1e9, 1.5)):
            wire = bounds.Wire(goodput=1e6, trunk=trunk, half=1e-4, processor=2e-5)
            self.assertEqual(bounds.bandwidth("allreduce", 4, 10**6, wire), seconds)

    def test_latency_is_that_of_doubling_and_of_the_cores(self):
        for n, rounds in ((2, 1), (3, 2), (4, 2), (5, 3), (8, 3)):
            self.assertAlmostEqual(bounds.latency(n, 2, WIRE), rounds * 1e-4 + n * 1e-5)

    def test_the_larger_counts(self):
        self.assertEqual(bounds.bound("allreduce", 4, 2, 4, WIRE), bounds.latency(4, 2, WIRE))
        self.assertEqual(bounds.bound("allreduce", 4, 2, 10**6, WIRE), 1.5)

    def test_a_root_that_runs_ahead_is_not_bound_by_latency(self):
        self.assertEqual(bounds.bound("broadcast", 4, 2, 4, WIRE), 4e-6)


class FakeWire:
    """One raw socket with 1 MB/s, 100 us of half a ping-pong and 20 us of processor time per message."""

    ended = False

    def measure(self, words, patience):
        told = dict(w.split("=", 1) for w in words.split())
        if told["op"] == "broadcast":
            return {"loop": int(told["bytes"]) / 1e6}
        return {"loop": 2e-4, "processor": 4e-5}

    def end(self):
        self.ended = True


class BoundAsContender(unittest.TestCase):
    def test_it_is_computed_from_what_the_sockets_measured(self):
        network = Network("tutti-bench-1", 4, 8 * 10**6)
        b = Bound(network, 2, FakeWire(), None)
        took = b.measure("op=allreduce bytes=4000000 iterations=1", 1)
        self.assertAlmostEqual(took["loop"], 6)
        self.assertEqual(set(took["wire"]), {"goodput", "half", "processor"})
        self.assertAlmostEqual(b.measure("op=allreduce bytes=4 iterations=1", 1)["loop"], 2e-4 + 4e-5)
        self.assertFalse(b.ended)
        b.end()
        self.assertTrue(b.ended)

    def test_it_takes_nothing_off_the_others_and_is_in_the_table(self):
        cell = Cell("network", "allreduce", 4, 4_000_000, "rewritten", "back_to_back")

        class Ours:
            program, ended = next(p for p in programs.PROGRAMS if p.name == "tutti:tcp"), False

            def measure(self, words, patience):
                zeros = {f"{n}_{w}": 0 for n in ("writing", "loop") for w in ("processor", "switches")}
                return figures([{"rank": 0, "iterations": 1, "alone": 0, "writing_begin": 0, "writing_end": 10**9,
                                 "loop_begin": 0, "loop_end": 13 * 10**9, **zeros}]) | {"bytes between hosts": 24e6}

        worlds = {BOUND: Bound(Network("tutti-bench-1", 4, 8 * 10**6), 2, FakeWire(), None), Ours.program: Ours()}
        entries = [Entry(p, p.ways("allreduce", cell.size, 4, "rewritten")[0]) for p in worlds]
        alternate(worlds, cell, entries, 7)
        result = summary(cell, entries, {})
        self.assertAlmostEqual(result["ratios"][0]["limit"]["median"], 2)  # 13 s less 1 s of writing, to 6 s
        machine = {"processor": "p", "cores": 2, "kernel": "k", "load_before": 0.0, "load_after": 0.0}
        text = table({"machine": machine, "settings": {}, "launches": 1, "rounds": 7, "batch_seconds": 0.02,
                      "cells": [result]})
        self.assertIn("bytes between hosts", text)
        self.assertIn("2.4e+07", text)
        for block in text.split("\n\n"):
            self.assertLessEqual(len({line.count("|") for line in block.splitlines() if line.startswith("|")}), 1)


class Programs(unittest.TestCase):
    def commands(self, program, network, placement):
        with tempfile.TemporaryDirectory() as path:
            return program.commands("/x", network, placement)(path)

    def test_every_rank_is_started_once_where_it_belongs(self):
        for how in ("packed", "dealt"):
            placement = place(ONE, 2, how)
            tutti = next(p for p in programs.PROGRAMS if p.name == "tutti:hierarchical")
            gloo = next(p for p in programs.PROGRAMS if p.name == "gloo")
            for program, number in ((tutti, lambda c, e: e["TUTTI_RANK"]),
                                    (gloo, lambda c, e: next(w for w in c if w.startswith("rank="))[5:])):
                found = {int(number(c, e)): c[:4] for c, e in self.commands(program, ONE, placement)}
                self.assertEqual(found, {r: ["ip", "netns", "exec", ONE.space(h)] for r, h in enumerate(placement.hosts)})

    def test_a_switch_runs_beside_rank_0_and_all_ranks_know_it(self):
        network = dataclasses.replace(ONE, loss=0.001)
        started = self.commands(programs.IN_NETWORK, network, place(network, 1, "packed"))
        self.assertEqual([e["TUTTI_RANK"] for _, e in started], ["0", "1", "2", "3"])
        (device,) = {e["TUTTI_FPGA_NIC"] for _, e in started}
        first = started[0][0]
        self.assertEqual(first[:4], ["ip", "netns", "exec", ONE.switch])
        self.assertEqual(first[first.index("sh", 5) + 1:][:3], ["/tools/soft_switch", device, "0.001"])
        self.assertEqual(first[first.index(device) + 2:][:4], ["ip", "netns", "exec", ONE.space(0)])

    def test_threads_are_ranks_of_one_process_per_host(self):
        program = next(p for p in programs.PROGRAMS if p.name == "tutti:hierarchical_threads")
        started = self.commands(program, ONE, place(ONE, 4, "packed"))
        self.assertEqual([e["TUTTI_RANK"] for _, e in started], ["0", "1", "2", "3"])
        self.assertTrue(all("threads=4" in c and e["TUTTI_SIZE"] == "4" for c, e in started))
        self.assertFalse(program.needs(place(ONE, 4, "dealt")))

    def test_openmpi_is_told_the_hosts_in_order_of_their_ranks(self):
        program = next(p for p in programs.PROGRAMS if p.name == "openmpi")
        placed = place(TWO, 1, "dealt")
        # With a launcher that is surely there.
        ((command, _),) = self.commands(dataclasses.replace(program, launcher="sh"), TWO, placed)
        hosts_word = command[command.index("--host") + 1]
        self.assertEqual(hosts_word, ",".join(f"{TWO.address(h)}:1" for h in placed.hosts))
        self.assertEqual(command[1], TWO.address(0))
        self.assertEqual(command[command.index("--map-by") + 1], "slot")

    def test_the_agent_finds_the_namespace_of_an_address(self):
        with tempfile.TemporaryDirectory() as path:
            with open(os.path.join(path, "ip"), "w", encoding="utf-8") as f:
                f.write('#!/bin/sh\necho "$@"\n')
            agent = os.path.join(path, "agent")
            with open(agent, "w", encoding="utf-8") as f:
                f.write(programs.AGENT.format(prefix=ONE.prefix))
            for f in ("ip", "agent"):
                os.chmod(os.path.join(path, f), 0o700)
            for host in (0, 7, 150):
                said = subprocess.run([agent, ONE.address(host), "orted", "-x", "a b"], capture_output=True, text=True,
                                      env={"PATH": f"{path}:{os.environ['PATH']}"}, check=True).stdout
                self.assertEqual(said, f"netns exec {ONE.space(host)} unshare --uts sh -c hostname {ONE.space(host)}; orted -x a b\n")

    def test_ways_are_offered_once_and_are_pieces_of_the_vector(self):
        for p in programs.PROGRAMS:
            for op in ("allreduce", "broadcast"):
                for bytes_ in (4, 1 << 10, 1 << 18, 1 << 24):
                    ways = p.ways(op, bytes_, 8, "rewritten")
                    self.assertEqual(len(ways), len(set(ways)))
                    self.assertTrue(all(w.segment < bytes_ for w in ways))


class Hosts(unittest.TestCase):
    def test_only_namespaces_of_runs_that_are_gone_are_left_over(self):
        self.assertFalse(hosts.dead(f"{hosts.NAME}{os.getpid()}-h0"))
        self.assertTrue(hosts.dead(f"{hosts.NAME}99999999-h0"))
        self.assertFalse(hosts.dead("somebody-else"))

    def test_counters_are_of_what_hosts_send(self):
        def link(name, received, sent):
            return {"ifname": name, "stats64": {"rx": {"bytes": received}, "tx": {"bytes": sent}}}

        links = [link("lo", 7, 7), link("bridge0", 9, 9), link("port0", 10, 500), link("port1", 20, 600),
                 link("trunk0", 300, 400), link("trunk1", 400, 300)]
        self.assertEqual(hosts.count(links), (30, [400, 300]))


class Program(unittest.TestCase):
    def netns(self, *words):
        return subprocess.run([sys.executable, os.path.join(BENCH, "netns"), *words], capture_output=True, text=True,
                              check=False)

    def test_help_and_plan_need_no_root(self):
        self.assertIn("--bridges", self.netns("--help").stdout)
        plan = self.netns("--plan", "--hosts", "4", "--bridges", "1,2", "--rates", "100M", "--placements",
                          "packed,dealt").stdout
        self.assertEqual(len(re.findall("^# ", plan, re.MULTILINE)), 3)
        self.assertIn("rate 100000000bit", plan)

    def test_what_cannot_be_measured_is_refused(self):
        for words, why in ((("--sizes", "5"), "multiples"), (("--hosts", "3", "--bridges", "2"), "even"),
                           (("--contenders", "x"), "none of"), (("--rates", "1k"), "rates")):
            done = self.netns(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
