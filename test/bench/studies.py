# SPDX-License-Identifier: Apache-2.0
"""Tests the frame of bench/studies and the page that it writes. Example: python3 test/bench/studies.py"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
DOCS = os.path.join(BENCH, "..", "docs", "guide")
sys.path.insert(0, BENCH)

from comparison import plot  # noqa: E402
from network.hosts import missing  # noqa: E402
from studies import claims, page  # noqa: E402
from studies.report import Axis, Bound, Conditions, Findings, Picture, bounds, together  # noqa: E402

HERE = Conditions("a model", "1 Gbit/s", "64", "packets")
STUDY = """from studies.report import Findings
def study(o):
    return Findings(figures={"seven": o.simulate(ranks=4)[0]["us"]}, left_out=["all else", "all else"])"""
LIVE = """from studies.report import Findings
def study(o):
    return Findings(figures={"seven": 7} | ({"eight": 9} if o.live else {}))"""
EIGHT = {"figure": "eight", "low": 8, "high": 8, "claimed": "", "live": True}
TRAINS = """from studies.report import Findings
def study(o):
    one, two = o.train("--lr", 3), o.train("--fail")
    assert two.returncode == 5 and two.report is None and two.stderr == "lost\\n", two
    assert (one.stdout, two.stdout) == ("told\\n", ""), (one, two)
    return Findings(figures={"seven": one.report["lr"] + 4 + one.returncode})"""
DATA = """from studies.report import Findings
def study(o):
    return Findings(figures={{"seven": 7 if o.data == "{}" else 0}})"""
README = """# one: a title

    bench/studies/run one

Read <me> **now**, or [more](../../results/README.md).

## Claims

| source | claim | verdict | found |
| --- | --- | --- | --- |
| paper | Fast & large | holds if | it is `small` |
| thesis | Never late | does not hold | late by 7 |

## Reasons

