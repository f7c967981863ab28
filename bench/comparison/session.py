# SPDX-License-Identifier: Apache-2.0
"""Runs the measurement: measures cells, and writes the results after each of them."""
import json
import os
import platform
import re

from comparison import plot, report
from comparison.rounds import alternate, best_of_each_name, choose


class Session:
    def __init__(self, o, programs, cells):
        """o: output, launches, rounds, batch (milliseconds), trials, patience (seconds)."""
        self._o, self._programs, self._cells = o, programs, cells
        self._tried = {}
        self._machine = machine()
        self.entries = {}  # entries of each cell

    def measure(self, running, cell):
        """running() is the worlds of the programs that can do this cell; one that has died is started again."""
        o = self._o
        if cell not in self.entries:
            chosen = []
            for world in running().values():
                if not world.program.ways(cell.op, cell.size, cell.ranks, cell.inputs):
                    continue
                entry, took = choose(world, cell, o.batch * 1e-3, o.trials)
                chosen.append(entry)
                self._tried.setdefault(cell, {}).setdefault(world.program.name, {}).update(took)
            self.entries[cell] = best_of_each_name(chosen)
        alternate(running(), cell, self.entries[cell], o.rounds, o.patience)
        self.write()

    def write(self):
        """Writes all that is known, so that a run that is stopped is not lost."""
        o = self._o
        run = {
            "machine": {**self._machine, "load_after": os.getloadavg()[0]},
            "settings": {" ".join([p.name, p.setting]).strip(): p.settings for p in self._programs},
            "launches": o.launches, "rounds": o.rounds, "batch_seconds": o.batch * 1e-3,
            "cells": [report.summary(c, self.entries[c], self._tried[c]) for c in self._cells if self.entries.get(c)],
        }
        os.makedirs(o.output, exist_ok=True)
        self._write("results.json", json.dumps(run, indent=1) + "\n")
        self._write("table.md", report.table(run))
        for (field, op, inputs, pace), group in report.groups(run["cells"]).items():
            for ranks in sorted({c["ranks"] for c in group}):
                svg = plot.chart(f"{op} by {field}, {ranks} ranks: {report.KINDS[inputs, pace]}",
                                 plot.curves_of([c for c in group if c["ranks"] == ranks]))
                if svg:
                    self._write(f"{op}_{file_name(field)}_{ranks}_{inputs}_{pace}.svg", svg)

    def _write(self, name, content):
        path = os.path.join(self._o.output, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(content)
        os.replace(path + ".new", path)


def file_name(words):
    return re.sub(r"[^A-Za-z0-9]+", "_", words)


def machine():
    processor = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        processor = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), processor)
    return {"processor": processor, "cores": os.cpu_count(), "kernel": platform.release(),
            "load_before": os.getloadavg()[0]}
