# SPDX-License-Identifier: Apache-2.0
"""Prints the progress of a run and its remaining time."""
import sys
import time


class Progress:
    def __init__(self, weights, stream=sys.stderr):
        self._left = sum(weights)
        self._done = 0.0
        self._begin = time.monotonic()
        self._stream = stream

    def show(self, what):
        share = self._done / (self._done + self._left) if self._done + self._left else 1.0
        spent = time.monotonic() - self._begin
        rest = f"about {duration(spent * (1 - share) / share)} left" if share > 0 else "no estimate yet"
        print(f"[{share * 100:3.0f} %, {duration(spent)} so far, {rest}] {what}", file=self._stream, flush=True)

    def finish(self, weight):
        self._done += weight
        self._left -= weight


def duration(seconds):
    seconds = int(seconds + 0.5)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"
