#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests the port with a vcpkg that downloads nothing: empty ports stand for the libraries, which are the system's.
# Without vcpkg on the PATH and its repository in VCPKG_ROOT it ends with 77.
#
#   sh vcpkg.sh <repository> <scratch folder>
set -eu
command -v vcpkg > /dev/null && [ -f "${VCPKG_ROOT-}/scripts/buildsystems/vcpkg.cmake" ] || {
  echo "SKIP: there is no vcpkg on the PATH with its repository in VCPKG_ROOT"
  exit 77
}
root=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
scratch=$(cd "$2" && pwd)
export VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1 VCPKG_BINARY_SOURCES=clear
port="$root/packaging/vcpkg/ports/tutti"

version=$(sed -n 's/^#define TUTTI_VERSION_[A-Z]* //p' "$root/include/tutti/version.hpp" | paste -s -d .)
grep -q "\"version\": \"$version\"" "$port/vcpkg.json" || {
  echo "packaging/vcpkg has another version than $version" >&2
  exit 1
}

for library in boost-asio libjpeg-turbo libpng nlohmann-json onednn openblas openssl rdma-core xtensor xtensor-blas zlib; do
  mkdir -p "$scratch/ports/$library"
  printf '{ "name": "%s", "version": "999.0.0" }\n' "$library" > "$scratch/ports/$library/vcpkg.json"
  echo 'set(VCPKG_POLICY_EMPTY_PACKAGE enabled)' > "$scratch/ports/$library/portfile.cmake"
done
vcpkg install 'tutti[asio,nn-images,secure,verbs]' --overlay-ports="$port" --overlay-ports="$scratch/ports" \
  --x-install-root="$scratch/installed" --x-buildtrees-root="$scratch/buildtrees" \
  --x-packages-root="$scratch/packages" | tee "$scratch/said"
if grep "post-build check problem" "$scratch/said"; then
  exit 1
fi

cmake -S "$root/test/project/install/consumer" -B "$scratch/build" -DWAY=find_package "-DCOMPONENTS=asio;tcp;secure;verbs;nn;nn_images" \
  -DCMAKE_TOOLCHAIN_FILE="$VCPKG_ROOT/scripts/buildsystems/vcpkg.cmake" \
  -DVCPKG_INSTALLED_DIR="$scratch/installed"
grep "^tutti_DIR:PATH=$scratch/installed" "$scratch/build/CMakeCache.txt"
cmake --build "$scratch/build"
"$scratch/build/consumer"
