#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws circles, crosses and squares as PNG pictures of different sizes, to try `train` without data of one's own.

usage: draw_pictures.py FOLDER [NUMBER]

Writes NUMBER pictures of each class (150) into FOLDER/train, and a quarter as many into FOLDER/test.
"""
import os
import random
import struct
import sys
import zlib

INSIDE = {
    "circle": lambda x, y, r: x * x + y * y <= r * r,
    "cross": lambda x, y, r: min(abs(x), abs(y)) <= r / 4 and max(abs(x), abs(y)) <= r,
    "square": lambda x, y, r: max(abs(x), abs(y)) <= 0.88 * r,
}


def write_png(path, width, height, pixels):
    rows = b"".join(b"\0" + pixels[3 * width * y : 3 * width * (y + 1)] for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def draw(path, inside):
    width, height = random.randint(40, 70), random.randint(40, 60)
    dark = bytes(random.randint(0, 90) for _ in range(3))
    light = bytes(random.randint(150, 255) for _ in range(3))
    x0, y0, r = width // 2 + random.randint(-6, 6), height // 2 + random.randint(-6, 6), random.randint(8, 14)
    pixels = b"".join(light if inside(x - x0, y - y0, r) else dark for y in range(height) for x in range(width))
    write_png(path, width, height, pixels)


def main():
    if not 2 <= len(sys.argv) <= 3 or not (len(sys.argv) == 2 or sys.argv[2].isdigit()):
        sys.exit(__doc__)
    number = int(sys.argv[2]) if len(sys.argv) == 3 else 150
    random.seed(1)
    for part, count in (("train", number), ("test", number // 4)):
        for name, inside in INSIDE.items():
            folder = os.path.join(sys.argv[1], part, name)
            os.makedirs(folder, exist_ok=True)
            for i in range(count):
                draw(os.path.join(folder, f"{i:03}.png"), inside)


main()
