#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the includes of the files below a folder "include" against the table in folders.txt, which must have no cycle,
# and that each vendor's headers appear only in the files listed for them. Prints one line per violation and fails.
#
#   sh include_table.sh <folder that contains tutti/> [<table>]
set -u
here=$(cd "$(dirname "$0")" && pwd)
table=${2:-$here/folders.txt}
cd "${1:?usage: include_table.sh <include folder> [<table>]}" || exit 2

find tutti -name '*.[hi]pp' -o -name '*.cuh' | sort | xargs awk -v table="$table" -f "$here/include_table.awk"
