#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks the wrappers against stubs of the shells that they are for, with all of Verilator's warnings.
set -eu
cd "$(dirname "$0")"
for shell in mqnic_app_block box_250mhz; do
  verilator --lint-only -Wall --top-module "$shell" ./*.sv "stubs/$shell.sv" ../*.sv
  echo "$shell: nothing to say"
done
