#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares the names that the headers outside detail/ offer with docs/reference/api.txt, so that a review sees each
# change of the public interface. api.py selects the names and their sections, and refuses detail types in them.
#
#   sh api.sh <repository>            compares, prints the differences and fails if there are any
#   sh api.sh <repository> --write    writes docs/reference/api.txt
#
# Runs Doxygen: $DOXYGEN, or else doxygen. Ends with 77 if there is none.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: api.sh <repository> [--write]}"
doxygen=${DOXYGEN:-doxygen}
"$doxygen" --version > /dev/null 2>&1 ||
  { echo "SKIP: nothing lists the names: there is no Doxygen 1.9.4 or newer (Debian: doxygen)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
found=$folder/api.txt

# All headers, including those of detail/, from whose classes public ones inherit members.
{
  cat docs/reference/Doxyfile
  printf '%s\n' "INPUT = include/tutti" "EXCLUDE_PATTERNS =" "EXCLUDE_SYMBOLS =" "EXTRACT_ALL = YES" "WARNINGS = NO" \
    "OUTPUT_DIRECTORY = $folder" "GENERATE_HTML = NO" "GENERATE_XML = YES" "XML_PROGRAMLISTING = NO"
} | "$doxygen" - > /dev/null
python3 "$here/api.py" "$folder/xml" . > "$found"

if [ "${2:-}" = --write ]; then
  cp "$found" docs/reference/api.txt
elif ! diff -u docs/reference/api.txt "$found"; then
  echo "The public surface has changed. If it was meant to: sh test/project/api/api.sh . --write; say why in the commit."
  exit 1
fi
