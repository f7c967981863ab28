# SPDX-License-Identifier: Apache-2.0
"""The page report.html: all verdicts first, then each study with its claims beside the pictures that show them.

Example: page([section("one", "# one: a title\n", Findings(), [])]) is the text of a file that needs no other one.
"""
import os
import re
import sys
from html import escape

from comparison import plot
from studies import claims

try:
    import markdown
except ImportError:
    markdown = None

HERE = os.path.dirname(os.path.abspath(__file__))
TITLE = "Claims about distributed training, measured again"
INTRODUCTION = """Five documents on distributed training led to tutti: a *proposal* for sums of floats in the network, a
*lecture* on distributed training, a *paper* on the effect of the network on training, a *report* that compares a ring
with a tree on MNIST, and a *thesis* that compares a parameter server with a ring. Each study below repeats experiments
of theirs with tutti and gives a verdict on each claim.

Verdicts and texts were written after full runs on an idle machine. Pictures, tables and bounds are of this run."""
CLASSES = {"holds": "holds", "holds if": "partly", "does not hold": "fails"}
SIGNS = {"holds": "&#10003;", "holds if": "&#9680;", "does not hold": "&#10007;"}


def lacks_markdown():
    """The reason, in words, if texts cannot be rendered; empty if they can."""
    return "" if markdown else (f"{sys.executable} has no module markdown, which renders the texts of report.html. "
                                "Debian: apt-get install python3-markdown; elsewhere: pip install markdown")


def render(text, folder="", output=""):
    """Markdown as HTML; tags in it are text. Links are relative to a file in folder, and become relative to output."""
    reader = markdown.Markdown(extensions=["tables", "sane_lists"])
    reader.preprocessors.deregister("html_block")
    reader.inlinePatterns.deregister("html")
    out = reader.convert(text)
    out = out.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    return re.sub(r'href="(?!#|[a-z]+:)([^"]*)"', lambda m: f'href="{os.path.relpath(os.path.join(folder, m[1]), output or ".")}"', out)


def inline(text):
    """Markdown of one line, without a paragraph around it."""
    return re.sub(r"\A<p>|</p>\Z", "", render(text))


def verdict(word):
    kind = CLASSES.get(word, "partly")
    return f'<span class="verdict {kind}">{SIGNS.get(word, "")} {escape(word)}</span>'


