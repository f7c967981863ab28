# SPDX-License-Identifier: Apache-2.0
"""A program in Python runs under the launchers of docs/guide/launching.md without settings of its own."""
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest

import ranks


def total():
    import tutti_collectives as tutti
    with tutti.join() as world:
        assert world.allreduce(world.rank + 1) == world.size * (world.size + 1) // 2
        print(f"rank {world.rank} of {world.size}", flush=True)


@unittest.skipIf(ranks.lacks("numpy", "python3-numpy"), "no numpy")
class Launchers(unittest.TestCase):
    def launch(self, *command, **variables):
        if shutil.which(command[0]) is None:
            print(f"SKIPPED: {command[0]} is not installed")
            self.skipTest("no launcher")
        ended = subprocess.run([*command, os.path.abspath(__file__), "--case", "total"], capture_output=True, text=True,
                               env=ranks.environment(**variables), timeout=ranks.LIMIT)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        for rank in range(2):
            self.assertIn(f"rank {rank} of 2", ended.stdout)

    def test_open_mpi(self):
        self.launch("mpirun.openmpi", "-n", "2", "--oversubscribe", sys.executable, OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def test_mpich(self):
        self.launch("mpirun.mpich", "-n", "2", sys.executable)

    def test_torchrun(self):
        if importlib.util.find_spec("torch") is None:
            print("SKIPPED: torchrun is not installed")
            self.skipTest("no torch")
        self.launch(sys.executable, *ranks.torchrun())

    def test_no_launcher(self):
        ended = subprocess.run([sys.executable, os.path.abspath(__file__), "--case", "total"], capture_output=True,
                               text=True, env=ranks.environment(), timeout=ranks.LIMIT)
        self.assertEqual(ended.stdout, "rank 0 of 1\n", ended.stderr)


if __name__ == "__main__":
    ranks.main(globals())
