#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The test of docs/reference/build.sh: plants one fault after another in a small library; each must be found.
#
#   sh planted.sh <doxygen> <repository>
set -u
: "${2:?usage: planted.sh <doxygen> <repository>}"
doxygen=$1 repository=$2
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
mkdir -p "$folder/docs" "$folder/examples" "$folder/include/tutti/topology" "$folder/include/tutti/detail"
cp -R "$repository/docs/reference" "$folder/docs/reference"
# Pages and programs that the small library lacks.
printf '/** @namespace tutti\nAll of it. */\n/** @defgroup topologies Topologies\nSchedules. */\n' \
  > "$folder/docs/reference/topics.dox"
echo 'int main() {}' > "$folder/examples/first.cpp"
echo 'namespace tutti::detail { struct hidden {}; }' > "$folder/include/tutti/detail/hidden.hpp"

# plant <members of a class> <text that must be printed>; without a text nothing is wrong
plant() {
  printf 'namespace tutti {\n\n/// A topology.\nstruct ring {\n%s\n};\n\n}  // namespace tutti\n' "$1" \
    > "$folder/include/tutti/topology/ring.hpp"
  said=$(sh "$folder/docs/reference/build.sh" "$doxygen" "$folder" "$folder/out" 2>&1)
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

plant '' ''
plant '  int at(int i) const;' 'topology/ring.hpp:5: warning: Member at(int i) const'
plant '  int own(int i) const;' 'topology/ring.hpp:5: warning: Member own(int i) const'
plant '  /// Its own.
  int own(int i) const;' ''
plant '  /// Its own.
  int own(detail::hidden const& h) const;' ''
grep -q 'own(hidden const' "$folder"/out/html/*.html || grep -q 'hidden const &' "$folder"/out/html/*.html ||
  { echo 'a name of detail:: is not shown without it'; failures=$((failures + 1)); }
plant '  /// See @ref chain.
  int own(int i) const;' 'chain'
plant '  template <class T>
    requires requires { typename T::type; }
  int blocks(T t) const;' 'topology/ring.hpp:7: warning: Member blocks(T t) const'
plant '};
/// A class.
template <class T>
struct own {
  /// Makes it.
  own(T t);
};
template <class T>
own(T)
    -> own<T>;
template <class T>
own(T, int) -> own<T>;
/// The end.
struct end {' ''
plant '  static constexpr bool keeps_rank_order = true;' 'topology/ring.hpp:3: this topology has no "/// Source:"'
plant '};
namespace detail { struct hidden {}; }
/// Another one.
///
/// Offers: nothing. Rank order: kept.
/// Source: this test.
struct own {
  static constexpr bool keeps_rank_order = true;' 'topology/ring.hpp:7: this topology has no "/// Cost:"'
mkdir "$folder/include/tutti/taste"
printf 'namespace tutti {\n}  // namespace tutti\n' > "$folder/include/tutti/taste/sweet.hpp"
plant '' 'taste/sweet.hpp has no topic'

[ "$failures" -eq 0 ] || { echo "$failures planted fault(s) judged wrongly"; exit 1; }
