#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the library for C shows all functions of its header, in a version, and nothing else.
#
#   sh symbols.sh <library> <header>
set -eu
shown=$(nm -D --defined-only "$1" | grep -v ' [a-z] ')
declared=$(grep -c '^TUTTI_C_API' "$2")
functions=$(printf '%s\n' "$shown" | grep -c ' T tutti_[a-z_]*@@TUTTI_C_1$')
others=$(printf '%s\n' "$shown" | grep -v -e ' T tutti_[a-z_]*@@TUTTI_C_1$' -e ' A TUTTI_C_1' || true)
[ "$functions" -eq "$declared" ] || { echo "$functions functions are shown, and $declared are declared"; exit 1; }
[ -z "$others" ] || { echo "shown, but no function of the header:"; echo "$others"; exit 1; }
