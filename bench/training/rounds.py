# SPDX-License-Identifier: Apache-2.0
"""Measures the programs in turns, and computes their results."""
import dataclasses
import itertools
import statistics

from comparison.batch import Failed
from comparison.estimates import median, paired_ratio, spread

SQUARES = (512, 1024, 2048)  # sizes of square matrices, whose products measure the speed of the machine
PATIENCE = 120.0


def seconds_a_step(answers):
    """Seconds a step, from the first rank's beginning to the last one's end."""
    begin, end = min(a["begin"] for a in answers), max(a["end"] for a in answers)
    return (end - begin) * 1e-9 / answers[0]["steps"]


def operations_a_second(answers, products):
    """Operations a second of all ranks together, which multiply at the same time."""
    work = 2 * sum(m * n * k for m, n, k in products)
    return sum(work * a["steps"] / ((a["end"] - a["begin"]) * 1e-9) for a in answers)


def shapes(products):
    return "shapes=" + "x".join(str(n) for p in products for n in p)


def threads(ranks, cores):
    """Numbers of threads for each rank: one, or all cores divided."""
    return sorted({1, max(1, cores // ranks)})


def torch_environments(ranks, cores):
    """Variables of the environment that may make PyTorch faster, by settings that are fixed when it starts. OpenMP and
    OpenBLAS otherwise have a thread for each core in each rank, which spins for a while when it has no work."""
    result = {}
    for t in threads(ranks, cores):
        spinning = {"OMP_NUM_THREADS": str(t), "OPENBLAS_NUM_THREADS": str(t)}
        result[f"threads={t} wait=passive"] = {**spinning, "OMP_WAIT_POLICY": "passive"}
        if t > 1:
            result[f"threads={t} wait=default"] = spinning
    return result


def torch_ways(ranks, convolutions):
    """All combinations of settings that may make PyTorch faster, besides those of its environment."""
    return [f"foreach={f} channels_last={c} ddp_flags={d}"
            for f, c, d in itertools.product((0, 1), (0, 1) if convolutions else (0,), (0, 1) if ranks > 1 else (0,))]


def best(ways, trials=3):
    """The fastest pair of a world and a way to train in it, tried in turns, and the times of all."""
    took = {(world, way): [] for world, way in ways}
    for _ in range(trials):
        for (world, way), times in took.items():
            times.append(seconds_a_step(world.run(way, PATIENCE)))
    took = {key: statistics.median(t) for key, t in took.items()}
    return min(took, key=took.get), {way: t for (_, way), t in took.items()}


@dataclasses.dataclass
class Turns:
    """Measurements of each round."""

    ours: list = dataclasses.field(default_factory=list)  # seconds a step
    theirs: list = dataclasses.field(default_factory=list)
    square: list = dataclasses.field(default_factory=list)  # operations a second
    layers: list = dataclasses.field(default_factory=list)


def take_turns(ours, theirs, our_way, their_way, workload, images, rounds):
    """Takes turns of both contenders and of the machine's products, `rounds` times; `images` of a step on each rank."""
    turns = Turns()
    layers = workload.products(images)
    for _ in range(rounds):
        turns.ours.append(learned(ours.run(our_way, PATIENCE)))
        turns.theirs.append(learned(theirs.run(their_way, PATIENCE)))
        turns.square.append(max(operations_a_second(
            ours.run(f"{shapes([(n, n, n)])} times={max(1, (1024 // n) ** 3)} {our_way}", PATIENCE), [(n, n, n)])
            for n in SQUARES))
        times = max(1, int(2e9 / (2 * sum(m * n * k for m, n, k in layers))))
        turns.layers.append(operations_a_second(
            ours.run(f"{shapes(layers)} times={times} {our_way}", PATIENCE), layers))
    return turns


def learned(answers):
    """Rejects a contender that is fast but computes nonsense, and returns its seconds a step."""
    loss = answers[0]["loss"]
    if not 0 < loss < 2.5:  # the logarithm of ten classes is 2.3
        raise Failed(f"the loss after training is {loss}: it did not learn")
    return seconds_a_step(answers)


def summary(workload, batch, turns):
    """Images a second, the ratio with its interval, and shares of the machine's speed."""
    square, layers = median(turns.square), median(turns.layers)

    def side(times):
        rate = batch / median(times)
        return {"images_per_second": rate, "half": [batch / t for t in reversed(spread(times))],
                "of_square": rate * workload.operations() / square, "of_layers": rate * workload.operations() / layers}

    return {"tutti": side(turns.ours), "torch": side(turns.theirs), "square": square, "layers": layers,
            "speed": paired_ratio(turns.theirs, turns.ours)}
