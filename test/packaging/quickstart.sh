#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# What examples/quickstart.sh says is true for the options that it is given, and --help does nothing else. Installing,
# cmake and train are stand-ins here.
#
#   sh quickstart.sh <repository>
set -eu
root=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir examples cmake tools
cp "$root/examples/quickstart.sh" examples
cat > cmake/setup.sh << 'TEXT'
say() { printf '\n== %s\n' "$*"; }
install_missing() { echo "installs $*"; }
TEXT
cat > tools/cmake << TEXT
#!/bin/sh
mkdir -p "$folder/build/quickstart/examples"
cp "$folder/tools/train" "$folder/build/quickstart/examples"
TEXT
cat > tools/train << 'TEXT'
#!/bin/sh
for option in "$@"; do
  case " $seen " in *" $option "*) echo "$option is given twice" && exit 1 ;; esac
  case $option in --*) seen="$seen $option" ;; esac
done
TEXT
chmod +x tools/*
fail() {
  printf '%s, but heard:\n%s\n' "$1" "$2" >&2
  exit 1
}
run() { PATH="$folder/tools:$PATH" sh examples/quickstart.sh "$@" 2>&1; }

said=$(run --ranks 2 --help)
case $said in
  *"installs "* | *"== "*) fail "--help does nothing but help" "$said" ;;
  "usage: "*minutes*) ;;
  *) fail "--help says how it is used and how long it takes" "$said" ;;
esac
[ ! -e build ] || fail "--help builds nothing" "$(ls build)"

said=$(run) || fail "it trains" "$said"
case $said in
  *"installs "*"train --plot "*"drawn in $folder/build/quickstart/training.svg"*"What next:"*) ;;
  *) fail "what was installed, started, drawn, and what comes next is expected" "$said" ;;
esac
said=$(run --ranks 2 --plot "$folder/other.svg") || fail "it trains with two ranks" "$said"
case $said in
  *"four ranks"* | *"drawn in $folder/build"*) fail "two ranks draw elsewhere" "$said" ;;
  *"train --ranks 2 --plot $folder/other.svg"*"What next:"*) ;;
  *) fail "the options that train gets are expected" "$said" ;;
esac
