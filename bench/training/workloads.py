# SPDX-License-Identifier: Apache-2.0
"""Lists the networks of the measurement as matrix products."""
import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Layer:
    """A product of a matrix of rows x inner and one of inner x columns, forward; two of as many operations backward,
    or one where the derivative by the input is not needed. A convolution has a row for each pixel of its output."""

    rows: int  # for each image
    columns: int
    inner: int

    def operations(self, first):
        """Operations of an image in a step; a multiplication and an addition are two."""
        return 2 * self.rows * self.columns * self.inner * (2 if first else 3)

    def products(self, images, first):
        """(rows, columns, inner) of all of a step's products."""
        m, n, k = self.rows * images, self.columns, self.inner
        return [(m, n, k), (k, n, m)] + ([] if first else [(m, k, n)])


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    model: str
    image: str  # channels x rows x columns
    layers: tuple
    images: int  # in the data set
    hidden: str = "0"

    def operations(self):
        """Operations of an image in a step, of the products alone."""
        return sum(layer.operations(i == 0) for i, layer in enumerate(self.layers))

    def products(self, images):
        return [p for i, layer in enumerate(self.layers) for p in layer.products(images, i == 0)]

    def words(self):
        return [f"model={self.model}", f"hidden={self.hidden}", f"image={self.image}"]


def dense(*sizes):
    return tuple(Layer(1, n, k) for k, n in zip(sizes, sizes[1:]))


def resnet20():
    layers, before, side = [Layer(32 * 32, 16, 27)], 16, 32
    for stage in range(3):
        channels = 16 << stage
        for block in range(3):
            side //= 2 if block == 0 and stage else 1
            layers += [Layer(side * side, channels, 9 * before), Layer(side * side, channels, 9 * channels)]
            if before != channels:
                layers.append(Layer(side * side, channels, before))
            before = channels
    return tuple(layers) + dense(64, 10)


def mlp(name, images, *hidden):
    return Workload(name, "mlp", "1x28x28", dense(784, *hidden, 10), images, "x".join(map(str, hidden)))


WORKLOADS = {w.name: w for w in (
    mlp("mlp", 8192, 256, 128),
    mlp("wide_mlp", 8192, 1024, 1024),
    Workload("lenet5", "lenet5", "1x28x28",
             (Layer(28 * 28, 6, 25), Layer(10 * 10, 16, 150)) + dense(400, 120, 84, 10), 4096),
    Workload("resnet20", "resnet", "3x32x32", resnet20(), 256),
)}


def write_images(path, workload, seed=1):
    """Writes images of ten classes that differ, with noise, and a third of the labels wrong, so that neither side's
    loss reaches zero, where numbers become denormal and slow. For each, a label, then the image's bytes."""
    draw = random.Random(seed)
    size = 1
    for n in workload.image.split("x"):
        size *= int(n)
    low = int.from_bytes(b"\x7f" * size, "big")
    drawn = [draw.getrandbits(8 * size) & low for _ in range(10)]
    with open(path, "wb") as f:
        for _ in range(workload.images):
            kind = draw.randrange(10)
            label = draw.randrange(10) if draw.random() < 1 / 3 else kind
            f.write(bytes([label]) + (drawn[kind] + (draw.getrandbits(8 * size) & low)).to_bytes(size, "big"))
