#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs clang-format 16 over all C++ but the examples of one file, which are formatted by hand. Other versions format
# differently: without this one it says so and ends with 77.
#
#   sh format.sh <clang-format> -i | --dry-run -Werror
set -eu
tool=$1
shift
case $("$tool" --version 2> /dev/null || true) in
  *"version 16."*) ;;
  *) echo "SKIP: there is no clang-format 16 (Debian: clang-format-16)" && exit 77 ;;
esac
cd "$(dirname "$0")/.."
find include test bench tools hardware examples/*/ -name '*.[chi]pp' -print0 | xargs -0 -n 100 -P 2 "$tool" "$@"
