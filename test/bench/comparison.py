# SPDX-License-Identifier: Apache-2.0
"""The logic of bench/compare, with no contender and no clock: python3 test/bench/comparison.py"""
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench")
sys.path.insert(0, BENCH)

from comparison import debian_13, plot, programs, report  # noqa: E402
from comparison.batch import Failed, figures, seconds  # noqa: E402
from comparison.estimates import median, median_interval, paired_ratio, spread  # noqa: E402
from comparison.rounds import Cell, Entry, alternate, best_of_each_name, choose  # noqa: E402


class Estimates(unittest.TestCase):
    def test_median_lies_between_as_many(self):
        for values in itertools.product(range(4), repeat=5):
            m = median(list(values))
            self.assertLessEqual(sum(v < m for v in values), 2)
            self.assertLessEqual(sum(v > m for v in values), 2)
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_interval_holds_the_median_as_often_as_it_says(self):
        # A value is above the true median or below it, each as likely: count all outcomes.
        for n in range(2, 15):
            low, high, probability = median_interval(list(range(n)))
            holds = sum(math.comb(n, below) for below in range(n + 1) if low < below <= high)
            self.assertAlmostEqual(holds / 2**n, probability)
            self.assertEqual(low + high, n - 1)

    def test_interval_is_the_narrowest_that_does(self):
        for n, low in ((6, 1), (8, 1), (9, 2), (25, 8), (50, 18)):  # from published tables, which count from 1
            found = median_interval(list(range(1, n + 1)))
            self.assertEqual(found[:2], (low, n + 1 - low))
            self.assertGreaterEqual(found[2], 0.95)
        self.assertLess(median_interval([1, 2, 3, 4, 5])[2], 0.95)  # too few to say more

    def test_spread_is_half_of_the_values(self):
        self.assertEqual(spread(list(range(9))), (2, 6))

    def test_pairing_removes_what_a_round_has_in_common(self):
        slow = [1, 100, 3, 7, 1e-3, 50]
        ratio = paired_ratio([2 * s for s in slow], slow)
        self.assertEqual((ratio["median"], ratio["low"], ratio["high"]), (2, 2, 2))

    def test_failed_rounds_are_left_out(self):
        self.assertEqual(paired_ratio([1, None, 4], [1, 2, 2])["rounds"], 2)
        self.assertIsNone(paired_ratio([None, 1], [1, None]))


def record(rank, **more):
    r = {"rank": rank, "iterations": 10, "alone": 0}
    for name, begin, end in (("writing", 0, 100), ("loop", 1000, 3000)):
        r |= {f"{name}_begin": begin + rank, f"{name}_end": end + rank, f"{name}_processor": end - begin,
              f"{name}_switches": rank}
    return r | more


class Batch(unittest.TestCase):
    def test_time_is_from_the_first_begin_to_the_last_end(self):
        f = figures([record(0), record(1)])
        self.assertAlmostEqual(f["loop"] * 1e9, 200.1)
        self.assertAlmostEqual(f["writing"] * 1e9, 10.1)
        self.assertAlmostEqual(f["processor"] * 1e9, 380)
        self.assertAlmostEqual(seconds(f, 10e-9) * 1e9, 190.1)
        self.assertNotIn("messages", f)

    def test_with_a_barrier_it_is_the_slowest_rank(self):
        f = figures([record(0, alone=500), record(1, alone=700)])
        self.assertAlmostEqual(seconds(f, 10e-9) * 1e9, 70)

    def test_messages_are_added_up(self):
        self.assertEqual(figures([record(0, messages=20), record(1, messages=5)])["messages"], 2.5)

    def test_one_error_is_the_error_of_all(self):
        with self.assertRaisesRegex(Failed, "wrong"):
            figures([record(0), {"rank": 1, "error": "wrong"}])

    def test_no_time_is_below_the_clock(self):
        self.assertEqual(seconds(figures([record(0)]), 1.0), 1e-9)


class FakeWorld:
    """Takes `cost(way)` nanoseconds for an operation."""

    def __init__(self, program, cost, log):
        self.program, self.cost, self.log, self.ended = program, cost, log, False

    def measure(self, words, patience):
        return figures(self.run(words))

    def run(self, words):
        told = dict(w.split("=") for w in words.split())
        self.log.append(self.program.name)
        cost = self.cost(told.get("algorithm", ""))
        if cost is None:
            return [{"rank": 0, "error": "not offered"}]
        k = int(told["iterations"])
        return [record(0, iterations=k, writing_begin=0, writing_end=0, loop_begin=0, loop_end=cost * k)]


