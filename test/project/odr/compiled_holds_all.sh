#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tutti/compiled.cpp, and tutti/nn/compiled.cpp for the trainer, include everything that can be compiled apart.
#
#   sh compiled_holds_all.sh <include folder>
set -eu
cd "${1:?usage: compiled_holds_all.sh <include folder>}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

find tutti -name '*.ipp' | LC_ALL=C sort > "$folder/there"
sed -n 's/^#include <\(tutti.*\.ipp\)>/\1/p' tutti/compiled.cpp $(find tutti/nn -name compiled.cpp) | LC_ALL=C sort > "$folder/held"
diff "$folder/held" "$folder/there" || { echo "compiled.cpp (<) does not include what is there (>)"; exit 1; }
