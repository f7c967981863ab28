# SPDX-License-Identifier: Apache-2.0
"""`pip install .` without a network: the package with its library, and texts that say what is missing."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import ranks

LIBRARY = os.environ.get("TUTTI_LIBRARY")
COMPILER = """#!/bin/sh
echo "$@" > {folder}/flags
for last; do :; done
cp "{library}" "$last"
"""


@unittest.skipIf(LIBRARY is None, "TUTTI_LIBRARY names no built library")
@unittest.skipIf(ranks.lacks("numpy", "python3-numpy"), "no numpy")
@unittest.skipIf(ranks.lacks("ensurepip", "python3-venv"), "no venv")
class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = cls.holder.name
        cls.python = os.path.join(cls.folder, "environment", "bin", "python")
        environment = os.path.join(cls.folder, "environment")
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", environment], check=True,
                       timeout=ranks.LIMIT)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def pip(self, source=ranks.PYTHON, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in ("TUTTI_LIBRARY", "PYTHONPATH")}
        ended = subprocess.run(
            [self.python, "-m", "pip", "install", "--no-index", "--no-deps", "--force-reinstall",
             "--disable-pip-version-check", source],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=ranks.LIMIT,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1", **variables})
        return ended.returncode, ended.stdout

    def installed(self, program):
        environment = {name: value for name, value in os.environ.items() if name not in ("TUTTI_LIBRARY", "PYTHONPATH")}
        ended = subprocess.run([self.python, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, cwd=self.folder, env=environment, timeout=ranks.LIMIT)
        return ended.stdout.strip()

    def test_a_built_library_is_taken(self):
        status, output = self.pip(TUTTI_LIBRARY=LIBRARY)
        self.assertEqual(status, 0, output)
        found = self.installed("import tutti_collectives.binding as l; print(l.lib._name, l.lib.tutti_interface())")
        self.assertEqual(found, os.path.join(os.path.dirname(self.installed(
            "import tutti_collectives as t; print(t.__file__)")), "libtutti_c.so") + " 1")
        self.assertEqual(self.installed("import tutti_collectives as t; print(t.join().allreduce([2, 3]))"), "[2 3]")
        version = self.installed("import importlib.metadata as m; print(m.version('tutti-collectives'))")
        self.assertEqual(version, self.installed(
            "from tutti_collectives.binding import lib; print(lib.tutti_version().decode())"))

    def test_the_compiler_gets_the_flags(self):
        compiler = os.path.join(self.folder, "compiler")
        with open(compiler, "w", encoding="utf-8") as file:
            file.write(COMPILER.format(folder=self.folder, library=LIBRARY))
        os.chmod(compiler, 0o755)
        status, output = self.pip(CXX=compiler, CXXFLAGS="-march=native -g0")
        self.assertEqual(status, 0, output)
        with open(os.path.join(self.folder, "flags"), encoding="utf-8") as file:
            flags = file.read()
        for flag in ("-std=c++20", "-O2", "-shared", "-fvisibility=hidden", "-march=native -g0",
                     "include/tutti/c/c.cpp", "-Wl,--version-script="):
            self.assertIn(flag, flags)

    def test_failures_say_what_is_missing(self):
        alone = os.path.join(self.folder, "alone")
        shutil.copytree(ranks.PYTHON, alone, ignore=shutil.ignore_patterns("test"))
        for options, text in (({"CXX": "/no/such/compiler"}, "the C++ compiler /no/such/compiler cannot be run"),
                              ({"CXX": "false"}, "false failed with status 1. It has to know C++20"),
                              ({"TUTTI_LIBRARY": "/no/such.so"}, "TUTTI_LIBRARY names /no/such.so, which cannot"),
                              ({"source": alone}, "install from python/ in tutti's source tree")):
            status, output = self.pip(**options)
            self.assertNotEqual(status, 0)
            self.assertIn(text, output)
            self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    unittest.main()
