#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the program of docs/guide/c.md by a compiler for C, and compares what three ranks print with the page.
#
#   sh page.sh <repository> <scratch folder> <library> <compiler>
set -eu
page=$1/docs/guide/c.md include=$1/include scratch=$2 library=$3 compiler=$4
mkdir -p "$scratch"
cd "$scratch"
awk '/^<!-- snippet: average.c -->/ { wanted = 1; next }
  /^```/ && wanted { if (inside) exit; inside = 1; next }
  inside { print }' "$page" > average.c
awk '/^```text/ { inside = 1; next } /^```/ { inside = 0 } inside { print }' "$page" > expected
"$compiler" -std=c99 -pedantic-errors -Wall -Wextra -I "$include" average.c "$library" \
  "-Wl,-rpath,$(dirname "$library")" -o average
job=page.$$
for rank in 0 1 2; do
  TUTTI_RANK=$rank TUTTI_SIZE=3 TUTTI_STORE="file:$scratch/$job" TUTTI_JOB=$job ./average > "printed.$rank" &
done
wait
cat printed.0 printed.1 printed.2 > printed
rm -rf "${scratch:?}/$job"
diff expected printed
