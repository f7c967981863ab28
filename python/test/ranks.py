# SPDX-License-Identifier: Apache-2.0
"""Runs functions of a test on the ranks of a world: each rank is a process that runs the test's file again."""
import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# A torchrun that works with torch 1.13 and Python 3.11, whose flags do not list their zero, "redirect nothing".
TORCHRUN = """
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda flags, text: flags.NONE)
from torch.distributed.run import main
main()
"""


def torchrun():
    """Returns the arguments of a Python that starts two ranks of this host as torchrun does, at a port that is free.

    Not with --standalone, whose port is the same for all.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return ["-c", TORCHRUN, "--nnodes=1", "--node_rank=0", "--master_addr=127.0.0.1", f"--master_port={port}",
            "--nproc_per_node=2"]


LIMIT = float(os.environ.get("TUTTI_TEST_LIMIT", "100"))


def lacks(module, package):
    """Returns True, and says what to install, if this Python has no such module."""
    found = importlib.util.find_spec(module) is not None
    if not found:
        print(f"SKIP: {sys.executable} has no {module} (Debian: {package}, for /usr/bin/python3)")
    return not found


def environment(**more):
    """Returns the environment of a process that imports the package of this source tree."""
    kept = {name: value for name, value in os.environ.items()
            if name == "TUTTI_LIBRARY" or not name.startswith(("TUTTI_", "OMPI_", "PMI_", "SLURM_", "TORCHELASTIC_"))}
    return {**kept, "PYTHONPATH": PYTHON, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", **more}


class Ranks:
    """The processes of a world. `case` is the name of a function in the file `script`, without arguments."""

    def __init__(self, script, case, size, *arguments, **more):
        self._folder = tempfile.TemporaryDirectory()
        self.processes = [subprocess.Popen(
            [sys.executable, script, "--case", case, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment(TUTTI_RANK=str(rank), TUTTI_SIZE=str(size), TUTTI_JOB=self._folder.name,
                            TUTTI_STORE="file:" + self._folder.name, **more)) for rank in range(size)]

    def lines(self, rank):
        """Yields the lines that a rank prints."""
        for line in self.processes[rank].stdout:
            yield line.rstrip("\n")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self._folder.cleanup()

    def results(self):
        """Returns the exit status and the output of each rank."""
        ended = []
        for process in self.processes:
            output, _ = process.communicate(timeout=LIMIT)
            ended.append((process.returncode, output))
        return ended


def run(test, script, case, size, *arguments, fails=(), **more):
    """Runs a case on ranks, which all have to succeed but those of `fails`. Returns their outputs."""
    with Ranks(script, case, size, *arguments, **more) as ranks:
        ended = ranks.results()
    for rank, (status, output) in enumerate(ended):
        expected = -signal.SIGKILL if rank in fails else 0
        test.assertEqual(status, expected, f"{case}: rank {rank} of {size} ended with {status}:\n{output}")
    return [output for _, output in ended]


def main(cases):
    """Runs the case that the command line names, on this rank; without one, the tests."""
    if sys.argv[1:2] == ["--case"]:
        cases[sys.argv[2]](*sys.argv[3:])
    else:
        unittest.main(module=cases["__name__"])
