#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs the tests. Works from any folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh test/run.sh [options]

Installs what is missing (Debian, Ubuntu), builds in build/dev, and runs the tests.

  --all              also under the address and undefined behaviour sanitizers (in build/asan-ubsan) and under the
                     thread sanitizer (in build/tsan), each test that says so at its top; also the tests that only
                     read sources (label "sources": each header alone, format, clang-tidy, the reference,
                     the Verilog of hardware/fpga_nic); and a clang++ 16 or newer, if there is one, reads all sources
  --sanitizers-only  nothing but the sanitizers
  --only REGEX       builds and runs only the tests whose name matches; for "softroce" QEMU is installed, too, for
                     "python" PyTorch, for "snippets" git, for "launchers" launchers, for "cross_" cross compilers: the
                     last two run only when they are named
  --ci               --all, with warnings as errors; installs clang, clang-format,
                     clang-tidy, libc++, lld, Doxygen, Verilator and QEMU, too, if they can be had; tests all of whose
                     cases sanitizers run are only read in build/dev; makes a third of the checks that take turns
  --turn N           which third of the checks that take turns is made: 0, 1, 2, or "all". They are the longest of
                     those that build or emulate other systems; mutants and mistakes; sources that are only read; and
                     tests that both a sanitizer and build/dev run, under the sanitizer. The default is "all"; with
                     --ci it follows from the content of all files, so that each change may make another third
  --jobs N           how many at once; the default is one per processor
  --help             this text
TEXT
}

plain=yes sanitizers=no second_compiler=no only=. ci=no jobs=$(nproc) left_out="" times="" turn=""
while [ $# -gt 0 ]; do
  case $1 in
    --all) sanitizers=yes second_compiler=yes ;;
    --sanitizers-only) plain=no sanitizers=yes ;;
    --only) only=${2:?--only needs a regular expression} && shift ;;
    --ci) sanitizers=yes second_compiler=yes ci=yes ;;
    --turn)
      turn=${2:-}
      case $turn in 0 | 1 | 2 | all) shift ;; *) fail "--turn needs 0, 1, 2 or all" ;; esac
      ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && fail "unknown option $1" ;;
  esac
  shift
done

install_missing build nn nn_images example test
werror=OFF second=""
if [ "$ci" = yes ]; then
  werror=ON
  install_optional clang
  install_optional libcxx
  install_optional linker
  install_optional reference
  install_optional bits32
  install_optional hardware
fi
case $ci$only in yes* | *softroce*) install_optional softroce && install_optional verbs ;; esac
case $only in
  *python*) install_optional python ;;
  *snippets* | *packaging*) install_optional packaging ;;
  *launchers*) install_optional launchers ;;
  *cross_*) install_optional cross ;;
esac
[ "$second_compiler" = no ] || second=$(find_clang)

# The address sanitizer is clang's, if there is one: its code takes half as long to make as that of g++, and what clang
# compiles there it need not read in build/dev, too.
sanitizing=""
[ "$sanitizers" = no ] || sanitizing=$(find_clang)
if [ -n "$sanitizing" ] && ! echo 'int main() {}' | "$sanitizing" -fsanitize=address,undefined -x c++ - -o /dev/null 2> /dev/null; then
  sanitizing=""  # it has no library for it (Debian: libclang-rt-16-dev)
fi
compiles_elsewhere=""
[ -z "$sanitizing" ] || [ "$plain" = no ] || compiles_elsewhere=address
leaves=OFF
[ "$ci$plain$sanitizers" != yesyesyes ] || leaves=ON
if [ "$ci$turn$only" = yes. ]; then
  turn=$(cd "$root" && find include test examples bench tools cmake docs -type f -exec cksum {} + | cut -d " " -f 1 |
    LC_ALL=C sort | cksum | cut -d " " -f 1)
  turn=$((turn % 3))
fi
[ "$turn" != all ] || turn=""
[ -z "$turn" ] || say "Of the checks that take turns, this makes those of --turn $turn"
[ "$only" != . ] || left_out="launchers|cross"
[ "$second_compiler$only" != no. ] || left_out="$left_out|sources"

