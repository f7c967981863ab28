# SPDX-License-Identifier: Apache-2.0
"""
Draws the folders of include/tutti, as an SVG: from bottom to top, with an arrow from each to those whose headers its
own include. An arrow that follows from others is left out.

    python3 picture.py <repository>            compares docs/design/folders.svg with it, and fails if they differ
    python3 picture.py <repository> --write    writes it

Ends with 77 where the folder of a component has been removed.
"""
import collections
import os
import re
import sys

BOX, GAP, LAYER, MARGIN = 26, 12, 62, 12
COMPONENTS = ["c", "secure", "simulation", "verbs", "in_network", "cuda", "nn"]
COLOURS = {"": "#dbe7f5", "c": "#ece3f5", "secure": "#d5efec", "simulation": "#e3f1dc", "verbs": "#f7e6d0",
           "in_network": "#f5dcdc", "cuda": "#e8dff3", "nn": "#f3f0c8"}


def read_table(path):
    """
    The rows of the table, bottom first: of each the folders that it includes behind the code. And the row of each
    folder that the table names.
    """
    text = re.sub(r"\\\n", " ", open(path, encoding="utf-8").read())
    rows, row_named = {}, {}
    for line in text.splitlines():
        row = re.match(r"([a-z_/* ]+):(.*)", line)
        if row:
            names = row[1].split()
            rows[names[0]] = row[2].partition(";")[2].split()
            row_named.update((name, names[0]) for name in names)
    return rows, row_named


def row_of(path, row_named):
    folder = os.path.dirname(path)
    if not folder or folder in row_named:
        return row_named.get(folder, "root")
    while folder and folder + "/**" not in row_named:
        folder = os.path.dirname(folder)
    return row_named[folder + "/**"]


def read_arrows(include, rows, row_named):
    """The arrows between rows."""
    arrows = set()
    for folder, _, files in os.walk(os.path.join(include, "tutti")):
        for file in files:
            if not file.endswith((".hpp", ".ipp", ".cuh")):
                continue
            path = os.path.relpath(os.path.join(folder, file), os.path.join(include, "tutti"))
            source = row_of(path, row_named)
            text = open(os.path.join(folder, file), encoding="utf-8").read()
            for header in re.findall(r"^[ \t]*#[ \t]*include[ \t]*<tutti/([^>]+)>", text, re.M):
                target = row_of(header, row_named)
                if target != source and target not in rows[source]:
                    arrows.add((source, target))
    return arrows


def reachable(start, below):
    seen, queue = set(), [start]
    while queue:
        for one in below[queue.pop()]:
            if one not in seen:
                seen.add(one)
                queue.append(one)
    return seen


def component_of(row):
    first = row.split("/")[0]
    return first if first in COMPONENTS else ""


def label_of(row):
    """The name of a folder in the picture: within its component, as the columns of that are of one colour."""
    if row == "root":
        return "include/tutti"
    name, component = row.replace("/**", ""), component_of(row)
    return name.removeprefix(component + "/") if component != "nn" and name != component else name


