# SPDX-License-Identifier: Apache-2.0
"""Runs one training on this host, through a soft switch."""
import json
import os
import subprocess
import tempfile

from comparison.batch import Failed


class Switch:
    """A soft switch that runs as long as the block does."""

    def __init__(self, program, *options):
        self._process = subprocess.Popen([program, "--listen", "127.0.0.1:0", *options], stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)
        said = self._process.stdout.readline()
        while said and "listening" not in said:  # a hint about the system
            said = self._process.stdout.readline()
        self.address = said.split()[-1] if "listening" in said else None

    def expect_alive(self):
        """@raises Failed if it has ended: ranks continue without it, and would measure something else"""
        if self._process.poll() is not None:
            raise Failed("the soft switch has ended")

    def __enter__(self):
        if self.address is None:
            self.end()
            raise Failed("the soft switch does not start")
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()


def run(command, patience):
    """Runs train and returns its report. @raises Failed with the last words of its output"""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-") as place:
        report = os.path.join(place, "report.json")
        try:
            done = subprocess.run([*command, "--report", report], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=patience, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        except subprocess.TimeoutExpired:
            raise Failed(f"takes more than {patience:.0f} s") from None
        if done.returncode != 0:
            raise Failed(" ".join((done.stdout + done.stderr).split()[-40:]))
        with open(report, encoding="utf-8") as f:
            return json.load(f)


def figures(report):
    """Figures of one training."""
    deviations = report.get("weight_deviations")
    sums = report["run"]["parameters"] * len(report["steps"]["loss"])
    return {"accuracy": report["test_accuracy"], "loss": report["epochs"][-1]["test_loss"],
            "weights": report["run"].get("weights"), "overflows": report["run"].get("overflows"), "sums": sums,
            "deviation": max(deviations) if deviations else None}
