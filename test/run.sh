#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs every test. Works from any folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

usage() {
  cat << 'TEXT'
usage: sh test/run.sh [options]

Installs what is missing (Debian, Ubuntu), builds in build/, runs every test; then the tests of concurrent
code once more under the thread sanitizer, and most tests under the address and undefined behaviour
sanitizers. If there is a clang++ 16 or newer it reads all sources, too.

  --quick            no sanitizers
  --sanitizers-only  nothing but sanitizers
  --only REGEX       only the tests whose name matches
  --ci               warnings are errors; installs clang, too, if it can be had
  --jobs N           so many at once; the default is one per processor
  --help             this text
TEXT
}

plain=yes sanitizers=yes only=. ci=no jobs=$(nproc)
while [ $# -gt 0 ]; do
  case $1 in
    --quick) sanitizers=no ;;
    --sanitizers-only) plain=no ;;
    --only) only=${2:?--only needs a regular expression} && shift ;;
    --ci) ci=yes ;;
    --jobs) jobs=${2:?--jobs needs a number} && shift ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && fail "unknown option $1" ;;
  esac
  shift
done

install_missing build nn example test
werror=OFF
if [ "$ci" = yes ]; then
  werror=ON
  install_optional clang
  install_optional libcxx
fi
second=$(find_clang)

# build_and_test <preset> <target> <label of its tests> [option of cmake...]
build_and_test() {
  preset=$1 target=$2 label=$3
  shift 3
  say "Building $preset"
  cmake -S "$root" --preset "$preset" "$@"
  cmake --build "$root/build/$preset" --parallel "$jobs" --target "$target"
  say "Testing $preset"
  $wrapper ctest --test-dir "$root/build/$preset" --parallel "$jobs" --output-on-failure \
    --no-tests=$no_tests --tests-regex "$only" --label-regex "$label" || failed="$failed $preset"
}
cd "$root"  # presets are looked for here
wrapper="" failed="" no_tests=error
[ "$only" = . ] || no_tests=ignore  # the name may match nothing under a sanitizer

if [ "$plain" = yes ]; then
  build_and_test dev all . -DTUTTI_WERROR=$werror -DTUTTI_SECOND_COMPILER="$second"
fi
if [ "$sanitizers" = yes ]; then
  # Warnings stay warnings here: g++ sees ghosts in instrumented code.
  build_and_test asan-ubsan memory_tests memory
  # The thread sanitizer of g++ 12 does not know the memory layouts that newer kernels choose at random.
  if setarch "$(uname -m)" -R true 2> /dev/null; then
    wrapper="setarch $(uname -m) -R"
  fi
  build_and_test tsan concurrent_tests concurrent
fi

[ -z "$failed" ] || fail "tests failed in:$failed"
say "All tests passed"
