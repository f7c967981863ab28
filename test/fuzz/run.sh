#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets by clang's libFuzzer, runs each in turn, and prints a table. Works from any folder.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh test/fuzz/run.sh [options] [target...]

Builds the fuzz targets in build/fuzz, with the address and undefined behaviour sanitizers of clang, and runs them in
turn. What is found stays in build/fuzz/corpus/<target>; an input that breaks a target in build/fuzz/<target>-*.

  --seconds N   for each target; the default is 60
  --inputs N    for each target, however long that takes
  --merge       afterwards copies to the repository what the inputs there do not reach, at most 30 files a target
  --help        this text
TEXT
}

limit=-max_total_time=60 merge=no
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) limit=-max_total_time=${2:?--seconds needs a number} && shift ;;
    --inputs) limit=-runs=${2:?--inputs needs a number} && shift ;;
    --merge) merge=yes ;;
    --help | -h) usage && exit 0 ;;
    -*) usage >&2 && fail "unknown option $1" ;;
    *) break ;;
  esac
  shift
done

CXX=$(find_clang)
[ -n "$CXX" ] || fail "there is no clang++ 16 or newer (Debian: clang-16 libclang-rt-16-dev)"
OUT=$root/build/fuzz
CXXFLAGS="-O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS"
LIB_FUZZING_ENGINE=-fsanitize=fuzzer,address,undefined
export CXX CXXFLAGS LIB_FUZZING_ENGINE OUT
export ASAN_OPTIONS=quarantine_size_mb=16
cd "$root"
mkdir -p "$OUT"
sh test/fuzz/oss-fuzz/build.sh "$@"

failed=""
printf '| %s | %s | %s | %s | %s | %s |\n' target inputs seconds "edges reached" "of" "inputs kept" --- --- --- --- --- ---
for source in test/fuzz/*.cpp test/*/fuzz/*.cpp; do
  name=$(basename "$source" .cpp)
  [ $# = 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
  seeds=$(dirname "$source")/corpus/$name
  found=$OUT/corpus/$name
  log=$OUT/$name.log
  mkdir -p "$found"
  set_of_words=""
  [ ! -e "$OUT/$name.dict" ] || set_of_words="-dict=$OUT/$name.dict"
  begun=$(date +%s)
  # shellcheck disable=SC2086  # at most one word
  "$OUT/$name" "$limit" -timeout=10 -rss_limit_mb=1024 -print_funcs=0 $set_of_words -artifact_prefix="$OUT/$name-" \
    "$found" "$seeds" > "$log" 2>&1 || failed="$failed $name"
  printf '| %s | %s | %s | %s | %s | %s |\n' "$name" "$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")" \
    $(($(date +%s) - begun)) "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
    "$(sed -n 's/.*Loaded 1 PC tables (\([0-9]*\) PCs).*/\1/p' "$log")" "$(find "$found" -type f | wc -l)"
  if [ "$merge" = yes ]; then
    mkdir -p "$OUT/merged" && rm -rf "$OUT/merged/$name" && mkdir "$OUT/merged/$name"
    "$OUT/$name" -merge=1 -max_len=1024 "$OUT/merged/$name" "$seeds" "$found" >> "$log" 2>&1
    find "$OUT/merged/$name" -type f -size -4 | sort | head -n $((30 - $(find "$seeds" -type f | wc -l))) \
      | while read -r file; do cp -n "$file" "$seeds/"; done
  fi
done
[ -z "$failed" ] || fail "these targets found something, see build/fuzz/<target>.log:$failed"
