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
                     "snippets" git, for "launchers" launchers, for "cross_" cross compilers: the last two run only when
                     they are named
  --ci               --all, with warnings as errors; installs clang, clang-format,
                     clang-tidy, libc++, Doxygen, Verilator and QEMU, too, if they can be had; tests that say
                     "left_to_sanitizers" at their top are not built and run a third time in build/dev
  --jobs N           how many at once; the default is one per processor
  --help             this text
TEXT
}

plain=yes sanitizers=no second_compiler=no only=. ci=no jobs=$(nproc) left_out="" times=""
while [ $# -gt 0 ]; do
  case $1 in
    --all) sanitizers=yes second_compiler=yes ;;
    --sanitizers-only) plain=no sanitizers=yes ;;
    --only) only=${2:?--only needs a regular expression} && shift ;;
    --ci) sanitizers=yes second_compiler=yes ci=yes ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && fail "unknown option $1" ;;
  esac
  shift
done

install_missing build nn example test
werror=OFF second=""
if [ "$ci" = yes ]; then
  werror=ON
  install_optional clang
  install_optional libcxx
  install_optional reference
  install_optional bits32
  install_optional hardware
fi
case $ci$only in yes* | *softroce*) install_optional softroce && install_optional verbs ;; esac
case $only in
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
[ "$only" != . ] || left_out="launchers|cross"
[ "$second_compiler$only" != no. ] || left_out="$left_out|sources"

# build_and_test <preset> <label of its tests, or "."> [option of cmake...]
build_and_test() {
  preset=$1 label=$2
  shift 2
  say "Configuring $preset"
  cmake -S "$root" --preset "$preset" "$@"
  set -- --test-dir "$root/build/$preset" --tests-regex "$only" --label-regex "$label"
  [ -z "$left_out" ] || set -- "$@" --label-exclude "^($left_out)$"
  tests=$(ctest "$@" --show-only | sed -n 's/^ *Test *#[0-9]*: \([^ ]*\).*/\1/p')
  [ -n "$tests" ] || return 0
  found=yes
  if [ "$leaves$only" = ON. ] && [ "$preset" != dev ]; then
    lost=$(printf '%s\n' "$tests" | awk 'NR == FNR { runs[$1]; next } !($1 in runs)' - "$root/build/dev/left_to_sanitizers")
    [ -z "$lost" ] || fail "$preset lacks tests that build/dev leaves to it: $lost"
  fi
  targets=all
  if [ "$only$label$second_compiler" != ..yes ]; then
    targets=$(printf '%s\n' "$tests" | awk 'NR == FNR { runs[$1]; next } $1 in runs { $1 = ""; print }' \
      - "$root/build/$preset/test_needs")
  fi
  if [ -n "$targets" ]; then
    say "Building $preset"
    begun=$(date +%s)
    cmake --build "$root/build/$preset" --parallel "$jobs" --target $targets
    times="$times, $preset: build $(($(date +%s) - begun)) s"
  fi
  say "Testing $preset"
  begun=$(date +%s)
  # One more than processors: some tests mostly wait.
  $wrapper ctest "$@" --parallel $((jobs + 1)) --output-on-failure || failed="$failed $preset"
  times="$times, $preset: tests $(($(date +%s) - begun)) s"
  [ "$ci" = no ] || python3 "$root/test/project/time/time.py" "$root/build/$preset"
}
# The flags by which CMake takes this compiler for a preset. Removes a build folder of another compiler.
compiler_of() {
  cache=$root/build/$1/CMakeCache.txt
  if [ -f "$cache" ] && [ "$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$cache")" != "$2" ]; then
    rm -r "$root/build/$1"
  fi
  echo "-DCMAKE_CXX_COMPILER=$2"
}
cd "$root"  # presets are looked for here
wrapper="" failed="" found=no

if [ "$plain" = yes ]; then
  set -- -DTUTTI_WERROR=$werror -DTUTTI_SECOND_COMPILER="$second" -DTUTTI_SECOND_COMPILER_COMPILES="$compiles_elsewhere" \
    -DTUTTI_LEAVE_TO_SANITIZERS=$leaves
  [ "$ci" = no ] || set -- "$@" -DCMAKE_CXX_FLAGS_DEBUG=-Og  # nobody looks at these with a debugger
  build_and_test dev . "$@"
fi
if [ "$sanitizers" = yes ]; then
  # Warnings of g++ stay warnings here: it sees ghosts in instrumented code.
  if [ -n "$sanitizing" ]; then
    build_and_test asan-ubsan '^address$' "$(compiler_of asan-ubsan "$sanitizing")" -DTUTTI_WERROR=$werror
  else
    build_and_test asan-ubsan '^address$'
  fi
  # The thread sanitizer of g++ 12 does not know the memory layouts that newer kernels choose at random.
  if setarch "$(uname -m)" -R true 2> /dev/null; then
    wrapper="setarch $(uname -m) -R"
  fi
  build_and_test tsan '^thread$'
fi

[ "$found" = yes ] || fail "no test that would run here has a name that matches \"$only\""
say "Took ${times#, }"
[ -z "$failed" ] || fail "tests failed in:$failed"
say "All tests passed"
