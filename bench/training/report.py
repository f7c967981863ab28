# SPDX-License-Identifier: Apache-2.0
"""Writes results as a table."""


def rate(side):
    low, high = side["half"]
    return f"{side['images_per_second']:,.0f} ({low:,.0f} to {high:,.0f})"


def row(cell):
    speed = cell["speed"]
    return [cell["workload"], str(cell["ranks"]), f"{cell['batch'] // cell['ranks']}",
            f"{rate(cell['tutti'])} {cell['ways']['tutti']}", f"{rate(cell['torch'])} {cell['ways']['torch']}",
            f"{speed['median']:.2f} [{speed['low']:.2f}, {speed['high']:.2f}]",
            *(f"{100 * cell[program][of]:.0f} %"
              for program in ("tutti", "torch") for of in ("of_square", "of_layers")),
            f"{cell['square'] * 1e-9:.0f}, {cell['layers'] * 1e-9:.0f}"]


HEAD = ["model", "ranks", "images per rank", "tutti, images/s", "PyTorch, images/s", "tutti / PyTorch",
        "tutti of square", "of layers", "PyTorch of square", "of layers", "square, layers: Gflop/s"]


def table(run):
    """All cells in Markdown."""
    m = run["machine"]
    return "\n".join([
        f"{m['processor']}, {m['cores']} cores. {run['rounds']} rounds, contenders in turns: medians, with half of all "
        "rounds in brackets. The ratio is of speeds in the same round, with the 95 % interval of its median: above 1, tutti "
        "is faster. Of square: the rate of the model's products as a share of BLAS's rate on large square matrices. Of "
        "layers: the share of BLAS's rate on matrices of the model's own shapes.", "",
        "| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD),
        *("| " + " | ".join(row(c)) + " |" for c in run["cells"]), ""])
