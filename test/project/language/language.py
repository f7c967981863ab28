# SPDX-License-Identifier: Apache-2.0
"""
Checks the language of comments, names, messages and pages. Prints a line for each finding, and fails if there is one.

    python3 language.py <root of the repository>                  checks all folders
    python3 language.py <root of the repository> <folder> ...     checks these folders or files

--lists <folder> reads the lists there instead of those beside this program. A folder is without those below it.

Findings are
  - a comment whose first word is an indirect question or a particle,
  - a trailing comment that continues the sentence of another line,
  - the declaration of a name that is a preposition, a pronoun, a question word or a participle (C++ and CUDA only),
  - a word or phrase of words.txt in a comment, in a text of the code or in the prose of a page.
A name that allowed.txt has a reason for is no finding, nor is a participle in -ed that names the state of an enumeration.
"""
import argparse
import bisect
import collections
import os
import re
import sys

FIRST_WORDS = re.compile(
    r"(what|whether|how|which|where|whose|who|whom|why|of|as|none|so many|so much|so few|the same|that which|"
    r"those (that|which|whose))\b(?!['-])", re.I)
CONTINUATION = re.compile(r"(and|or|nor|but|that|than|then|because|so|though|although|unless|while)\b")
UNFINISHED = re.compile(r"(,|\b(a|an|the|of|and|or|nor|but|to|that|which|whose|in|on|at|by|for|from|with|as|than|is|are))$")

PREPOSITIONS = """about above across after against along amid among around as at before behind below beneath beside
    besides between beyond by despite during except from in inside into near of off on onto out outside over per since
    than through throughout till to toward towards under until upon via with within without"""
PRONOUNS = """all another any anybody anyone anything both each either enough every everybody everyone everything few
    he her here hers herself him himself his it its itself many me mine most much my myself neither nobody none nothing
    one ones other others our ours own same self several she some somebody someone something such that their theirs
    them themselves then there these they this those thus us we whatever whichever you your yours"""
QUESTIONS = "how what when where wherever whether which who whoever whom whose why"
PARTICIPLES = """asking begun broken brought built chosen coming cut doing done drawn driven found frozen getting
    given going gone got grown had heard held hidden kept known laid led lent lost made meant met owing paid put said
    saying seen sent shown spent spoken stolen struck taken telling thrown told torn tried woken won worn written"""
NAMES = set(f"{PREPOSITIONS} {PRONOUNS} {QUESTIONS} {PARTICIPLES} alone anew".split())
REGULAR_PARTICIPLE = re.compile(r"[a-z]{2,}ed$")
NOUNS = set("bed bleed breed creed deed defined embed expected feed need red seed shed signed speed unsigned weed".split())

OVERRIDE = re.compile(r"\w+\s*\([^()]*\)\s*(const\s*)?(noexcept\s*)?(override|final)\b")  # another class names it

NO_TYPE = set("""return co_return co_await co_yield throw case else delete new goto operator and or not sizeof alignof if
    while do requires public private protected default break continue using typename""".split())
CPP = (".hpp", ".ipp", ".cpp", ".cu", ".cuh")
SLASHES = CPP + (".sv", ".v")
HASHES = (".py", ".sh", ".awk", ".cmake", "CMakeLists.txt")
LEFT_OUT = re.compile(r"(^|/)(build|\.git|results)(/|$)")

