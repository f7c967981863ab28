#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The test of the language test: plants one violation after another and expects each to be found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
root=$folder/root
mkdir -p "$root/include/tutti" "$root/docs" "$folder/lists"
cp "$here/words.txt" "$here/allowed.txt" "$folder/lists"
yes 'int value;' | head -n 1000 > "$root/include/tutti/many_names.hpp"  # one more name is below 0.5 % of all

# plant <file> <text, in the form of printf> <finding that must be printed>; without a finding there must be none
plant() {
  printf -- "$2\n" > "$root/$1"
  if said=$(python3 "$here/language.py" "$root" --lists "$folder/lists" 2>&1); then
    [ -z "$3" ] || { echo "not found in $1: $2"; failures=$((failures + 1)); }
  else
    case $said in
      *"${3:-nothing at all}"*) ;;
      *) echo "expected \"${3:-no finding}\" for $2, but heard: $said"; failures=$((failures + 1)) ;;
    esac
  fi
  rm "$root/$1"
}

code=include/tutti/a.hpp
plant $code '/// What a rank has.\nint a;' "$code:1: a comment begins with \"What\""
plant $code '/// Whether it has one.' 'begins with "Whether"'
plant $code '// Which rank it is.' 'begins with "Which"'
plant $code '/// Of two ranks the first.' 'begins with "Of"'
plant $code '/// None: no rank.' 'begins with "None"'
plant $code '/// The same, elsewhere.' 'begins with "The same"'
plant $code '/// So many ranks.' 'begins with "So many"'
plant $code '/// A rank.\n///\n/// How it waits.' "$code:3: a comment begins with \"How\""
plant $code '/// A rank.\n/// @return whether it waits' "$code:2: a comment begins with \"whether\""
plant $code '/* Where it waits. */' 'begins with "Where"'
plant $code '/// A rank\n/// as which it waits, and how.' ''
plant $code '/// "What" is a word.\nchar const* a = "// What";' ''
plant docs/a.sh '# What it does.' 'docs/a.sh:1: a comment begins with "What"'
plant docs/a.sh 'a=${b#What}; c="# What"  # A word.' ''
plant docs/a.py '"""\nHow it does that.\n"""' 'docs/a.py:2: a comment begins with "How"'
plant docs/a.sv '// As it does.' 'begins with "As"'

plant $code 'int a;  // a rank\nint b;  // and another' "$code:2: a trailing comment that continues"
plant $code 'int a;  // a rank of the\nint b;  // world' "$code:2: a trailing comment that continues"
plant $code 'int a;  // a rank\nint b;  // a host' ''
plant $code 'int a;  // a rank of the\n        // world' ''

plant $code 'int of;' "$code:1: the name of is no noun"
plant $code 'int a(int how);' 'the name how is'
plant $code 'int in_ = 0;' 'the name in_ is'
plant $code 'auto [value, why] = a();' 'the name why is'
plant $code 'enum class a { first, told };' 'the name told is'
plant $code 'struct expired { };' 'the name expired is'
plant $code 'void a(std::vector<int>& by) { }' 'the name by is'
plant $code 'bool given(int a);' 'the name given is'
plant $code 'int a(int me, T const& other);' ''
plant $code 'int a = b * of(c) + d.of + std::as_const(e).from(1), f = g > at;' ''
plant $code 'int a = std::from(b); unsigned speed; // by, of, told' ''
plant docs/a.sh 'of=1' ''

plant $code '// A copy is dear.' "$code:1: \"dear\": say"
plant $code '/// A rank.\n/// It waits\n/// anew.' "$code:3: \"anew\": say"
plant $code '// It waits in\n// vain.' '"in vain": say'
plant $code 'char const* a = "the call was in vain";' '"in vain": say'
plant $code '// A `dear` one, `anew`.' ''
plant a.md 'Whoever waits.' 'a.md:1: "Whoever": name'
plant a.md '```\nanew\n```\n\n    anew\n\n[a](anew.md) `anew`' ''

# A state may be a participle in -ed.
plant $code 'enum class a { failed, paused };' ''
plant $code 'enum class a { failed, held };' 'the name held is'
plant $code 'int failed;' 'the name failed is'

# Uses count, too.
rm "$root/include/tutti/many_names.hpp"
plant $code 'int a = b.of;' 'at most 0.5 % may be'

echo 'held' >> "$folder/lists/allowed.txt"
plant $code '// A rank.' 'no reason for held'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do echo "a$i  a reason"; done > "$folder/lists/allowed.txt"
plant $code '// A rank.' 'may have twenty'

[ "$failures" -eq 0 ] || { echo "$failures planted text(s) judged wrongly"; exit 1; }
