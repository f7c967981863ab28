# SPDX-License-Identifier: Apache-2.0
"""The logic of bench/in_network/run: python3 test/bench/in_network.py"""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from comparison import plot  # noqa: E402
from comparison.batch import Failed  # noqa: E402
from in_network import distribution, jobs, resnet50, resnet50_live, roles, straggler, table  # noqa: E402
from in_network import time_to_accuracy, trial  # noqa: E402
from in_network.ways import EXPONENTS, FLOATS, RING, SERVER, constant, ways  # noqa: E402


def report(accuracy, deviations=None, overflows=None):
    one = {"run": {"parameters": 100, "weights": 7}, "steps": {"loss": [2.0, 1.0]}, "epochs": [{"test_loss": 0.5}],
           "test_accuracy": accuracy}
    if deviations:
        one["weight_deviations"] = deviations
    if overflows is not None:
        one["run"]["overflows"] = overflows
    return one


class Figures(unittest.TestCase):
    def test_of_one_training(self):
        one = trial.figures(report(0.9, [1e-9, 3e-9, 2e-9], 5))
        self.assertEqual((one["accuracy"], one["loss"], one["deviation"], one["overflows"], one["sums"]),
                         (0.9, 0.5, 3e-9, 5, 200))
        self.assertIsNone(trial.figures(report(0.9))["deviation"])
        self.assertIsNone(trial.figures(report(0.9))["overflows"])

    def test_of_several_seeds(self):
        one = table.summary([trial.figures(r) for r in (report(0.9, [4e-9], 1), report(0.8, None, 3), report(0.7, None, 0))])
        self.assertAlmostEqual(one["accuracy"], 0.8)
        self.assertEqual((one["worst"], one["best"], one["seeds"], one["deviation"], one["overflows"]),
                         (0.7, 0.9, 3, 4e-9, 4))
        self.assertAlmostEqual(one["share"], 4 / 600)

    def test_rows_are_compared_with_the_ring(self):
        ring = table.summary([trial.figures(report(0.9))])
        other = table.summary([trial.figures(report(0.895, [1e-7], 2))])
        rows = table.rows("mlp", 4, [(RING, ring), (constant(1e6), other), (SERVER, "it failed")], ring)
        self.assertIn("| ring | 1 | 90.00 % | 90.00 - 90.00 | +0.00 | 0.5000 |  |  |", rows)
        self.assertIn("| constant factor 1e+06 | 1 | 89.50 % | 89.50 - 89.50 | -0.50 | 0.5000 | 1.0e-07 | 2 (1 %) |", rows)
        self.assertIn("| parameter server | | it failed |", rows)

    def test_curves_are_over_the_factor_and_others_are_level(self):
        one = table.summary([trial.figures(report(0.9, [1e-9], 0))])
        two = table.summary([trial.figures(report(0.8, [1e-3], 0))])
        none = table.summary([trial.figures(report(0.9))])
        some = [(FLOATS, one), (SERVER, none), (constant(1e6), one), (constant(10.0), two), (constant(1e3), "it failed")]
        curves = table.curves(some, lambda r: r["deviation"])
        self.assertEqual(curves, [("constant factor", False, [(10.0, 1e-3, 1e-3, 1e-3), (1e6, 1e-9, 1e-9, 1e-9)]),
                                  ("float32 in the network", False, [(10.0, 1e-9, 1e-9, 1e-9), (1e6, 1e-9, 1e-9, 1e-9)])])
        picture = plot.chart("title", curves, plot.Words("factor", "deviation", lambda v: f"{v:.0e}", str, x_base=10))
        self.assertIn(">1e+05<", picture)
        self.assertEqual(table.curves([(FLOATS, one)], lambda r: r["deviation"]), [])


