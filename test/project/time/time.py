#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints where the time of a build folder of Ninja and CTest went: build steps and tests by component, and the longest.

Times are of the clock, from the beginning to the end of a step or test, while others ran beside it. Tests are those of
the last run of CTest."""

import collections
import pathlib
import re
import sys

COMPONENTS = ["secure", "simulation", "verbs", "in_network", "nn", "cuda"]
LONGEST = 12


def component_of(path):
    """The component whose folder a path of a source goes through, else the folder of the project."""
    parts = pathlib.PurePath(path).parts
    for name in COMPONENTS:
        if name in parts:
            return name
    if "tutti" in parts or "compiled" in path:
        return "core"
    if parts and parts[0] in ("examples", "tools", "hardware", "bench"):
        return parts[0]
    return "core"


def build_steps(folder):
    """Seconds of each output's last build: {output: seconds}."""
    steps = {}
    log = folder / ".ninja_log"
    for line in log.read_text().splitlines() if log.exists() else []:
        if line.startswith("#"):
            continue
        begin, end, _, output, _ = line.split("\t")
        if not pathlib.PurePath(output).is_absolute():
            steps[output] = (int(end) - int(begin)) / 1000
    return steps


def kind_of(output):
    if "_compiler/" in output:
        return "reading"
    if output.endswith((".o", ".pch", ".gch")):
        return "compile"
    return "link and other"


def component_of_output(output):
    source = re.sub(r"CMakeFiles/[^/]*\\.dir/", "", output)
    name = pathlib.PurePath(output).name
    if kind_of(output) != "compile" or "/" not in source:
        return next((c for c in COMPONENTS if name.startswith(c) or f"_{c}" in name), "core")
    return component_of(source)


def tests(folder):
    """Seconds of each test of the last run: {test: seconds}. CTest's own file of costs has means over runs, and for a
    test with a COST means with that number."""
    results = {}
    name = None
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        if begin := re.match(r"\d+/\d+ Testing: (\S+)$", line):
            name = begin[1]
        elif (took := re.match(r"Test time = +([0-9.]+) sec$", line)) and name:
            results[name] = float(took[1])
    return results


def component_of_test(name):
    prefixes = {"fpga_nic": "in_network", "multicast": "in_network", "device": "cuda", "emulated_gpu": "cuda"}
    for prefix, component in {**{c: c for c in COMPONENTS}, **prefixes}.items():
        if name.startswith(prefix):
            return component
    for prefix in ("example", "bench", "mutants", "compile_fail"):
        if name.startswith(prefix):
            return prefix
    return "core"


def table(title, seconds_of, group_of):
    groups = collections.Counter()
    counts = collections.Counter()
    for name, seconds in seconds_of.items():
        groups[group_of(name)] += seconds
        counts[group_of(name)] += 1
    print(f"{title}: {sum(groups.values()):.0f} s")
    for group, seconds in groups.most_common():
        print(f"  {seconds:7.0f} s  {counts[group]:4d}  {group}")
    longest = sorted(seconds_of.items(), key=lambda item: -item[1])[:LONGEST]
    print("  longest: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in longest))


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("usage: test/project/time/time.py BUILD_FOLDER")
    folder = pathlib.Path(sys.argv[1])
    steps = build_steps(folder)
    table("build steps", steps, lambda output: f"{kind_of(output)}, {component_of_output(output)}")
    table("tests", tests(folder), component_of_test)


if __name__ == "__main__":
    main()
