# SPDX-License-Identifier: Apache-2.0
#
# Checks pages; see pages.sh: awk -f pages.awk <list of all files> <pages>. Paths are relative to the root of the
# repository.

function violation(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; ++violations }

# The prose of a line: without code spans and link targets.
function prose(line) {
  gsub(/`[^`]*`/, "", line)
  gsub(/\]\([^)]*\)/, "]", line)
  return line
}

function end_paragraph() {
  if (lines > 5) {
    printf "%s:%d: a paragraph of %d lines; five at most: split it, or shorten it\n", page, first, lines
    ++violations
  }
  lines = 0
}

function check_words(line,   n, i, word) {
  gsub(/[^A-Za-z]/, " ", line)
  n = split(line, word, " ")
  for (i = 1; i <= n; ++i)
    if (word[i] ~ person) violation("\"" word[i] "\" is a person; name the thing: a rank, a sender, the program")
}

# Files may be named by the end of their paths: topology/ring.hpp. Records of the past may name former files.
function check_files(line,   name) {
  if (FILENAME ~ /^bench\/results\/|^CHANGELOG|^docs\/renames/) return
  while (match(line, /`[A-Za-z_0-9\/.]*\/[A-Za-z_0-9]+\.(hpp|ipp|cpp|cmake|awk|sh|md)`/)) {
    name = substr(line, RSTART + 1, RLENGTH - 2)
    line = substr(line, RSTART + RLENGTH)
    sub(/^(\.\.?\/)+/, "", name)
    if (!(name in ends)) violation("there is no file " name)
  }
}

# A command that begins with a file of this repository must name an existing file, or the program of a source; a study
# that is run must have a folder. Records of the past may name former files.
function check_commands(line,   i, n, part, word) {
  if (FILENAME ~ /^bench\/results\/|^CHANGELOG|^docs\/renames/) return
  n = split(line, part, " && ")
  for (i = 1; i <= n; ++i) {
    sub(/^ *([A-Za-z0-9-]*\$ )?([A-Z_]+=[^ ]* )*((sh|bash|python3) )?/, "", part[i])
    split(part[i], word, " ")
    sub(/\/$/, "", word[1])
    if (word[1] !~ /^(\.ci|bench|cmake|docs|examples|hardware|packaging|test|tools)\/[A-Za-z0-9_.\/-]+$/) continue
    if (!(word[1] in exists) && !((word[1] ".cpp") in exists)) violation("there is no program " word[1])
    if (word[1] == "bench/studies/run" && word[2] ~ /^[a-z_]+$/ && word[2] != "all" &&
        !(("bench/studies/" word[2]) in exists)) violation("there is no study " word[2])
  }
}

function check_code_spans(line) {
  while (match(line, /`[^`]+`/)) {
    check_commands(substr(line, RSTART + 1, RLENGTH - 2))
    line = substr(line, RSTART + RLENGTH)
  }
}

# The anchor of a heading, as GitHub makes it.
function anchor(heading) {
  sub(/^#+ */, "", heading)
  gsub(/\]\([^)]*\)/, "", heading)
  heading = tolower(heading)
  gsub(/[^a-z0-9_ -]/, "", heading)
  gsub(/ /, "-", heading)
  return heading
}

# The path of a link's target on this page.
function resolved(target,   folder) {
  if (target == "") return FILENAME
  folder = FILENAME
  if (!sub(/\/[^\/]*$/, "/", folder)) folder = ""
  target = folder target
  while (sub(/[^\/]+\/\.\.\//, "", target)) {}
  return target
}

BEGIN {
  person = "^([Ww]ho|[Ww]hom|[Ww]ho(m|so)?ever|he|him|his|himself|she|hers|herself|" \
           "([Ss]ome|[Ee]very|[Aa]ny|[Nn]o)body|[Ss]omeone|[Ee]veryone)$"
}

FNR == NR {
  for (name = $0; sub(/\/[^\/]*$/, "", name);) exists[name]
  exists[$0]
  # The programs of the folders of bench/ are built into one folder.
  if ($0 ~ /^bench\/[a-z_]+\/[a-z_]+\.cpp$/) { name = $0; sub(/^.*\//, "bench/", name); exists[name] }
  name = $0
  do ends[name]; while (sub(/^[^\/]*\//, "", name))
  next
}

FNR == 1 { end_paragraph(); in_code = 0; in_list = 0; blank = 1; page = FILENAME }

/^ *```/ { end_paragraph(); in_code = !in_code; blank = 0; next }
in_code { check_commands($0); next }
/^<!--/ { end_paragraph(); in_comment = 1 }
in_comment { if (/-->/) in_comment = 0; next }

/^ *$/ { end_paragraph(); blank = 1; next }
# Text indented by four spaces after an empty line is code; in a list, by six.
blank && (in_list ? /^      / : /^    /) { quoted = 1; check_commands($0); next }
quoted && /^    / { check_commands($0); next }
{ quoted = 0; blank = 0 }

{
  check_words(prose($0))
  check_files($0)
  check_code_spans($0)
}

/^#/ { end_paragraph(); in_list = 0; known[FILENAME "#" anchor($0)]; next }

{
  # Links anywhere in a line.
  rest = $0
  gsub(/`[^`]*`/, "", rest)
  while (match(rest, /\]\([^) ]*\)/)) {
    target = substr(rest, RSTART + 2, RLENGTH - 3)
    rest = substr(rest, RSTART + RLENGTH)
    if (target ~ /^[a-z]+:/) continue
    path = target
    sub(/#.*/, "", path)
    path = resolved(path)
    fragment = ""
    if (target ~ /#/) { fragment = target; sub(/^[^#]*#/, "", fragment) }
    ++links
    link_from[links] = FILENAME ":" FNR
    link_path[links] = path
    link_fragment[links] = fragment
  }
}

/^ *\|/ { end_paragraph(); next }

{
  if (/^ *([-*]|[0-9]+\.) /) { end_paragraph(); in_list = 1 }
  else if (/^[^ ]/ && !lines) in_list = 0
  if (!lines++) first = FNR
  columns = $0
  gsub(/\]\([^)]*\)/, "]", columns)
  gsub(/[\200-\277]/, "", columns)
  if (length(columns) > 120) violation(length(columns) " columns; 120 at most")
}

END {
  end_paragraph()
  for (i = 1; i <= links; ++i) {
    sub(/\/$/, "", link_path[i])
    if (!(link_path[i] in exists)) {
      printf "%s: a link leads to %s, which does not exist\n", link_from[i], link_path[i]
      ++violations
    } else if (link_fragment[i] != "" && !((link_path[i] "#" link_fragment[i]) in known)) {
      printf "%s: a link leads to #%s, a heading that %s does not have\n", link_from[i], link_fragment[i], link_path[i]
      ++violations
    }
  }
  if (violations) { printf "%d violation(s) in the pages\n", violations; exit 1 }
}
