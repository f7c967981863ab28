# SPDX-License-Identifier: Apache-2.0
"""
Collects the texts that a user can read as an error from the sources, with the value and the remedy that each gives.

    python3 messages.py <root of the repository>           checks the texts, and prints a line for each finding
    python3 messages.py <root of the repository> --table   prints a page: one row a text, one table a folder
    python3 messages.py <root of the repository> --list    prints file:line, marks (error, value, remedy) and the text

A text is what a statement joins from string literals and values. <name> stands for a value, and | for a choice.
"error" is a statement that throws, refuses or checks; other texts of the library (parts of an error, reports) are
checked too, and no rows. Findings are words of words.txt beside this program or of the test language.
"""
import argparse
import os
import re
import sys

FOLDERS = ["include", "examples", "tools", "bench"]
ENDINGS = (".hpp", ".ipp", ".cpp", ".cu", ".cuh")
LEXEME = re.compile(
    r'//[^\n]*|/\*.*?\*/|(?P<raw>R"([^(\s]*)\(.*?\)\2")|"(?P<text>(?:\\.|[^"\\\n])*)"|'
    r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|(?P<line>(?m:^)[ \t]*#(?:\\\n|[^\n])*)|"
    r"(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)|(?P<mark>->|::|\S)", re.S)
ERROR = re.compile(r"throw|expects|expect_\w+|refuse\w*|fail|failed|raise\w*|blaming|objection|broken_|"
                   r"break_up|end|refused|why|wrong|lost|objections?|end_with_error|rank_failure|invalid")
LEFT_OUT = {"static_assert", "asm", "volatile", "printf", "fprintf", "cout", "puts", "deprecated", "nodiscard", "fputs"}
COMPONENTS = {"c", "cuda", "in_network", "nn", "secure", "simulation", "verbs"}
LONGEST = 280  # characters
BLOCK_AFTER = {")", "else", "do", "try", "const", "noexcept", "override", "mutable", ">", "]", ";", "{", "}", ""}
DECLARES = {"namespace", "struct", "class", "union", "enum", "extern", "concept"}
NO_VALUE = set("""std to_string text string string_view c_str size tutti detail static_cast append words data name count
    at str int value front back what kind of get""".split())
IMPERATIVES = """add adjust allow ask begin build call change check choose close compile convert copy create decrease
    delete disable divide end enlarge feed find fit free give increase initialise install keep leave let limit load
    lower make move name open pass pick place provide put raise reduce remove rename repeat replace restart run save
    send separate set shorten show shrink split start stop switch take train try turn unset update use wait write merge
    construct enable specify match resume read exclude measure test enqueue see""".split()
ADVICE = re.compile(rf"(^|[;:] |\(|\|)({'|'.join(IMPERATIVES)})\b")
WANTED = re.compile(r"\b(must|needs?|expected|cannot be used with|takes? (?=.* not ))\b")


def tokens_of(source):
    line, end = 1, 0
    for found in LEXEME.finditer(source):
        line += source.count("\n", end, found.start())
        end = found.start()
        if found.lastgroup and found.lastgroup not in ("line", "raw"):
            yield found.lastgroup, found[found.lastgroup], line
        elif found["raw"]:
            yield "mark", '""', line


def statements(source):
    """The runs of tokens between ; and the braces of blocks. Braces of initialisers stay inside."""
    run, kinds, depth = [], [], 0
    for token in tokens_of(source):
        kind, text, _ = token
        if kind == "mark" and text == "{":
            last = next((t for k, t, _ in reversed(run) if k != "text"), "")
            opens = (depth == 0 and last in BLOCK_AFTER) or any(t in DECLARES for _, t, _ in run) or last == "]" or (
                last in (")", "mutable", "noexcept") and is_lambda(run))
            kinds.append((opens, depth))
            if opens:
                yield run
                run, depth = [], 0
                continue
        elif kind == "mark" and text == "}" and kinds:
            opens, before = kinds.pop()
            if opens:
                yield run
                run, depth = [], before
                continue
        elif kind == "mark" and text in "([":
            depth += 1
        elif kind == "mark" and text in ")]":
            depth -= 1
        elif kind == "mark" and text == ";":
            yield run
            run = []
            continue
        run.append(token)
    yield run


def is_lambda(run):
    """True if the last parameter list of a run of tokens belongs to a lambda or follows a control word."""
    level = 0
    for i in range(len(run) - 1, 0, -1):
        text = run[i][1]
        level += (text == ")") - (text == "(")
        if text == "(" and level == 0:
            return run[i - 1][1] in ("]", "if", "for", "while", "switch", "catch")
    return False


def value_name(words):
    useful = [w for w in words if w.rstrip("_") not in NO_VALUE]
    return (useful or words)[-1].rstrip("_").replace("_", " ") if words else ""


def texts_of(run):
    """The texts of a statement: (line, text, joins a value)."""
    text, between, line, values = "", [], 0, False
    for kind, token, place in run + [("mark", "", 0)]:
        if kind == "text":
            if not text:
                line = place
            marks = [t for k, t, _ in between if k == "mark"]
            words = [t for k, t, _ in between if k == "word"]
            if words and (text or (token[:1] == " " and "".join(marks)[-1:] in list("+,"))):
                values = True
                text += f"<{value_name(words)}>" + token
            else:
                text += ("|" if text and marks else "") + token
            between = []
        else:
            between.append((kind, token, place))
    marks = [t for k, t, _ in between if k == "mark"]
    words = [t for k, t, _ in between if k == "word" and t not in ("what", "between", "move", "failure", "str")]
    if text and words and marks and marks[0] in ("+", ","):
        values = True
        text += f"<{value_name(words)}>"
    return line, text.replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\"), values


class Message:
    def __init__(self, path, line, text, value, is_error):
        self.path, self.line, self.text, self.value, self.is_error = path, line, text, value, is_error
        found = [*ADVICE.finditer(text)][-1:] or [*WANTED.finditer(text)][:1]
        self.remedy = text[found[0].start():].strip(" ;:,(|") if found else ""

    def wrong(self):
        """The text before the remedy, unless that is only a name."""
        before = self.text.removesuffix(self.remedy).rstrip(" ;:,(|")
        return before if " " in before else self.text

    def values(self):
        return ", ".join(dict.fromkeys(re.findall(r"<([^<>]*)>", self.text)))


def messages_of(path, source):
    for run in statements(source):
        words = {t for k, t, _ in run if k == "word"}
        if words & LEFT_OUT or not any(k == "text" and " " in t and re.search("[a-z]{2}", t) for k, t, _ in run):
            continue
        is_error = any(ERROR.fullmatch(w) for w in words)
        line, text, value = texts_of(run)
        if is_error or path.startswith("include"):
            yield Message(path, line, text, value, is_error)


def read_words(path):
    with open(path) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                word, advice = line.rstrip("\n").split("  ", 1)
                yield re.compile(r"(?<![\w-])(" + word.strip() + r")(?![\w-])", re.I), advice.strip()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("root")
    arguments.add_argument("--table", action="store_true")
    arguments.add_argument("--list", action="store_true")
    options = arguments.parse_args()
    messages = []
    for top in FOLDERS:
        for folder, _, names in sorted(os.walk(os.path.join(options.root, top))):
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    path = os.path.relpath(os.path.join(folder, name), options.root)
                    with open(os.path.join(folder, name)) as file:
                        messages += messages_of(path, file.read())
    if options.list:
        for m in messages:
            marks = ("e" if m.is_error else "-") + ("v" if m.value else "-") + ("r" if m.remedy else "-")
            print(f"{m.path}:{m.line}\t{marks}\t{m.text}")
        return 0
    if options.table:
        print_table([m for m in messages if m.is_error])
        return 0
    here = os.path.dirname(os.path.abspath(__file__))
    words = [*read_words(os.path.join(here, "words.txt")), *read_words(os.path.join(here, "../language/words.txt"))]
    findings = []
    for m in messages:
        said = re.sub(r"<[^<>]*>", "<>", m.text)
        place = f"{m.path}:{m.line}"
        findings += [f'{place}: "{found[0]}": {advice}' for word, advice in words if (found := word.search(said))]
        if m.is_error and len(m.text) > LONGEST:
            findings.append(f"{place}: a message of {len(m.text)} characters: say what is wrong, the value, what to do")
    print("\n".join(findings) or f"{len(messages)} texts, {sum(m.is_error for m in messages)} of them errors")
    return 1 if findings or not messages else 0


def component(path):
    """The part of the library, or the folder of programs, that a source belongs to."""
    parts = path.split("/")
    if parts[0] != "include":
        return parts[0]
    return parts[2] if parts[2] in COMPONENTS else "core"


def print_table(messages):
    """Prints a page for Doxygen: a table for each component."""
    print("/** @page messages Messages of errors\n\n"
          "The texts of errors in the sources: `<name>` is a value, and | parts alternatives.\n"
          "An operation puts its name, its rank and the world before them.")
    for part in dict.fromkeys(component(m.path) for m in messages):
        print(f"\n@section messages_{part} {part}\n\n<table>\n<tr><th>What is wrong<th>Value<th>Remedy<th>Place")
        for m in messages:
            if component(m.path) == part:
                cells = (m.wrong(), m.values(), m.remedy, f"{m.path.removeprefix('include/')}:{m.line}")
                print("<tr><td>" + " <td>".join(escape(c.strip(" ;,")) for c in cells))
        print("</table>")
    print("*/")


def escape(text):
    """Text for Doxygen: neither HTML, nor a command, nor emphasis."""
    text = re.sub(r'([\\@&$#<>%"`*])', r"\\\1", " ".join(text.split()))
    return text.replace("--", "\\--").replace("::", "\\::")


if __name__ == "__main__":
    sys.exit(main())