class Commands(unittest.TestCase):
    def test_servers_are_ranks_besides_the_workers(self):
        self.assertEqual(SERVER.command("train", "a:1", 4, ["--epochs", "1"])[:4], ["train", "run", "--ranks", "5"])
        self.assertEqual(RING.command("train", "a:1", 4, [])[:4], ["train", "run", "--ranks", "4"])

    def test_the_device_is_the_switch(self):
        words = constant(1e6).command("train", "127.0.0.1:7171", 2, ["--seed", "2"])
        self.assertEqual(words[words.index("--device") + 1], "127.0.0.1:7171")
        self.assertEqual(words[words.index("--factor") + 1], "1e+06")
        self.assertEqual(words[-2:], ["--seed", "2"])
        self.assertNotIn("--device", RING.command("train", "127.0.0.1:7171", 2, []))

    def test_names_are_unique(self):
        names = [w.name for w in ways([10.0**e for e in range(1, 12)])]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn(EXPONENTS.name, names)

    def test_a_training_that_fails_says_why(self):
        with self.assertRaisesRegex(Failed, "no such thing"):
            trial.run(["sh", "-c", "echo no such thing; exit 3"], 10)
        with self.assertRaisesRegex(Failed, "more than 0 s"):
            trial.run(["sh", "-c", "exec sleep 60"], 0.1)

    def test_a_switch_that_ends_is_an_error(self):
        with tempfile.TemporaryDirectory() as place:
            program = os.path.join(place, "switch")
            with open(program, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho listening at 127.0.0.1:1\nexec sleep 60\n")
            os.chmod(program, 0o700)
            with trial.Switch(program) as switch:
                self.assertEqual(switch.address, "127.0.0.1:1")
                switch.expect_alive()
                switch.end()
                with self.assertRaisesRegex(Failed, "ended"):
                    switch.expect_alive()

    def test_a_switch_that_does_not_start_is_an_error(self):
        with self.assertRaises(Failed):
            with trial.Switch("true"):
                pass


class Small(unittest.TestCase):
    def test_jobs_are_compared_round_by_round(self):
        def one(first, second):
            return [{"rate": first, "by_rank_0": 0}, {"rate": second, "by_rank_0": 0.01}]

        text = jobs.text({"256 64": [one(10, 9), one(20, 20), one(10, 12)]})
        self.assertIn("| 256 and 64 | 10.0 | 12.0 | 1.00 | 0.90 - 1.20 | 1 % |", text)

    def test_a_straggler_that_is_named_otherwise_is_shown(self):
        text = straggler.text({"a rank": [["rank 2", "rank 2"], ["rank 1", "the device"]]})
        self.assertIn("| a rank | 1 of 2 | the device for rank 1 |", text)

    def test_time_is_until_the_epoch_in_which_the_accuracy_is_there(self):
        def one(last):
            return {"epochs": [(1.0, 0.5), (2.0, 0.849), (last, 0.85), (9.0, 0.9)], "bytes": 2e6}

        found = {"ring": [one(3.0), one(5.0), one(4.0)], "other": [{"epochs": [(1.0, 0.2)], "bytes": 1e6}]}
        text = time_to_accuracy.text(found)
        self.assertIn("| ring | 4.0 | 3.0 - 5.0 | 90.00 % | 2 MB |", text)
        self.assertIn("| other | never |  | 20.00 % | 1 MB |", text)
        self.assertIn("test error", time_to_accuracy.pictures(found)["error"])

    def test_what_the_node_that_distributes_sends_is_shown_for_each_way(self):
        one = {"sent": 8e6, "received": 4e6, "seconds": 0.5, "processor": 0.25}
        found = {way: {"2": one, "4": one} for way in distribution.WAYS}
        for way in distribution.WAYS:
            self.assertIn(f"| {way} | 4 | 8.0 MB | 4.0 MB | 0.50 | 0.25 s |", distribution.text(found))
            self.assertIn(way, distribution.pictures(found)["bytes"])

    def test_shares_are_of_what_happened_between_samples(self):
        samples = [{"at": 10.0, "by": {"worker 0": (1.0, 1 << 20, 0), "switch": (0.0, 1 << 20, 0)}},
                   {"at": 12.0, "by": {"worker 0": (2.0, 3 << 20, 500_000)}}]
        found = roles.shares(samples)
        self.assertEqual(found, {"worker 0": [(2.0, 0.5, 3 << 20, 250_000.0)]})
        self.assertIn("| in the network | worker 0 | 50 % | 3 MiB | 2 |", roles.text({"in the network": found}))
        self.assertEqual(roles.pictures({"in the network": found})["network"].count("<svg"), 4)
        self.assertEqual([roles.role("one server", i) for i in (0, 1, 2)], ["switch", "server", "worker 0"])

    def test_the_table_of_simulate_is_read(self):
        said = ("allreduce     ranks      bytes           us  x limit  busiest\n"
                "ring              4  102228128     126500.0     1.03  nic 0\n"
                "chain             4  102228128     200000.0     1.63  nic 0\n"
                "in_network        4  102228128      86900.0     0.71  nic 0\n")
        found = resnet50.parsed(said)
        self.assertEqual(found, {"ring": {"4": 126.5}, "in_network": {"4": 86.9}})
        self.assertIn("| in_network |  | 86.9 |  |  |  |", resnet50.text(found))
        self.assertIn("ms (virtual)", resnet50.pictures(found)["time"])

    def test_live_sums_are_as_long_as_the_scaled_links_take(self):
        self.assertEqual(resnet50_live.BYTES % 4, 0)
        rounds = {"in_network": [[90.0, 86.0, 400.0], [80.0, 82.0, 84.0], [95.0, 99.0, 97.0]]}
        found = resnet50_live.text(rounds)
        self.assertIn("S / B is 81.8 ms", found)
        self.assertIn("| in_network | 90.0 | 82.0 - 97.0 | 1.10 |", found)


if __name__ == "__main__":
    unittest.main()
