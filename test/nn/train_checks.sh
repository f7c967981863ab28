# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the tests of train, whose first argument is the program. They run in a temporary folder, and each run
# writes the file log.
set -eu
export LC_ALL=C  # sort and awk read and write numbers with points
train=$1
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
cd "$here"

wrong() {
  echo "$1"
  cat log
  exit 1
}
shows() { grep -q -- "$1" "$2" || wrong "$2 has no \"$1\""; }