# A comment, a text or a character of C++; groups 1 and 2 are comments, 3 a raw text, 4 a text.
LEXEME = re.compile(r'//([^\n]*)|/\*(.*?)\*/|R"([^(\s]*\(.*?\)[^"\s]*)"|"((?:\\.|[^"\\\n])*)"|'
                    r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|->|::|&&|[^\sA-Za-z_0-9]|\d[\w.']*")


class Findings:
    def __init__(self):
        self.lines = []
        self.tokens = collections.Counter()

    def add(self, path, line, text):
        self.lines.append((path, line, text))


def is_no_noun(name):
    return name in NAMES or (REGULAR_PARTICIPLE.match(name) is not None and name not in NOUNS)


def check_words(findings, words, path, line, text):
    text = re.sub(r"`[^`]*`", "``", text)
    for word, advice in words:
        if found := word.search(text):
            findings.add(path, line + text.count("\n", 0, found.start()), f'"{" ".join(found[0].split())}": {advice}')


class Comments:
    """Takes the comments of a file in order, and joins lines to blocks."""

    def __init__(self, findings, words, path):
        self.findings, self.words, self.path = findings, words, path
        self.block, self.first, self.last, self.column = [], 0, -1, -1
        self.trailing_line, self.trailing_text = -1, ""

    def take(self, line, column, text, trails):
        text = text.strip()
        text = re.sub(r"^[/!<#*]+ ?", "", text).strip()
        belongs = self.block and line == self.last + 1 and column == self.column and not trails
        if not belongs or not text:
            self.flush()
        if text:
            if trails:
                self.check_trailing(line, text)
            if not self.block:
                self.first, self.column = line, column
            self.block.append(text)
        self.last = line

    def check_trailing(self, line, text):
        follows = line == self.trailing_line + 1
        if CONTINUATION.match(text) or (follows and text[0].islower() and UNFINISHED.search(self.trailing_text)):
            self.findings.add(self.path, line, f'a trailing comment that continues another line: "{text[:50]}"')
        self.trailing_line, self.trailing_text = line, text

    def flush(self):
        if not self.block:
            return
        self.check_first_word(self.first, self.block[0])
        for offset, text in enumerate(self.block[1:], 1):
            if text[0] in "@-":
                self.check_first_word(self.first + offset, text)
        # Code in a comment is indented behind its marker or fenced: no sentence.
        check_words(self.findings, self.words, self.path, self.first, "\n".join(self.block))
        self.block = []

    def check_first_word(self, line, text):
        text = re.sub(r"^(- |[@\\](returns?|pre|post|note|throws \S+|t?param(\[\w+\])? \S+|brief) *)", "", text)
        if found := FIRST_WORDS.match(text):
            self.findings.add(self.path, line, f'a comment begins with "{found[0]}": begin with a noun or a verb')


def blank(found):
    return " " * len(found[0])


def check_cpp(findings, words, path, source, allowed):
    starts = [0] + [m.end() for m in re.finditer("\n", source)]
    line_of = lambda place: bisect.bisect_right(starts, place)
    comments = Comments(findings, words, path)
    code, end = [], 0
    for found in LEXEME.finditer(source):
        code.append(source[end:found.start()])
        end = found.end()
        line = line_of(found.start())
        column = found.start() - starts[line - 1]
        if found[1] is not None:
            trails = source[starts[line - 1]:found.start()].strip() != ""
            comments.take(line, column, found[1], trails)
            code.append(" " * len(found[0]))
        elif found[2] is not None:
            for offset, text in enumerate(found[2].split("\n")):
                comments.take(line + offset, column, text, False)
            comments.flush()
            code.append(re.sub(r"[^\n]", " ", found[0]))
        else:
            text = found[3] if found[3] is not None else found[4]
            if text and " " in text:
                check_words(findings, words, path, line, text)
            code.append('""' + re.sub(r"[^\n]", " ", found[0][2:]))
    comments.flush()
    code.append(source[end:])
    if path.endswith(CPP):
        check_names(findings, path, re.sub(r"(?m)^ *# *include.*", blank, "".join(code)), line_of, allowed)


def declared(code, tokens, i):
    """True if token i is the name of a variable, a member, a parameter, a function or a type that is declared there."""
    if i == 0 or i + 1 == len(tokens):
        return False
    before, after = tokens[i - 1][0], tokens[i + 1][0]
    if before in ("struct", "class", "concept", "namespace", "enum") or (before == "using" and after == "="):
        return True
    if after not in tuple(";=,)({[:"):
        return False
    if before[0].isalpha() or before[0] == "_":
        return before not in NO_TYPE
    if before in ("*", "&", "&&", ">"):  # T* name, not a * name
        place = tokens[i - 1][1]
        return not code[place - 1].isspace() and code[place + len(before)].isspace()
    return False


def check_names(findings, path, code, line_of, allowed):
    tokens = [(m[0], m.start()) for m in TOKEN.finditer(code)]
    places = set()
    for bound in re.finditer(r"auto(?:\s+const)?\s*&{0,2}\s*\[([^\]]*)\]", code):
        places.update(bound.start(1) + m.start() for m in re.finditer(r"\w+", bound[1]))
    for enum in re.finditer(r"\benum\b[^;{}()]*\{([^}]*)\}", code):
        places.update(enum.start(1) + m.start(1) for m in re.finditer(r"(?:^|,)\s*(\w+)", enum[1])
                      if not REGULAR_PARTICIPLE.match(m[1]))  # a state may be one
    for i, (token, place) in enumerate(tokens):
        if not (token[0].isalpha() or token[0] == "_"):
            continue
        findings.tokens["all"] += 1
        name = token.rstrip("_")
        if not is_no_noun(name.lower()):
            continue
        qualified = i > 1 and tokens[i - 1][0] == "::" and tokens[i - 2][0] == "std"
        if qualified or token == "this" or OVERRIDE.match(code, place):
            continue
        findings.tokens["allowed" if name in allowed else "no noun"] += 1
        if name not in allowed and (place in places or declared(code, tokens, i)):
            findings.add(path, line_of(place), f"the name {token} is no noun, verb or predicate")


def check_hashes(findings, words, path, source):
    comments = Comments(findings, words, path)
    for number, line in enumerate(source.split("\n"), 1):
        if found := re.match(r"^(.*?)(?:^|(?<=\s))#(?![!{])(.*)$", line):
            trails = found[1].strip() != ""
            # A hash within quotes begins no comment.
            if not trails or not (found[1].count('"') % 2 or found[1].count("'") % 2):
                comments.take(number, len(found[1]), found[2], trails)
    comments.flush()
    if path.endswith(".py"):
        for found in re.finditer(r'^ *"""(.*?)"""', source, re.M | re.S):
            comments = Comments(findings, words, path)
            line = source.count("\n", 0, found.start()) + 1
            for offset, text in enumerate(found[1].split("\n")):
                comments.take(line + offset, 0, text, False)
            comments.flush()


def check_page(findings, words, path, source):
    fenced, blank = False, True
    for number, line in enumerate(source.split("\n"), 1):
        if re.match(r" *```", line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            check_words(findings, words, path, number, re.sub(r"\]\([^)]*\)", "]", line))


def read_list(path):
    """The lines of a list: a word, and behind two spaces its reason or advice. Comments begin with a hash."""
    rows = []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line and not line.startswith("#"):
            word, _, reason = line.partition("  ")
            rows.append((word.strip(), reason.strip()))
    return rows


def files_below(root):
    for folder, folders, files in os.walk(root):
        relative = os.path.relpath(folder, root)
        relative = "" if relative == "." else relative + "/"
        folders[:] = sorted(f for f in folders if not LEFT_OUT.search(relative + f))
        for file in sorted(files):
            if file.endswith(SLASHES + HASHES + (".md",)):
                yield relative + file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("places", nargs="*")
    parser.add_argument("--lists", default=os.path.dirname(os.path.abspath(__file__)))
    options = parser.parse_args()
    root, lists = options.root, options.lists
    places = {place.rstrip("/") for place in options.places}
    allowed = read_list(f"{lists}/allowed.txt")
    words = [(re.compile(r"\b(?:" + word.replace(" ", r"\s+") + r")\b", re.I), advice)
             for word, advice in read_list(f"{lists}/words.txt")]
    failed = False
    if len(allowed) > 20:
        print(f"allowed.txt has {len(allowed)} names, and may have twenty")
        failed = True
    for name, reason in allowed:
        if not reason:
            print(f"allowed.txt gives no reason for {name}")
            failed = True
    allowed = {name for name, _ in allowed}

    findings = Findings()
    shares = collections.Counter()
    for path in files_below(root):
        if path.startswith("test/project/language/"):  # names what is not to be used
            continue
        if places and not places & {os.path.dirname(path) or ".", path}:
            continue
        source = open(os.path.join(root, path), encoding="utf-8").read()
        findings.tokens.clear()
        if path.endswith(".md"):
            check_page(findings, words, path, source)
        elif path.endswith(SLASHES):
            check_cpp(findings, words, path, source, allowed)
        else:
            check_hashes(findings, words, path, source)
        if path.startswith("include/"):
            shares.update(findings.tokens)

    for path, line, text in sorted(findings.lines):
        print(f"{path}:{line}: {text}")
        failed = True
    if shares["all"] and not places:
        share = 100 * shares["no noun"] / shares["all"]
        print(f"{share:.2f} % of {shares['all']} identifiers in include are no nouns, verbs or predicates; "
              f"allowed.txt has another {100 * shares['allowed'] / shares['all']:.2f} %")
        if share >= 0.5:
            print("at most 0.5 % may be")
            failed = True
    sys.exit(failed)


main()
