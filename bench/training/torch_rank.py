# SPDX-License-Identifier: Apache-2.0
"""One rank of PyTorch in bench/training/compare, commanded through a socket.

All images are tensors in memory before anything is timed, and a batch is a view of them: no loader, no copy. Each
command sets options that may make PyTorch faster, and compare tries their combinations: threads, foreach,
channels_last, flags of DistributedDataParallel. Gradients are set to None, and denormal numbers flushed, always.
"""
import json
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy, relu
from torch.nn.parallel import DistributedDataParallel

CLASSES = 10


def mlp(inputs, hidden):
    layers = [nn.Flatten()]
    for size in hidden:
        layers += [nn.Linear(inputs, size), nn.ReLU(inplace=True)]
        inputs = size
    return nn.Sequential(*layers, nn.Linear(inputs, CLASSES))


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(inplace=True), nn.Linear(120, 84), nn.ReLU(inplace=True), nn.Linear(84, CLASSES))


class Block(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
            nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))
        self.shortcut = nn.Identity()
        if before != channels:
            self.shortcut = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return relu(self.body(x) + self.shortcut(x), inplace=True)


def resnet20():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    before = 16
    for stage in range(3):
        for i in range(3):
            layers.append(Block(before, 16 << stage, 2 if i == 0 and stage else 1))
            before = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, CLASSES))


def network(words, inputs):
    if words["model"] == "mlp":
        return mlp(inputs, [int(n) for n in words["hidden"].split("x")])
    return lenet5() if words["model"] == "lenet5" else resnet20()


class Training:
    """A model with its optimizer, in one of the ways that PyTorch offers."""

    def __init__(self, words, images, labels, share, world):
        torch.manual_seed(1)
        order = torch.channels_last if words["channels_last"] == "1" else torch.contiguous_format
        self.images = images.contiguous(memory_format=order)
        self.labels = labels
        self.share = share  # number of images in each of this rank's batches
        self.model = network(words, images[0].numel()).to(memory_format=order)
        if world > 1:
            flag = words["ddp_flags"] == "1"
            self.model = DistributedDataParallel(self.model, static_graph=flag, gradient_as_bucket_view=flag,
                                                 broadcast_buffers=not flag)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9,
                                         foreach=words["foreach"] == "1")

    def epoch(self):
        total = 0.0
        for x, y in zip(self.images.split(self.share), self.labels.split(self.share)):
            self.optimizer.zero_grad(set_to_none=True)
            loss = cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total = loss
        return float(total)  # no wait: everything runs in this thread


def read_images(path, shape, batch, rank, world):
    """Reads this rank's part of each batch."""
    size = 1 + shape[0] * shape[1] * shape[2]
    with open(path, "rb") as f:
        records = torch.frombuffer(bytearray(f.read()), dtype=torch.uint8).view(-1, batch, size)
    share = batch // world
    mine = records[:, rank * share:(rank + 1) * share].reshape(-1, size)
    return mine[:, 1:].float().div_(255).view(-1, *shape), mine[:, 0].long(), share


def main():
    words = dict(w.split("=", 1) for w in sys.argv[1:])
    rank, world = int(words["rank"]), int(words["ranks"])
    torch.set_flush_denormal(True)
    if world > 1:
        dist.init_process_group("gloo", init_method=f"file://{words['store']}", rank=rank, world_size=world)
    shape = [int(n) for n in words["image"].split("x")]
    images, labels, share = read_images(words["data"], shape, int(words["batch"]), rank, world)

    line = socket.socket(socket.AF_UNIX)
    line.connect(words["control"])

    def answer(what):
        line.sendall(json.dumps(what).encode() + b"\n")

    answer({"rank": rank, "pid": os.getpid()})
    ways = {}
    for command in line.makefile("r"):
        now = {**words, **dict(w.split("=", 1) for w in command.split())}
        torch.set_num_threads(int(now["threads"]))
        if command not in ways:
            ways[command] = Training(now, images, labels, share, world)
        training = ways[command]
        training.epoch()
        begin = time.monotonic_ns()
        for _ in range(int(now["epochs"]) - 1):
            loss = training.epoch()
        steps = (int(now["epochs"]) - 1) * (len(labels) // share)
        answer({"begin": begin, "end": time.monotonic_ns(), "steps": steps, "loss": loss})


if __name__ == "__main__":
    main()
