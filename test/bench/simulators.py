# SPDX-License-Identifier: Apache-2.0
"""Checks the options of the programs of bench/ that simulate and train:
python3 test/bench/simulators.py SIMULATE STRATEGIES AVERAGING CONSISTENCY"""
import csv
import subprocess
import sys
import unittest

CONSISTENCY = sys.argv.pop()
AVERAGING = sys.argv.pop()
STRATEGIES = sys.argv.pop()
SIMULATE = sys.argv.pop()
EXACT = ["latency=0", "overhead=0", "combine=0"]


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)


def rows(program, *words):
    result = run(program, "format=csv", *words)
    assert result.returncode == 0, result.stderr
    return list(csv.DictReader(result.stdout.splitlines()))


class Simulate(unittest.TestCase):
    def us(self, how, *words):
        (row,) = rows(SIMULATE, f"how={how}", "bytes=1000000", *EXACT, *words)
        return float(row["us"])

    def test_hosts_have_rates_of_their_own(self):
        self.assertAlmostEqual(self.us("star", "ranks=5", "rate=1G"), 2 * 4 * 8000, delta=1)
        self.assertAlmostEqual(self.us("star", "ranks=5", "rate=2G/1G"), 4 * 4000 + 8000 + 3 * 4000, delta=8000)
        self.assertAlmostEqual(self.us("ring", "ranks=4", "rate=10G/1G"), self.us("ring", "ranks=4", "rate=1G/10G"), delta=1)

    def test_ranks_of_a_host_share_its_link(self):
        self.assertEqual(self.us("ring", "ranks=4", "ranks_per_host=4"), 0)
        alone = self.us("direct", "ranks=8", "rate=1G")
        self.assertAlmostEqual(self.us("direct", "ranks=8", "rate=1G", "ranks_per_host=2"), alone * 2 * 6 / 7, delta=50)

    def test_the_first_and_the_last_host_s_traffic_is_counted(self):
        (star,) = rows(SIMULATE, "how=star", "ranks=4", "bytes=4000", "segment=1000")
        self.assertEqual([float(star[k]) for k in ("first_out", "first_in", "last_out", "last_in")], [12000, 12000, 4000, 4000])
        self.assertEqual([float(star[k]) for k in ("first_sends", "first_receives", "last_sends", "last_receives")],
                         [12, 12, 4, 4])

    def test_a_ring_that_waits_for_sends_takes_twice_as_long(self):
        self.assertAlmostEqual(self.us("waited_ring", "ranks=6", "rate=1G") / self.us("ring", "ranks=6", "rate=1G"), 2, delta=0.01)
        self.assertNotIn("waited_ring", [r["how"] for r in rows(SIMULATE, "ranks=6")])  # runs only if it is named

    def test_what_is_wrong_is_named(self):
        for word in ("rate=10G/", "ranks_per_host=0", "how=rng", "format=xml"):
            result = run(SIMULATE, word)
            self.assertEqual(result.returncode, 1, word)
            self.assertIn(word, result.stderr)


class Strategies(unittest.TestCase):
    def row(self, *words):
        (row,) = rows(STRATEGIES, "models=Inception-v3", *EXACT, *words)
        return {k: v if k in ("model", "how") else float(v) for k, v in row.items()}

    def test_a_worker_alone_is_as_fast_as_it_is_said_to_be(self):
        one = self.row("how=ring", "workers=1", "batch=32", "images=100")
        self.assertEqual((one["images_per_s"], one["step_s"]), (100, 0.32))

    def test_the_server_s_link_bounds_what_follows_computing(self):
        words = ("how=server", "workers=8", "images=64", "batch=64", "rate=1G", "server_rate=10G", "segment=0")
        worker = 4 * 23834568 * 8e-9  # seconds of one gradient through a worker's link
        self.assertAlmostEqual(self.row(*words)["step_s"], 1 + 2.7 * worker, delta=0.1)
        slower = self.row(*words, "ranks_per_host=8")["step_s"]
        self.assertAlmostEqual(slower, 1 + 16 * worker, delta=0.1)

    def test_sums_that_are_handed_out_at_once_use_both_ways_at_once(self):
        words = ("how=server", "workers=8", "images=1000000", "piece=1000000", "rate=10G")
        one_way = 8 * 4 * 23834568 * 8e-10
        for hide, ways in (("ready", 1), ("after", 2), ("forward", 2)):
            self.assertAlmostEqual(self.row(*words, f"hide={hide}")["step_s"] / one_way, ways, delta=0.05, msg=hide)
        for servers in (2, 4):
            self.assertAlmostEqual(self.row(*words, "hide=ready", f"servers={servers}")["step_s"] / one_way, 1 / servers + (1 - 1 / servers) / 8,
                                   delta=0.03)  # until a worker has sent the shards before the last one

    def test_the_network_sums_and_copies(self):
        words = ("workers=8", "images=1000000", "piece=1000000", "rate=10G", "hide=ready")
        once = 4 * 23834568 * 8e-10
        self.assertAlmostEqual(self.row(*words, "how=in_network")["step_s"] / once, 1, delta=0.1)
        self.assertAlmostEqual(self.row(*words, "how=multicast")["step_s"] / once, 8, delta=0.3)
        self.assertAlmostEqual(self.row(*words, "how=ring")["step_s"] / once, 14 / 8, delta=0.1)

    def test_bytes_that_are_left_add_up(self):
        words = ("how=server", "workers=4", "images=100", "rate=1G", "piece=100000")
        every = 4 * 4 * 23834568
        after = self.row(*words, "hide=after")
        self.assertAlmostEqual(after["pull_left_yet"] / every, 1, delta=0.01)
        self.assertLess(after["push_left"], every)
        ready = self.row(*words, "hide=ready")
        self.assertLess(ready["pull_left_yet"], 0.1 * every)
        self.assertAlmostEqual(ready["step_s"], ready["computing_s"] + ready["aggregation_s"] + ready["distribution_s"],
                               delta=0.01)

    def test_the_same_words_give_the_same_figures(self):
        words = ("format=csv", "hide=forward", "how=server", "workers=3", "models=AlexNet,VGG-16")
        self.assertEqual(run(STRATEGIES, *words).stdout, run(STRATEGIES, *words).stdout)

    def test_what_is_wrong_is_named(self):
        for words in (("how=x",), ("models=x",), ("images=0",), ("batch=0",), ("server_rate=10",), ("servers=2",),
                      ("hide=after", "how=ring"), ("ranks_per_host=0",), ("svg=x", "how=ring")):
            result = run(STRATEGIES, *words)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(words[0], result.stderr)


