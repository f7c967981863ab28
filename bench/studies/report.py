# SPDX-License-Identifier: Apache-2.0
"""Results of a study and the bounds that they must be in.

Example: Findings(figures={"VGG-16, MB": 553.4}) are results with one figure; Bound("VGG-16, MB", 553, 554, "820 MB")
holds for them. studies/page.py shows both to readers.
"""
import dataclasses
import json

from comparison import plot

SAME = 0.005  # share of the axis, or of the values on a logarithmic one, by which curves may differ and are still one
FRAME = plot.Frame(570, 350, 76, 22, 14, 52, title=False, legend=False)  # the page has title and legend as text


@dataclasses.dataclass(frozen=True)
class Axis:
    """The title of an axis: a name with its unit."""

    name: str
    logarithmic: bool = False
    base: int = 10
    text: object = "{:g}".format

    @property
    def words(self):
        return self.name + (" (logarithmic)" if self.logarithmic else "")


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Conditions of a figure, all shown below the picture."""

    workload: str
    rate: str
    batch: str
    missing: str  # parts of reality that are not modelled
    seed: str = "none is drawn"

    @property
    def words(self):
        return (f"Workload: {self.workload}. Rate: {self.rate}. Batch: {self.batch}. Seed: {self.seed}. "
                f"Not modelled: {self.missing}.")


@dataclasses.dataclass(frozen=True)
class Picture:
    """A chart. curves: [(name, [(x, y)])]. shows: words of the claims that the page puts beside it."""

    title: str
    x: Axis
    y: Axis
    curves: list
    conditions: Conditions
    remark: str = ""
    shows: tuple = ()

    @property
    def distinct(self):
        """The curves; equal ones are merged."""
        return together(self.curves, self.y.logarithmic)

    def svg(self):
        words = plot.Words(self.x.words, self.y.words, self.x.text, self.y.text, self.x.base,
                           not self.x.logarithmic, not self.y.logarithmic)
        return plot.chart(self.title, [(name, False, [(x, y, y, y) for x, y in points]) for name, points in self.distinct],
                          words, FRAME)


def together(curves, logarithmic=False):
    """Merges curves that coincide into one, with the names of all."""
    found = []
    for name, points in curves:
        for other in found:
            if coincide(other[1], points, logarithmic):
                other[0] += f" = {name}"
                break
        else:
            found.append([name, points])
    return [(name, points) for name, points in found]


def coincide(one, two, logarithmic):
    most = max(abs(y) for _, y in one + two)
    return len(one) == len(two) and all(
        a[0] == b[0] and abs(a[1] - b[1]) <= SAME * (a[1] if logarithmic else most) for a, b in zip(one, two))


@dataclasses.dataclass
class Findings:
    """Results of a study. figures: {name: number}; tables: [(title, heads, rows, Conditions)]; left_out: experiments
    not run, in words."""

    figures: dict = dataclasses.field(default_factory=dict)
    pictures: list = dataclasses.field(default_factory=list)
    tables: list = dataclasses.field(default_factory=list)
    left_out: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Bound:
    """The range that a figure must be in. live: true if it belongs to runs on shaped network namespaces, which only
    --live makes."""

    figure: str
    low: float
    high: float
    claimed: str
    live: bool = False

    def broken(self, figures):
        """The reason, in words, if the bound is broken; empty if it holds."""
        if self.figure not in figures:
            return f"{self.figure}: there is no such figure; there are {', '.join(sorted(figures)) or 'none'}"
        value = figures[self.figure]
        return "" if self.low <= value <= self.high else (
            f"{self.figure}: {value:.6g} is not from {self.low:g} to {self.high:g}")


def bounds(path):
    """The bounds in a study's expect.json."""
    with open(path, encoding="utf-8") as f:
        return [Bound(**one) for one in json.load(f)]
