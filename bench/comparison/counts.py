# SPDX-License-Identifier: Apache-2.0
"""Counts system calls and messages of one operation, in separate runs that are not timed."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from comparison.batch import Failed, figures, operations
from comparison.world import own_files, shared_folder

PATIENCE = 120  # seconds for a run


def run_alone(entry, folder, cell, cores, iterations, before=(), words=()):
    """Runs one batch without a socket, and returns the output of its ranks."""
    with tempfile.TemporaryDirectory(prefix="tutti-bench-", dir=shared_folder()) as path:
        os.mkdir(os.path.join(path, "store"))
        command = [*before, *entry.program.command(folder, cell.ranks, cores), *own_files(entry.program, path),
                   *cell.words(entry.way, iterations).split(), *words]
        try:
            done = subprocess.run(command, env=entry.program.environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=PATIENCE, check=True)
        except (subprocess.SubprocessError, OSError) as why:
            raise Failed(f"{entry.program.name} could not be counted: {why}") from None
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def counter():
    """The means of counting system calls here: perf, else strace, else None."""
    for name, command, read in (("perf", perf, read_perf), ("strace", strace, read_strace)):
        if shutil.which(name):
            with tempfile.NamedTemporaryFile() as file:
                done = subprocess.run([*command(file.name), "true"], capture_output=True, check=False)
                if done.returncode == 0 and read(file.name):
                    return command, read
    return None


def perf(path):
    return ["perf", "stat", "-x", ",", "-e", "raw_syscalls:sys_enter", "-o", path, "--"]


def read_perf(path):
    with open(path, encoding="utf-8") as f:
        found = re.search(r"^(\d+),", f.read(), re.MULTILINE)
    return int(found.group(1)) if found else 0


def strace(path):
    return ["strace", "-f", "-c", "-o", path]


def read_strace(path):
    with open(path, encoding="utf-8") as f:
        found = re.search(r"^\s*100\.00\s+\S+\s+\S+\s+(\d+).*total$", f.read(), re.MULTILINE)
    return int(found.group(1)) if found else 0


def system_calls(how, entry, folder, cell, cores):
    """System calls of all ranks, per operation: the difference between a long and a short run, launcher included."""
    few, many = 8, 8 + count_for(entry)
    calls = []
    for iterations in (few, many):
        with tempfile.NamedTemporaryFile() as file:
            run_alone(entry, folder, cell, cores, iterations, how[0](file.name))
            calls.append(how[1](file.name))
    return max(0.0, (calls[1] - calls[0]) / (operations(many) - operations(few)))


def count_for(entry):
    return max(8, min(4000, int(0.2 / max(entry.trial, 1e-9))))


def messages(entry, folder, cell, cores):
    """Messages of all ranks, per operation; None for a program that does not count them."""
    if entry.program.implementation != "tutti":
        return None
    return figures(run_alone(entry, folder, cell, cores, 8, words=["trace=yes"]))["messages"]
