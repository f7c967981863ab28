#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The test of api.sh: plants detail types in the public names of a small library; each must be found.
#
#   sh planted.sh <repository>
set -u
repository=${1:?usage: planted.sh <repository>}
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
mkdir -p "$folder/docs" "$folder/cmake" "$folder/include/tutti/extend" "$folder/include/tutti/detail/base"
cp -R "$repository/docs/reference" "$folder/docs/reference"
cp "$repository/cmake/components.cmake" "$folder/cmake/"
cat > "$folder/include/tutti/detail/base/hidden.hpp" <<'END'
namespace tutti::inline v0_1_0::detail::inline base {
struct hidden { hidden(hidden const&); hidden& operator=(hidden const&); };
struct shows { detail::hidden inherited() const; };
}  // namespace tutti::detail::base
END

# plant <declarations in tutti> <text that must be printed>; without a text nothing is wrong
plant() {
  printf 'namespace tutti::inline v0_1_0 {\n%s\n}  // namespace tutti\n' "$1" > "$folder/include/tutti/extend/own.hpp"
  said=$(sh "$repository/test/project/api/api.sh" "$folder" --write 2>&1)
  code=$?
  [ "$code" -ne 77 ] || { echo "$said" && exit 77; }
  case $code$2 in
    0) return ;;
    0*) echo "not found: $1" ;;
    *) case ${2:+$said} in *"${2:-no complaint}"*) return ;; esac
       echo "expected \"${2:-no complaint}\" for $1, but heard: $said" ;;
  esac
  failures=$((failures + 1))
}

plant 'struct own { int result() const; };' ''
plant 'struct own { detail::hidden result() const; };' 'extend/own.hpp: own::result shows detail::hidden'
plant 'struct own { void call(int, detail::hidden const& h); };' 'extend/own.hpp: own::call shows detail::hidden const &'
plant 'struct own { explicit own(detail::base::hidden&& h); };' 'extend/own.hpp: own::own shows detail::base::hidden &&'
plant 'struct own { std::vector<detail::hidden> all; };' 'extend/own.hpp: own::all shows std::vector'
plant 'struct own { using type = detail::hidden; };' 'extend/own.hpp: own::type shows detail::hidden'
plant 'struct own : detail::shows {};' 'extend/own.hpp: own::inherited shows detail::hidden'
plant 'template <class T> using own = detail::hidden;' 'extend/own.hpp: own shows detail::hidden'
plant 'detail::hidden make();' 'extend/own.hpp: make shows detail::hidden'
plant 'struct own : detail::hidden {};' ''
plant 'class own { explicit own(detail::hidden&& h); detail::hidden all_; };' ''
plant 'template <class T> using own = typename detail::hidden::type;' ''
plant 'using shared_memory = detail::hidden;' ''

[ "$failures" -eq 0 ] || { echo "$failures planted type(s) judged wrongly"; exit 1; }
