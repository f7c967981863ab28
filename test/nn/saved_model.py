# SPDX-License-Identifier: Apache-2.0
"""
Computes the predictions of saved models with NumPy, and compares them with those of tutti.

    python3 saved_model.py <program nn_saved_model>

The weights are used as PyTorch documents them: Linear y = x W^T + b, Conv2d with weights [out, in / groups, k, k],
images N x C x H x W, flattened channel after channel. Ends with 77 where NumPy is missing.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    print("SKIPPED: NumPy is missing (Debian: python3-numpy)")
    sys.exit(77)

TOLERANCE = 1e-5


def read_safetensors(path):
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    metadata = header.pop("__metadata__")
    assert begin % 8 == 0 and metadata["format"] == "pt", path
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        first, last = entry["data_offsets"]
        numbers = numpy.frombuffer(data, "<f4", (last - first) // 4, begin + first)
        tensors[name] = numbers.reshape(entry["shape"]).astype("f8")
    return tensors, json.loads(metadata["tutti"])


def flat(x):
    """Numbers in tutti's order between layers."""
    return x.transpose(0, 2, 3, 1).reshape(len(x), -1) if x.ndim == 4 else x


def as_image(x, shape):
    wanted = (len(x), shape["channels"], shape["rows"], shape["columns"])
    if x.shape == wanted:
        return x
    return flat(x).reshape(len(x), shape["rows"], shape["columns"], shape["channels"]).transpose(0, 3, 1, 2)


def windows(x, vertical, horizontal, filling):
    """All positions of a window: N x C x rows x columns x height x width."""
    pads = [(0, 0), (0, 0), (vertical["padding"],) * 2, (horizontal["padding"],) * 2]
    padded = numpy.pad(x, pads, constant_values=filling)
    view = numpy.lib.stride_tricks.sliding_window_view(padded, (vertical["side"], horizontal["side"]), (2, 3))
    return view[:, :, ::vertical["stride"], ::horizontal["stride"]]


def activate(x, layer):
    return {"identity": lambda: x, "relu": lambda: numpy.maximum(x, 0), "tanh": lambda: numpy.tanh(x),
            "sigmoid": lambda: 1 / (1 + numpy.exp(-x))}[layer["activation"]]()


def weight_of(tensors, name):
    if name + ".weight" in tensors:
        return tensors[name + ".weight"]
    v = tensors[name + ".weight_v"]
    length = numpy.sqrt((v * v).sum(tuple(range(1, v.ndim)), keepdims=True))
    return tensors[name + ".weight_g"] * v / length


def run(layers, tensors, x):
    for layer in layers:
        kind = layer["kind"]
        if kind == "weight_norm":
            layer = layer["layer"][0]
            kind = layer["kind"]
        if kind == "dense":
            x = x.reshape(len(x), -1) @ weight_of(tensors, layer["name"]).T + tensors[layer["name"] + ".bias"]
            x = activate(x, layer)
        elif kind == "convolution":
            weight = weight_of(tensors, layer["name"])
            parts = numpy.split(windows(as_image(x, layer["input"]), layer["window"], layer["window"], 0),
                                layer["groups"], 1)
            filters = numpy.split(weight, layer["groups"])
            x = numpy.concatenate([numpy.einsum("ncijkl,ockl->noij", part, f) for part, f in zip(parts, filters)], 1)
            if layer["bias"]:
                x = x + tensors[layer["name"] + ".bias"].reshape(1, -1, 1, 1)
            x = activate(x, layer)
        elif kind == "batch_norm":
            weight, bias, mean, variance = (tensors[f"{layer['name']}.{word}"].reshape(1, -1, 1, 1) for word in
                                            ("weight", "bias", "running_mean", "running_var"))
            x = activate((as_image(x, layer["image"]) - mean) / numpy.sqrt(variance + layer["epsilon"]) * weight + bias,
                         layer)
        elif kind == "max_pool":
            x = windows(as_image(x, layer["input"]), layer["vertical"], layer["horizontal"], -numpy.inf).max((4, 5))
        elif kind == "average_pool":  # pixels beyond the edge do not count
            x = numpy.nanmean(windows(as_image(x, layer["input"]), layer["vertical"], layer["horizontal"], numpy.nan),
                              (4, 5))
        elif kind == "residual":
            y = run(layer["body"], tensors, x)
            x = run(layer["shortcut"], tensors, x)
            x = numpy.maximum(x + y if x.shape == y.shape else flat(x) + flat(y), 0)
        else:
            assert kind in ("dropout", "channels_last"), kind
    return x


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "--run_test=models_for_other_programs"], check=True,
                       env={**os.environ, "TUTTI_SAVED_MODELS": folder})
        files = sorted(pathlib.Path(folder).glob("*.safetensors"))
        assert len(files) >= 4, files
        for file in files:
            tensors, description = read_safetensors(file)
            shape = description["image"]
            images = numpy.fromfile(file.with_suffix(".images"), "u1").reshape(
                -1, shape["channels"], shape["rows"], shape["columns"])
            factor, offset = (numpy.array([c[word] for c in description["numbers"]]).reshape(1, -1, 1, 1)
                              for word in ("factor", "offset"))
            logits = flat(run(description["layers"], tensors, images * factor + offset))
            powers = numpy.exp(logits - logits.max(1, keepdims=True))
            probabilities = powers / powers.sum(1, keepdims=True)
            expected = numpy.fromfile(file.with_suffix(".probabilities"), "<f4").reshape(probabilities.shape)
            distance = abs(probabilities - expected).max()
            print(f"{file.stem}: {len(tensors)} tensors, {len(images)} images, difference {distance:.1e}")
            assert distance < TOLERANCE, file.stem
            # A wrong order of elements would show only if predictions depended on the image.
            assert probabilities.std(0).max() > 100 * TOLERANCE, file.stem


main()
