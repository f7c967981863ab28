#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and trains a classifier of handwritten-looking digits on four ranks.
# Works from any folder. Arguments go to train: sh examples/quickstart.sh --transport tcp --ranks 2
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/cmake/setup.sh"

build="$root/build/quickstart"
train="$build/examples/train"
plot="$build/training.svg"

# The names of train's options, before it is built.
known=$(sed -n 's/^ *{"\(--[a-z][a-z0-9-]*\)".*/\1/p' "$root"/examples/train/option_rows.cpp | LC_ALL=C sort -u)

usage() {
  cat << TEXT
usage: sh examples/quickstart.sh [option of train...]

Installs what is missing (Debian, Ubuntu), builds the program train in $build,
and trains a classifier of handwritten-looking digits on four ranks. The first build takes about ten minutes on one
processor, less on several; the training takes less than one.

Options go to train, such as --ranks 2 or --transport tcp:

$(echo $known | fold -s -w 80 | sed 's/^/  /; s/ *$//')

Once train is built, this says what they mean:

  $train run --help
TEXT
}
draws=no
for option in "$@"; do
  case $option in
    --help | -h) usage && exit 0 ;;
  esac
done
# An option that train does not have is refused before anything is installed. Other words may be values of options.
for option in "$@"; do
  case $option in
    --plot | --plot=*) draws=yes ;;
    -[!0-9.]*)
      printf '%s\n' "$known" | grep -qxF -e "${option%%=*}" ||
        fail "unknown option ${option%%=*}; sh examples/quickstart.sh --help lists all"
      ;;
  esac
done
[ "$draws" = yes ] || set -- --plot "$plot" "$@"

install_missing build nn nn_images example

say "Building train in $build (about ten minutes on one processor, less on several)"
# Warnings about missing parts of other components do not matter here.
cmake --log-level=WARNING -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTUTTI_BUILD_TESTS=OFF
cmake --build "$build" --target train

say "Training: train run $*"
"$train" run "$@"
[ "$draws" = yes ] || say "Loss and accuracy over time are drawn in $plot"
cat << TEXT

What next:
  $train run --help    other models, data, transports and strategies
  $root/docs/trainer/training.md    explains them
  $root/README.md    how to use tutti in a program of your own
TEXT
