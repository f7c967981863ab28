#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares what nn/compiled.cpp includes with the files that hold the trainer's cold code: one that is missing there would
# not be found by the linker.
#
#   sh compiled_holds_all.sh <include folder>
set -eu
cd "${1:?usage: compiled_holds_all.sh <include folder>}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
find tutti/nn/detail/impl -name '*.ipp' | LC_ALL=C sort > "$folder/there"
sed -n 's/^#include <\(.*\.ipp\)>$/\1/p' tutti/nn/compiled.cpp | LC_ALL=C sort > "$folder/listed"
diff -u "$folder/listed" "$folder/there"
