#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Two libraries in one program, each with its own version of tutti, both work. One is compiled apart; the other is
# header-only, with other layouts and in the debug mode of libstdc++. They are linked statically in both orders and as
# shared libraries, and share no symbol.
#
#   sh two_versions.sh <archive of tutti/compiled.cpp> <include folder> <compiler> [flag...]
set -eu
archive=$1 include=$2
shift 2
sources=$(cd "$(dirname "$0")/two_versions" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

mkdir other
cp -R "$include/tutti" other
version=$(sed -n 's/^#define TUTTI_VERSION_[A-Z]* //p' "$include/tutti/version.hpp" | paste -s -d _)
find other -type f -exec sed -i "s/v$version/v99_98_97/g" {} +
sed -i -e 's/\(#define TUTTI_VERSION_[A-Z]*\) .*/\1 99/' other/tutti/version.hpp
grow() { # <header> <opening of a class>
  grep -q "^$2.*{\$" "other/tutti/$1" || { echo "$1 has no \"$2\": name another class whose layout differs"; exit 1; }
  sed -i "s/^$2.*{\$/&\n  char of_the_other_version[72] = {};/" "other/tutti/$1"
}
grow extend/outcome.hpp 'class outcome '
grow collective/communicator.hpp 'class communicator '
grow collective/request.hpp 'class request '
grow extend/error.hpp 'class error '
grow detail/core/progress_list.hpp 'struct progress_entry '
grow detail/communicator/rank_state.hpp 'struct rank_state '
grow detail/engine/segment_runner.hpp 'class segment_runner '

"$@" -fPIC -DTUTTI_SEPARATE_COMPILATION -DNAME=check_first -I"$include" -c "$sources/library.cpp" -o one.o
"$@" -fPIC -D_GLIBCXX_DEBUG -DNAME=check_second -Iother -c "$sources/library.cpp" -o two.o
"$@" -c "$sources/main.cpp" -o main.o

defined() { nm --defined-only "$@" 2> /dev/null | sed -n 's/^[0-9a-f]* [A-Zu] \(.*tutti.*\)/\1/p' | LC_ALL=C sort -u; }
defined one.o "$archive" > one.symbols
defined two.o > two.symbols
common=$(LC_ALL=C comm -12 one.symbols two.symbols)
[ -z "$common" ] || { echo "symbols that do not tell versions apart:" && echo "$common" | c++filt && exit 1; }
[ -s one.symbols ] && [ -s two.symbols ]

"$@" main.o one.o two.o "$archive" -pthread -o one_first
"$@" main.o two.o one.o "$archive" -pthread -o two_first
"$@" -shared one.o "$archive" -pthread -o libone.so
"$@" -shared two.o -pthread -o libtwo.so
"$@" main.o -L. -lone -ltwo "-Wl,-rpath,$folder" -pthread -o shared
for program in one_first two_first shared; do
  timeout 60 ./$program || { echo "$program ended with $?" && exit 1; }
done
