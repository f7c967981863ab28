#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The test of the check of pages: plants one violation after another and expects each to be found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
mkdir -p "$folder/docs" "$folder/include/tutti/topology"
printf '# Front\n\n## What it is for\n' > "$folder/README.md"
echo 'refuse("too many cooks");' > "$folder/include/tutti/topology/ring.hpp"

# plant <page, in the form of printf> <text that the check must print>; without a text the check must pass
plant() {
  printf -- "$1\n" > "$folder/docs/a.md"
  if said=$(sh "$here/pages.sh" "$folder"); then
    [ -z "$2" ] && return
    echo "not found: $1"
  else
    case $said in *"${2:-nothing at all}"*) return ;; esac
    echo "expected \"${2:-no complaint}\" for $1, but heard: $said"
  fi
  failures=$((failures + 1))
}

x20='word word word word '
x120=$x20$x20$x20$x20$x20$x20

plant "$x120." '121 columns'
plant '- one' ''
plant "- $x120" '122 columns'
plant '1\n2\n3\n4\n5\n6' 'a paragraph of 6 lines'
plant '- 1\n  2\n  3\n  4\n  5\n  6\n- 7' 'docs/a.md:1: a paragraph of 6 lines'
plant 'A rank who waits.' '"who" is a person'
plant 'Whoever waits, polls.' '"Whoever" is a person'
plant '# Who waits' '"Who" is a person'
plant '| a | nobody |' '"nobody" is a person'
plant 'A rank and his peer.' '"his" is a person'
plant '| text | it means |\n| --- | --- |\n| `too many cooks` | a broth |' ''
plant '| text | it means |\n| --- | --- |\n| `too few cooks` | a broth |' 'no message has the text "too few cooks"'
plant '[a](b.md)' 'leads to docs/b.md, which does not exist'
plant '| [a](../b.md) |' 'leads to b.md, which does not exist'
plant '[a](../README.md#what-it-is)' 'leads to #what-it-is, a heading that README.md does not have'
plant '[a](#here)' 'leads to #here'
plant 'See `topology/star.hpp`.' 'there is no file topology/star.hpp'
plant 'See docs/b.md.' 'names docs/b.md, which does not exist'

plant "$(printf '%s' "$x120" | cut -c 1-120)" ''
plant "| $x120 |" ''
plant "    $x120" ''
plant "\`\`\`\n$x120\n1\n2\n3\n4\n5\n6\nwho\n\`\`\`" ''
plant "[a](https://example.org/$(printf '%0120d' 0))" ''
plant '1\n2\n3\n4\n5\n\n6' ''
plant '- 1\n- 2\n- 3\n- 4\n- 5\n- 6' ''
plant '## Here\n\nIt is `who`, whose [a](#here) and [b](../README.md#what-it-is-for) are.' ''
plant 'See `topology/ring.hpp`, `include/tutti/topology/ring.hpp` and [it](../include/tutti/topology).' ''

plant '    bench/studies/run roles' 'there is no program bench/studies/run'
plant 'Run `sh test/run.sh`.' 'there is no program test/run.sh'
mkdir -p "$folder/bench/studies/roles" "$folder/bench/simulation" "$folder/test"
touch "$folder/bench/studies/run" "$folder/bench/studies/roles/expect.json"
touch "$folder/test/run.sh" "$folder/bench/simulation/simulate.cpp"
plant '    X=1 bench/studies/run roles && bench/simulate' ''
plant '```sh\nsh test/run.sh\n```\n\n`bench/studies/run all` and `bench/studies/roles/`.' ''
plant '| `bench/studies/run rolls` |' 'there is no study rolls'

# Pages in other folders are checked, too.
printf '# Roles\n\nA server and his workers.\n' > "$folder/bench/studies/roles/README.md"
plant 'One.' 'bench/studies/roles/README.md:3: "his" is a person'
rm "$folder/bench/studies/roles/README.md"

echo '// See docs/gone-away.md.' > "$folder/test/a.sh"
plant 'One.' 'test/a.sh:1: names docs/gone-away.md'
echo '// See docs/guide/gone.md.' > "$folder/test/a.sh"
plant 'One.' 'test/a.sh:1: names docs/guide/gone.md'
rm "$folder/test/a.sh"

mkdir "$folder/include/tutti/core"
echo '// See docs/gone.md.' > "$folder/include/tutti/core/a.hpp"
plant 'One.' 'include/tutti/core/a.hpp:1: names docs/gone.md'

[ "$failures" -eq 0 ] || { echo "$failures planted page(s) judged wrongly"; exit 1; }
