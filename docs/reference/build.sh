#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the reference with Doxygen, in <output>/html. Warnings are errors, and a name outside detail/ that no comment
# explains is one.
#
#   sh build.sh <doxygen> <repository> <output>
#
# Ends with 77 where there is no Doxygen.
set -eu
: "${3:?usage: build.sh <doxygen> <repository> <output>}"
doxygen=$1 repository=$(cd "$2" && pwd) output=$3
here=$repository/docs/reference
"$doxygen" --version > /dev/null 2>&1 ||
  { echo "SKIP: the reference is not built: there is no Doxygen 1.9.4 or newer (Debian: doxygen)"; exit 77; }
rm -rf "$output/html" "$output/include"
mkdir -p "$output/html"
output=$(cd "$output" && pwd)

headers=$(cd "$repository" && find include/tutti -name '*.hpp' ! -path '*/detail/*' | LC_ALL=C sort)
for header in $headers; do
  mkdir -p "$output/$(dirname "$header")"
done

(cd "$repository" && awk -f "$here/contract.awk" kind=contract "$here/contract.txt" kind=header $headers)

(cd "$repository" && awk -v to="$output/include/tutti" -f "$here/topics.awk" kind=topics "$here/topics.txt" \
  kind=header $headers)

cp "$here/topics.dox" "$output/topics.dox"
for example in $(cd "$repository/examples" && ls *.cpp); do
  printf '/** @example %s */\n' "$example"
done >> "$output/topics.dox"
(cd "$output" && {
  cat "$here/Doxyfile"
  printf '%s\n' "OUTPUT_DIRECTORY = $output" "EXAMPLE_PATH = $repository/examples" "WARN_LOGFILE = $output/warnings"
} | "$doxygen" -)
if [ -s "$output/warnings" ]; then
  sed "s|^$output/||" "$output/warnings"
  echo "$(grep -c 'warning:' "$output/warnings") warning(s). A public name needs a comment: a sentence above it."
  exit 1
fi
