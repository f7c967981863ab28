#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# No macro of foreign_macros.hpp changes a header: the preprocessor's output is the same with and without them.
# Directives are left out, so that all branches are seen, and other libraries are not.
#
#   sh foreign_macros.sh <include folder> <compiler>
set -eu
macros=$(cd "$(dirname "$0")" && pwd)/foreign_macros.hpp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "${1:?usage: foreign_macros.sh <include folder> <compiler>}"
compiler=${2:?usage: foreign_macros.sh <include folder> <compiler>}

# Every line begins with its file and number, as a string that no macro changes.
find tutti -type f | LC_ALL=C sort | xargs awk '
  continues || /^[ \t]*#/ { continues = /\\$/; next }
  { print "\"" FILENAME ":" FNR "\" " $0 }' > "$folder/lines"
"$compiler" -std=c++20 -E -P -undef -x c++ "$folder/lines" -o "$folder/without"
"$compiler" -std=c++20 -E -P -undef -include "$macros" -x c++ "$folder/lines" -o "$folder/with"
diff "$folder/without" "$folder/with" > "$folder/changes" && exit 0
echo "macros of other libraries change these lines: rename what they call, or put names into parentheses: (std::min)(a, b)"
sed -n 's/^< //p' "$folder/changes"
exit 1
