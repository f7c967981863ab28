#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tests the recipe with a Conan 2 client that knows no remote. Its requirements are recipes that stand for the system's
# libraries, under the names and targets of ConanCenter. Without a client it ends with 77.
#
#   sh conan.sh <repository> <scratch folder>
set -eu
command -v conan > /dev/null || {
  echo "SKIP: there is no client of Conan on the PATH"
  exit 77
}
root=$(cd "$1" && pwd)
rm -rf "$2"
mkdir -p "$2"
scratch=$(cd "$2" && pwd)
export CONAN_HOME="$scratch/home"
index="$scratch/index"
unset CMAKE_CXX_COMPILER_LAUNCHER || true
fail() {
  echo "$*" >&2
  exit 1
}

# wrap <name> <the system's version> <file name for CMake> <its target> <libraries> [component]
wrap() {
  mkdir -p "$index/recipes/$1/all"
  printf 'versions:\n  system:\n    folder: all\n' > "$index/recipes/$1/config.yml"
  cat > "$index/recipes/$1/all/conanfile.py" << RECIPE
from conan import ConanFile

class System(ConanFile):
    name = "$1"
    version = "system"
    build_policy = "missing"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def package_info(self):
        self.cpp_info.includedirs = self.cpp_info.libdirs = self.cpp_info.bindirs = []
        self.cpp_info.set_property("cmake_file_name", "$3")
        self.cpp_info.set_property("system_package_version", "$2")
        info = self.cpp_info.components["$6"] if "${6-}" else self.cpp_info
        info.includedirs = info.libdirs = info.bindirs = []
        info.set_property("cmake_target_name", "$4")
        info.system_libs = "$5".split()
RECIPE
  printf '%s/*: %s/system\n' "$1" "$1" >> "$scratch/replaced"
}
macro() { printf '#include <%s>\n%s\n' "$1" "$2" | c++ -E -P -x c++ - | tail -n 1 | tr -d '" ' | tr _ .; }
wrap boost "$(macro boost/version.hpp BOOST_LIB_VERSION)" Boost Boost::headers "" headers
wrap zlib "$(macro zlib.h ZLIB_VERSION)" ZLIB ZLIB::ZLIB z ""
wrap libpng "$(pkg-config --modversion libpng)" PNG PNG::PNG png ""
wrap libjpeg-turbo "$(pkg-config --modversion libjpeg)" JPEG JPEG::JPEG jpeg ""
wrap nlohmann_json "$(pkg-config --modversion nlohmann_json)" nlohmann_json nlohmann_json::nlohmann_json "" ""
wrap xtensor "$(pkg-config --modversion xtensor)" xtensor xtensor "" ""
wrap xtensor-blas "$(macro xtensor-blas/xblas_config.hpp \
  XTENSOR_BLAS_VERSION_MAJOR.XTENSOR_BLAS_VERSION_MINOR)" xtensor-blas xtensor-blas "" ""
wrap openblas "$(pkg-config --modversion openblas)" OpenBLAS OpenBLAS::OpenBLAS openblas ""
wrap onednn "$(macro oneapi/dnnl/dnnl_version.h DNNL_VERSION_MAJOR.DNNL_VERSION_MINOR)" dnnl DNNL::dnnl dnnl ""
wrap openssl "$(pkg-config --modversion openssl)" OpenSSL OpenSSL::SSL "ssl crypto" ssl
wrap rdma-core "$(pkg-config --modversion libibverbs)" rdma-core rdma-core::libibverbs ibverbs libibverbs

conan profile detect
{ echo "[replace_requires]" && cat "$scratch/replaced"; } >> "$CONAN_HOME/profiles/default"
echo "tools.cmake.cmake_layout:test_folder=$scratch/test_package" > "$CONAN_HOME/global.conf"
conan remote remove '*'
conan remote add system "$index" --type local-recipes-index

# refused <text that the message must contain> <command...>
refused() {
  expected=$1
  shift
  if said=$("$@" 2>&1); then
    fail "expected a failure that says \"$expected\": $*"
  fi
  case $said in
    *"$expected"*) ;;
    *) fail "expected a failure that says \"$expected\", but heard: $said" ;;
  esac
}

conan create "$root" -s compiler.cppstd=20
if ldd "$(find "$scratch/test_package" -name uses_core -type f)" | grep -i boost; then
  fail "the core links Boost"
fi
refused "lower than the required C++ standard (20)" conan create "$root" -s compiler.cppstd=17
refused "lower than the required C++ standard (20)" conan install --requires "tutti/[*]" -s compiler.cppstd=17
refused "tutti runs on Linux" conan install --requires "tutti/[*]" -s compiler.cppstd=20 -s os=Macos

conan create "$root" -s compiler.cppstd=20 -o "&:with_asio=True" -o "&:with_secure=True" -o "&:with_verbs=True" --test-folder=
packages=$(conan list "tutti/*:*" --format=compact | grep -c "#[0-9a-f]*:")
[ "$packages" = 1 ] || fail "the options make $packages packages of one content"

conan remove --confirm "tutti/*"
sh "$root/test/project/packaging/snippets.sh" "$root" "$scratch/snippets" conan

# Tests ConanCenter's form, from the archive of a release.
center="$scratch/center"
cp -r "$root/packaging/conan-center" "$center"
version=$(conan inspect "$root" | sed -n 's/^version: //p')
tar -czf "$scratch/release.tar.gz" -C "$root" --transform 's,^,tutti/,' LICENSE cmake include
printf 'sources:\n  "%s":\n    url: "file://%s"\n    sha256: "%s"\n' "$version" "$scratch/release.tar.gz" \
  "$(sha256sum "$scratch/release.tar.gz" | cut -d ' ' -f 1)" > "$center/recipes/tutti/all/conandata.yml"
grep -q "\"$version\"" "$center/recipes/tutti/config.yml" || fail "packaging/conan-center does not know $version"
conan create "$center/recipes/tutti/all" --version "$version" -s compiler.cppstd=20
sed -i 's/COMPONENTS tcp/COMPONENTS tpc/' "$center/recipes/tutti/all/test_package/CMakeLists.txt"
refused "tutti::tpc: there is no such component" conan test "$center/recipes/tutti/all/test_package" "tutti/$version" \
  -s compiler.cppstd=20
