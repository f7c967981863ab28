# SPDX-License-Identifier: Apache-2.0
"""The logic of bench/training/compare, with no contender and no clock: python3 test/bench/training.py"""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from comparison.batch import Failed  # noqa: E402
from training import report, rounds  # noqa: E402
from training.workloads import WORKLOADS, Layer, write_images  # noqa: E402


def answer(begin, end, steps=1, loss=1.0):
    return {"begin": begin, "end": end, "steps": steps, "loss": loss}


class FakeWorld:
    """Takes `seconds(words)` for a step or a product, on each rank."""

    def __init__(self, name, log, seconds=lambda words: 1e-3, ranks=1, loss=1.0):
        self.name, self.log, self.seconds, self.ranks, self.loss = name, log, seconds, ranks, loss

    def run(self, words, patience):
        self.log.append(self.name + ("*" if "shapes=" in words else ""))
        steps = next((int(w[6:]) for w in words.split() if w.startswith("times=")), 4)
        return [answer(r, r + round(steps * self.seconds(words) * 1e9), steps, self.loss) for r in range(self.ranks)]


class Workloads(unittest.TestCase):
    def test_operations_are_those_of_the_products(self):
        for w in WORKLOADS.values():
            self.assertEqual(sum(2 * m * n * k for m, n, k in w.products(7)), 7 * w.operations(), w.name)

    def test_the_first_layer_needs_no_derivative_by_its_input(self):
        layer = Layer(3, 5, 7)
        self.assertEqual(layer.products(2, first=True), [(6, 5, 7), (7, 5, 6)])
        self.assertEqual(layer.products(2, first=False), [(6, 5, 7), (7, 5, 6), (6, 7, 5)])

    def test_layers_have_as_many_weights_as_published(self):
        weights = {n: sum(x.columns * x.inner for x in w.layers) for n, w in WORKLOADS.items()}
        self.assertEqual(weights["mlp"], 784 * 256 + 256 * 128 + 128 * 10)
        self.assertEqual(weights["lenet5"], 61_706 - 6 - 16 - 120 - 84 - 10)
        self.assertEqual(weights["resnet20"], 272_474 - 10 - 2 * 7 * (16 + 32 + 64))

    def test_images_are_the_same_in_each_run_and_of_all_classes(self):
        written = []
        for _ in range(2):
            with tempfile.NamedTemporaryFile() as f:
                write_images(f.name, WORKLOADS["resnet20"])
                written.append(f.read())
        self.assertEqual(*written)
        labels = written[0][::1 + 3 * 32 * 32]
        self.assertEqual(len(labels), WORKLOADS["resnet20"].images)
        self.assertEqual(set(labels), set(range(10)))


class Rounds(unittest.TestCase):
    def test_a_step_takes_from_the_first_rank_to_the_last(self):
        self.assertAlmostEqual(rounds.seconds_a_step([answer(0, 90, 10), answer(10, 100, 10)]) * 1e9, 10)

    def test_rates_of_ranks_add_up(self):
        two = rounds.operations_a_second([answer(0, 10, 5), answer(0, 20, 5)], [(2, 3, 4)])
        self.assertAlmostEqual(two * 1e-9, 5 * 48 / 10 + 5 * 48 / 20)

    def test_every_combination_is_tried_once(self):
        ways = rounds.torch_ways(2, convolutions=True)
        self.assertEqual(len(ways), len(set(ways)))
        self.assertEqual(len(ways), 2 * 2 * 2)
        self.assertEqual(list(rounds.torch_environments(2, 2)), ["threads=1 wait=passive"])
        self.assertEqual(list(rounds.torch_environments(1, 2)),
                         ["threads=1 wait=passive", "threads=2 wait=passive", "threads=2 wait=default"])
        self.assertEqual(rounds.threads(2, 2), [1])
        self.assertEqual(rounds.threads(1, 2), [1, 2])

    def test_the_fastest_way_is_chosen_by_its_median(self):
        log = []
        slow, fast = FakeWorld("A", log, lambda words: 2e-3), FakeWorld("B", log)
        (world, way), took = rounds.best([(slow, "threads=1"), (fast, "threads=2")])
        self.assertEqual((world, way), (fast, "threads=2"))
        self.assertEqual("".join(log), "ABABAB")
        self.assertEqual(set(took), {"threads=1", "threads=2"})

    def test_contenders_take_turns_and_the_machine_is_measured_in_each(self):
        log = []
        turns = rounds.take_turns(FakeWorld("A", log), FakeWorld("B", log), "threads=1", "", WORKLOADS["mlp"], 128, 3)
        self.assertEqual("".join(log), "ABA*A*A*A*" * 3)
        self.assertEqual([len(t) for t in (turns.ours, turns.theirs, turns.square, turns.layers)], [3] * 4)

    def test_a_program_that_does_not_learn_is_not_measured(self):
        for loss in (float("nan"), float("inf"), 0.0, 3.0):
            with self.assertRaises(Failed):
                rounds.learned([answer(0, 1, loss=loss)])
        self.assertAlmostEqual(rounds.learned([answer(0, 1, loss=1.0)]), 1e-9)

    def test_summary_and_table(self):
        w = WORKLOADS["mlp"]
        turns = rounds.Turns([1e-3] * 7, [2e-3] * 7, [2 * w.operations() * 128 / 1e-3] * 7,
                             [w.operations() * 128 / 1e-3] * 7)
        s = rounds.summary(w, 128, turns)
        self.assertAlmostEqual(s["speed"]["median"], 2)
        self.assertAlmostEqual(s["tutti"]["images_per_second"], 128_000)
        self.assertAlmostEqual(s["tutti"]["of_square"], 0.5)
        self.assertAlmostEqual(s["torch"]["of_layers"], 0.5)
        cell = {"workload": "mlp", "ranks": 2, "batch": 128, "ways": {"tutti": "threads=1", "torch": "foreach=1"}, **s}
        text = report.table({"machine": {"processor": "some", "cores": 2}, "rounds": 7, "cells": [cell]})
        self.assertIn("2.00 [2.00, 2.00]", text)
        self.assertEqual(len({line.count("|") for line in text.splitlines() if line.startswith("|")}), 1)


if __name__ == "__main__":
    unittest.main()
