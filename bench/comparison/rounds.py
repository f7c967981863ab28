# SPDX-License-Identifier: Apache-2.0
"""Measures one cell of the table: all contenders do the same work, in turns."""
import dataclasses
import statistics
import time

from comparison.batch import Failed

SLOWEST = 60.0  # seconds that a batch may take before its contender counts as hung
TRIALS = 2.0  # seconds after which a contender's trials end, however few they were
FEWEST = 7  # rounds that are measured however long they take: from 6 on there is an interval of 95 %


@dataclasses.dataclass(frozen=True)
class Cell:
    field: str
    op: str
    ranks: int
    size: int  # bytes of each rank's vector
    inputs: str  # rewritten, constant
    pace: str  # back_to_back, barrier

    def words(self, way, iterations):
        algorithm = f" algorithm={way.algorithm}" if way.algorithm else ""
        return (f"op={self.op} bytes={self.size} inputs={self.inputs} pace={self.pace} iterations={iterations}"
                f"{algorithm} segment={way.segment}")


@dataclasses.dataclass
class Entry:
    """A contender's way of doing a cell, and the results of each round; None where it failed."""

    program: object
    way: object
    iterations: int = 1
    trial: float = 0.0  # seconds with writing, the median of the trials that chose the way
    rounds: list = dataclasses.field(default_factory=list)
    error: str = ""
    counts: dict = dataclasses.field(default_factory=dict)  # system calls, messages: of one operation

    def choice(self):
        """The settings and algorithm, as text."""
        return " ".join(w for w in (self.program.setting, str(self.way or "")) if w)


def run_once(world, cell, entry):
    patience = SLOWEST + cell.ranks * cell.size / 1e8
    return world.measure(cell.words(entry.way, entry.iterations), patience)


def calibrate(world, cell, entry, batch_seconds):
    """Finds the number of operations that fill a batch."""
    for _ in range(3):
        result = run_once(world, cell, entry)
        entry.trial = result["alone"] or result["loop"]
        if result["loop"] * entry.iterations > batch_seconds / 3:
            break
        entry.iterations = count_for(batch_seconds, result["loop"], at_most=64 * entry.iterations)


def count_for(batch_seconds, seconds, at_most):
    return max(1, min(at_most, int(batch_seconds / max(seconds, 1e-9))))


def choose(world, cell, batch_seconds, trials):
    """Tries all ways of a contender, in turns. Returns the fastest as an entry, and the times of all. A way that kills
    the contender is the last one tried."""
    entries = []
    error = ""
    for way in world.program.ways(cell.op, cell.size, cell.ranks, cell.inputs):
        entry = Entry(world.program, way)
        try:
            calibrate(world, cell, entry, batch_seconds)
            entries.append(entry)
        except Failed as why:
            error = str(why)
        if world.ended:
            break
    if len(entries) > 1:
        try_again(world, cell, entries, trials)
    entries = sorted((e for e in entries if not e.error), key=lambda e: e.trial)
    if not entries:
        return Entry(world.program, None, error=error), {}
    return entries[0], {e.choice(): e.trial for e in entries}


def try_again(world, cell, entries, trials):
    """Tries, in turns, all ways that may still be the fastest. Their medians then count: with more ranks than cores,
    the minimum belongs to a trial in which the system happened to spread the ranks well."""
    took = [[e.trial] for e in entries]
    until = time.monotonic() + TRIALS
    for _ in range(trials):
        best = min(min(t) for t in took)
        for e, t in zip(entries, took):
            if world.ended or time.monotonic() > until:
                break
            if e.error or min(t) > 3 * best:
                continue
            try:
                result = run_once(world, cell, e)
                t.append(result["alone"] or result["loop"])
            except Failed as why:
                e.error = str(why)
    for e, t in zip(entries, took):
        e.trial = statistics.median(t)


def best_of_each_name(entries):
    """The best setting of each contender for this cell."""
    best = {}
    for e in entries:
        rival = best.get(e.program.name)
        if rival is None or (e.way and (not rival.way or e.trial < rival.trial)):
            best[e.program.name] = e
    return list(best.values())


def alternate(worlds, cell, entries, rounds, patience=float("inf")):
    """Measures A B C A B C ...; worlds: a world for each program. After `patience` seconds, only the fewest rounds."""
    until = time.monotonic() + patience
    for done in range(rounds):
        if done >= FEWEST and time.monotonic() > until:
            break
        for entry in entries:
            world = worlds.get(entry.program)
            if not world or world.ended or entry.way is None:
                entry.rounds.append(None)
                continue
            try:
                entry.rounds.append(run_once(world, cell, entry))
            except Failed as why:
                entry.error = str(why)
                entry.rounds.append(None)
