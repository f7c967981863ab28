# SPDX-License-Identifier: Apache-2.0
"""Curves over two axes, as SVG: time over size, both logarithmic, unless other words are given."""
import dataclasses
import math
from xml.sax.saxutils import escape

from comparison.report import size_text, time_text

WIDTH, HEIGHT = 860, 520
LEFT, RIGHT, TOP, BOTTOM = 80, 190, 50, 60
SYMBOL, LETTER = 52, 7  # the widths of a line of the legend: before the name, and of a letter of it
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"]  # colours for all eyes
STROKES = ["", ' stroke-dasharray="2 3"', ' stroke-dasharray="10 3 2 3"']  # once the colours are used up
LIMIT = ' stroke-dasharray="6 4"'


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


def chart(title, curves, words=Words()):
    """curves: [(name, is a limit, [(x, y, low, high)])]; the shade is from low to high."""
    points = [p for _, _, curve in curves for p in curve]
    if not points:
        return None
    x = scale(words.x_linear, [p[0] for p in points], words.x_base, LEFT, WIDTH - RIGHT)
    y = scale(words.y_linear, [v for p in points for v in p[1:]], 10, HEIGHT - BOTTOM, TOP)
    wide = max(WIDTH, WIDTH - RIGHT + SYMBOL + LETTER * max(len(name) for name, _, _ in curves))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{wide}" height="{HEIGHT}" fill="white"/>',
        text((LEFT + WIDTH - RIGHT) / 2, 28, title, "middle", 'font-size="15"'),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, words.x, "middle"),
        f'<g transform="rotate(-90)">{text(-(TOP + HEIGHT - BOTTOM) / 2, 18, words.y, "middle")}</g>',
    ]
    for value in x.marks:
        at = x(value)
        out += [line(at, TOP, at, HEIGHT - BOTTOM, "#e5e5e5"),
                text(at, HEIGHT - BOTTOM + 18, words.x_text(value), "middle", 'font-size="10"')]
    for value in y.marks:
        at = y(value)
        out += [line(LEFT, at, WIDTH - RIGHT, at, "#e5e5e5"), text(LEFT - 8, at + 4, words.y_text(value), "end")]
    out.append(f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - RIGHT - LEFT}" height="{HEIGHT - BOTTOM - TOP}" '
               'fill="none" stroke="black"/>')
    for i, (name, limit, curve) in enumerate(curves):
        colour = "#000000" if limit else COLOURS[i % len(COLOURS)]
        style = LIMIT if limit else STROKES[i // len(COLOURS) % len(STROKES)]
        edge = [(x(p[0]), y(p[3])) for p in curve] + [(x(p[0]), y(p[2])) for p in reversed(curve)]
        path = [(x(p[0]), y(p[1])) for p in curve]
        out += [f'<polygon points="{pairs(edge)}" fill="{colour}" opacity="0.15"/>',
                f'<polyline points="{pairs(path)}" fill="none" stroke="{colour}" stroke-width="2"{style}/>']
        out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in path]
        level = TOP + 14 + 20 * i
        out += [f'<line x1="{WIDTH - RIGHT + 14}" y1="{level}" x2="{WIDTH - RIGHT + 44}" y2="{level}" '
                f'stroke="{colour}" stroke-width="2"{style}/>', text(WIDTH - RIGHT + SYMBOL, level + 4, name, "start")]
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
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


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
