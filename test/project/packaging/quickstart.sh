#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The output of examples/quickstart.sh is true for its options, and --help does nothing else. An option that train does
# not have is refused at once. Installing, cmake and train are stand-ins here.
#
#   sh quickstart.sh <repository>
set -eu
root=$(cd "$1" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p examples/train cmake tools
cp "$root/examples/quickstart.sh" examples
cp "$root"/examples/train/*.cpp examples/train
cat > cmake/setup.sh << 'TEXT'
say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
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
case $said in
  *"--batch-per-rank "*"--transport"*) ;;
  *) fail "--help lists the options of train" "$said" ;;
esac

for unknown in --nonsense --nonsense=3 -n --; do
  if said=$(run --ranks 2 "$unknown" 4); then fail "$unknown is refused" "$said"; fi
  [ "$said" = "error: unknown option ${unknown%=3}; sh examples/quickstart.sh --help lists all" ] ||
    fail "a sentence that names $unknown is expected" "$said"
done
[ ! -e build ] || fail "nothing is built" "$(ls build)"

said=$(run) || fail "it trains" "$said"
case $said in
  *"installs "*"train run --plot "*"drawn in $folder/build/quickstart/training.svg"*"What next:"*) ;;
  *) fail "what was installed, started, drawn, and what comes next is expected" "$said" ;;
esac
said=$(run --ranks 2 --plot "$folder/other.svg") || fail "it trains with two ranks" "$said"
case $said in
  *"four ranks"* | *"drawn in $folder/build"*) fail "two ranks draw elsewhere" "$said" ;;
  *"train run --ranks 2 --plot $folder/other.svg"*"What next:"*) ;;
  *) fail "the options that train gets are expected" "$said" ;;
esac
said=$(run --lr -0.5 --seed=7 --die 1:10) || fail "values may be negative, or behind =" "$said"
