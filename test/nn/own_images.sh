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
[ "$(grep -c . commands)" = 7 ] || { echo "the page has other commands:" && cat commands && exit 1; }
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
expect '^begin  with the weights of shapes.safetensors$' 'the origin of the weights'
expect '^test accuracy \(100\.00\|9[0-9]\.[0-9][0-9]\) % after epoch 5' 'an accuracy of 90 % or more with given weights'
train predict new.safetensors shapes/test/cross/000.png | grep -q ': cross ' || { echo "the model is not saved" && exit 1; }

# Two of the classes: the weights of the last layer are drawn. The saved model is that of the last checkpoint.
mkdir two
cp -R shapes/train/circle shapes/train/cross two
for options in synchronous local_sgd "parameter_server --optimizer sgd --lr 0.05"; do
  strategy=${options%% *}
  train run --recipe pictures --data two --ranks 2 --epochs 2 --strategy $options --weights shapes.safetensors \
    --checkpoint "run_$strategy" --save "$strategy.safetensors" > output 2>&1 || { cat output && exit 1; }
  grep -q '^begin .*; classifier.3.weight and classifier.3.bias are drawn$' output || { cat output && exit 1; }
  train export "run_$strategy" last.safetensors > output
  cmp last.safetensors "$strategy.safetensors"
done

head -c 100 shapes/train/circle/000.png > shapes/test/circle/001.png
for wrong in "predict run1 shapes/test/circle/001.png:is a damaged PNG picture" "predict run1 nothing.png:nothing.png" \
  "evaluate run1 --data nothing:nothing is not a folder" "export nothing model.safetensors:nothing" \
  "inspect confusion.svg:confusion.svg" "run --data shapes --validation 0.2:has one, of 111 images" \
  "run --data shapes --model lenet5 --weights shapes.safetensors:shapes.safetensors has the tensor features.0.weight as F32 .32, 3, 3, 3., but" \
  "run --data shapes --weights run1:run1 is a folder" "run --save nothing/model.safetensors:cannot write nothing/model" \
  "run --save shapes:cannot write shapes" "export run1 /dev/null:/dev/null is a folder or a device" \
  "run --strategy parameter_server --save model.safetensors:needs --checkpoint"; do
  if train ${wrong%%:*} > output 2>&1; then echo "is accepted: ${wrong%%:*}" && exit 1; fi
  grep -q "${wrong#*:}" output || { echo "${wrong%%:*} does not say ${wrong#*:}:" && cat output && exit 1; }
done
