#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Loads a model that tutti has saved into PyTorch. The file says which layers the model has, so no code of yours has to.

    python3 load_in_pytorch.py model.safetensors            prints the module
    python3 load_in_pytorch.py model.safetensors image ...  prints the class of each image (needs Pillow)

In a program of yours:

    from load_in_pytorch import load
    module, description = load("model.safetensors")
    logits = module(images)  # float32, N x C x H x W

Values of images are byte * factor + offset, channel by channel: `numbers` of the description.
"""
import json
import sys

import torch
from torch import nn


def read_safetensors(path):
    """The tensors of a file and the texts of its metadata; safetensors.torch.load_file returns the same tensors."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    metadata = header.pop("__metadata__", {})
    types = {"F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32, "U8": torch.uint8}
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[begin:end], dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return tensors, metadata


def channels_beside_each_other(x):
    """Numbers in tutti's order between layers: pixel after pixel, with the channels of a pixel beside each other."""
    return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x


def as_image(x, shape):
    """Images of PyTorch, from these or from numbers in tutti's order."""
    channels, rows, columns = shape["channels"], shape["rows"], shape["columns"]
    if x.dim() == 4 and tuple(x.shape[1:]) == (channels, rows, columns):
        return x
    return channels_beside_each_other(x).reshape(-1, rows, columns, channels).permute(0, 3, 1, 2)


class Model(nn.Module):
    """The layers of a description. Each layer with weights is the module that the description names."""

    def __init__(self, description):
        super().__init__()
        self.steps = [self.step(layer) for layer in description["layers"]]

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return channels_beside_each_other(x)

    def add(self, name, module):
        """Adds a module at a path such as layer1.0.conv1."""
        *path, last = name.split(".")
        parent = self
        for part in path:
            if not hasattr(parent, part):
                parent.add_module(part, nn.Module())
            parent = getattr(parent, part)
        parent.add_module(last, module)
        return module

    def step(self, layer, wrap=lambda module: module):
        """The function of a layer. `wrap` changes its module before it is added."""
        kind = layer["kind"]
        activation = {"identity": lambda y: y, "relu": torch.relu, "tanh": torch.tanh,
                      "sigmoid": torch.sigmoid}[layer.get("activation", "identity")]
        if kind == "dense":
            module = self.add(layer["name"], wrap(nn.Linear(layer["inputs"], layer["outputs"])))
            return lambda x: activation(module(x.flatten(1)))
        if kind == "convolution":
            window, shape = layer["window"], layer["input"]
            module = self.add(layer["name"], wrap(nn.Conv2d(
                shape["channels"], layer["channels"], window["side"], window["stride"], window["padding"],
                groups=layer["groups"], bias=layer["bias"])))
            return lambda x: activation(module(as_image(x, shape)))
        if kind == "batch_norm":
            shape = layer["image"]
            module = self.add(layer["name"], nn.BatchNorm2d(shape["channels"], layer["epsilon"], layer["momentum"]))
            return lambda x: activation(module(as_image(x, shape)))
        if kind in ("max_pool", "average_pool"):
            shape, both = layer["input"], (layer["vertical"], layer["horizontal"])
            side, stride, padding = ([window[word] for window in both] for word in ("side", "stride", "padding"))
            module = nn.MaxPool2d(side, stride, padding) if kind == "max_pool" else nn.AvgPool2d(
                side, stride, padding, count_include_pad=False)
            return lambda x: module(as_image(x, shape))
        if kind == "dropout":
            return lambda x: nn.functional.dropout(x, layer["probability"], self.training)
        if kind == "channels_last":  # the order of data sets is that of PyTorch
            shape = layer["image"]
            return lambda x: x.reshape(-1, shape["channels"], shape["rows"], shape["columns"])
        if kind == "weight_norm":
            normalise = getattr(nn.utils.parametrizations, "weight_norm", nn.utils.weight_norm)  # since PyTorch 2.1
            return self.step(layer["layer"][0], normalise)
        if kind == "residual":
            body, shortcut = ([self.step(inner) for inner in layer[part]] for part in ("body", "shortcut"))

            def block(x):
                y = x
                for step in body:
                    y = step(y)
                for step in shortcut:
                    x = step(x)
                if y.dim() != x.dim() or y.shape != x.shape:
                    y, x = channels_beside_each_other(y), channels_beside_each_other(x)
                return torch.relu(x + y)
            return block
        raise ValueError(f"the layer kind {kind} is unknown; use the script of the tutti that wrote the file")


def load(path):
    """The module of a file, ready for predictions, and the description."""
    tensors, metadata = read_safetensors(path)
    description = json.loads(metadata["tutti"])
    module = Model(description)
    module.load_state_dict(tensors, strict=True)
    return module.eval(), description


def numbers_of(images, description):
    """Converts images of bytes, N x C x H x W, to the numbers that the model takes."""
    channels = description["numbers"]
    factor, offset = (torch.tensor([c[word] for c in channels]).reshape(1, -1, 1, 1) for word in ("factor", "offset"))
    return images.float() * factor + offset


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    module, description = load(sys.argv[1])
    if len(sys.argv) == 2:
        print(module)
        return
    from PIL import Image, ImageOps
    shape = description["image"]
    for path in sys.argv[2:]:
        # The bilinear filter of Pillow is the triangle of tutti.
        picture = ImageOps.fit(Image.open(path).convert("L" if shape["channels"] == 1 else "RGB"),
                               (shape["columns"], shape["rows"]), Image.BILINEAR)
        pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8)
        pixels = pixels.reshape(1, shape["rows"], shape["columns"], shape["channels"]).permute(0, 3, 1, 2)
        with torch.no_grad():
            probabilities = torch.softmax(module(numbers_of(pixels, description)), 1)[0]
        best = int(probabilities.argmax())
        names = description["class_names"]
        print(f"{path}: {names[best] if names else best}, {100 * probabilities[best]:.1f} %")


if __name__ == "__main__":
    main()
