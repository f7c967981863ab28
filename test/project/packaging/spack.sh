#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests Spack's recipe with the compiler and the CMake of the system. Without spack on the PATH it ends with 77.
#
#   sh spack.sh <repository> <scratch folder>
set -eu
command -v spack > /dev/null || {
  echo "SKIP: there is no spack on the PATH"
  exit 77
}
root=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2/source"
scratch=$(cd "$2" && pwd)
export SPACK_USER_CONFIG_PATH="$scratch/config" SPACK_SYSTEM_CONFIG_PATH="$scratch/none"
export SPACK_USER_CACHE_PATH="$scratch/cache"

# Spack builds in the folder of the sources.
cp -r "$root/CMakeLists.txt" "$root/LICENSE" "$root/cmake" "$root/include" "$scratch/source"
mkdir "$scratch/config"
cat > "$scratch/config/config.yaml" << CONFIG
config:
  install_tree:
    root: $scratch/installed
  build_stage: $scratch/stage
CONFIG
spack repo add "$root/packaging/spack/spack_repo/tutti"
spack compiler find
spack external find cmake gmake
spack info tutti
spack dev-build --source-path "$scratch/source" tutti@main
prefix=$(spack location --install-dir tutti)
cmake -S "$root/test/project/install/consumer" -B "$scratch/build" -DWAY=find_package -DCOMPONENTS=tcp \
  -DCMAKE_PREFIX_PATH="$prefix"
grep "^tutti_DIR:PATH=$prefix" "$scratch/build/CMakeCache.txt"
cmake --build "$scratch/build"
"$scratch/build/consumer"
