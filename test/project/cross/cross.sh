#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The library on other processors: built by Debian's cross compilers, run in QEMU's user mode. Ends with 77 if one of
# them is missing.
#
#   sh cross.sh <repository> <scratch folder> laws <processor>
#   sh cross.sh <repository> <scratch folder> peers <C++ compiler of this processor>
set -eu
root=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2/include"
scratch=$(cd "$2" && pwd)
flags="-std=c++20 -O1 -D_FILE_OFFSET_BITS=64 -pthread -static -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion
  -Wshadow -Werror -I$root/include -I$root/test"
fail() {
  echo "$*" >&2
  exit 1
}
skip() {
  echo "SKIP: $*"
  exit 77
}
# The compiler for a processor. Debian's cross compilers and g++-multilib exclude each other.
compiler_of() {
  command -v "$1-linux-gnu-g++" && return
  [ "$1" = i686 ] && echo 'int main() {}' | c++ -m32 -x c++ - -o "$scratch/probe" 2> /dev/null && echo "c++ -m32" && return
  skip "there is no compiler for $1 (Debian: g++-$1-linux-gnu)"
}
# The emulator that runs programs for a processor; empty if this machine runs them itself.
runner_of() {
  case $1-$(uname -m) in
    i686-x86_64 | i686-i?86 | aarch64-aarch64 | s390x-s390x) return ;;
    i686-*) set -- i386 ;;
  esac
  command -v "qemu-$1-static" || command -v "qemu-$1" || skip "there is no qemu-$1 (Debian: qemu-user-static)"
}
# Only the resolver of a static program needs shared libraries, and numeric addresses and "localhost" are found without
# it.
build() {
  "$@" 2> "$scratch/warnings" || {
    cat "$scratch/warnings" >&2
    fail "does not compile: $*"
  }
}

if [ "$3" = laws ]; then
  compiler=$(compiler_of "$4") || { echo "$compiler" && exit 77; }
  runner=$(runner_of "$4") || { echo "$runner" && exit 77; }
  boost=$(echo '#include <boost/version.hpp>' | c++ -E -x c++ - | sed -n 's,^# 1 "\(.*\)/boost/version\.hpp".*,\1,p')
  ln -s "$boost/boost" "$scratch/include/boost"  # the folder beside it has this processor's system headers
  flags="$flags -isystem $scratch/include"
  # Tests draw 64-bit indices; test/project/bits32 checks the library's own conversions.
  [ "$4" != i686 ] || flags="$flags -Wno-conversion"
  printf '#define BOOST_TEST_MODULE cross\n#include <boost/test/included/unit_test.hpp>\n' > "$scratch/main.cpp"
  build $compiler $flags -c "$scratch/main.cpp" -o "$scratch/main.o"
  for law in transport/loopback transport/shared_memory transport/tcp bootstrap/tcp_rendezvous \
    reduction/reproducible_sum collective/allreduce; do
    echo "== $4: $law"
    build $compiler $flags "$root/test/$law.cpp" "$scratch/main.o" -o "$scratch/program"
    $runner "$scratch/program" --color_output=no --log_level=test_suite
  done
  exit
fi

# meet <processor of rank 0> <processor of rank 1>: runs two ranks over TCP; their output is in said0 and said1.
meet() {
  started=$(date +%s)
  pids=""
  for rank in 0 1; do
    TUTTI_JOB=cross TUTTI_RANK=$rank TUTTI_SIZE=2 TUTTI_MASTER_ADDR=localhost TUTTI_MASTER_PORT=$port \
      TUTTI_TIMEOUT=60 \
      timeout 100 $(runner_of "$1") "$scratch/$1" > "$scratch/said$rank" 2>&1 &
    pids="$pids $!"
    shift
  done
  failures=0
  for pid in $pids; do
    wait "$pid" || failures=$((failures + 1))
  done
  took=$(($(date +%s) - started))
  cat "$scratch/said0" "$scratch/said1"
}
# both_say <text>
both_say() {
  for rank in 0 1; do
    grep -qF "$1" "$scratch/said$rank" || fail "rank $rank does not say \"$1\""
  done
}

here=$(uname -m)
[ "$here" = x86_64 ] || skip "peers of other kinds are tried beside x86-64, and this is $here"
port=$((20000 + $$ % 9000))
for processor in s390x i686 aarch64; do
  compiler=$(compiler_of $processor) || { echo "$compiler" && exit 77; }
  runner=$(runner_of $processor) || { echo "$runner" && exit 77; }
  build $compiler $flags "$root/examples/join.cpp" -o "$scratch/$processor"
done
build "$4" $flags "$root/examples/join.cpp" -o "$scratch/$here"

for processors in "$here s390x" "s390x $here" "$here i686"; do
  echo "== $processors"
  meet $processors
  [ $failures = 2 ] || fail "$failures of 2 ranks fail"
  [ $took -lt 30 ] || fail "it took $took s"
  both_say "64-bit little-endian"
  case $processors in *s390x*) both_say "64-bit big-endian" ;; *) both_say "32-bit little-endian" ;; esac
  both_say "rank 0 ("
  both_say "rank 1 ("
done

echo "== $here aarch64"
meet "$here" aarch64
[ $failures = 0 ] || fail "$failures of 2 ranks fail"
both_say "2 ranks, whose numbers add up to 1"
