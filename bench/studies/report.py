# SPDX-License-Identifier: Apache-2.0
"""Results of a study, their bounds, and the page that shows both."""
import dataclasses
import json
from html import escape

from comparison import plot

SAME = 0.005  # share of the axis, or of the values on a logarithmic one, by which curves may differ and are still one


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
    """A chart. curves: [(name, [(x, y)])]."""

    title: str
    x: Axis
    y: Axis
    curves: list
    conditions: Conditions
    remark: str = ""

    def svg(self):
        words = plot.Words(self.x.words, self.y.words, self.x.text, self.y.text, self.x.base,
                           not self.x.logarithmic, not self.y.logarithmic)
        return plot.chart(self.title, [(name, False, [(x, y, y, y) for x, y in points])
                                       for name, points in together(self.curves, self.y.logarithmic)], words)


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
    with open(path, encoding="utf-8") as f:
        return [Bound(**one) for one in json.load(f)]


STYLE = """body { font-family: sans-serif; max-width: 62em; margin: 2em auto; line-height: 1.4 }
table { border-collapse: collapse; margin: 1em 0 } td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left }
pre { white-space: pre-wrap; background: #f6f6f6; padding: 1em } figure { margin: 2em 0 } .broken { color: #b00000 }"""


def table(title, heads, rows, conditions=""):
    def row(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>\n"

    return (f"<h3>{escape(title)}</h3>\n<table>\n{row(heads, 'th')}{''.join(row(r, 'td') for r in rows)}</table>\n"
            + (f"<p>{escape(conditions)}</p>\n" if conditions else ""))


def section(name, readme, found, expected, live=False):
    """The page's section on one study. live: true if live runs were run."""
    due = [b for b in expected if live or not b.live]
    held = [(b.figure, f"{found.figures[b.figure]:.4g}" if b.figure in found.figures else "", f"{b.low:g} to {b.high:g}",
             b.claimed, "not run: it needs --live" if b not in due else b.broken(found.figures) and "broken" or "holds")
            for b in expected]
    bounded = {b.figure for b in expected}
    held += [(name, f"{value:.4g}", "none", "", "") for name, value in found.figures.items() if name not in bounded]
    out = f'<section id="{escape(name)}">\n<pre>{escape(readme)}</pre>\n'
    out += table("Figures and bounds", ("figure", "found", "bound", "claimed", ""), held)
    for p in found.pictures:
        caption = f"{p.remark} {p.conditions.words}".strip()
        out += f"<figure>\n{p.svg()}<figcaption>{escape(caption)}</figcaption>\n</figure>\n"
    for title, heads, rows, conditions in found.tables:
        out += table(title, heads, rows, conditions.words)
    for why in [b.broken(found.figures) for b in due]:
        out += f'<p class="broken">{escape(why)}</p>\n' if why else ""
    for what in found.left_out:
        out += f"<p>Left out: {escape(what)}.</p>\n"
    return out + "</section>\n"


def failed(name, why):
    """The page's section on a study that failed."""
    return f'<section id="{escape(name)}">\n<h3>{escape(name)}</h3>\n<p class="broken">{escape(why)}</p>\n</section>\n'


def page(sections):
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>The earlier studies, run again</title>'
            f"<style>{STYLE}</style></head><body>\n<h1>The earlier studies, run again</h1>\n{''.join(sections)}</body></html>\n")
