# SPDX-License-Identifier: Apache-2.0
"""Keeps the contenders running. One that died is started again for the next cell."""
import sys

from comparison.batch import Failed


class Worlds:
    def __init__(self, programs, start):
        """start(program) starts it, or raises Failed."""
        self._start = start
        self._running = {p: None for p in programs}

    def of(self, field):
        for p, world in self._running.items():
            if p.field == field and (world is None or world.ended):
                try:
                    self._running[p] = self._start(p)
                except Failed as why:
                    print(why, file=sys.stderr)
        return {p: w for p, w in self._running.items() if p.field == field and w and not w.ended}

    def end(self):
        for world in self._running.values():
            if world:
                world.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
