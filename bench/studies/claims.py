# SPDX-License-Identifier: Apache-2.0
"""Reads the README.md of a study: its title, its claims with their verdicts, and its text.

Example: parse("one", "# one: a title\n\nText.\n").title is "a title". Claims are the rows of the table below the
heading "Claims", with the columns source, claim, verdict and found.
"""
import dataclasses
import re

SOURCES = ("proposal", "lecture", "paper", "report", "thesis")
VERDICTS = ("holds", "holds if", "does not hold")


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of one or several of the five documents, in the Markdown of the README."""

    source: str
    text: str
    verdict: str
    found: str


@dataclasses.dataclass(frozen=True)
class Readme:
    """The parts of a README.md. introduction and rest are Markdown."""

    title: str
    introduction: str
    claims: list
    rest: str


def parse(name, text):
    """Splits a README.md. A text without the heading "Claims" is introduction only."""
    title = name
    if found := re.match(r"# (?:[\w ]+: )?(.*)\n", text):
        title, text = found[1], text[found.end():]
    text = re.sub(r"\A\s*(    .*\n)+", "", text)  # the command, which the page shows by itself
    introduction, _, rest = text.partition("\n## Claims\n")
    claims, rest = rows(rest)
    return Readme(title[:1].upper() + title[1:], introduction.strip(), claims, rest.strip())


def rows(text):
    """The claims of the table that the text begins with, and the text after it."""
    found, lines = [], text.strip("\n").split("\n")
    while lines and lines[0].startswith("|"):
        found.append([c.strip() for c in lines.pop(0).strip("|").split("|")])
    return [Claim(*cells) for cells in found[2:]], "\n".join(lines)
