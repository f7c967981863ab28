#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of the page "Train on your own images in five minutes", as the page has them.
#
#   sh own_images.sh <train>
set -eu
train=${1:?usage: own_images.sh <train>}
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$train" "$folder/bin/train"
ln -s "$root/examples" "$folder/examples"
cd "$folder"
PATH=$folder/bin:$PATH

sed -n 's/^    \(train [a-z].*\)/\1/p; s/^    \(python3 .*\)/\1/p' "$root/docs/trainer/own-images.md" > commands
[ "$(grep -c . commands)" = 6 ] || { echo "the page has other commands:" && cat commands && exit 1; }
while read -r command; do
  echo "\$ $command"
  $command > output 2>&1 || { cat output && echo "failed: $command" && exit 1; }
  tail -n 12 output
  cat output >> outputs
done < commands

expect() {  # <pattern> <meaning>
  grep -q "$1" outputs || { echo "the output lacks $2: $1" && exit 1; }
}
expect '^class  circle: 150, cross: 150, square: 150 training images$' 'the classes'
expect '^test accuracy \(100\.00\|9[0-9]\.[0-9][0-9]\) % after epoch 20' 'an accuracy of 90 % or more'
expect '^shapes/test/circle/000.png: circle ' 'a right answer'
expect '^shapes/test/cross/000.png: cross ' 'a right answer'
expect 'test accuracy .* after epoch 20$' 'the results'
grep -q '<svg' confusion.svg || { echo "there is no picture" && exit 1; }
train predict shapes.safetensors shapes/test/circle/000.png > again
grep -qx "$(cat again)" outputs || { echo "the exported model answers otherwise: $(cat again)" && exit 1; }

head -c 100 shapes/train/circle/000.png > shapes/test/circle/001.png
for wrong in "predict run1 shapes/test/circle/001.png:is a damaged PNG picture" "predict run1 nothing.png:nothing.png" \
  "evaluate run1 --data nothing:nothing is not a folder" "export nothing model.safetensors:nothing" \
  "inspect confusion.svg:confusion.svg" "run --data shapes --validation 0.2:has one, of 111 images"; do
  if train ${wrong%%:*} > output 2>&1; then echo "is accepted: ${wrong%%:*}" && exit 1; fi
  grep -q "${wrong#*:}" output || { echo "${wrong%%:*} does not say ${wrong#*:}:" && cat output && exit 1; }
done
