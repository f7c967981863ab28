# SPDX-License-Identifier: Apache-2.0
"""The logic of bench/training/strategies: python3 test/bench/strategies.py"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

from comparison import plot  # noqa: E402
from comparison.batch import Failed  # noqa: E402
from training.strategy import table, trial  # noqa: E402
from training.strategy.ways import WAYS, Way, servers  # noqa: E402


def rank(sent, received, busy, waiting):
    return {"sent_bytes": sent, "received_bytes": received, "busy_s": busy, "waiting_s": waiting}


REPORT = {"images_per_s": 1000.0, "test_accuracy": 0.9, "settings": {"batch": 100},
          "epochs": [{"images": 150}, {"images": 250}],  # four steps
          "traffic": [rank(8 << 20, 4 << 20, 0.0, 5.0), rank(4 << 20, 8 << 20, 3.0, 1.0), rank(12 << 20, 0, 1.0, 3.0)]}


class Figures(unittest.TestCase):
    def test_roles_are_told_apart(self):
        one = table.figures(REPORT, servers("one", 1))
        self.assertEqual((one["server_sent"], one["server_received"]), (2.0, 1.0))
        self.assertEqual((one["worker_sent"], one["worker_received"]), (2.0, 1.0))
        self.assertEqual(one["waiting"], 0.5)

    def test_without_servers_all_are_workers(self):
        one = table.figures(REPORT, Way("ring", ()))
        self.assertIsNone(one["server_sent"])
        self.assertEqual(one["worker_sent"], 2.0)

    def test_medians_and_rows(self):
        way = servers("one", 1)
        one = table.middle([table.figures(REPORT, way), table.figures({**REPORT, "images_per_s": 3000.0}, way),
                            table.figures({**REPORT, "images_per_s": 2000.0}, way)])
        self.assertEqual(one["images_per_s"], 2000.0)
        rows = table.rows([(way, 2, one), (WAYS[0], 2, "it failed")])
        self.assertIn("| one | 2 | 2,000 | 2.00, 1.00 | 2.00, 1.00 | 50 % | 90.00 % |", rows)
        self.assertIn("| ring | 2 | it failed |", rows)
        (curve,) = table.curves([(way, 2, one), (WAYS[0], 2, "it failed")], "images_per_s")
        self.assertEqual(curve, ("one", False, [(2, 2000.0, 2000.0, 2000.0)]))
        picture = plot.chart("title", [curve], plot.Words("workers", "images per second", str, str))
        self.assertIn(">workers<", picture)


class Commands(unittest.TestCase):
    def test_every_host_has_a_rank_and_the_first_one_reports(self):
        commands = trial.commands("train", *trial.plan("t", 0, 3, 1, 10**8), ["--epochs", "1"], "r.json")
        self.assertEqual([e["TUTTI_RANK"] for _, e in commands], ["0", "1", "2"])
        self.assertEqual({e["TUTTI_MASTER_PORT"] for _, e in commands}.__len__(), 1)
        self.assertEqual(["--report" in c for c, _ in commands], [True, False, False])

    def test_servers_have_links_and_hosts_of_their_own_and_workers_share_theirs(self):
        network, placement = trial.plan("t", 2, 5, 2, 10**8, 10**9)
        self.assertEqual(placement.hosts, (0, 1, 2, 2, 3, 3, 4))
        self.assertEqual([network.rate_of(h) for h in range(network.hosts)], [10**9, 10**9, 10**8, 10**8, 10**8])
        commands = trial.commands("train", network, placement, [], "r.json")
        self.assertEqual([c[3] for c, _ in commands], [network.space(h) for h in placement.hosts])
        self.assertEqual({e["TUTTI_SIZE"] for _, e in commands}, {"7"})
        network, placement = trial.plan("t", 1, 2, 1, 10**8)
        self.assertEqual([network.rate_of(h) for h in range(network.hosts)], [10**8] * 3)

    def test_names_are_unique(self):
        self.assertEqual(len({w.name for w in WAYS}), len(WAYS))

    def test_a_program_that_takes_too_long_has_failed(self):
        class Never:
            @staticmethod
            def poll():
                return None

        with self.assertRaisesRegex(Failed, "more than 0 s"):
            trial.wait([Never()], 0.05)


if __name__ == "__main__":
    unittest.main()
