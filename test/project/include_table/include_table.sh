#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks which file includes which below a folder "include": the table of docs/design/headers.md, and that each vendor's
# headers appear only in the files that are named for them. Prints one line per violation and fails.
#
#   sh include_table.sh <folder that contains tutti/>
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?usage: include_table.sh <include folder>}" || exit 2

find tutti -name '*.[hi]pp' -o -name '*.cuh' | sort | xargs awk -f "$here/include_table.awk"
