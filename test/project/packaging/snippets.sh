#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A newcomer's first hour: an empty home, the first program of README.md, and each command of README.md and
# docs/guide/installing.md. A hidden comment before a block there, `<!-- snippet: NAME -->`, names the block.
#
#   sh snippets.sh <repository> <scratch folder> [conan]    with "conan" only the commands of Conan, else all others
set -eu
root=$(cd "$1" && pwd)
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch/blocks" "$scratch/home"
scratch=$(cd "$scratch" && pwd)
export HOME="$scratch/home"
ln -s "$root" "$HOME/tutti"

awk -v out="$scratch/blocks" '
  /^<!-- snippet: / { name = $3; next }
  /^```/ && name != "" { if (inside) { close(out "/" name); name = "" }; inside = !inside; next }
  inside { print > (out "/" name) }
' "$root/README.md" "$root/docs/guide/installing.md"
awk -v out="$scratch" -v page=readme -f "$root/test/project/readme/extract.awk" "$root/README.md" > "$scratch/programs"
program=$(head -n 1 "$scratch/programs")
tried="CMakeLists.txt build.sh compiled.sh conan.sh conanfile.txt fetch_content.cmake install.sh pkg_config.sh plain.sh"
snippets=$(cd "$scratch/blocks" && echo *)
[ "$snippets" = "$tried" ] || {
  echo "the pages have the snippets $snippets, but these are tried here: $tried" >&2
  exit 1
}

# run <block of commands>: runs it in a folder of its own; four ranks sum 0 + 1 + 2 + 3.
run() {
  folder="$scratch/$1_folder"
  mkdir -p "$folder"
  cp "$program" "$folder/program.cpp"
  echo "== $1"
  output=$(cd "$folder" && sh -eux "$scratch/blocks/$1") || exit 1
  [ "$1" = install.sh ] || case $output in
    *"6
6
6
6") ;;
    *) echo "expected 6 from four ranks, but the output is: $output" >&2 && exit 1 ;;
  esac
}

if [ "${3-}" = conan ]; then
  mkdir -p "$scratch/conan.sh_folder"
  cp "$scratch/blocks/CMakeLists.txt" "$scratch/blocks/conanfile.txt" "$scratch/conan.sh_folder"
  run conan.sh
  exit
fi

run plain.sh
run install.sh
if command -v pkg-config > /dev/null; then
  run pkg_config.sh
  run compiled.sh
else
  echo "SKIP: there is no pkg-config (Debian: pkgconf)"
fi

mkdir -p "$scratch/build.sh_folder"
cp "$scratch/blocks/CMakeLists.txt" "$scratch/build.sh_folder"
run build.sh
if git -C "$root" rev-parse HEAD > /dev/null 2>&1; then
  rm -r "$HOME/.local"
  sed -e "/find_package/{r $scratch/blocks/fetch_content.cmake" -e 'd}' "$scratch/blocks/CMakeLists.txt" \
    > "$scratch/build.sh_folder/CMakeLists.txt"
  run build.sh
else
  echo "SKIP: $root is no git repository, or there is no git"
fi