# configure <preset> [option of cmake...]
configure() {
  say "Configuring $1"
  preset=$1
  shift
  cmake -S "$root" --preset "$preset" -DTUTTI_TURN="$turn" "$@" || fail "$preset cannot be configured"
}
# Sets `tests`, the names of the tests of a preset that are to run, and `arguments`, by which CTest takes them.
# select_tests <preset> <label of its tests, or ".">
select_tests() {
  arguments="--test-dir $root/build/$1 --tests-regex $only --label-regex $2"
  [ -z "$left_out" ] || arguments="$arguments --label-exclude ^($left_out)$"
  tests=$(take_tests --show-only | sed -n 's/^ *Test *#[0-9]*: \([^ ]*\).*/\1/p')
}
# Calls CTest with `arguments`.
take_tests() {
  (
    IFS=" "
    set -f
    $wrapper ctest $arguments "$@"
  )
}
# build <preset> <label of its tests, or ".">
build() {
  preset=$1
  select_tests "$preset" "$2"
  [ -n "$tests" ] || return 0
  if [ "$leaves$only" = ON. ] && [ "$preset" != dev ]; then
    lost=$(printf '%s\n' "$tests" | awk -v label="$2" 'NR == FNR { runs[$1]; next }
      { for (i = 2; i <= NF; ++i) if ($i ~ label && !($1 in runs)) print $1 }' - "$root/build/dev/left_to_sanitizers")
    [ -z "$lost" ] || fail "$preset lacks tests that build/dev leaves to it: $lost"
  fi
  targets=all
  if [ "$only$2$second_compiler" != ..yes ]; then
    targets=$(printf '%s\n' "$tests" | awk 'NR == FNR { runs[$1]; next } $1 in runs { $1 = ""; print }' \
      - "$root/build/$preset/test_needs")
  fi
  [ -n "$targets" ] || return 0
  say "Building $preset"
  begun=$(date +%s)
  cmake --build "$root/build/$preset" --parallel "$jobs" --target $targets || fail "$preset does not build"
  echo "$preset: build $(($(date +%s) - begun)) s" > "$root/build/$preset/build_time"
}
# run_tests <preset> <label of its tests, or ".">
run_tests() {
  select_tests "$1" "$2"
  [ -n "$tests" ] || return 0
  found=yes
  say "Testing $1"
  begun=$(date +%s)
  # More than processors: some tests mostly wait, most of them under a sanitizer, where time limits are longer.
  most=$((jobs + 2))
  [ "$1" != dev ] || most=$((jobs + 1))
  take_tests --parallel $most --output-on-failure || failed="$failed $1"
  times="$times, $(cat "$root/build/$1/build_time" 2> /dev/null || echo "$1: no build"), tests $(($(date +%s) - begun)) s"
  [ "$ci" = no ] || python3 "$root/test/project/time/time.py" "$root/build/$1"
}
# The flags by which CMake takes this compiler for a preset. Removes a build folder of another compiler.
compiler_of() {
  cache=$root/build/$1/CMakeCache.txt
  if [ -f "$cache" ] && [ "$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$cache")" != "$2" ]; then
    rm -r "$root/build/$1"
  fi
  echo "-DCMAKE_CXX_COMPILER=$2"
}
# Builds for the sanitizers, beside the tests that already run and with what they leave of the processors. Each build's
# output and status are in a file of `$beside`.
build_sanitizers() {
  renice -n 19 -p "$(exec sh -c 'echo "$PPID"')" > /dev/null || true  # before it starts other processes
  # Warnings of g++ stay warnings here: it sees ghosts in instrumented code.
  set --
  [ -z "$sanitizing" ] || set -- "$(compiler_of asan-ubsan "$sanitizing")" -DTUTTI_WERROR=$werror
  # Nothing is inlined there, so that functions have their names in reports without information for debuggers, too.
  [ "$ci" = no ] || set -- "$@" -DCMAKE_CXX_FLAGS_DEBUG=-O0
  status=0
  (configure asan-ubsan "$@" && build asan-ubsan '^address$') > "$beside/asan-ubsan.log" 2>&1 || status=$?
  echo $status > "$beside/asan-ubsan"
  status=0
  (configure tsan && build tsan '^thread$') > "$beside/tsan.log" 2>&1 || status=$?
  echo $status > "$beside/tsan"
}
# Waits for the build of a preset by build_sanitizers, and shows its output.
await_build() {
  while [ ! -s "$beside/$1" ]; do
    kill -0 "$builder" 2> /dev/null || [ -s "$beside/$1" ] || fail "the build of $1 was killed"
    sleep 1
  done
  cat "$beside/$1.log"
  [ "$(cat "$beside/$1")" = 0 ] || exit 1
}
# Ends a process and all that it has started.
stop_tree() {
  for child in $(cat "/proc/$1/task/$1/children" 2> /dev/null); do
    stop_tree "$child"
  done
  kill "$1" 2> /dev/null || true
}
cd "$root"  # presets are looked for here
wrapper="" failed="" found=no

if [ "$plain" = yes ]; then
  set -- -DTUTTI_WERROR=$werror -DTUTTI_SECOND_COMPILER="$second" -DTUTTI_SECOND_COMPILER_COMPILES="$compiles_elsewhere" \
    -DTUTTI_LEAVE_TO_SANITIZERS=$leaves
  [ "$ci" = no ] || set -- "$@" -DCMAKE_CXX_FLAGS_DEBUG=-Og  # nobody looks at these with a debugger
  configure dev "$@"
  build dev .
fi
if [ "$sanitizers" = yes ]; then
  beside=$(mktemp -d)
  build_sanitizers &
  builder=$!
  trap 'stop_tree "$builder"; rm -rf "$beside"' EXIT  # Ctrl-C does not reach what runs in the background
  trap 'exit 130' INT TERM
fi
[ "$plain" = no ] || run_tests dev .
if [ "$sanitizers" = yes ]; then
  await_build asan-ubsan
  run_tests asan-ubsan '^address$'
  # The thread sanitizer of g++ 12 does not know the memory layouts that newer kernels choose at random.
  if setarch "$(uname -m)" -R true 2> /dev/null; then
    wrapper="setarch $(uname -m) -R"
  fi
  await_build tsan
  trap 'rm -rf "$beside"' EXIT
  run_tests tsan '^thread$'
fi

[ "$found" = yes ] || fail "no test that would run here has a name that matches \"$only\""
say "Took ${times#, }"
[ -z "$failed" ] || fail "tests failed in:$failed"
say "All tests passed"