def program(name, implementation, role, setting=""):
    return programs.Program(name, implementation, role, "memory", "none", "the package x", "", setting=setting)


CELL = Cell("memory", "allreduce", 2, 1024, "rewritten", "back_to_back")


class Rounds(unittest.TestCase):
    def test_contenders_take_turns(self):
        log = []
        worlds = [FakeWorld(program(n, "openmpi", "peer"), lambda way: 100, log) for n in "ABC"]
        entries = [Entry(w.program, programs.Way()) for w in worlds]
        alternate({w.program: w for w in worlds}, CELL, entries, 3)
        self.assertEqual("".join(log), "ABCABCABC")
        self.assertEqual([len(e.rounds) for e in entries], [3, 3, 3])

    def test_without_patience_there_are_still_enough_rounds_for_an_interval(self):
        world = FakeWorld(program("A", "openmpi", "peer"), lambda way: 100, [])
        entry = Entry(world.program, programs.Way())
        alternate({world.program: world}, CELL, [entry], 100, patience=0)
        self.assertEqual(len(entry.rounds), 7)
        self.assertGreaterEqual(median_interval(list(range(len(entry.rounds))))[2], 0.95)

    def test_a_round_that_fails_leaves_a_gap(self):
        log = []
        good, bad = (FakeWorld(program(n, "openmpi", "peer"), cost, log)
                     for n, cost in (("A", lambda way: 100), ("B", lambda way: None)))
        entries = [Entry(w.program, programs.Way()) for w in (good, bad)]
        alternate({w.program: w for w in (good, bad)}, CELL, entries, 2)
        self.assertEqual(entries[1].rounds, [None, None])
        self.assertEqual(entries[1].error, "not offered")
        self.assertTrue(all(entries[0].rounds))

    def test_the_fastest_way_is_chosen(self):
        costs = {"ring": 900, "doubling": 300, "star": None}
        world = FakeWorld(program("t", "tutti", "ours"), lambda way: costs.get(way, 400), [])
        entry, tried = choose(world, CELL, 1e-6, 2)
        self.assertEqual(str(entry.way), "doubling")
        self.assertNotIn("star", tried)
        self.assertGreaterEqual(entry.iterations, 3)  # a microsecond takes at least three of 300 ns

    def test_a_program_that_dies_of_one_way_keeps_those_tried_before(self):
        world = FakeWorld(program("t", "tutti", "ours"), lambda way: 900, [])

        def cost(way):
            world.ended = way == "doubling"
            return None if world.ended else 900

        world.cost = cost
        entry, tried = choose(world, CELL, 1e-6, 2)
        self.assertEqual(str(entry.way), "ring")
        self.assertNotIn("doubling", tried)

    def test_a_way_that_fails_when_it_is_tried_again_is_not_chosen(self):
        asked = []

        def cost(way):
            asked.append(way)
            return None if way == "ring" and asked.count("ring") > 3 else 100 if way == "ring" else 150

        entry, _ = choose(FakeWorld(program("t", "tutti", "ours"), cost, []), CELL, 1e-6, 5)
        self.assertNotEqual(str(entry.way), "ring")

    def test_one_lucky_trial_is_not_enough(self):
        asked = []

        def cost(way):
            asked.append(way)
            lucky = way == "ring" and asked.count("ring") == 5
            return 100 if lucky else 200 if way == "doubling" else 290

        entry, _ = choose(FakeWorld(program("t", "tutti", "ours"), cost, []), CELL, 1e-6, 5)
        self.assertEqual(str(entry.way), "doubling")

    def test_of_several_settings_the_best_is_measured(self):
        entries = [Entry(program("m", "mpich", "peer", s), way, trial=t)
                   for s, way, t in (("a", programs.Way(), 3), ("b", programs.Way(), 2), ("c", None, 0))]
        self.assertEqual([e.program.setting for e in best_of_each_name(entries)], ["b"])