| a | b |
| --- | --- |
| 1 | 2 |
"""
SIMULATE = "#!/bin/sh\necho how,us\necho $2,7"
TRAIN = """#!/bin/sh
[ $OPENBLAS_NUM_THREADS$OMP_NUM_THREADS = 11 ] || exit 3
[ "$1" = run ] && shift || exit 4
[ "$1" = --lr ] || { : > "$3"; echo lost >&2; exit 5; }
echo told
echo '{"lr":' $2 '}' > "$4"
"""


def studies():
    folder = os.path.join(BENCH, "studies")
    return [n for n in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, n)) and n != "__pycache__"]


class Reports(unittest.TestCase):
    def test_a_bound_is_held_or_broken_and_never_of_nothing(self):
        bound = Bound("x", 1, 2, "")
        self.assertEqual([bool(bound.broken({"x": v})) for v in (0.99, 1, 2, 2.01, float("nan"))],
                         [True, False, False, True, True])
        self.assertIn("there is no such figure; there are y", bound.broken({"y": 1}))

    def test_curves_that_coincide_are_named_together(self):
        curves = [("a", [(1, 10), (2, 20)]), ("b", [(1, 10.04), (2, 20)]), ("c", [(1, 10), (2, 21)])]
        self.assertEqual([name for name, _ in together(curves)], ["a = b", "c"])
        far = [("a", [(1, 1), (2, 1000)]), ("b", [(1, 2), (2, 1000)])]  # far apart where the axis is logarithmic
        self.assertEqual([len(together(far, logarithmic)) for logarithmic in (False, True)], [1, 2])

    def test_axes_have_units_and_say_that_they_are_logarithmic(self):
        picture = Picture("t", Axis("bytes", True, 4), Axis("seconds"), [("a", [(4, 1), (64, 5)])], HERE).svg()
        self.assertIn(">bytes (logarithmic)<", picture)
        self.assertIn(">seconds<", picture)

    def test_a_linear_axis_begins_at_0_and_has_few_marks(self):
        for most in (0.0031, 0.9, 1, 7.2, 1024):
            scale = plot.linear([most / 3, most], 100, 200)
            self.assertEqual((scale(0), scale(scale.marks[-1])), (100, 200))
            self.assertTrue(4 <= len(scale.marks) <= 10 and scale.marks[-1] >= most, scale.marks)


class Readmes(unittest.TestCase):
    def test_a_readme_has_a_title_claims_and_text(self):
        read = claims.parse("one", README)
        self.assertEqual(read.title, "A title")
        self.assertTrue(read.introduction.startswith("Read <me>"), read.introduction)
        self.assertEqual(read.claims, [claims.Claim("paper", "Fast & large", "holds if", "it is `small`"),
                                       claims.Claim("thesis", "Never late", "does not hold", "late by 7")])
        self.assertTrue(read.rest.startswith("## Reasons"), read.rest)

    def test_a_text_without_claims_is_an_introduction(self):
        self.assertEqual(claims.parse("one", "Text."), claims.Readme("One", "Text.", [], ""))


class Elements(HTMLParser):
    """Checks that each element that begins ends, and collects links and identifiers."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.names, self.kinds = [], [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.kinds.append(tag)
        self.links += [v for k, v in attrs if k in ("href", "src")]
        self.names += [v for k, v in attrs if k == "id"]
        if tag not in ("meta", "br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.kinds.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


@unittest.skipIf(page.lacks_markdown(), page.lacks_markdown())
class Pages(unittest.TestCase):
    def picture(self, *shows):
        return Picture("speed", Axis("x"), Axis("y"), [("a", [(1, 1)]), ("b", [(1, 2)])], HERE, "Seen.", shows)

    def made(self, *pictures, figure=7):
        found = Findings({"seven": figure}, list(pictures), [("t", ("h",), [("c",)], HERE)], ["the rest"])
        return page.page([page.section("one", README, found, [Bound("seven", 6, 8, "7")])], "A short run.")

    def test_verdicts_come_first_and_link_to_their_study(self):
        text = self.made()
        table = text[text.index('id="verdicts"'):text.index("<section")]
        self.assertIn('<a href="#one">A title</a>', table)
        for words in ("Fast &amp; large", "paper", "holds if", "it is <code>small</code>", "Never late", "does not hold"):
            self.assertIn(words, table)
        self.assertEqual(re.findall(r"<b>(\d+)</b>", text), ["0", "1", "1", "1"])  # three verdicts, and bounds

    def test_texts_are_rendered_and_tags_in_them_are_text(self):
        text = self.made()
        self.assertIn("Read &lt;me&gt; <strong>now</strong>", text)
        self.assertRegex(text, r"<h3>Reasons</h3>\n<div class=\"scroll\"><table>")
        self.assertNotIn("**now**", text)
        self.assertNotIn("| --- |", text)

    def test_a_claim_stands_beside_the_picture_that_shows_it(self):
        text = self.made(self.picture("Never"), self.picture())
        beside = text[text.index("Claim of the thesis"):text.index("<h3>Reasons")]
        self.assertEqual(beside.count('viewBox="0 0 570 350"'), 1)
        self.assertIn("More pictures (1)", text)
        self.assertEqual(page.without_claim("one", README, [self.picture("Never")]), [])
        self.assertIn('shows "always", which is in no claim', page.without_claim("one", README, [self.picture("always")])[0])

    def test_bounds_and_tables_are_folded_and_broken_bounds_are_not(self):
        text = self.made(figure=9)
        before = text[text.index("<section"):text.index("<summary>Tables of this run (1)")]
        self.assertIn("Bound broken: seven: 9 is not from 6 to 8", before)
        self.assertIn("a bound is broken", text[:text.index("<section")])
        self.assertIn("<summary>Bounds: 0 of 1 hold in this run</summary>", text)
        self.assertIn("<summary>Bounds: 1 of 1 hold in this run</summary>", self.made())

    def test_the_page_is_whole_and_needs_no_other_file(self):
        text = self.made(self.picture("Never"), self.picture())
        found = Elements(text)
        self.assertEqual(sorted(found.names), ["one", "verdicts"])
        for link in found.links:
            self.assertTrue(link[0] == "#" and link[1:] in found.names or link.endswith("results/README.md"), link)
        self.assertFalse({"link", "script", "img", "iframe"} & set(found.kinds))
        self.assertNotIn("url(", text)
        self.assertIn("prefers-color-scheme", text)
        self.assertIn('name="viewport"', text)
        self.assertIn("A short run.", text)

    def test_links_of_a_readme_lead_there_from_the_page(self):
        text = page.render("[a](../../results/README.md) [b](#c) [d](https://e)", "/r/bench/studies/one", "/r/build/studies")
        self.assertEqual(Elements(text).links, ["../../bench/results/README.md", "#c", "https://e"])

    def test_a_study_that_failed_is_marked_among_the_verdicts(self):
        text = page.page([page.failed("one", README, "no <program>")])
        self.assertIn('<span class="verdict fails">failed</span>', text[:text.index("<section")])
        self.assertIn("Never late", text[:text.index("<section")])
        self.assertIn("This study failed: no &lt;program&gt;", text)

    def test_captions_say_what_a_figure_holds_for(self):
        for words in ("Workload: a model.", "Rate: 1 Gbit/s.", "Batch: 64.", "Seed:", "Not modelled: packets.", "Seen."):
            self.assertIn(words, self.made(self.picture()))


@unittest.skipIf(page.lacks_markdown(), page.lacks_markdown())
class Run(unittest.TestCase):
    def run_it(self, *words, high=8, study=STUDY, programs=(("simulate", SIMULATE), ("train", TRAIN)), more=(), path=None):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(os.path.join(place, "one"))
            for name, text in (("run", study), ("README.md", README), ("expect.json", json.dumps(
                    [{"figure": "seven", "low": 6, "high": high, "claimed": "7"}, *more]))):
                with open(os.path.join(place, "one", name), "w", encoding="utf-8") as f:
                    f.write(text)
            for name, text in programs:
                with open(os.path.join(place, name), "w", encoding="utf-8") as f:
                    f.write(text)
                os.chmod(os.path.join(place, name), 0o755)
            done = subprocess.run([sys.executable, os.path.join(BENCH, "studies", "run"), *words, "--folder", place,
                                   "--programs", place, "--train", os.path.join(place, "train"), "--output", place],
                                  capture_output=True, text=True, timeout=50, check=False,
                                  env={**os.environ, **({} if path is None else {"PATH": path})})
            report = os.path.join(place, "report.html")
            text = ""
            if os.path.exists(report):
                with open(report, encoding="utf-8") as f:
                    text = f.read()
            return done, text

    def test_it_writes_a_report_and_says_what_it_left_out(self):
        done, text = self.run_it("all", "--quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 1 bounds hold", done.stdout)
        self.assertEqual(done.stdout.count("left out: all else"), 1)
        self.assertEqual(text.count("Left out: all else"), 1)
        self.assertIn("Read &lt;me&gt;", text)
        self.assertIn("with --quick", text)

    def test_verdicts_are_printed_without_a_run(self):
        done, text = self.run_it("--verdicts", programs=())
        self.assertEqual((done.returncode, text), (0, ""), done.stderr)
        self.assertIn("| thesis | Never late | does not hold | late by 7 |", done.stdout)

    def test_a_picture_must_name_a_claim(self):
        study = STUDY.replace("Findings\n", "Axis, Conditions, Findings, Picture\n", 1).replace("figures=", """pictures=[Picture(
        "t", Axis("x"), Axis("y"), [("a", [(1, 1)])], Conditions("", "", "", ""), shows=("always",))], figures=""")
        done, _ = self.run_it("one", study=study)
        self.assertEqual(done.returncode, 1)
        self.assertIn('one: the picture "t" shows "always", which is in no claim of README.md', done.stderr)

    def test_a_run_without_markdown_says_what_to_install(self):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "markdown.py"), "w", encoding="utf-8") as f:
                f.write("raise ImportError")
            done = subprocess.run([sys.executable, os.path.join(BENCH, "studies", "run"), "all"], capture_output=True, text=True,
                                  timeout=50, check=False, env={**os.environ, "PYTHONPATH": place})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "nothing was run: .* has no module markdown.*Debian: apt-get install python3-markdown")

    def test_a_broken_bound_fails_and_is_in_the_report(self):
        done, text = self.run_it("one", high=6.5)
        self.assertEqual(done.returncode, 1)
        self.assertIn("one: seven: 7 is not from 6 to 6.5", done.stderr)
        self.assertIn("7 is not from 6 to 6.5", text)

    def test_bounds_of_live_runs_are_checked_with_them_alone(self):
        done, text = self.run_it("one", study=LIVE, more=[EIGHT])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 1 bounds hold", done.stdout)
        self.assertIn("only with --live", text)

    @unittest.skipIf(missing(), missing())
    def test_a_live_run_has_to_find_what_it_is_for(self):
        for study, why in ((LIVE, "eight: 9 is not from 8 to 8"), (LIVE.replace("o.live", "False"), "there is no such figure")):
            done, text = self.run_it("one", "--live", study=study, more=[EIGHT])
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertIn(why, text)
        done, text = self.run_it("one", "--live", study=LIVE, more=[{**EIGHT, "high": 9}])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 2 bounds hold", done.stdout)
        self.assertNotIn("only with --live", text)

    def test_live_runs_that_would_do_nothing_are_refused(self):
        done, _ = self.run_it("one", "--live")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--live: nothing of one is live; none would be", done.stderr)
        done, text = self.run_it("one", "--live", study=LIVE, more=[EIGHT], path="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--live: nothing was run, as there is no program ip", done.stderr)
        self.assertEqual(text, "")

    def test_a_study_trains_and_gets_the_report_or_none(self):
        done, _ = self.run_it("one", study=TRAINS)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_study_is_told_of_the_data(self):
        for words, data in (((), "builtin"), (("--data", "there"), "there")):
            done, _ = self.run_it("one", *words, study=DATA.format(data))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_program_is_missed_when_a_study_asks_for_it(self):
        for study, program in ((STUDY, "simulate"), (TRAINS, "train")):
            done, text = self.run_it("one", study=study, programs=())
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{program}: docs/guide/benchmarks.md says how", text)
            self.assertRegex(done.stderr, f"one: there is no program .*/{program}: docs/guide/benchmarks.md says how")

    def test_a_study_that_does_not_exist_is_refused(self):
        done, _ = self.run_it("two")
        self.assertEqual(done.returncode, 2)
        self.assertIn("two is no study: all, or some of one, are expected", done.stderr)


