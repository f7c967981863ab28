# SPDX-License-Identifier: Apache-2.0
"""Prints the images a second that PyTorch trains in eager mode: ResNet-20 and VGG-16 for 32 x 32, batches of 128 that
are on the GPU already, channels_last; in float without TF32, and in bf16 by autocast. A line is `resnet20 float
12345.6`. Without PyTorch or a GPU it prints only the reason, on stderr.

Example: python3 bench/gpu/trainer/pytorch.py
"""
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("there is no PyTorch for " + sys.executable)
if not torch.cuda.is_available():
    sys.exit("PyTorch finds no GPU")

BATCH = 128
STEPS = 100


def normalised(inputs, outputs, side, stride=1):
    return [nn.Conv2d(inputs, outputs, side, stride, side // 2, bias=False), nn.BatchNorm2d(outputs)]


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            *normalised(inputs, outputs, 3, stride), nn.ReLU(inplace=True), *normalised(outputs, outputs, 3)
        )
        same = inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Sequential(*normalised(inputs, outputs, 1, stride))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet20():
    layers = [*normalised(3, 16, 3), nn.ReLU(inplace=True)]
    channels = 16
    for stage in range(3):
        for i in range(3):
            layers.append(Block(channels, 16 << stage, 2 if i == 0 and stage != 0 else 1))
            channels = 16 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def vgg16():
    layers = []
    channels = 3
    for stage, count in enumerate([2, 2, 3, 3, 3]):
        for _ in range(count):
            outputs = min(64 << stage, 512)
            layers += [*normalised(channels, outputs, 3), nn.ReLU(inplace=True)]
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def images_per_second(model, numbers):
    model = model.cuda().to(memory_format=torch.channels_last).train()
    steps = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    loss = nn.CrossEntropyLoss()
    x = torch.randn(BATCH, 3, 32, 32, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(10, (BATCH,), device="cuda")

    def step():
        steps.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=numbers == "bf16"):
            y = loss(model(x), labels)
        y.backward()
        steps.step()

    best = 0.0
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        best = max(best, BATCH * STEPS / (time.perf_counter() - begin))
    return best


torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
for name, make in {"resnet20": resnet20, "vgg16": vgg16}.items():
    for numbers in ["float", "bf16"]:
        print(name, numbers, round(images_per_second(make(), numbers), 1), flush=True)
