#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Figures that train prints after a resumption, or after a loss of ranks, are of the steps since then: bytes are
# compared with those of as many sums of float. Pictures are labelled correctly. Sums by integers have the same bits
# over any topology.
#
#     sh train_figures.sh build/examples/train
. "$(dirname "$0")/train_checks.sh"

within() { awk "BEGIN { exit !($1 >= $2 && $1 <= $3) }" || wrong "$4: $1, which is not within $2 and $3"; }
small='--epochs 2 --samples 2000 --hidden 32'  # 16 steps an epoch

# Int8 sends about four times less, plus some weights, in 32 steps as in the last 16.
keeping="$train run $small --ranks 3 --compress int8 --checkpoint kept"
if $keeping --die 1:20 > log 2>&1; then wrong 'a rank that dies ends the training'; fi
$keeping --resume > log 2>&1 || wrong 'it is resumed'
shows 'per rank in the last 16 of 32 steps, ' log
within "$(sed -n 's/.* steps, \([0-9.]*\) times less.*/\1/p' log)" 2.5 4 'times less'
$keeping --resume --plot picture.svg > log 2>&1 || wrong 'it is resumed when it is done'
shows 'per rank in the last 0 of 32 steps$' log
shows '>built-in digits, 784-32-10, relu, sent as int8, the error later<' picture.svg
shows 'KiB of rank 0 so far' picture.svg
if grep -q '>fault<' picture.svg; then wrong 'there was no fault'; fi

# Two of three ranks send half a gradient twice; three ranks would send 4 / 3 of one.
$train run $small --ranks 3 --transport tcp --on-fault continue --die 2:20 --report report.json --plot picture.svg \
  > log 2>&1 || wrong 'the others go on'
value() { sed -n "s/^  \"$1\": \([0-9.e+]*\),*\$/\1/p" report.json; }
within "$(value bytes_counted_from_step)" 19 20 'counted from step'
within "$(value bytes_sent_per_rank) / $(value bytes_of_float_sums_per_rank)" 1 1.4 'of what sums of float take'
shows '>fault<' picture.svg
shows '>3 ranks, 2 after a fault, tcp, ring, batch 128<' picture.svg
shows '"ranks": 2' report.json

if $train run --data . --samples 100 > log 2>&1; then wrong 'a folder is not drawn'; fi
shows '--samples: needs --data builtin, not .; a folder is used whole' log

# Sums by integers: equal weights over any topology and at a device, and overflows are counted. A weight deviates by at
# most the rate times the error that the factor leaves: 3 / 2 / 1000000 in the first step of rate 0.1.
summing="$train run --epochs 1 --samples 2000 --hidden 32 --ranks 3 --sums fixed_point --report report.json"
$summing --compare-sums > log 2>&1 || wrong 'sums by integers'
first=$(value weights)
shows '^  "overflows": 0,*$' report.json
within "$(sed -n 's/^weights after a step differ by \([0-9.e-]*\) .*/\1/p' log)" 1e-9 1.6e-7 'a deviation'
$summing --transport fpga_nic --bucket 16K > log 2>&1 || wrong 'sums by integers at a device'
[ "$(value weights)" = "$first" ] || wrong 'other weights at a device'
$summing --topology butterfly --factor 1e10 > log 2>&1 || wrong 'sums by a large factor'
within "$(value overflows)" 1 10000 'overflows'
for pair in '--factor 10' '--sums fixed_point --exponent-block 2' '--sums fixed_point --compress fp16' \
  '--sums shared_exponents --strategy gossip' '--sums fixed_point --reproducible' '--compare-sums --optimizer lars' \
  '--sums fixed_point --bucket 16K --progress-thread'; do
  if $train run $small $pair > log 2>&1; then wrong "$pair go together"; fi
done

# With servers, the first rank's model has no meaningful weights.
$train run $small --ranks 3 --strategy parameter_server --report report.json > log 2>&1 || wrong 'servers'
if grep -q '"weights"' report.json; then wrong 'weights of a server'; fi
