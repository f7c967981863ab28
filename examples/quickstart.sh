#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and trains a classifier of handwritten-looking digits on four ranks.
# Works from any folder. Arguments go to train: sh examples/quickstart.sh --transport tcp --ranks 2
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

install_missing build nn example

build="$root/build/quickstart"
plot="$build/training.svg"
say "Building train in $build"
cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTUTTI_BUILD_TESTS=OFF
cmake --build "$build" --target train

say "Training on four ranks"
"$build/examples/train" --ranks 4 --plot "$plot" "$@"
say "Loss and accuracy over time are drawn in $plot"
