# SPDX-License-Identifier: Apache-2.0
"""Compares the backends gloo and tutti of torch.distributed in turns: allreduce, and training with DDP.

    torchrun --nproc_per_node=2 python/bench_torch.py [allreduce | training] ...

Training also runs over a group that exchanges nothing, which is the most that a faster exchange can reach.
"""
import statistics
import sys
import time

import torch
import torch.distributed as dist

import tutti_torch

ROUNDS = 11


class Nothing(tutti_torch.ProcessGroupTutti):
    """Leaves gradients as they are while `trains` is set."""

    trains = False

    def allreduce(self, tensors, opts=None):
        if not self.trains:
            return super().allreduce(tensors, opts)
        future = torch.futures.Future()
        future.set_result(list(tensors))
        return torch._C._distributed_c10d._create_work_from_future(future)


def timed(function, repetitions, group):
    dist.barrier(group=group)
    start = time.perf_counter()
    for _ in range(repetitions):
        function()
    return (time.perf_counter() - start) / repetitions


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} [{low:.3f} {high:.3f}]"


def bench_allreduce(groups):
    print_once(f"torch {torch.__version__}, {dist.get_world_size()} ranks, allreduce of float32\n"
               "| bytes | gloo us | tutti us | tutti/gloo | asynchronous tutti/gloo |\n| --- | --- | --- | --- | --- |")
    for size in [4 << (2 * i) for i in range(13)]:
        data = torch.zeros(size // 4)
        repetitions = max(4, min(500, (8 << 20) // size))
        ways = {
            "gloo": lambda: dist.all_reduce(data, group=groups["gloo"]),
            "tutti": lambda: dist.all_reduce(data, group=groups["tutti"]),
            "started": lambda: dist.all_reduce(data, group=groups["tutti"], async_op=True).wait(),
        }
        times = {name: [] for name in ways}
        for turn in range(ROUNDS + 1):
            for name, way in ways.items():
                took = timed(way, repetitions, groups["tutti"])
                if turn > 0:
                    times[name].append(took)
        ratios = [quartiles([b / a for a, b in zip(times["gloo"], times[name])]) for name in ("tutti", "started")]
        print_once(f"| {size} | {statistics.median(times['gloo']) * 1e6:.1f} | "
                   f"{statistics.median(times['tutti']) * 1e6:.1f} | {ratios[0]} | {ratios[1]} |")


def lenet():
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def perceptron():
    nn = torch.nn
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 2048), nn.ReLU(), nn.Linear(2048, 1024), nn.ReLU(),
                         nn.Linear(1024, 10))


def train(model, optimizer, batch, steps):
    images, labels = torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


def bench_training(groups):
    tutti_torch.register("nothing", Nothing)
    groups = dict(groups, nothing=dist.new_group(backend="nothing"))
    print_once(f"torch {torch.__version__}, {dist.get_world_size()} ranks, images/s over those with gloo\n"
               "| model | batch | gloo images/s | tutti | nothing | share of the distance | weights |\n"
               "| --- | --- | --- | --- | --- | --- | --- |")
    for name, make, batch, steps in (("LeNet-5", lenet, 64, 12), ("LeNet-5", lenet, 8, 25),
                                     ("perceptron, 15 MB", perceptron, 64, 6)):
        models = {}
        for group in groups:
            torch.manual_seed(1)
            model = torch.nn.parallel.DistributedDataParallel(make(), process_group=groups[group])
            models[group] = model, torch.optim.SGD(model.parameters(), lr=0.01)
        rates = {group: [] for group in groups}
        for turn in range(ROUNDS + 1):
            for group, (model, optimizer) in models.items():
                torch.manual_seed(100 * turn + dist.get_rank())
                Nothing.trains = True
                took = timed(lambda: train(model, optimizer, batch, steps), 1, groups["tutti"])
                Nothing.trains = False
                if turn > 0:
                    rates[group].append(dist.get_world_size() * batch * steps / took)
        over = {group: [b / a for a, b in zip(rates["gloo"], rates[group])] for group in ("tutti", "nothing")}
        tutti, nothing = (statistics.median(over[group]) for group in ("tutti", "nothing"))
        share = f"{(tutti - 1) / (nothing - 1):.2f}" if nothing >= 1.1 else "-"
        weights = [torch.cat([p.detach().flatten() for p in models[group][0].parameters()])
                   for group in ("gloo", "tutti")]
        print_once(f"| {name} | {batch} | {statistics.median(rates['gloo']):.0f} | {quartiles(over['tutti'])} | "
                   f"{quartiles(over['nothing'])} | {share} | "
                   f"{'equal' if torch.allclose(*weights, rtol=1e-4, atol=1e-5) else 'DIFFERENT'} |")


def print_once(text):
    if dist.get_rank() == 0:
        print(text, flush=True)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    groups = {"gloo": dist.group.WORLD, "tutti": dist.new_group(backend="tutti")}
    parts = {"allreduce": bench_allreduce, "training": bench_training}
    for part in sys.argv[1:] or parts:
        parts[part](groups)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
