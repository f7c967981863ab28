#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Draws faults for as long as it is told, and counts what they do to worlds of ranks. Works from any folder.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh test/faults/run.sh --hours N | --minutes N | --seconds N [options]

Builds the programs of test/faults, and of the folder `faults` of each component's tests, in build/dev. Runs them in
turns, each on seeds that it has not had: they kill, stop and replace ranks, cut, reset and corrupt their connections,
flood their ports, and take descriptors, memory and disks from them. Prints a line for each turn and for each failed
trial, and at the end a table of trials and defects by kind of fault. The exit status is 0 if there is no defect, else
1.

  --seed S           the first seed; the default is the time of day
  --programs FOLDER  takes programs that are built already, in this build folder
  --help             this text
TEXT
}

limit="" seed=$(date +%s) build=""
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --hours | --minutes | --seconds | --seed)
      case ${2:-} in '' | *[!0-9]*) fail "$1 needs a whole number, not \"${2:-}\"" ;; esac
      ;;
    --programs) [ -f "${2:-}/test_needs" ] || fail "--programs needs a build folder, not \"${2:-}\"" ;;
    *) usage >&2 && fail "unknown option $1" ;;
  esac
  case $1 in
    --hours) limit=$(($2 * 3600)) ;;
    --minutes) limit=$(($2 * 60)) ;;
    --seconds) limit=$2 ;;
    --seed) seed=$2 ;;
    --programs) build=$2 ;;
  esac
  shift 2
done
[ -n "$limit" ] || { usage >&2 && fail "how long? Say --hours, --minutes or --seconds"; }
if [ -z "$build" ]; then
  install_missing build nn nn_images example test
  cd "$root"
  cmake -S . --preset dev > /dev/null || fail "build/dev cannot be configured"
  cmake --build build/dev --target faults || fail "the programs of test/faults cannot be built"
  build=$root/build/dev
fi
# The programs of this configuration: a build folder keeps those whose sources are gone.
programs=$(sed -n 's/^faults_run //p' "$build/test_needs" | tr ' ' '\n' | sed -n '/^faults_/p')
count=0
for program in $programs; do
  [ -x "$build/test/$program" ] || fail "$build/test/$program is not built"
  count=$((count + 1))
done
[ $count != 0 ] || fail "$build has no programs of test/faults"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table() {
  awk -F ' *[|] *' '
    $2 != "fault" { for (i = 3; i <= 8; i++) { sum[$2, i] += $i; sums[i] += $i }; kinds[$2] }
    END {
      print "| fault | trials | hangs | wrong numbers | wrong names | leaks | other |"
      print "| --- | --- | --- | --- | --- | --- | --- |"
      for (kind in kinds) {
        line = "| " kind
        for (i = 3; i <= 8; i++) line = line " | " sum[kind, i] + 0
        print line " |" | "sort"
      }
      close("sort")
      line = "| all"
      for (i = 3; i <= 8; i++) line = line " | " sums[i] + 0
      print line " |"
      exit sums[4] + sums[5] + sums[6] + sums[7] + sums[8] != 0
    }' "$work/rows"
}
: > "$work/rows"
trap 'table; exit 130' INT TERM
clock() { printf '%d:%02d:%02d' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60)); }

begin=$(date +%s) first=$seed
turn=$((limit / (count + 4)))
[ $turn -ge 1 ] || turn=1
[ $turn -le 60 ] || turn=60
while :; do
  for program in $programs; do
    passed=$(($(date +%s) - begin))
    if [ "$first" != "$seed" ] && [ $passed -ge "$limit" ]; then
      break 2
    fi
    seconds=$turn
    case $program in faults_conditions) seconds=$((4 * turn)) ;; esac  # it has most kinds of faults
    status=0
    "$build/test/$program" --seconds $seconds --seed "$seed" > "$work/output" 2>&1 || status=$?
    grep '^| ' "$work/output" | grep -v '^| fault ' >> "$work/rows" || true
    case $status in
      0) ;;
      1) sed -n "s|^seed \([0-9]*\): |$build/test/$program --trials 1 --seed \1\n  |p" "$work/output" ;;
      *)
        cat "$work/output"
        echo "$build/test/$program --seconds $seconds --seed $seed: exit status $status"
        echo "| $program does not run | 1 | 0 | 0 | 0 | 0 | 1 |" >> "$work/rows"
        ;;
    esac
    passed=$(($(date +%s) - begin))
    echo "$(clock $passed) of $(clock "$limit"), $program: $(tail -n 1 "$work/output")"
    grep ': not tried: ' "$work/output" || true
  done
  seed=$((seed + 1000000))
done
table