def table(title, heads, rows, conditions=""):
    def row(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>\n"

    return ((f"<h4>{escape(title)}</h4>\n" if title else "") + f'<div class="scroll"><table>\n<thead>{row(heads, "th")}</thead>\n'
            f'<tbody>{"".join(row(r, "td") for r in rows)}</tbody></table></div>\n'
            + (f'<p class="note">{escape(conditions)}</p>\n' if conditions else ""))


def legend(names):
    """The names of curves, each behind a piece of its line."""
    out = []
    for i, name in enumerate(names):
        kind, colour, dashes = plot.look(i, False)
        out.append(f'<li><svg class="chart" viewBox="0 0 30 8"><line class="{kind}" x1="0" y1="4" x2="30" y2="4" '
                   f'stroke="{colour}" stroke-width="3"{dashes}/></svg>{escape(name)}</li>')
    return f'<ul class="legend">{"".join(out)}</ul>\n'


def figure(picture):
    remark = f"<p>{escape(picture.remark)}</p>" if picture.remark else ""
    return (f"<figure>\n<h4>{escape(picture.title[:1].upper() + picture.title[1:])}</h4>\n{picture.svg()}"
            f"{legend([name for name, _ in picture.distinct])}<figcaption>{remark}<details><summary>Conditions</summary>"
            f"{escape(picture.conditions.words)}</details></figcaption>\n</figure>\n")


def claim_card(claim):
    return (f'<div class="claim is-{CLASSES.get(claim.verdict, "partly")}">\n<p class="source">Claim of the {escape(claim.source)}</p>\n'
            f'<p class="text">{inline(claim.text)}</p>\n<p>{verdict(claim.verdict)} {inline(claim.found)}</p>\n</div>\n')


def beside(all_claims, pictures):
    """Groups claims with the pictures that show them: [(claims, pictures)], in the order of the claims."""
    groups, done = [], set()
    for c in all_claims:
        if c in done:
            continue
        shown = [p for p in pictures if shows(p, c)]
        group = [o for o in all_claims if o == c or (o not in done and any(shows(p, o) for p in shown))]
        done.update(group)
        if not shown and groups and not groups[-1][1]:
            groups[-1][0].extend(group)
        else:
            groups.append((group, shown))
    return groups


def shows(picture, claim):
    return any(words in claim.text for words in picture.shows)


def without_claim(name, readme, pictures):
    """The reasons, in words, why pictures cannot stand beside a claim that they name."""
    of = claims.parse(name, readme).claims
    return [f'the picture "{p.title}" shows "{words}", which is in no claim of README.md'
            for p in pictures for words in p.shows if not any(words in c.text for c in of)]


def bounds_table(found, expected, due):
    rows = [(b.figure, f"{found.figures[b.figure]:.4g}" if b.figure in found.figures else "", f"{b.low:g} to {b.high:g}",
             b.claimed, "only with --live" if b not in due else b.broken(found.figures) and "broken" or "holds")
            for b in expected]
    bounded = {b.figure for b in expected}
    rows += [(name, f"{value:.4g}", "none", "", "") for name, value in found.figures.items() if name not in bounded]
    return table("", ("figure", "found", "bound", "claimed", "this run"), rows)


def folded(summary, inside, is_open=False):
    return f'<details{" open" if is_open else ""}><summary>{escape(summary)}</summary>\n{inside}</details>\n'


class Section:
    """A part of the page on one study. due: number of bounds that this run checks; held: number of bounds that hold;
    note: words behind its title in the table of all verdicts."""

    def __init__(self, name, title, body, all_claims=(), held=0, due=0, note=""):
        self.name, self.title, self.body, self.claims = name, title, body, all_claims
        self.held, self.due, self.note = held, due, note

    @property
    def html(self):
        return (f'<section class="study" id="{escape(self.name)}">\n<a class="up" href="#verdicts">all verdicts</a>\n'
                f"<h2>{escape(self.title)}</h2>\n{self.body}</section>\n")


def section(name, readme, found, expected, live=False, folder="", output=""):
    """The page's section on one study. live: true if live runs were run. folder: of the README; output: of the page."""
    read = claims.parse(name, readme)
    due = [b for b in expected if live or not b.live]
    wrong = [why for b in due if (why := b.broken(found.figures))]
    out = f"<p><code>bench/studies/run {escape(name)}</code></p>\n"
    out += "".join(f'<p class="broken">Bound broken: {escape(why)}</p>\n' for why in wrong)
    out += f'<div class="prose">{render(read.introduction, folder, output)}</div>\n'
    shown = []
    for group, pictures in beside(read.claims, found.pictures):
        cards = "".join(claim_card(c) for c in group)
        fresh = [p for p in pictures if p not in shown]
        shown += fresh
        out += (f'<div class="claims">\n<div>{cards}</div>\n<div>{"".join(figure(p) for p in fresh)}</div>\n</div>\n' if fresh
                else f'<div class="claims alone">{cards}</div>\n')
    out += f'<div class="prose">{render(re.sub("^## ", "### ", read.rest, flags=re.M), folder, output)}</div>\n'
    others = [p for p in found.pictures if p not in shown]
    if others:
        out += folded(f"{'More pictures' if shown else 'Pictures'} ({len(others)})",
                      f'<div class="pictures">{"".join(figure(p) for p in others)}</div>\n', not read.claims)
    if found.tables:
        out += folded(f"Tables of this run ({len(found.tables)})", "".join(table(t, h, r, c.words) for t, h, r, c in found.tables))
    out += folded(f"Bounds: {len(due) - len(wrong)} of {len(due)} hold in this run", bounds_table(found, expected, due))
    if found.left_out:
        out += '<p class="note">' + " ".join(f"Left out: {escape(what)}." for what in found.left_out) + "</p>\n"
    return Section(name, read.title, out, read.claims, len(due) - len(wrong), len(due), "a bound is broken" if wrong else "")


def failed(name, readme, why):
    """The page's section on a study that failed. Its claims and verdicts remain."""
    read = claims.parse(name, readme)
    return Section(name, read.title, f'<p class="broken">This study failed: {escape(why)}</p>\n', read.claims, note="failed")


def verdicts(sections):
    """The table of all verdicts, by study."""
    out = "<thead><tr><th>claim</th><th>source</th><th>verdict</th><th>found</th></tr></thead>\n"
    for s in sections:
        note = f' <span class="verdict fails">{s.note}</span>' if s.note else ""
        out += f'<tbody><tr><th colspan="4"><a href="#{escape(s.name)}">{escape(s.title)}</a>{note}</th></tr>\n'
        for c in s.claims:
            out += (f'<tr><td>{inline(c.text)}</td><td class="source">{escape(c.source)}</td><td>{verdict(c.verdict)}</td>'
                    f"<td>{inline(c.found)}</td></tr>\n")
        out += "</tbody>\n"
    return f'<div class="verdicts"><table>\n{out}</table></div>\n'


def page(sections, note=""):
    """The whole page. note: a sentence about this run."""
    of = [c.verdict for s in sections for c in s.claims]
    counts = "".join(f"<li><b>{of.count(word)}</b>{verdict(word)}</li>\n" for word in claims.VERDICTS)
    counts += f"<li><b>{sum(s.held for s in sections)}</b>of {sum(s.due for s in sections)} bounds hold in this run</li>\n"
    contents = "".join(f'<li><a href="#{escape(s.name)}">{escape(s.title)}</a></li>\n' for s in sections)
    with open(os.path.join(HERE, "page.css"), encoding="utf-8") as f:
        style = f.read()
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{TITLE}</title>\n<style>{style}</style>'
            f"</head><body><main>\n<header>\n<h1>{TITLE}</h1>\n{render(INTRODUCTION)}\n"
            + (f'<p class="note">{escape(note)}</p>\n' if note else "")
            + f'<ul class="counts">\n{counts}</ul>\n</header>\n'
            + (f'<nav aria-label="Contents"><b>Contents</b>\n<ol>\n{contents}</ol></nav>\n' if len(sections) > 1 else "") +
            f'<h2 id="verdicts" style="margin-top:2.2rem">All verdicts</h2>\n{verdicts(sections)}'
            f'{"".join(s.html for s in sections)}</main></body></html>\n')