class Folders(unittest.TestCase):
    def test_each_study_is_whole_and_listed(self):
        with open(os.path.join(DOCS, "studies.md"), encoding="utf-8") as f:
            listed = f.read()
        self.assertGreater(len(studies()), 0)
        for name in studies():
            folder = os.path.join(BENCH, "studies", name)
            self.assertTrue(os.access(os.path.join(folder, "run"), os.X_OK), name)
            self.assertTrue(bounds(os.path.join(folder, "expect.json")), name)
            with open(os.path.join(folder, "README.md"), encoding="utf-8") as f:
                readme = f.read()
            for word in ("## Claims\n", "## Why\n", f"bench/studies/run {name}"):
                self.assertIn(word, readme, name)
            self.assertIn(f"bench/studies/run {name}", listed)

    def test_every_claim_has_a_source_and_a_verdict(self):
        for name in studies():
            with open(os.path.join(BENCH, "studies", name, "README.md"), encoding="utf-8") as f:
                found = claims.parse(name, f.read()).claims
            self.assertTrue(found, name)
            for c in found:
                self.assertIn(c.verdict, claims.VERDICTS, c)
                self.assertLessEqual(set(c.source.split(", ")), set(claims.SOURCES), c)

    def test_the_page_of_the_studies_has_the_verdicts_of_their_readmes(self):
        done = subprocess.run([sys.executable, os.path.join(BENCH, "studies", "run"), "--verdicts"], capture_output=True,
                              text=True, timeout=50, check=True)
        with open(os.path.join(DOCS, "studies.md"), encoding="utf-8") as f:
            self.assertTrue(f.read().endswith(done.stdout), "replace the table by what bench/studies/run --verdicts prints")


if __name__ == "__main__":
    unittest.main()