class Programs(unittest.TestCase):
    def test_ways_are_offered_once_and_can_be_said_in_words(self):
        for p in programs.PROGRAMS:
            for op, size, ranks, inputs in itertools.product(programs.OPERATIONS, (4, 1 << 20, 1 << 28), (2, 3, 4, 8),
                                                            ("rewritten", "constant")):
                ways = p.ways(op, size, ranks, inputs)
                self.assertTrue(ways or op not in ("allreduce", "broadcast"))
                self.assertEqual(len(ways), len(set(ways)))
                for way in ways:
                    words = Cell(p.field, op, ranks, size, inputs, "barrier").words(way, 1).split()
                    self.assertTrue(all("=" in w for w in words))
                    self.assertLess(way.segment, size)

    def test_the_same_program_of_another_build_has_the_same_ways(self):
        for p in (p for p in programs.PROGRAMS if p.role == "ours"):
            before = programs.as_before(p, "elsewhere")
            self.assertEqual(before.ways("allreduce", 4, 2, "rewritten"), p.ways("allreduce", 4, 2, "rewritten"))
            self.assertEqual(before.executable, os.path.abspath(os.path.join("elsewhere", p.executable)))

    def test_operations_have_the_names_that_the_programs_read(self):
        with open(os.path.join(BENCH, "common", "work.hpp"), encoding="utf-8") as f:
            names = re.search(r"operation_names\{(.*?)\};", f.read(), re.DOTALL).group(1)
        self.assertEqual(re.findall(r'"(.*?)"', names), list(programs.OPERATIONS))

    def test_a_missing_program_is_told_with_what_to_install(self):
        for p in programs.PROGRAMS:
            self.assertIn(p.packages, p.missing("/nowhere"))


class Debian13(unittest.TestCase):
    def test_its_peers_have_the_names_and_ways_of_the_others(self):
        here = {p.name for p in programs.PROGRAMS}
        found = debian_13.contenders("/chroot", "/source")
        self.assertEqual({p.name for p in found}, here)
        self.assertEqual(len(found), len(programs.PROGRAMS))
        for p in found:
            self.assertEqual(isinstance(p, debian_13.Peer), p.role == "peer")
            self.assertTrue(p.ways("allreduce", 4, 2, "rewritten"))

    def test_its_peers_run_in_the_chroot_and_in_mounts_of_their_own(self):
        for p in (p for p in debian_13.contenders("/chroot", "/source") if p.role == "peer"):
            command = p.command("/elsewhere", 4, 2)
            self.assertEqual(tuple(command[:4]), debian_13.UNSHARE)
            self.assertEqual(command[7:10], ["sh", "/chroot", "/source"])
            words = command[10:]
            self.assertTrue(any(w == f"/tutti-build/bench/{p.executable}" for w in words), words)
            self.assertFalse(any("/elsewhere" in w or "vader" in w for w in words), words)
            self.assertEqual("mpi_yield_when_idle" in words, p.implementation == "openmpi")
            self.assertEqual(p.missing("/elsewhere"), "")

    def test_variables_of_the_host_stay_outside(self):
        with unittest.mock.patch.dict(os.environ, {"CMAKE_CXX_COMPILER_LAUNCHER": "of the host"}):
            for p in (p for p in debian_13.contenders("/chroot", "/source") if p.role == "peer"):
                self.assertNotIn("CMAKE_CXX_COMPILER_LAUNCHER", p.environment())
                self.assertTrue(set(dict(p.variables)) <= set(p.environment()))

    def test_a_folder_that_holds_other_files_is_refused_and_left_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = os.path.join(folder, "kept")
            with open(kept, "w", encoding="utf-8") as f:
                f.write("a user's")
            with self.assertRaisesRegex(Failed, "neither empty nor a finished chroot"):
                debian_13.make(folder, "/source", lambda text: None)
            self.assertEqual(os.listdir(folder), ["kept"])

    def test_a_command_that_fails_is_told_with_its_words(self):
        with self.assertRaisesRegex(Failed, "the attempt failed: no such mirror"):
            debian_13.run("the attempt failed", ["/bin/sh", "-c", "echo no such mirror; exit 1"])

    def test_missing_rights_and_programs_are_named(self):
        with unittest.mock.patch("os.geteuid", return_value=1000):
            self.assertIn("root", debian_13.missing())
        with unittest.mock.patch("os.geteuid", return_value=0), unittest.mock.patch("shutil.which", return_value=None):
            self.assertIn("the package debootstrap", debian_13.missing())

    def test_the_option_ends_with_an_error_where_no_chroot_can_be_made(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, os.path.join(BENCH, "compare"), "--debian-13", folder],
                                  env={"PATH": folder}, capture_output=True, text=True, check=False, timeout=30)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, "^--debian-13: .*(root|debootstrap)")
            self.assertEqual(os.listdir(folder), [])


