#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The test of the messages test: plants one text after another, and expects its row and its finding.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
mkdir -p "$folder/include/tutti"

# plant <statement> <marks and text that must be listed> <finding>; without a finding there must be none
plant() {
  printf '%s\n' "void f() {" "  $1" "}" > "$folder/include/tutti/a.hpp"
  row=$(python3 "$here/messages.py" "$folder" --list | tr '\t' ' ')
  [ "$row" = "include/tutti/a.hpp:2 $2" ] || { echo "expected \"$2\", but heard: $row"; failures=$((failures + 1)); }
  if said=$(python3 "$here/messages.py" "$folder" 2>&1); then
    [ -z "$3" ] || { echo "not found: $1"; failures=$((failures + 1)); }
  else
    case $said in
      *"${3:-nothing at all}"*) ;;
      *) echo "expected \"${3:-no finding}\" for $1, but heard: $said"; failures=$((failures + 1)) ;;
    esac
  fi
}

plant 'throw error("cannot open " + path + "; name another file");' 'evr cannot open <path>; name another file' ''
plant 'expects(a > 0, "f: a must be above 0, not ", a);' 'evr f: a must be above 0, not <a>' ''
plant 'if (a) { fail({"rank ", r, " is gone"}); }' 'ev- rank <r> is gone' ''
plant 'throw error(late ? "it is late" : "it is gone");' 'e-- it is late|it is gone' ''
plant 'throw error("a text of "
              "two lines");' 'e-- a text of two lines' ''
plant 'expects(a, "the calls differ in flow ", a);' 'ev- the calls differ in flow <a>' '"in flow": say'
plant 'throw error("the others went on without it");' 'e-- the others went on without it' '"went on": say'
plant 'throw error("rank " + std::to_string(hello.rank) + " left");' 'ev- rank <rank> left' ''
plant "throw error(\"it is $(printf '%0300d' 0)\");" "e-- it is $(printf '%0300d' 0)" 'a message of'

[ "$failures" -eq 0 ] || { echo "$failures planted text(s) judged wrongly"; exit 1; }