class Averaging(unittest.TestCase):
    WORDS = ("ranks=5", "rate=0.3", "samples=2000", "test_samples=200", "every=20", "hidden=8,8")

    def test_right_schedules_agree_and_wrong_ones_are_refused(self):
        by_way = {r["how"]: r for r in rows(AVERAGING, *self.WORDS)}
        right = [by_way.pop(how) for how in ("ring", "binary_tree", "doubling", "butterfly")]
        self.assertEqual([(r["verdict"], float(r["far"])) for r in right], [("accepted", 0)] * 4)
        scores = [float(r["accuracy"]) for r in right]
        self.assertLessEqual(max(scores) - min(scores), 0.01)
        self.assertGreater(float(by_way["apart"]["far"]), 0)
        self.assertNotIn("accepted", [r["verdict"] for r in by_way.values()])

    def test_double_and_float_are_other_numbers(self):
        words = (*self.WORDS, "how=apart")
        self.assertNotEqual(*(rows(AVERAGING, f"number={n}", *words)[0]["far"] for n in ("float", "double")))

    def test_what_is_wrong_is_named(self):
        for word in ("how=rng", "ranks=2", "every=0", "number=half", "data=/nowhere", "samples=3"):
            result = run(AVERAGING, word)
            self.assertEqual(result.returncode, 1, word)
            self.assertIn("/nowhere" if "data" in word else "3 images" if "samples" in word else word, result.stderr)


class Consistency(unittest.TestCase):
    WORDS = ("samples=600", "test_samples=200", "hidden=8", "epochs=2", "batch=60", "network=100G")

    def ends(self, *words):
        """The virtual seconds and the accuracy of each way to train."""
        return {r["how"]: (float(r["seconds"]), float(r["accuracy"])) for r in rows(CONSISTENCY, *self.WORDS, *words)}

    def test_all_ways_train_and_those_that_wait_are_as_late_as_the_slowest(self):
        none, one = self.ends("workers=3"), self.ends("workers=3", "slow=one", "factor=3")
        self.assertEqual(len(none), 6)
        for how in ("servers_sync", "allreduce", "hybrid"):
            self.assertAlmostEqual(none[how][0], 2 * 10 * 20 * 1e-4, delta=0.005, msg=how)  # epochs, steps, images
            self.assertAlmostEqual(one[how][0], 3 * 2 * 10 * 20 * 1e-4, delta=0.01, msg=how)
            self.assertAlmostEqual(one[how][1], none["allreduce"][1], delta=0.02, msg=how)  # equal up to rounding
        self.assertLess(one["servers_async"][0], 0.7 * one["servers_sync"][0])

    def test_at_random_waiting_costs_more_than_the_mean_and_a_seed_gives_the_same_figures(self):
        words = ("workers=3", "slow=all", "factor=3", "how=servers_sync,servers_async")
        found = self.ends(*words)
        self.assertEqual(found, self.ends(*words))
        self.assertNotEqual(found, self.ends(*words, "seeds=2"))
        alone = 2 * 10 * 20 * 1e-4
        self.assertTrue(2 * alone < found["servers_sync"][0] < 3 * alone, found)
        self.assertLess(found["servers_async"][0], found["servers_sync"][0])

    def test_what_is_wrong_is_named(self):
        for word in ("how=rng", "workers=1", "slow=some", "factor=0.5", "network=10", "batch=9999", "data=/nowhere"):
            result = run(CONSISTENCY, word)
            self.assertEqual(result.returncode, 1, word)
            self.assertIn("/nowhere" if "data" in word else word, result.stderr)


if __name__ == "__main__":
    unittest.main()