def sample_run():
    log = []
    cells = []
    for op, size in itertools.product(("allreduce", "broadcast"), (4, 1024, 1 << 20)):
        cell = Cell("memory", op, 2, size, "rewritten", "back_to_back")
        kinds = (("tutti:<x> & y", "tutti", "ours", 100), ("before:tutti:<x> & y", "tutti", "before", 125), ("openmpi", "openmpi", "peer", 200),
                 ("gloo", "gloo", "peer", None), ("limit:memory", "limit", "limit", 50))
        worlds = [FakeWorld(program(n, i, role), lambda way, cost=cost: cost and cost * (1 + size), log)
                  for n, i, role, cost in kinds]
        entries = [Entry(w.program, programs.Way("ring" if w.program.role == "ours" else "")) for w in worlds]
        alternate({w.program: w for w in worlds}, cell, entries, 9)
        cells.append(report.summary(cell, entries, {"openmpi": {"cma": 1.0}}))
    machine = {"processor": "p", "cores": 2, "kernel": "k", "load_before": 0.0, "load_after": 0.0}
    return {"machine": machine, "settings": {"openmpi": "s"}, "launches": 1, "rounds": 9, "batch_seconds": 0.001,
            "cells": cells}


class Report(unittest.TestCase):
    def test_results_survive_json(self):
        run = sample_run()
        again = json.loads(json.dumps(run))
        self.assertEqual(report.table(again), report.table(run))

    def test_ratios_are_to_the_best_peer_to_the_limit_and_to_before(self):
        (ours,) = sample_run()["cells"][0]["ratios"]
        self.assertEqual(ours["peer"]["name"], "openmpi")
        self.assertAlmostEqual(ours["peer"]["median"], 0.5)
        self.assertAlmostEqual(ours["limit"]["median"], 2.0)
        self.assertAlmostEqual(ours["before"]["median"], 0.8)

    def test_table_has_a_row_per_cell_and_as_many_columns_in_each(self):
        text = report.table(sample_run())
        self.assertIn("| 2 | 1 MiB |", text)
        self.assertIn("gloo, allreduce, 2 ranks, 4 B: not offered", text)
        for block in text.split("\n\n"):
            widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
            self.assertLessEqual(len(widths), 1)

    def test_sizes_and_times_are_readable(self):
        self.assertEqual([report.size_text(s) for s in (4, 1024, 1028, 3 << 20)], ["4 B", "1 KiB", "1028 B", "3 MiB"])
        self.assertEqual([report.time_text(t) for t in (2e-9, 1.5e-6, 0.25, 3)], ["2 ns", "1.5 us", "250 ms", "3 s"])


class Plot(unittest.TestCase):
    def test_charts_are_well_formed_and_complete(self):
        cells = [c for c in sample_run()["cells"] if c["op"] == "allreduce"]
        svg = plot.chart("a <title> & more", plot.curves_of(cells))
        root = ElementTree.fromstring(svg)
        name = "{http://www.w3.org/2000/svg}"
        words = [t.text for t in root.iter(name + "text")]
        for expected in ("a <title> & more", "tutti:<x> & y", "limit:memory", "time of one operation", "1 KiB"):
            self.assertIn(expected, words)
        self.assertNotIn("gloo", words)  # it was never measured
        self.assertEqual(len(list(root.iter(name + "circle"))), 12)
        for c in root.iter(name + "circle"):
            self.assertTrue(plot.LEFT <= float(c.get("cx")) <= plot.WIDTH - plot.RIGHT)
            self.assertTrue(plot.TOP <= float(c.get("cy")) <= plot.HEIGHT - plot.BOTTOM)
        dashed = [p for p in root.iter(name + "polyline") if p.get("stroke-dasharray")]
        self.assertEqual(len(dashed), 1)

    def test_curves_are_told_apart_and_names_have_room(self):
        names = [f"a contender with a long name, {i}" for i in range(15)]
        root = ElementTree.fromstring(plot.chart("t", [(n, False, [(4, 1e-6, 1e-6, 1e-6)]) for n in names]))
        name = "{http://www.w3.org/2000/svg}"
        looks = [(c.get("stroke"), c.get("stroke-dasharray")) for c in root.iter(name + "polyline")]
        self.assertEqual(len(set(looks)), len(names))
        width = float(root.get("viewBox").split()[2])
        ends = [float(t.get("x")) + 6 * len(t.text) for t in root.iter(name + "text") if t.text in names]
        self.assertLess(max(ends), width)

    def test_axes_are_logarithmic(self):
        x = plot.axis([4, 4096], 2, 0, 100)
        self.assertAlmostEqual(x(16) - x(4), x(64) - x(16))
        self.assertEqual((x(4), x(4096)), (0, 100))

    def test_one_point_is_a_chart_and_none_is_not(self):
        ElementTree.fromstring(plot.chart("t", [("a", False, [(4, 1e-6, 1e-6, 1e-6)])]))
        self.assertIsNone(plot.chart("t", []))


if __name__ == "__main__":
    unittest.main()
