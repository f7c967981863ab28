#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Units that are header-only link, assembled as one, too (-flto), and so do units that are not. Units of g++ that
# disagree do not link (detail/core/linkage.hpp).
#
#   sh units_disagree.sh <archive of tutti/compiled.cpp> <compiler> [flag...]
set -eu
archive=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo '#include <tutti/member.hpp>
int main() { return tutti::host_name().empty() ? 1 : 0; }' > main.cpp
echo '#include <tutti/member.hpp>
std::string other() { return tutti::host_name(); }' > other.cpp
"$@" -c main.cpp -o header_only.o
"$@" -DTUTTI_SEPARATE_COMPILATION -c main.cpp -o apart.o
"$@" -DTUTTI_SEPARATE_COMPILATION -c other.cpp -o other.o

"$@" header_only.o -o header_only
./header_only
echo 'int main() { return 0; }' > empty.cpp
if "$@" -flto empty.cpp -o empty 2> said; then
  "$@" -flto main.cpp other.cpp -o as_one
  ./as_one
fi
"$@" apart.o other.o "$archive" -o apart
./apart
! "$@" -dM -E -x c++ /dev/null | grep -q '#define __clang__ ' || exit 0
if "$@" header_only.o other.o "$archive" -o both 2> said; then
  echo "units that disagree on TUTTI_SEPARATE_COMPILATION link"
  exit 1
fi
grep -q 'tutti_v[0-9_]*_units_disagree_on_TUTTI_SEPARATE_COMPILATION' said || { cat said; exit 1; }
