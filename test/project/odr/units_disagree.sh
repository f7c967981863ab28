#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Units that agree link: header-only or not, and optimised at link time (-flto). Units that disagree on a word of
# detail/base/linkage.hpp do not link, and every installed linker names the word. A shared library that hides its
# symbols works in a program that disagrees.
#
#   sh units_disagree.sh <archive of tutti/compiled.cpp> <include folder> <compiler> [flag...]
set -eu
archive=$1 include=$2
shift 2
set -- "$@" "-I$include"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '#include <tutti/extend/member.hpp>
int main() { return tutti::host_name().empty() ? 1 : 0; }' > main.cpp
echo '#include <tutti/extend/member.hpp>
std::string other() { return tutti::host_name(); }' > other.cpp
"$@" -c main.cpp -o header_only.o
"$@" -c other.cpp -o other_header_only.o
"$@" -DTUTTI_SEPARATE_COMPILATION -c main.cpp -o apart.o
"$@" -DTUTTI_SEPARATE_COMPILATION -c other.cpp -o other_apart.o

"$@" header_only.o other_header_only.o -o header_only
./header_only
"$@" apart.o other_apart.o "$archive" -o apart
./apart
echo 'int main() { return 0; }' > empty.cpp
lto=
if "$@" -flto empty.cpp -o empty 2> said; then
  lto=-flto
  "$@" -flto main.cpp other.cpp -o as_one
  ./as_one
fi

linkers=
for linker in bfd gold lld mold; do
  if "$@" "-fuse-ld=$linker" empty.cpp -o empty 2> said; then
    linkers="$linkers $linker"
  fi
done
# refused <word> <link command>...
refused() {
  word=$1
  shift
  if "$@" -o both 2> said; then
    echo "units that disagree on $word link: $*"
    exit 1
  fi
  grep -q "tutti_v[0-9_]*_units_disagree_on_${word#_}\>" said || { cat said && exit 1; }
}
refused TUTTI_SEPARATE_COMPILATION "$@" header_only.o other_apart.o "$archive"

echo '#include <cstddef>' | "$@" -dM -E -x c++ - | grep -q '#define __GLIBCXX__ ' || exit 0
for mode in _GLIBCXX_DEBUG _GLIBCXX_USE_CXX11_ABI=0; do
  word=${mode%=*}
  "$@" "-D$mode" -c other.cpp -o mode.o
  for linker in $linkers; do
    refused "$word" "$@" header_only.o mode.o "-fuse-ld=$linker"
    # mold looks for duplicate symbols in the sections that remain.
    [ "$linker" = mold ] || refused "$word" "$@" mode.o header_only.o "-fuse-ld=$linker" -Wl,--gc-sections
  done
  if [ -n "$lto" ]; then
    "$@" -flto -c main.cpp -o header_only_lto.o
    "$@" -flto "-D$mode" -c other.cpp -o mode_lto.o
    refused "$word" "$@" -flto header_only_lto.o mode_lto.o
  fi
  "$@" -fPIC -fvisibility=hidden -shared "-D$mode" other.cpp -o libmode.so
  "$@" header_only.o -L. -lmode "-Wl,-rpath,$folder" -Wl,--no-as-needed -o shared
  ./shared
done
"$@" -D_GLIBCXX_DEBUG -DTUTTI_SEPARATE_COMPILATION -c main.cpp -o mode_apart.o
refused _GLIBCXX_DEBUG "$@" mode_apart.o "$archive"
