# SPDX-License-Identifier: Apache-2.0
"""Draws curves over two axes as SVG: time over size, both logarithmic, unless other words are given.

Example: plot.chart("allreduce", [("ring", False, [(4, 1e-5, 9e-6, 2e-5), (1024, 2e-5, 1e-5, 3e-5)])]) is the text of a
file, with a time in seconds, and its range, for 4 and for 1024 bytes. Pictures follow a light or a dark system.
"""
import dataclasses
import math
from xml.sax.saxutils import escape

from comparison.report import size_text, time_text

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 80, 190, 50, 60
SYMBOL, LETTER = 52, 7  # the widths of a line of the legend: before the name, and of a letter of it
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]  # colours for all eyes
DARK = ["#5ab4f0", "#ff9455", "#3fd6a6", "#eba3cc", "#ffc44d", "#9fd8ff", "#b5b5b5"]  # COLOURS for a dark page
STROKES = ["", ' stroke-dasharray="2 3"', ' stroke-dasharray="10 3 2 3"']  # once the colours are used up
LIMIT = ' stroke-dasharray="6 4"'
MARKS = 60  # points of a curve that are drawn as dots, too


@dataclasses.dataclass(frozen=True)
class Frame:
    """The size of a picture and the margins of its axes. A page that has the title and the legend in its own text
    leaves them out here."""

    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM
    title: bool = True
    legend: bool = True


def style():
    """The style sheet of a chart. Colours of a light page are attributes, for programs that read no style sheets."""
    rules = [".chart .paper{fill:#15191e}.chart text{fill:#dfe3e8}.chart .grid{stroke:#343b44}.chart .frame{stroke:#9aa4af}",
             ".chart .limit{stroke:#fff}.chart .mark.limit,.chart .shade.limit{fill:#fff;stroke:none}"]
    for i, colour in enumerate(DARK):
        rules.append(f".chart .c{i}{{stroke:{colour}}}.chart .mark.c{i},.chart .shade.c{i}{{fill:{colour};stroke:none}}")
    return "<style>@media (prefers-color-scheme:dark){" + "".join(rules) + "}</style>"


def look(i, limit):
    """The class, the colour and the dashes of the curve with this number."""
    if limit:
        return "limit", "#000000", LIMIT
    return f"c{i % len(COLOURS)}", COLOURS[i % len(COLOURS)], STROKES[i // len(COLOURS) % len(STROKES)]


@dataclasses.dataclass(frozen=True)
class Words:
    """The titles of the axes, and the format of their values."""

    x: str = "bytes of each rank's vector"
    y: str = "time of one operation"
    x_text: object = size_text
    y_text: object = time_text
    x_base: int = 2
    x_linear: bool = False
    y_linear: bool = False


def chart(title, curves, words=Words(), frame=Frame()):
    """curves: [(name, is a limit, [(x, y, low, high)])]; the shade is from low to high. None if there is no point."""
    points = [p for _, _, curve in curves for p in curve]
    if not points:
        return None
    left, right, top, bottom = frame.left, frame.width - frame.right, frame.top, frame.height - frame.bottom
    x = scale(words.x_linear, [p[0] for p in points], words.x_base, left, right)
    y = scale(words.y_linear, [v for p in points for v in p[1:]], 10, bottom, top)
    wide = frame.width
    if frame.legend:
        wide = max(wide, right + SYMBOL + LETTER * max(len(name) for name, _, _ in curves))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 {wide} {frame.height}" '
        f'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        style(),
        f'<rect class="paper" width="{wide}" height="{frame.height}" fill="white"/>',
        text((left + right) / 2, frame.height - 14, words.x, "middle"),
        f'<g transform="rotate(-90)">{text(-(top + bottom) / 2, 18, words.y, "middle")}</g>',
    ]
    if frame.title:
        out.append(text((left + right) / 2, 28, title, "middle", 'font-size="15"'))
    for value in x.marks:
        at = x(value)
        out += [line(at, top, at, bottom, "#e5e5e5"),
                text(at, bottom + 18, words.x_text(value), "middle", 'font-size="10"')]
    for value in y.marks:
        at = y(value)
        out += [line(left, at, right, at, "#e5e5e5"), text(left - 8, at + 4, words.y_text(value), "end")]
    out.append(f'<rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
               'fill="none" stroke="black"/>')
    for i, (name, limit, curve) in enumerate(curves):
        kind, colour, dashes = look(i, limit)
        edge = [(x(p[0]), y(p[3])) for p in curve] + [(x(p[0]), y(p[2])) for p in reversed(curve)]
        path = [(x(p[0]), y(p[1])) for p in curve]
        if any(p[2] != p[3] for p in curve):
            out.append(f'<polygon class="shade {kind}" points="{pairs(edge)}" fill="{colour}" opacity="0.15"/>')
        out.append(f'<polyline class="{kind}" points="{pairs(path)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        if len(curve) <= MARKS:
            out += [f'<circle class="mark {kind}" cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in path]
        if frame.legend:
            level = top + 14 + 20 * i
            out += [f'<line class="{kind}" x1="{right + 14}" y1="{level}" x2="{right + 44}" y2="{level}" '
                    f'stroke="{colour}" stroke-width="2"{dashes}/>', text(right + SYMBOL, level + 4, name, "start")]
    return "\n".join([*out, "</svg>", ""])


class axis:
    """A logarithmic scale from values to the places between two ends, with marks at powers of the base."""

    def __init__(self, values, base, begin, end):
        low = math.floor(math.log(min(values), base) + 1e-9)
        high = max(low + 1, math.ceil(math.log(max(values), base) - 1e-9))
        step = max(1, math.ceil((high - low) / 9))
        self._base, self._low, self._high, self._begin, self._end = base, low, high, begin, end
        self.marks = [base**e for e in range(low, high + 1, step)]

    def __call__(self, value):
        part = (math.log(value, self._base) - self._low) / (self._high - self._low)
        return self._begin + part * (self._end - self._begin)


class linear:
    """A scale from 0, with marks at multiples of 1, 2 or 5 times a power of ten."""

    def __init__(self, values, begin, end):
        most = max(values) or 1
        step = 10 ** math.floor(math.log10(most / 5))
        step *= next(f for f in (1, 2, 5, 10) if most / (f * step) <= 8)
        self.marks = [round(i * step, 12) for i in range(math.ceil(most / step - 1e-9) + 1)]
        self._begin, self._share = begin, (end - begin) / self.marks[-1]

    def __call__(self, value):
        return self._begin + value * self._share


def scale(is_linear, values, base, begin, end):
    return linear(values, begin, end) if is_linear else axis(values, base, begin, end)


def pairs(points):
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in points)


def line(x1, y1, x2, y2, colour):
    return f'<line class="grid" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def text(x, y, words, anchor, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def curves_of(cells):
    """The curves of cells that differ in nothing but size."""
    found = {}
    for cell in sorted(cells, key=lambda c: c["size"]):
        for c in cell["contenders"]:
            if "median" in c:
                found.setdefault(c["name"], (c["role"] == "limit", []))[1].append(
                    (cell["size"], c["median"], c["half"][0], c["half"][1]))
    return [(name, limit, points) for name, (limit, points) in found.items()]