class Picture:
    def __init__(self, rows, arrows):
        self.rows = list(rows)
        self.below = {row: {t for s, t in arrows if s == row} for row in rows}
        # Folders that most others depend on are bars, without arrows to them.
        stands_on = {row: reachable(row, self.below) for row in self.rows}
        self.bars = [row for row in self.rows if all(bar in stands_on[row] for bar in self.rows[:self.rows.index(row)])
                     and 2 * sum(row in below for below in stands_on.values()) > len(self.rows)]
        self.level = {}
        for row in self.rows:  # the table has its rows bottom first
            lowest = len(self.bars) if row not in self.bars else 0
            self.level[row] = max([lowest] + [1 + self.level[t] for t in self.below[row]])
        self.arrows = sorted(
            (s, t) for s in self.rows for t in self.below[s] if t not in self.bars and
            not any(t in stands_on[between] for between in self.below[s]))
        self.place()

    def place(self):
        """Columns: the core, then each component. Within the core a folder stands near what it is tied to."""
        layers = collections.defaultdict(list)
        for row in self.rows:
            if row not in self.bars:
                layers[component_of(row), self.level[row]].append(row)
        tied = collections.defaultdict(list)
        for source, target in self.arrows:
            tied[source].append(target)
            tied[target].append(source)
        width_of = lambda row: 7.3 * len(label_of(row)) + 14
        self.box, left = {}, MARGIN
        for component in [""] + COMPONENTS:
            own = [(level, layer) for (c, level), layer in sorted(layers.items()) if c == component]
            if not own:
                continue
            width = max(sum(width_of(row) + GAP for row in layer) - GAP for _, layer in own)
            centre = {row: (i + 1) / (len(layer) + 1) for _, layer in own for i, row in enumerate(layer)}
            for _ in range(24):
                for _, layer in own:
                    wish = {row: sum(centre.get(one, 1) for one in tied[row]) / len(tied[row]) if tied[row] else .5
                            for row in layer}
                    layer.sort(key=lambda row: (wish[row], row))
                    for i, row in enumerate(layer):
                        centre[row] = (i + 1) / (len(layer) + 1)
            for level, layer in own:
                used = sum(width_of(row) for row in layer)
                space = (width - used) / (len(layer) + 1) if len(layer) * GAP < width - used else GAP
                x = left + (width - used - space * (len(layer) - 1)) / 2
                for row in layer:
                    self.box[row] = (x, level, width_of(row))
                    x += width_of(row) + space
            left += width + 2 * GAP
        self.width = left - 2 * GAP + MARGIN
        for row in self.bars:
            self.box[row] = (MARGIN, self.level[row], self.width - 2 * MARGIN)
        self.top = max(self.level.values())

    def y(self, level):
        below_bars = max(self.level[row] for row in self.bars)
        # Bars are close to each other.
        return MARGIN + (self.top - max(level, below_bars)) * LAYER + max(0, below_bars - level) * (BOX + 8)

    def svg(self):
        height = self.y(0) + BOX + MARGIN
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{height:.0f}" '
               f'viewBox="0 0 {self.width:.0f} {height:.0f}" font-family="monospace" font-size="12">',
               "<!-- Made by test/project/include_table/picture.py -->",
               '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
               'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>',
               f'<rect width="{self.width:.0f}" height="{height:.0f}" fill="white"/>']
        for source, target in self.arrows:
            out.append(self.line(source, target))
        for row in self.rows:
            x, level, width = self.box[row]
            y = self.y(level)
            out.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="4" '
                       f'fill="{COLOURS[component_of(row)]}" stroke="#889"/>')
            out.append(f'<text x="{x + width / 2:.0f}" y="{y + 17:.0f}" text-anchor="middle">{label_of(row)}</text>')
        return "\n".join(out + ["</svg>", ""])

    def line(self, source, target):
        (xs, ls, ws), (xt, lt, wt) = self.box[source], self.box[target]
        x1, y1, x2, y2 = xs + ws / 2, self.y(ls) + BOX, xt + wt / 2, self.y(lt) - 1
        bend = (y2 - y1) / 2
        return (f'<path d="M{x1:.0f} {y1:.0f} C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}" '
                f'fill="none" stroke="#667" marker-end="url(#head)"/>')


def main():
    repository = sys.argv[1]
    removed = [one for one in COMPONENTS if not os.path.isdir(os.path.join(repository, "include/tutti", one))]
    if removed:
        print("SKIP: docs/design/folders.svg is of all components, and there is no", *removed)
        sys.exit(77)
    rows, row_named = read_table(os.path.join(os.path.dirname(os.path.abspath(__file__)), "folders.txt"))
    drawn = Picture(rows, read_arrows(os.path.join(repository, "include"), rows, row_named)).svg()
    path = os.path.join(repository, "docs/design/folders.svg")
    if sys.argv[2:] == ["--write"]:
        open(path, "w", encoding="utf-8").write(drawn)
    elif not os.path.exists(path) or open(path, encoding="utf-8").read() != drawn:
        sys.exit("docs/design/folders.svg is not of these headers: "
                 "python3 test/project/include_table/picture.py . --write")


main()
