# SPDX-License-Identifier: Apache-2.0
#
# Shared by test/run.sh and examples/quickstart.sh, which read it with `.`: finds the repository, installs
# what is missing (Debian and Ubuntu), and says what it does.

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

is_debian() { command -v dpkg-query > /dev/null 2>&1 && command -v apt-get > /dev/null 2>&1; }
is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo > /dev/null 2>&1; then
    sudo "$@"
  else
    fail "this needs root: $*. Run it as root, or install sudo."
  fi
}

# The version of Boost to use, 1.81 or newer: the one that is installed, or the oldest that can be had.
boost_version() {
  {
    dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'libboost1.*-dev' 2> /dev/null | sed -n 's/ installed$//p'
    apt-cache search --names-only '^libboost1\.[0-9]*-dev$' | cut -d ' ' -f 1 | sort -V
  } | sed -n 's/^libboost1\.\([0-9]*\)-dev$/\1/p' | while read -r minor; do
    if [ "$minor" -ge 81 ]; then
      echo "1.$minor"
      break
    fi
  done
}

# The Debian packages for one purpose.
packages_for() {
  case $1 in
    build) echo "g++ cmake ninja-build libboost$boost-dev" ;;
    nn) echo "libxtensor-dev libxtensor-blas-dev libopenblas-dev libdnnl-dev zlib1g-dev nlohmann-json3-dev" ;;
    nn_images) echo "libpng-dev libjpeg-dev" ;;
    example) echo "libcli11-dev" ;;
    test) echo "libboost-test$boost-dev libeigen3-dev libssl-dev pkgconf make python3 python3-numpy python3-yaml python3-markdown" ;;
    clang) echo "clang-16 libclang-rt-16-dev clang-format-16 clang-tidy-16" ;;
    linker) echo "lld-16" ;;
    reference) echo "doxygen" ;;
    libcxx) echo "libc++-16-dev libc++abi-16-dev" ;;
    bits32) echo "g++-multilib" ;;
    hardware) echo "verilator make" ;;
    interface) echo "iproute2" ;;
    softroce) echo "qemu-system-x86 busybox-static cpio kmod xz-utils zstd iproute2 ibverbs-providers ibverbs-utils" ;;
    softroce_peers) echo "perftest" ;;
    verbs) echo "libibverbs-dev" ;;
    python) echo "python3-torch python3-pip python3-venv" ;;
    launchers)
      echo "openmpi-bin libopenmpi-dev mpich libmpich-dev slurmctld slurmd slurm-client munge iproute2 python3-yaml"
      ;;
    packaging) echo "git pkgconf" ;;
    cross) echo "g++-aarch64-linux-gnu g++-s390x-linux-gnu g++-i686-linux-gnu qemu-user-static" ;;
    synthesis) echo "yosys nextpnr-ice40 fpga-icestorm" ;;
    *) fail "no packages are known for \"$1\"" ;;
  esac
}

# install_missing <purpose>...: nothing is asked for and nothing is touched if all is there.
install_missing() {
  if ! is_debian; then
    command -v cmake > /dev/null 2>&1 && command -v ninja > /dev/null 2>&1 && command -v c++ > /dev/null 2>&1 ||
      fail "this is neither Debian nor Ubuntu. Please install: a C++20 compiler (g++ 12, clang 16 or newer), CMake 3.22," \
        "ninja, Boost 1.81 with Boost.Test, xtensor, xtensor-blas, OpenBLAS, oneDNN, zlib, CLI11 and nlohmann-json."
    say "This is neither Debian nor Ubuntu: taking the libraries to be there; CMake will say what is missing"
    return
  fi
  boost=$(boost_version)
  if [ -z "$boost" ]; then
    say "Fetching the package lists (apt-get update)"
    as_root apt-get update -q
    boost=$(boost_version)
  fi
  [ -n "$boost" ] || fail "this release has no Boost 1.81 or newer. Debian 12, Ubuntu 24.04 and later ones have."

  missing=""
  for purpose in "$@"; do
    for package in $(packages_for "$purpose"); do
      is_installed "$package" || missing="$missing $package"
    done
  done
  if [ -z "$missing" ]; then
    say "All packages that are needed are installed"
    return
  fi
  say "Installing$missing"
  # A list of packages may be there but stale: fetch it once more if it does not do.
  install_packages $missing || {
    say "Fetching the package lists (apt-get update), then once more"
    as_root apt-get update -q && install_packages $missing
  } || fail "apt-get could not install:$missing (nothing that is installed is removed for it)"
}

# Never takes a package away: if another Boost is in the way, the user decides.
install_packages() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --no-remove "$@"
}

# Installs packages that are useful but not needed; continues if that fails.
install_optional() {
  (install_missing "$@") || say "Continuing without: $*"
}

# The newest clang++ that can read all of this, 16 or newer; empty: none.
find_clang() {
  for version in 21 20 19 18 17 16; do
    command -v "clang++-$version" && return
  done
  return 0
}
