#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the reference with Doxygen, in <output>/html. Fails at warnings, at a public name without a comment, and at a
# page that shows a name of detail.
#
#   sh build.sh <doxygen> <repository> <output>
#
# Ends with 77 if there is no Doxygen.
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
# The page of messages, from the sources.
python3 "$repository/test/project/messages/messages.py" "$repository" --table > "$output/messages.dox" 2> /dev/null ||
  echo '/** @page messages Messages of errors
This reference was built without Python 3, which lists them. */' > "$output/messages.dox"

# Shows names without detail::, which is of no interest to a reader.
filter=$(sed -n 's/^INPUT_FILTER = "\(.*\)"$/\1/p' "$here/Doxyfile")
(cd "$output" && {
  cat "$here/Doxyfile"
  printf '%s\n' "OUTPUT_DIRECTORY = $output" "EXAMPLE_PATH = $repository/examples" "WARN_LOGFILE = $output/warnings" \
    "INPUT += messages.dox" "INPUT_FILTER = \"$filter -e '/^ *namespace/!s/\(tutti::\)\{0,1\}detail:://g'\""
} | "$doxygen" -)
if [ -s "$output/warnings" ]; then
  sed "s|^$output/||" "$output/warnings"
  echo "$(grep -c 'warning:' "$output/warnings") warning(s). A public name needs a comment: a sentence above it."
  exit 1
fi
if hidden=$(grep -l 'detail::' "$output"/html/*.html | grep -v -e _source.html -e -example.html); then
  echo "$hidden: a page of the reference shows a name of detail"
  exit 1
fi
