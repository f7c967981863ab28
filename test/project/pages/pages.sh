#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the pages below a folder. Lines and paragraphs are short, sentences are about things, and links lead to files
# and headings that exist. Files, programs and studies that are named exist, as do the pages that code and scripts
# name, and the messages that a page explains. Tables, code and link targets may have any length. Prints one line per
# violation and fails.
#
#   sh pages.sh <root of the repository>
set -u
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: pages.sh <root of the repository>}" || exit 2

pages=$(find *.md docs bench examples hardware packaging python tools -name '*.md' 2>/dev/null | sort)
[ -n "$pages" ] || { echo "there are no pages in $(pwd)"; exit 2; }
failed=0
find . \( -path ./build -o -path ./.git \) -prune -o -type f -print | sed 's|^\./||' | awk -f "$here/pages.awk" - $pages || failed=1

# Skips this check itself, whose test names pages that do not exist.
named=$(grep -rnIoE '(docs|bench/results)/[a-z_0-9/-]+\.md' include bench examples hardware tools test cmake docs *.md \
        --exclude-dir=pages --exclude=renames.md 2>/dev/null)
for place in $(printf '%s\n' "$named" | sort -u); do
  [ -e "${place##*:}" ] || { echo "${place%:*}: names ${place##*:}, which does not exist"; failed=1; }
done

# A message on a page must be one of the library's: tables of messages begin with "| text | it means".
quoted=$(awk '/^\| text \|/ { table = 1 } !/^\|/ { table = 0 } table && /^\| `/ { split($0, part, "`"); print FILENAME ": " part[2] }' $pages)
while IFS= read -r line; do
  [ -z "$line" ] || grep -rqF -- "${line#*: }" include || { echo "${line%%: *}: no message has the text \"${line#*: }\""; failed=1; }
done << TEXTS
$quoted
TEXTS
exit "$failed"
