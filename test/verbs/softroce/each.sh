#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: each.sh PROGRAM...
# Runs all of these in one boot of the guest. Fails if one does, and says which.
failed=""
for program in "$@"; do
  begin=$(cut -d ' ' -f 1 /proc/uptime)
  "$program"
  status=$?
  end=$(cut -d ' ' -f 1 /proc/uptime)
  echo "== $(basename "$program"): status $status, $(echo "$begin $end" | awk '{ printf "%.1f s", $2 - $1 }')"
  [ "$status" -eq 0 ] || failed="$failed $(basename "$program")"
done
[ -z "$failed" ] || echo "failed in the guest:$failed"
[ -z "$failed" ]
