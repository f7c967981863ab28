#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of docs/guide/launching.md as printed there, with the real launchers. A hidden comment before a
# block, `<!-- launcher: NAME -->`, names the block. A launcher that is not installed, or needs root, ends with 77.
#
#   sh launchers.sh <repository> <scratch folder> <test> <C++ compiler> <examples/join.cpp, compiled>
set -eu
root=$(cd "$1" && pwd)
what=$3
compiler=$4
program=$5
fail() {
  echo "$*" >&2
  exit 1
}
skip() {
  echo "SKIP: $*"
  exit 77
}
needs() { command -v "$1" > /dev/null || skip "there is no $1 (Debian: $2)"; }
. "$root/test/project/launchers/hosts.sh"

if [ "${6-}" != apart ]; then
  rm -rf "$2"
  mkdir -p "$2/blocks"
  cp "$program" "$2/program"
  awk -v out="$2/blocks" '
    /^<!-- launcher: / { name = $3; inside = 0; next }
    name != "" && /^    / { print substr($0, 5) > (out "/" name); inside = 1; next }
    name != "" && inside && /^./ { close(out "/" name); name = ""; inside = 0 }
    inside { print "" > (out "/" name) }
  ' "$root/docs/guide/launching.md"
fi
scratch=$(cd "$2" && pwd)
export HOME="$scratch"
cd "$scratch"

# Restarts a test of more than one host where hosts can be made.
again_apart() {
  [ "${apart_now-}" = yes ] || {
    skip_without_hosts
    apart "$root/test/project/launchers/launchers.sh" "$root" "$scratch" "$what" "$compiler" "$program" apart
    exit
  }
}
apart_now=no
[ "${6-}" != apart ] || apart_now=yes

# block <name>: runs a block of the page in a shell of its own. block_on <host> <name>: runs it on a host.
block() {
  [ -s "blocks/$1" ] || fail "docs/guide/launching.md has no block $1"
  sh -eu "blocks/$1"
}
block_on() {
  [ -s "blocks/$2" ] || fail "docs/guide/launching.md has no block $2"
  on "$1" sh -eu "blocks/$2"
}
# everywhere <block> <host...>: runs the block on all of these hosts at once.
everywhere() {
  name=$1
  pids=""
  shift
  for host in "$@"; do
    block_on "$host" "$name" &
    pids="$pids $!"
  done
  for pid in $pids; do
    wait "$pid"
  done
}
# expect <ranks> <command...>: each rank finds all others.
expect() {
  count=$1
  shift
  echo "== $*"
  "$@" > said || fail "this command fails: $*"
  cat said
  sum=$((count * (count - 1) / 2))
  [ "$(grep -c "of $count: $count ranks, whose numbers add up to $sum\$" said)" = "$count" ] ||
    fail "expected \"$count ranks, whose numbers add up to $sum\" from each of $count ranks"
}
# alias_of <name> <program>: gives a program the page's name, which another installed program may have.
alias_of() {
  mkdir -p bin
  printf '#!/bin/sh\nexec %s "$@"\n' "$2" > "bin/$1"
  chmod +x "bin/$1"
  PATH="$scratch/bin:$PATH"
}
as_root() { [ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; }
# mend_torchrun: torch 1.13 fails with Python 3.11, whose flags do not list their zero, "redirect nothing".
mend_torchrun() {
  torchrun --nproc_per_node 1 --no_python true > torchrun.log 2>&1 && return
  cat > mended.py << 'PYTHON'
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda flags, text: flags.NONE)
from torch.distributed.run import main
main()
PYTHON
  alias_of torchrun "$(sed -n '1s/^#! *//p' "$(command -v torchrun)") $scratch/mended.py"
  torchrun --nproc_per_node 1 --no_python true > torchrun.log 2>&1 || {
    cat torchrun.log
    skip "this torchrun starts no program at all"
  }
}

case $what in
  by_hand)
    expect 4 block by_hand
    ;;
  ssh)
    again_apart
    make_hosts "$scratch" node0 node1 node2
    expect 3 block_on node0 ssh
    expect 3 everywhere hosts node2 node1 node0
    ;;
  openmpi)
    needs mpirun.openmpi openmpi-bin
    as_root
    alias_of mpirun "mpirun.openmpi --oversubscribe"
    expect 4 block mpirun
    ;;
  openmpi_hosts)
    needs mpirun.openmpi openmpi-bin
    needs mpicxx.openmpi libopenmpi-dev
    [ $apart_now = yes ] || OMPI_CXX=$compiler mpicxx.openmpi -std=c++20 -I"$root/include" "$root/examples/mpi.cpp" -o mpi
    again_apart
    as_root
    make_hosts "$scratch" node0 node1
    alias_of mpirun mpirun.openmpi
    expect 8 block_on node0 openmpi_hosts
    expect 8 block_on node0 openmpi_rendezvous
    ! on node0 mpirun -n 2 --host node0:1,node1:1 ./program > said 2>&1 || fail "two hosts meet without an address"
    grep "set TUTTI_MASTER_ADDR to the name of its host" said || fail "expected the remedy, but heard: $(cat said)"
    ;;
  mpich)
    needs mpirun.mpich mpich
    alias_of mpirun mpirun.mpich
    expect 4 block mpirun
    ;;
  mpich_hosts)
    needs mpirun.mpich mpich
    needs mpicxx.mpich libmpich-dev
    [ $apart_now = yes ] || MPICH_CXX=$compiler mpicxx.mpich -std=c++20 -I"$root/include" "$root/examples/mpi.cpp" -o mpi
    again_apart
    make_hosts "$scratch" node0 node1
    export HYDRA_LAUNCHER_EXEC="$scratch/bin/ssh"
    alias_of mpirun mpirun.mpich
    expect 8 block_on node0 mpich_hosts
    expect 8 block_on node0 mpich_rendezvous
    ;;
  torchrun | torchrun_hosts)
    needs torchrun python3-torch
    [ $apart_now = yes ] || mend_torchrun
    if [ $what = torchrun ]; then
      expect 4 block torchrun
      exit
    fi
    again_apart
    make_hosts "$scratch" node0 node1
    expect 8 everywhere torchrun_hosts node1 node0
    ;;
  slurm)
    . "$root/test/project/launchers/slurm.sh"
    ;;
  kubernetes)
    python3 -c 'import yaml' 2> /dev/null || skip "there is no parser of YAML (Debian: python3-yaml)"
    again_apart
    . "$root/test/project/launchers/kubernetes.sh"
    ;;
  *)
    fail "there is no test $what"
    ;;
esac
